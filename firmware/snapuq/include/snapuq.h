/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* snapuq: integer kernels of a small CNN and of its SNAP-UQ monitor.
 *
 * Contract of every kernel here: no allocation, no globals, no floating point except in the
 * kernels that have f32 in their name; the caller owns all memory; the result equals the numpy
 * function of the same name in snapcli/fixedpoint bit for bit. Parameters are validated where
 * the code is generated, so kernels run blind. Tensors are NHWC with batch 1.
 * A name that ends in _qN is a fixed-point number with N fractional bits.
 */
#ifndef SNAPUQ_H
#define SNAPUQ_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Requantization -------------------------------------------------- */

/* A real multiplier mantissa * 2^(shift - 31). mantissa >= 0, shift in [-31, 30]. */
struct snapuq_multiplier {
    int32_t mantissa;
    int32_t shift;
};

/* value * mantissa * 2^(shift - 31) with TFLite's two roundings: doubling high multiply, then
 * a rounding division by a power of two. Saturates to int32. */
int32_t snapuq_requantize(int32_t value, int32_t mantissa, int32_t shift);

/* ---- Backbone -------------------------------------------------------- */

/* How an accumulator becomes an int8 output channel. */
struct snapuq_output_s8 {
    const int32_t *bias;     /* [channels], accumulator units */
    const int32_t *mantissa; /* [channels] */
    const int8_t *shift;     /* [channels] */
    int32_t zero_point;      /* [-128, 127] */
    int32_t min;             /* fused activation, [-128, 127] */
    int32_t max;
};

struct snapuq_conv_s8 {
    int32_t in_h, in_w, in_c;
    int32_t out_h, out_w, out_c;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t pad_top, pad_left;
    int32_t in_zero_point;
    const int8_t *weights; /* conv [out_c][kernel_h][kernel_w][in_c];
                              depthwise [kernel_h][kernel_w][out_c] */
    struct snapuq_output_s8 out;
};

void snapuq_conv_s8(const struct snapuq_conv_s8 *layer, const int8_t *input, int8_t *output);

/* out_c must be a multiple of in_c: channel o reads input channel o / (out_c / in_c). */
void snapuq_depthwise_conv_s8(const struct snapuq_conv_s8 *layer, const int8_t *input,
                              int8_t *output);

struct snapuq_fully_connected_s8 {
    int32_t inputs, outputs;
    int32_t in_zero_point;
    const int8_t *weights; /* [outputs][inputs], symmetric */
    struct snapuq_output_s8 out;
    int32_t rows; /* input [rows][inputs], output [rows][outputs] */
};

/* Requantizes with a single rounding, half away from zero (SPEC 1.1). */
void snapuq_fully_connected_s8(const struct snapuq_fully_connected_s8 *layer, const int8_t *input,
                               int8_t *output);

/* MEAN of input [rows][positions][channels] over positions. */
struct snapuq_mean_s8 {
    int32_t positions; /* height * width, or another run of axes; below 2^23 */
    int32_t channels;
    int32_t in_zero_point, out_zero_point;
    struct snapuq_multiplier multiplier; /* in_scale / out_scale / positions, SPEC 1.2 */
    int32_t rows;
};

void snapuq_mean_s8(const struct snapuq_mean_s8 *layer, const int8_t *input, int8_t *output);

/* Pooling; input and output share scale and zero point. Every window reaches at
 * least one element of the input. */
struct snapuq_pool_s8 {
    int32_t in_h, in_w, channels;
    int32_t out_h, out_w;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t pad_top, pad_left;
    int32_t min, max; /* fused activation, [-128, 127] */
};

/* Mean of the elements inside the input, rounded half away from zero. */
void snapuq_average_pool_s8(const struct snapuq_pool_s8 *layer, const int8_t *input,
                            int8_t *output);

/* Also REDUCE_MAX over height and width: one window of that size. */
void snapuq_max_pool_s8(const struct snapuq_pool_s8 *layer, const int8_t *input, int8_t *output);

