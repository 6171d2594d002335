/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* snapnn: kernels for Cortex-M with the DSP extension, on weights that were packed for them.
 *
 * Each computes what the kernel of the same name in snapuq.h does, bit for bit; the contract is
 * the one there. What differs is the form of the parameters (emit/packing.py makes it): the zero
 * point of the input is part of the bias, weights lie in the order in which they are used, and
 * requantization takes three constants that leave little to do. A layer that could overflow on
 * the way never gets here. Compiled for a core without the extension, or for a PC, the same
 * loops are portable C. Words are read and written at any address: inputs, outputs and scratch
 * lie in normal memory, and the core does not trap such accesses.
 *
 * Outputs and inputs may overlap as far as emit/snap.py says (`slack`): a convolution has read
 * all that four positions need before it writes them, a depthwise one whole rows.
 */
#ifndef SNAPNN_H
#define SNAPNN_H

#include "snapuq.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How an accumulator becomes an int8, with TFLite's two roundings:
 *     high = (accumulator * (2^32 + multiplier) + 2^31) >> 32
 *     output = saturate((high + (high < 0 ? -1 : 0) + rounding) >> shift)
 * The zero point is part of rounding. */
struct snapnn_scale {
    int32_t multiplier; /* 2 * mantissa - 2^32, negative */
    int32_t rounding;   /* (zero_point << shift) + (1 << (shift - 1)) */
    int32_t shift;      /* [1, 22]; a fully connected layer has other scales, see there */
};

/* A matrix of weights as blocks, each for two output channels a and b (b is zero behind an odd
 * number of channels). A block is made of words:
 *     bias_a, bias_b
 *     groups times  a0 b0 a2 b2, a1 b1 a3 b3    bytes of four weights each, lowest first
 *     scale_a, scale_b                          three words each
 * so that a word of weights, spread into halves, feeds two channels. */
struct snapnn_matrix {
    int32_t channels; /* outputs */
    int32_t groups;   /* inputs / 4, rounded up; what is too much has weights of zero */
    const uint32_t *words;
};

/* Words in a block. */
#define SNAPNN_BLOCK_WORDS(groups) (2 * (groups) + 8)

/* The limits of a fused activation; -128 and 127 cost nothing. */
struct snapnn_range {
    int32_t min, max;
};

/* ---- Convolutions ---------------------------------------------------- */

struct snapnn_conv_s8 {
    int32_t in_h, in_w, in_c;
    int32_t out_h, out_w;
    int32_t kernel_h, kernel_w;
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t pad_top, pad_left;
    int32_t in_zero_point;
    struct snapnn_matrix matrix; /* inputs [kernel_h][kernel_w][in_c] */
    struct snapnn_range range;
};

/* Bytes of scratch, aligned to 4, for four positions spread to int16, and one as it is with a
 * word more. */
#define SNAPNN_COLUMNS_BYTES(groups) (36 * (groups) + 4)

void snapnn_conv_s8(const struct snapnn_conv_s8 *layer, const int8_t *input, void *scratch,
                    int8_t *output);

/* 1x1, stride 1: input [positions][in_c]. */
struct snapnn_pointwise_s8 {
    int32_t positions, in_c;
    struct snapnn_matrix matrix;
    struct snapnn_range range;
};

void snapnn_pointwise_s8(const struct snapnn_pointwise_s8 *layer, const int8_t *input,
                         void *scratch, int8_t *output);

/* Depthwise, one output channel per input channel, at least four of them. `words` has a part for
 * every four neighbouring channels c0..c3, and one for the last four where `channels` is no
 * multiple of four:
 *     bias of c0, c1, c2, c3
 *     for every two taps t and u:  (t, u) of c0, c1, c2, c3    halves of a word, t the lower
 *     scales of c0, c1, c2, c3
 * Taps are taken two by two in each row of the window; behind an odd width u is zero. */
struct snapnn_depthwise_s8 {
    int32_t in_h, in_w, channels;
    int32_t out_h, out_w;
    int32_t kernel_h, kernel_w; /* kernel_h at most SNAPNN_KERNEL_H_MAX */
    int32_t stride_h, stride_w;
    int32_t dilation_h, dilation_w;
    int32_t pad_top, pad_left;
    int32_t in_zero_point;
    const uint32_t *words;
    struct snapnn_range range;
};

#define SNAPNN_KERNEL_H_MAX 16

/* scratch: as many rows as a window reaches over, as wide as all windows of a row reach. */
void snapnn_depthwise_s8(const struct snapnn_depthwise_s8 *layer, const int8_t *input,
                         void *scratch, int8_t *output);

/* 3x3; taps in the order (0,1) (0,2), (0,0) (1,1), (1,2) (1,0), (2,1) (2,2), and
 * then (2,0) of c0 and c2, of c1 and c3. */
void snapnn_depthwise3x3_s8(const struct snapnn_depthwise_s8 *layer, const int8_t *input,
                            void *scratch, int8_t *output);

/* Words of four channels, 3x3. */
#define SNAPNN_QUAD_WORDS 34

/* ---- Sums ------------------------------------------------------------ */

/* ADD of two tensors of one length, the first of the larger scale (or both of one):
 *     sum = (input1 << 19) + scaled(input2 * factor + in2_offset)
 * and then the scale of the output. May be in place. */