/* ADD and SUB. An operand shorter than the output repeats: one of `channels` bytes
 * is added to every position, one of a single byte to every element. The output
 * may be written over an operand of its own length. */
struct snapuq_add_s8 {
    int32_t length; /* of the output, a multiple of both others */
    int32_t in1_length, in2_length;
    int32_t in1_zero_point, in2_zero_point;
    struct snapuq_multiplier in1, in2; /* scale / (2 * larger scale), for operand << 20 */
    struct snapuq_multiplier out;      /* 2 * larger scale / (2^20 * out_scale), shift <= 0 */
    int32_t out_zero_point;
    int32_t min, max; /* fused activation, [-128, 127] */
};

void snapuq_add_s8(const struct snapuq_add_s8 *layer, const int8_t *input1, const int8_t *input2,
                   int8_t *output);

/* input1 - input2 */
void snapuq_sub_s8(const struct snapuq_add_s8 *layer, const int8_t *input1, const int8_t *input2,
                   int8_t *output);

/* A convolution and the ADD of its output to another tensor of the same shape, position by
 * position: the output of the convolution never lies in memory as a whole. The output may be
 * written over `other`. scratch: out_c bytes. */
struct snapuq_conv_add_s8 {
    struct snapuq_conv_s8 conv;
    struct snapuq_add_s8 add; /* in1 is the convolution, in2 the other tensor */
};

void snapuq_conv_add_s8(const struct snapuq_conv_add_s8 *layer, const int8_t *input,
                        const int8_t *other, int8_t *scratch, int8_t *output);

/* MUL; operands repeat and the output may be in place as for ADD. */
struct snapuq_mul_s8 {
    int32_t length;
    int32_t in1_length, in2_length;
    int32_t in1_zero_point, in2_zero_point;
    struct snapuq_multiplier multiplier; /* in1_scale * in2_scale / out_scale */
    int32_t out_zero_point;
    int32_t min, max;
};

void snapuq_mul_s8(const struct snapuq_mul_s8 *layer, const int8_t *input1, const int8_t *input2,
                   int8_t *output);

/* SOFTMAX over the last axis, to scale 1/256 and zero point -128. May be in place. */
struct snapuq_softmax_s8 {
    int32_t positions;
    int32_t classes;        /* [1, 4095] */
    const int32_t *exp_q31; /* [256], exp(-d * step) for d steps below the top, entry 0 largest */
};

void snapuq_softmax_s8(const struct snapuq_softmax_s8 *layer, const int8_t *input, int8_t *output);

/* Any function of one element: LOGISTIC, TANH, HARD_SWISH, LEAKY_RELU, RELU, RELU6,
 * QUANTIZE from int8 to int8. May be in place. */
struct snapuq_lut_s8 {
    int32_t length;
    const int8_t *table; /* [256], entry q + 128 */
};

void snapuq_lut_s8(const struct snapuq_lut_s8 *layer, const int8_t *input, int8_t *output);

/* No element above the limit: the features of ReAct. May be in place. */
struct snapuq_clip_s8 {
    int32_t length;
    int32_t limit; /* [-128, 127] */
};

void snapuq_clip_s8(const struct snapuq_clip_s8 *layer, const int8_t *input, int8_t *output);

/* The largest elements, of equal ones the first, become the sum of all / kept, the others zero:
 * the features of ASH-B. May be in place. */
struct snapuq_ash_s8 {
    int32_t length;     /* at most 2^22 */
    int32_t kept;       /* [1, length] */
    int32_t zero_point;
};

void snapuq_ash_s8(const struct snapuq_ash_s8 *layer, const int8_t *input, int8_t *output);

/* output[out_start + sum_k i[k] * out_step[k]] = input[in_start + sum_k i[k] * in_step[k]]
 * for all 0 <= i[k] < count[k]: TRANSPOSE, STRIDED_SLICE, a part of a SPLIT, BROADCAST_TO, an
 * input of a CONCATENATION. Steps may be negative; input and output do not overlap. */
struct snapuq_copy_s8 {
    int32_t count[4];
    int32_t in_step[4];
    int32_t out_step[4];
    int32_t in_start, out_start;
};

void snapuq_copy_s8(const struct snapuq_copy_s8 *layer, const int8_t *input, int8_t *output);

/* CONCATENATION: copies[k] moves inputs[k], all of it, into the output. */
struct snapuq_concatenation_s8 {
    int32_t inputs;
    const struct snapuq_copy_s8 *copies; /* [inputs] */
};

void snapuq_concatenation_s8(const struct snapuq_concatenation_s8 *layer,
                             const int8_t *const *inputs, int8_t *output);

/* PAD: fills the output, then copies into it. */
struct snapuq_pad_s8 {
    int32_t length; /* of the output */
    int32_t value;  /* the zero point */
    struct snapuq_copy_s8 copy;
};

void snapuq_pad_s8(const struct snapuq_pad_s8 *layer, const int8_t *input, int8_t *output);

/* RESIZE_NEAREST_NEIGHBOR */
struct snapuq_resize_nearest_s8 {
    int32_t in_w, channels;
    int32_t out_h, out_w;
    const uint16_t *row;    /* [out_h], the input's row */
    const uint16_t *column; /* [out_w], the input's column */
};

void snapuq_resize_nearest_s8(const struct snapuq_resize_nearest_s8 *layer, const int8_t *input,
                              int8_t *output);

/* Copies length bytes between places that may overlap. Returns output. */
int8_t *snapuq_move_s8(const int8_t *input, int32_t length, int8_t *output);

/* ---- Float ends ------------------------------------------------------ */

/* QUANTIZE from float: round(input / scale) + zero_point, half away from zero, saturated;
 * what is not a number becomes -128. */
struct snapuq_quantize_f32_s8 {
    int32_t length;
    float scale;
    int32_t zero_point;
};

void snapuq_quantize_f32_s8(const struct snapuq_quantize_f32_s8 *layer, const float *input,
                            int8_t *output);

/* DEQUANTIZE: scale * (input - zero_point) */
struct snapuq_dequantize_s8_f32 {
    int32_t length;
    float scale;
    int32_t zero_point;
};

void snapuq_dequantize_s8_f32(const struct snapuq_dequantize_s8_f32 *layer, const int8_t *input,
                              float *output);

/* ---- Monitor: taps and heads ----------------------------------------- */

/* sum[c] = sum over positions of (input[position][c] - zero_point): the exact
 * pooled activation. positions < 2^23, so that the sum fits int32. */
void snapuq_pool_sum_s8(const int8_t *input, int32_t positions, int32_t channels,
                        int32_t zero_point, int32_t *sum);

/* The same, and behind it the channels' deviations over positions, in the unit of the sum:
 * sum[channels + c] = floor(sqrt(positions * sum of squares - sum[c]^2)). */
void snapuq_pool_moments_s8(const int8_t *input, int32_t positions, int32_t channels,
                            int32_t zero_point, int32_t *sum);

/* A pooled sum in standard deviations:
 * requantize(sum[c], {mantissa[c], shift}) + offset[c]. */
struct snapuq_standardize {
    const int32_t *mantissa; /* [channels] */
    const int32_t *offset;   /* [channels] */
    int32_t shift;
};

/* What a head predicts: the pooled activation after a block from the one before
 * it. components * channels rows; row i predicts channel i % channels. in_channels
 * and rank are at most 256, channels at most 2048; weights lie in [-127, 127]. */