struct snapnn_add_s8 {
    int32_t length;
    int32_t factor;     /* 2^20, or 2^21 where both scales are the same */
    int32_t in2_offset; /* -(zero point of input2 * factor) */
    struct snapnn_scale in2; /* to -(zero point of input1 << 19), and not saturated */
    struct snapnn_scale out;
    struct snapnn_range range;
};

void snapnn_add_s8(const struct snapnn_add_s8 *layer, const int8_t *input1, const int8_t *input2,
                   int8_t *output);

/* A convolution and the ADD of its output to another tensor, a few positions at a time. */
struct snapnn_conv_add_s8 {
    struct snapnn_conv_s8 conv;
    struct snapnn_add_s8 add; /* length is that of the whole output */
    int32_t conv_is_second;   /* input2 of the sum is the convolution, not the other tensor */
};

/* scratch: SNAPNN_COLUMNS_BYTES and four positions of the output; output may lie over other. */
void snapnn_conv_add_s8(const struct snapnn_conv_add_s8 *layer, const int8_t *input,
                        const int8_t *other, void *scratch, int8_t *output);

/* ---- Fully connected ------------------------------------------------- */

/* The scale of a channel in the matrix is {mantissa, 0, 31 - shift}: it is rounded once. */
struct snapnn_fully_connected_s8 {
    int32_t rows, inputs;
    struct snapnn_matrix matrix;
    int32_t zero_point;
    struct snapnn_range range;
};

void snapnn_fully_connected_s8(const struct snapnn_fully_connected_s8 *layer, const int8_t *input,
                               int8_t *output);

/* ---- Pooling --------------------------------------------------------- */

/* Four channels at a time; parameters and contract are those of snapuq.h. */
void snapnn_average_pool_s8(const struct snapuq_pool_s8 *layer, const int8_t *input,
                            int8_t *output);
void snapnn_max_pool_s8(const struct snapuq_pool_s8 *layer, const int8_t *input, int8_t *output);
void snapnn_mean_s8(const struct snapuq_mean_s8 *layer, const int8_t *input, int8_t *output);

/* ---- Monitor: heads -------------------------------------------------- */

/* snapuq_requantize() of what the exporter has seen to fit into int32 on the way, and a number
 * added to it:
 *     high = ((value << left) * twice + 2^31) >> 32
 *     result = (high + (high < 0 ? mask : 0) + rounding) >> right */
struct snapnn_shift {
    int32_t left, right; /* one of them is 0 */
    int32_t mask;        /* -1 where right is not 0 */
};

struct snapnn_rescale {
    uint32_t twice;   /* 2 * mantissa */
    int32_t rounding; /* (what is added << right) + half of 1 << right */
    struct snapnn_shift shift;
};

/* Pooled sums in standard deviations. */
struct snapnn_standardize {
    const uint32_t *twice;   /* [channels] */
    const int32_t *rounding; /* [channels], the offset in it */
    struct snapnn_shift shift;
};

/* struct snapuq_head_s8 with four rows of weights in turns: for every four inputs, which are
 * padded with weights of zero, the words
 *     a0 b0 a1 b1, a2 b2 a3 b3, c0 d0 c1 d1, c2 d2 c3 d3    bytes, lowest first
 * In the projector a to d are neighbouring rows, zero behind the last. In words they are a row of
 * the mean, the same row of xi, and the next row of both (zero behind an odd number of channels);
 * then follow for each of the two
 *     xi_bias, twice, rounding    the latter two of the standardization after the block */
struct snapnn_head_s8 {
    int32_t in_channels;
    int32_t channels;
    int32_t components;
    int32_t rank;
    struct snapnn_standardize before;
    struct snapnn_shift after;
    const uint32_t *projector;
    struct snapuq_multiplier latent;
    const uint32_t *words;
    struct snapnn_rescale mean;
    struct snapnn_scale xi; /* the zero point is part of it */
    const uint16_t *inverse_sigma_q9;
    const int8_t *class_mean;
    struct snapuq_multiplier class_scale;
};

/* scratch: SNAPUQ_RESIDUAL_SCRATCH, aligned to 4; the sums lie in the range that the exporter was
 * told. */
void snapnn_residual_s8(const struct snapnn_head_s8 *head, const int32_t *sum_before,
                        const int32_t *sum_after, int32_t predicted, int16_t *scratch,
                        int32_t *u_q12, uint16_t *inverse_sigma_q9);

/* ---- Monitor: distances ---------------------------------------------- */

/* struct snapuq_mahalanobis_s8 with four rows of the whitening in turns, as in a head; behind
 * them follow for each of the four
 *     twice, rounding
 * centres are for each class
 *     z0 z1, ..    pairs of int16, zero up to a multiple of four
 *     the sum of their squares, two words, the lower one first */
struct snapnn_mahalanobis_s8 {
    int32_t channels, rank, classes;
    struct snapnn_standardize input;
    const uint32_t *whitening;
    struct snapnn_shift latent;
    const uint32_t *centres;
};

/* scratch: int16 elements, as many as SNAPUQ_RESIDUAL_SCRATCH(channels, rank), aligned to 4; the
 * sums lie in the range that the exporter was told. */
struct snapuq_distances snapnn_mahalanobis_s8(const struct snapnn_mahalanobis_s8 *head,
                                              const int32_t *sum, int32_t answer,
                                              int16_t *scratch);

#ifdef __cplusplus
}
#endif

#endif