struct snapuq_head_s8 {
    int32_t in_channels;
    int32_t channels;
    int32_t components;                /* 1, or those of a mixture */
    int32_t rank;                      /* 0: projector folded into the two heads */
    struct snapuq_standardize before;  /* -> Q10, saturated to int16 */
    struct snapuq_standardize after;   /* -> Q16; its offset, by row, holds minus the mean's bias */
    const int8_t *projector;           /* [rank][in_channels]; unused with rank 0 */
    struct snapuq_multiplier latent;   /* projector accumulator -> int16 */
    const int8_t *mean_weights;        /* [rows][rank ? rank : in_channels] */
    struct snapuq_multiplier mean;     /* accumulator -> Q16 */
    const int8_t *xi_weights;          /* the shape of mean_weights */
    const int32_t *xi_bias;            /* [rows], accumulator units */
    struct snapuq_multiplier xi;       /* accumulator -> steps of the table */
    int32_t xi_zero_point;
    const uint16_t *inverse_sigma_q9;  /* [256], entry xi + 128 */
    const int8_t *class_mean;          /* [classes][channels], belongs to the mean; 0: none */
    struct snapuq_multiplier class_scale; /* class_mean -> Q16 */
};

/* int16 elements of scratch that snapuq_residual_s8 needs, and other kernels for heads: with room
 * for zeros up to a multiple of four. */
#define SNAPUQ_RESIDUAL_SCRATCH(in_channels, rank) \
    ((((in_channels) + 3) & ~3) + (((rank) + 3) & ~3))

/* u_q12[i], below 2^26 in size: (activation - mean) / sigma of each row. predicted: the class,
 * which only a head with class_mean looks at. inverse_sigma_q9 [rows] may be 0. The latent
 * stays at scratch. */
void snapuq_residual_s8(const struct snapuq_head_s8 *head, const int32_t *sum_before,
                        const int32_t *sum_after, int32_t predicted, int16_t *scratch,
                        int32_t *u_q12, uint16_t *inverse_sigma_q9);

/* The energies of the likelihoods: e >= 0, Q16, saturated to INT32_MAX, of u_q12 [channels]. */

/* Gaussian: mean(u^2) */
uint32_t snapuq_energy_gaussian_q16(const int32_t *u_q12, int32_t channels);

/* Student-t: mean((nu + 1) ln(1 + u^2 / nu)), 3 <= nu <= 30 */
struct snapuq_energy_student_t {
    int32_t inverse_nu_q18, nu_plus_1_q16;
    const uint16_t *log2_q15; /* [257] */
};

uint32_t snapuq_energy_student_t_q16(const struct snapuq_energy_student_t *energy,
                                     const int32_t *u_q12, int32_t channels);

/* Huber: mean(2 rho(u)), quadratic up to delta, linear beyond; delta < 16 */
struct snapuq_energy_huber {
    int32_t delta_q12;
};

uint32_t snapuq_energy_huber_q16(const struct snapuq_energy_huber *energy, const int32_t *u_q12,
                                 int32_t channels);

/* Diagonal plus low rank: mean(u^2) less what B B^T explains of it, in floating point. */
struct snapuq_energy_lowrank {
    int32_t factors;     /* k, [1, 16] */
    const float *factor; /* B [channels][k] */
};

/* float elements of scratch that snapuq_energy_lowrank_f32 needs. */
#define SNAPUQ_LOWRANK_SCRATCH(factors) ((factors) * ((factors) + 2))

uint32_t snapuq_energy_lowrank_f32(const struct snapuq_energy_lowrank *energy,
                                   const int32_t *u_q12, const uint16_t *inverse_sigma_q9,
                                   int32_t channels, float *scratch);

#define SNAPUQ_COMPONENTS_MAX 8

/* Mixture: how far the log density lies below that of a residual of zero, times 2 / channels.
 * u_q12 and inverse_sigma_q9 are [components][channels]. */
struct snapuq_energy_mixture {
    int32_t components;             /* [1, SNAPUQ_COMPONENTS_MAX] */
    int32_t inputs;                 /* of the latent */
    const int8_t *weights;          /* [components][inputs]: logits of the shares */
    const int32_t *bias;            /* [components], accumulator units */
    struct snapuq_multiplier logit; /* accumulator -> Q16 */
    const uint16_t *log2_q15;       /* [257] */
};

uint32_t snapuq_energy_mixture_q16(const struct snapuq_energy_mixture *energy,
                                   const int32_t *u_q12, const uint16_t *inverse_sigma_q9,
                                   int32_t channels, const int16_t *latent);

/* Distances of a pooled activation to classes, in the metric of the
 * covariance that they share. The sizes of the entries of a row of whitening
 * sum to at most 65535. */
struct snapuq_mahalanobis_s8 {
    int32_t channels, rank, classes;
    struct snapuq_standardize input; /* -> Q10, saturated to int16 */
    const int8_t *whitening;         /* [rank][channels] */
    const int32_t *mantissa;         /* [rank], accumulator -> Q10, over the root of rank */
    int32_t shift;
    const int16_t *centre;           /* [classes][rank], Q10 */
};

/* int16 elements of scratch that snapuq_mahalanobis_s8 needs. */
#define SNAPUQ_MAHALANOBIS_SCRATCH(channels, rank) ((channels) + (rank))

/* To the answered class and to the nearest other: squared distance / rank, Q16, saturated to
 * INT32_MAX. */
struct snapuq_distances {
    uint32_t own_q16, next_q16;
};

struct snapuq_distances snapuq_mahalanobis_s8(const struct snapuq_mahalanobis_s8 *head,
                                              const int32_t *sum, int32_t answer,
                                              int16_t *scratch);

/* S = sum_l weight_q16[l] * surprisal_q16[l], rounded; weights sum to 65536. */
uint32_t snapuq_score_q16(const uint32_t *surprisal_q16, const uint32_t *weight_q16, int32_t taps);

/* ---- Monitor: confidence and map ------------------------------------- */

/* Index of the first largest logit. */
int32_t snapuq_argmax_s8(const int8_t *logits, int32_t classes);

/* ln(value), Q16; value 0 counts as 1. log2_q15[i] = log2(1 + i / 256), i = 0..256. */
int32_t snapuq_ln_q16(uint32_t value, const uint16_t *log2_q15);

/* ln of a number in Q16, Q16; 0 counts as 2^-16. */
int32_t snapuq_ln_of_q16(uint32_t value_q16, const uint16_t *log2_q15);

/* exp(-value), Q16. */
uint32_t snapuq_exp_q16(uint64_t value_q16);

/* 1 / (1 + exp(-t)), Q16. tail_q16[i] = 1 / (1 + exp(i / 16)), i = 0..256. */
uint32_t snapuq_sigmoid_q16(int64_t t_q16, const uint16_t *tail_q16);

/* Logits of a classifier; a step is logit_scale / temperature. The functions
 * below take the predicted class from snapuq_argmax_s8. */
struct snapuq_confidence {
    int32_t classes;         /* [2, 65536] */
    int32_t step_q16;
    const uint16_t *exp_q15; /* [256], exp(-d * step) for d steps below the top */
};

/* ln((1 - max p) / max p), Q16. */
int32_t snapuq_error_logit_q16(const struct snapuq_confidence *confidence, const int8_t *logits,
                               int32_t predicted, const uint16_t *log2_q15);

/* -ln(sum over classes of exp(logit * step)), Q16; the zero point stays in the logits. */
int32_t snapuq_free_energy_q16(const struct snapuq_confidence *confidence, const int8_t *logits,
                               int32_t predicted, const uint16_t *log2_q15);

/* m = alpha (1 - max p) + (1 - alpha) (1 - margin), Q16. */
uint32_t snapuq_doubt_q16(const struct snapuq_confidence *confidence, const int8_t *logits,
                          int32_t predicted, uint32_t alpha_q16);

/* Softmax of the logits, one rounding each. step_q24: what one step of a logit counts.
 * probability_q16 [classes]. */
void snapuq_probability_q16(const int8_t *logits, int32_t classes, uint32_t step_q24,
                            uint32_t *probability_q16);

/* -sum p ln p in nats, Q16, of probabilities of at most 65536 each. */
uint32_t snapuq_entropy_q16(const uint32_t *probability_q16, int32_t classes,
                            const uint16_t *log2_q15);

/* The mean over members of value_q16 [members][classes], each at most 65536, rounded half up;
 * at most 65535 members. average_q16 [classes] may be the first member's. */
void snapuq_average_q16(const uint32_t *value_q16, int32_t members, int32_t classes,
                        uint32_t *average_q16);

/* U = sigmoid(b0 + b2 error_logit + sum_j slope_j max(0, x_j - theta_j)) */
struct snapuq_map_gated {
    int32_t b0_q16, b2_q16;
    int32_t gates;
    const int32_t *slope_q16; /* [gates] */
    const int32_t *theta_q16; /* [gates] */
    const uint16_t *tail_q16; /* [257] */
};

/* input_q16 [gates] */
uint32_t snapuq_map_gated_q16(const struct snapuq_map_gated *map, const int32_t *input_q16,
                              int32_t error_logit_q16);

/* U = sigmoid(b0 + b2 l + familiar min(0, l) (1 - o) + sum_j slope_j g_j + offset[answer] +
 * strange_offset[answer] o) + sum_k also_k y_k, g_j = max(0, x_j - theta_j),
 * o = min(1, max_j g_j inverse_cap_j), l the error logit. o says how strange the input is. */
struct snapuq_map_class_gated {
    int32_t b0_q16, b2_q16, familiar_q16;
    int32_t taps, others;
    const int32_t *slope_q16;          /* [taps] */
    const int32_t *theta_q16;          /* [taps] */
    const int32_t *inverse_cap_q16;    /* [taps] */
    const int32_t *also_q16;           /* [others] */
    const int32_t *offset_q16;         /* [classes] */
    const int32_t *strange_offset_q16; /* [classes] */
    const uint16_t *tail_q16;          /* [257] */
};

/* input_q16 [taps + others], x_j and then y_k; answer: the predicted class, an index of both
 * tables */
uint32_t snapuq_map_class_gated_q16(const struct snapuq_map_class_gated *map,
                                    const int32_t *input_q16, int32_t error_logit_q16,
                                    int32_t answer);

/* A hidden layer: start + sum_h out_h max(0, bias_h[answer] + sum_j weight_hj x_j), saturated.
 * It stands in for the b0 of a map. */
struct snapuq_hidden {
    int32_t units, inputs, classes;
    const int32_t *out_q16;    /* [units] */
    const int32_t *weight_q16; /* [units][inputs] */
    const int32_t *bias_q16;   /* [units][classes] */
};

int32_t snapuq_hidden_q16(const struct snapuq_hidden *layer, int32_t start_q16,
                          const int32_t *input_q16, int32_t answer);

/* U = sigmoid(b0 + b1 S + b2 m) */
struct snapuq_map_logistic {
    int32_t b0_q16, b1_q16, b2_q16;
    const uint16_t *tail_q16; /* [257] */
};

uint32_t snapuq_map_logistic_q16(const struct snapuq_map_logistic *map, uint32_t score_q16,
                                 uint32_t doubt_q16);

#define SNAPUQ_BREAKPOINTS_MAX 32

/* U = value[number of breakpoints <= psi], psi = gamma S + (1 - gamma) m */
struct snapuq_map_isotonic {
    uint32_t gamma_q16;              /* [0, 65536] */
    int32_t breakpoints;             /* at most SNAPUQ_BREAKPOINTS_MAX */
    const uint32_t *breakpoint_q16;  /* [breakpoints], ascending */
    const uint32_t *value_q16;       /* [breakpoints + 1], not descending, <= 65536 */
};

uint32_t snapuq_map_isotonic_q16(const struct snapuq_map_isotonic *map, uint32_t score_q16,
                                 uint32_t doubt_q16);

/* ---- Monitor: budget controller --------------------------------------- */

/* Moves the threshold so that the share `budget` of a stream abstains.
 * All in [0, 2^24], where 2^24 is 1. */
struct snapuq_budget {
    int32_t budget_q24;
    int32_t eta_q24;       /* weight of the newest decision in the rate */
    int32_t kappa_q24;     /* how far an excess of 1 moves the threshold */
    int32_t threshold_q24; /* the first one */
};

/* Of one stream, the caller's. */
struct snapuq_budget_state {
    int32_t rate_q24;
    int32_t threshold_q24;
};

void snapuq_budget_start(const struct snapuq_budget *budget, struct snapuq_budget_state *state);

/* Whether the next input of the stream abstains, 0 or 1: U >= threshold, which then moves.
 * uncertainty_q16 is at most 65536. */
int32_t snapuq_budget_step(const struct snapuq_budget *budget, struct snapuq_budget_state *state,
                           uint32_t uncertainty_q16);

/* ---- Monitor: alarm ---------------------------------------------------- */

#define SNAPUQ_ALARM_BINS 16
#define SNAPUQ_ALARM_FRAMES 64   /* frames */
#define SNAPUQ_ALARM_MEAN_BITS 6 /* frames that a mean remembers, as a power of two */

enum snapuq_alarm_detector {
    SNAPUQ_ALARM_NONE,
    SNAPUQ_ALARM_SUM,   /* of evidence since it was last zero: betting and CUSUM */
    SNAPUQ_ALARM_MEAN,  /* 64 times an exponential mean of the evidence */
    SNAPUQ_ALARM_WINDOW /* of evidence over the last frames */
};

/* When a score says, over many frames, that accuracy has dropped. A frame falls into a bin by its
 * score; its evidence for a drop is gain[bin] - offset, in nats. */
struct snapuq_alarm {
    uint32_t detector;
    uint32_t edge_q16[SNAPUQ_ALARM_BINS - 1]; /* ascending; a bin begins at its edge */
    int32_t gain_q16[SNAPUQ_ALARM_BINS];      /* not descending, within 16 nats */
    int32_t threshold_q16;                    /* raised at or above; of a sum above 0 */
    int32_t clear_q16;                        /* and over at or below */
    int32_t start_q16;
    int32_t offset_q16;     /* without a baseline */
    int32_t limit_q16;      /* the largest offset that leaves an alarm possible */
    uint32_t baseline;      /* frames that set the offset in the field, at most 65535; 0: none do */
    int32_t confidence_q16; /* [0, 4096]: the chance that a baseline of independent frames sets it
                             * too low is exp(-confidence) */
};

/* Of one stream, the caller's. */
struct snapuq_alarm_state {
    int32_t statistic_q16;
    int32_t offset_q16;
    uint32_t frames;
    uint32_t right_q24;        /* mean of 1 - U, over about the last 256 frames */
    uint32_t baseline_sum_q16;
    uint16_t baseline_left;    /* frames until the baseline is known; no alarm before */
    uint16_t alarms;           /* raised since the start, at most 65535 */
    uint8_t on;
    uint8_t place;             /* in the window; SNAPUQ_ALARM_FRAMES more when that is full */
    uint8_t window[SNAPUQ_ALARM_FRAMES / 2]; /* bins, four bits each */
};

/* Begins a stream, with its baseline. */
void snapuq_alarm_start(const struct snapuq_alarm *alarm, struct snapuq_alarm_state *state);

/* Goes on with a stream whose state was kept, in flash or by a host; what no stream could have left
 * in it is limited to what one could have. */
void snapuq_alarm_resume(const struct snapuq_alarm *alarm, struct snapuq_alarm_state *state,
                         const struct snapuq_alarm_state *kept);

/* Ends an alarm by hand; offset, counts and the running mean stay. */
void snapuq_alarm_clear(const struct snapuq_alarm *alarm, struct snapuq_alarm_state *state);

/* Takes the baseline anew from the next frames on. */
void snapuq_alarm_baseline(const struct snapuq_alarm *alarm, struct snapuq_alarm_state *state);

/* One frame: its score and its U, at most 65536; log2_q15 [257]. Whether the alarm is on, 0 or 1. */
int32_t snapuq_alarm_step(const struct snapuq_alarm *alarm, struct snapuq_alarm_state *state,
                          uint32_t value_q16, uint32_t uncertainty_q16, const uint16_t *log2_q15);

/* ---- Monitor: evidence ------------------------------------------------- */

struct snapuq_kept {
    uint32_t value_q16; /* by which inputs are compared */
    uint32_t frame;     /* of the stream */
    uint32_t uncertainty_q16, foreign_q16;
    int32_t predicted;
    uint32_t place;
};

/* The inputs of a stream with the largest values, for somebody to look at and to label. They lie in
 * memory of the caller's, at capacity + 1 places: the next input is copied to the free one before
 * the model runs, and stays there if it is kept. */
struct snapuq_evidence {
    struct snapuq_kept *kept; /* [capacity], of which `count` count, in no order */
    uint32_t capacity, count;
    uint32_t free; /* the place for the next input */
};

/* Keeps nothing yet. */
void snapuq_evidence_start(struct snapuq_evidence *evidence, struct snapuq_kept *kept,
                           uint32_t capacity);

/* Whether the input at the free place is kept, 0 or 1, for the least of those that were if there
 * are as many as may be; offered->place is not read. */
int32_t snapuq_evidence_offer(struct snapuq_evidence *evidence, const struct snapuq_kept *offered);

/* ---- Monitor: telemetry ------------------------------------------------ */

#define SNAPUQ_TELEMETRY_BYTES 124
#define SNAPUQ_TELEMETRY_BINS 16
#define SNAPUQ_TELEMETRY_FRAMES 65535 /* of one record */

enum snapuq_telemetry_flags {
    SNAPUQ_TELEMETRY_ON = 1,       /* the alarm is on at the record's end */
    SNAPUQ_TELEMETRY_BASELINE = 2, /* its baseline is not complete yet */
    SNAPUQ_TELEMETRY_NO_ALARM = 4  /* none is kept: what it would say is zero */
};

/* What the frames since the last record were like. Of one stream, the caller's. */
struct snapuq_telemetry {
    uint32_t time, sequence;
    uint32_t uncertainty_sum_q16;
    uint32_t right_q24; /* of the alarm's state, as it was last seen; alarms_seen and flags too */
    uint16_t frames, abstained, foreign, alarms, alarm_frames;
    uint16_t alarms_seen, flags;
    uint16_t uncertainty_bins[SNAPUQ_TELEMETRY_BINS];
    uint16_t foreign_bins[SNAPUQ_TELEMETRY_BINS];
};

/* Begins the first record. time: seconds since 1970, 0 without a clock. alarm: of the same
 * stream, NULL where none is kept. */
void snapuq_telemetry_start(struct snapuq_telemetry *telemetry, uint32_t time,
                            const struct snapuq_alarm_state *alarm);

/* Counts a frame, after its step of the alarm. U and F are at most 65536. 1 once the record is
 * full: further frames are not counted until the next one begins. */
int32_t snapuq_telemetry_add(struct snapuq_telemetry *telemetry, uint32_t uncertainty_q16,
                             int32_t abstain, uint32_t foreign_q16, int32_t foreign,
                             const struct snapuq_alarm_state *alarm);

/* The record as bytes (SPEC 4). model_id [8]; device: the caller's number, 0 for none; record
 * [SNAPUQ_TELEMETRY_BYTES]. */
void snapuq_telemetry_record(const struct snapuq_telemetry *telemetry, const uint8_t *model_id,
                             uint32_t settings_check, uint64_t device, uint8_t *record);

/* Begins the next record, with the next sequence number. */
void snapuq_telemetry_next(struct snapuq_telemetry *telemetry, uint32_t time);

/* CRC-32 as in zlib; start with 0 and pass the result on to continue. */
uint32_t snapuq_crc32(uint32_t crc, const uint8_t *bytes, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
