/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Runs the golden cases: the same program on the host (ASan + UBSan) and, by
 * semihosting, on an emulated Cortex-M.
 *
 *   runner CASES RESULTS
 *
 * CASES   u32 count, then per case: u32 kernel, u32 blobs, per blob: u32 bytes, bytes.
 * RESULTS per case: u32 bytes, bytes.
 * Integers are little-endian. Blob 0 holds the scalars of a case as int32, the
 * others its arrays and inputs, in the order in which the functions below name them.
 * Every blob lives in memory of its exact size, so that ASan sees a kernel overrun it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapuq.h"

#define BLOBS_MAX 16

struct test_case {
    uint32_t kernel, blobs;
    uint32_t bytes[BLOBS_MAX];
    void *blob[BLOBS_MAX];
};

static void fail(const char *what)
{
    fprintf(stderr, "runner: %s\n", what);
    exit(1);
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) {
        fail("out of memory");
    }
    return memory;
}

static void read_bytes(FILE *file, void *to, size_t bytes)
{
    if (fread(to, 1, bytes, file) != bytes) {
        fail("case file ends early");
    }
}

static uint32_t read_u32(FILE *file)
{
    uint32_t value;
    read_bytes(file, &value, sizeof value);
    return value;
}

static void write_result(FILE *file, const void *from, uint32_t bytes)
{
    if (fwrite(&bytes, sizeof bytes, 1, file) != 1 || fwrite(from, 1, bytes, file) != bytes) {
        fail("cannot write a result");
    }
}

/* ---- One function per kernel: fills `result`, returns its bytes ---------- */

static struct snapuq_output_s8 output_from(const struct test_case *c, const int32_t *scalars,
                                           uint32_t blob)
{
    return (struct snapuq_output_s8){
        .bias = c->blob[blob],
        .mantissa = c->blob[blob + 1],
        .shift = c->blob[blob + 2],
        .zero_point = scalars[0],
        .min = scalars[1],
        .max = scalars[2],
    };
}

/* layer fields in order, out.zero_point, out.min, out.max | weights, bias, mantissa, shift */
static struct snapuq_conv_s8 conv_from(const struct test_case *c)
{
    const int32_t *s = c->blob[0];
    return (struct snapuq_conv_s8){
        .in_h = s[0],
        .in_w = s[1],
        .in_c = s[2],
        .out_h = s[3],
        .out_w = s[4],
        .out_c = s[5],
        .kernel_h = s[6],
        .kernel_w = s[7],
        .stride_h = s[8],
        .stride_w = s[9],
        .dilation_h = s[10],
        .dilation_w = s[11],
        .pad_top = s[12],
        .pad_left = s[13],
        .in_zero_point = s[14],
        .weights = c->blob[1],
        .out = output_from(c, s + 15, 2),
    };
}

typedef void convolution(const struct snapuq_conv_s8 *layer, const int8_t *input, int8_t *output);

/* as conv_from, then x */
static uint32_t run_convolution(const struct test_case *c, void **result, convolution *kernel)
{
    const struct snapuq_conv_s8 layer = conv_from(c);
    const uint32_t in_bytes = (uint32_t)(layer.in_h * layer.in_w * layer.in_c);
    const uint32_t out_bytes = (uint32_t)(layer.out_h * layer.out_w * layer.out_c);
    const uint32_t batch = c->bytes[5] / in_bytes;
    int8_t *output = *result = allocate(batch * out_bytes);
    for (uint32_t n = 0; n < batch; ++n) {
        kernel(&layer, (const int8_t *)c->blob[5] + n * in_bytes, output + n * out_bytes);
    }
    return batch * out_bytes;
}

static uint32_t run_conv_s8(const struct test_case *c, void **result)
{
    return run_convolution(c, result, snapuq_conv_s8);
}

static uint32_t run_depthwise_conv_s8(const struct test_case *c, void **result)
{
    return run_convolution(c, result, snapuq_depthwise_conv_s8);
}

/* rows, inputs, outputs, in_zero_point, out.* | weights, bias, mantissa, shift, x */
static uint32_t run_fully_connected_s8(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_fully_connected_s8 layer = {
        .rows = s[0],
        .inputs = s[1],
        .outputs = s[2],
        .in_zero_point = s[3],
        .weights = c->blob[1],
        .out = output_from(c, s + 4, 2),
    };
    const uint32_t in_bytes = (uint32_t)(layer.rows * layer.inputs);
    const uint32_t out_bytes = (uint32_t)(layer.rows * layer.outputs);
    const uint32_t batch = c->bytes[5] / in_bytes;
    int8_t *output = *result = allocate(batch * out_bytes);
    for (uint32_t n = 0; n < batch; ++n) {
        snapuq_fully_connected_s8(&layer, (const int8_t *)c->blob[5] + n * in_bytes,
                                  output + n * out_bytes);
    }
    return batch * out_bytes;
}

/* layer fields in order, the multiplier as mantissa and shift | x */
static uint32_t run_mean_s8(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_mean_s8 layer = {s[0], s[1], s[2], s[3], {s[4], s[5]}, s[6]};
    const uint32_t out_bytes = (uint32_t)(layer.rows * layer.channels);
    const uint32_t in_bytes = (uint32_t)layer.positions * out_bytes;
    const uint32_t batch = c->bytes[1] / in_bytes;
    int8_t *output = *result = allocate(batch * out_bytes);
    for (uint32_t n = 0; n < batch; ++n) {
        snapuq_mean_s8(&layer, (const int8_t *)c->blob[1] + n * in_bytes, output + n * out_bytes);
    }
    return batch * out_bytes;
}

typedef void pooling(const struct snapuq_pool_s8 *layer, const int8_t *input, int8_t *output);

/* layer fields in order | x */
static uint32_t run_pool(const struct test_case *c, void **result, pooling *kernel)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_pool_s8 layer = {
        .in_h = s[0],
        .in_w = s[1],
        .channels = s[2],
        .out_h = s[3],
        .out_w = s[4],
        .kernel_h = s[5],
        .kernel_w = s[6],
        .stride_h = s[7],
        .stride_w = s[8],
        .pad_top = s[9],
        .pad_left = s[10],
        .min = s[11],
        .max = s[12],
    };
    const uint32_t in_bytes = (uint32_t)(layer.in_h * layer.in_w * layer.channels);
    const uint32_t out_bytes = (uint32_t)(layer.out_h * layer.out_w * layer.channels);
    const uint32_t batch = c->bytes[1] / in_bytes;
    int8_t *output = *result = allocate(batch * out_bytes);
    for (uint32_t n = 0; n < batch; ++n) {
        kernel(&layer, (const int8_t *)c->blob[1] + n * in_bytes, output + n * out_bytes);
    }
    return batch * out_bytes;
}

static uint32_t run_average_pool_s8(const struct test_case *c, void **result)
{
    return run_pool(c, result, snapuq_average_pool_s8);
}

static uint32_t run_max_pool_s8(const struct test_case *c, void **result)
{
    return run_pool(c, result, snapuq_max_pool_s8);
}

/* Blob 1, moved into the output where it is as long: kernels may work in place. */
static const int8_t *in_place(const struct test_case *c, int8_t *output, int32_t length)
{
    if (c->bytes[1] != (uint32_t)length) {
        return c->blob[1];
    }
    memcpy(output, c->blob[1], c->bytes[1]);
    return output;
}

/* layer fields in order, multipliers as mantissa and shift */
static struct snapuq_add_s8 add_from(const int32_t *s)
{
    return (struct snapuq_add_s8){
        .length = s[0],
        .in1_length = s[1],
        .in2_length = s[2],
        .in1_zero_point = s[3],
        .in2_zero_point = s[4],
        .in1 = {s[5], s[6]},
        .in2 = {s[7], s[8]},
        .out = {s[9], s[10]},
        .out_zero_point = s[11],
        .min = s[12],
        .max = s[13],
    };
}

typedef void addition(const struct snapuq_add_s8 *layer, const int8_t *input1,
                      const int8_t *input2, int8_t *output);

/* layer fields in order, multipliers as mantissa and shift | x1, x2 */
static uint32_t run_addition(const struct test_case *c, void **result, addition *kernel)
{
    const struct snapuq_add_s8 layer = add_from(c->blob[0]);
    int8_t *output = *result = allocate((uint32_t)layer.length);
    kernel(&layer, in_place(c, output, layer.length), c->blob[2], output);
    return (uint32_t)layer.length;
}

#define CONV_SCALARS 18

/* those of conv_from and add_from | as conv_from, then x and other, which the output replaces */
static uint32_t run_conv_add_s8(const struct test_case *c, void **result)
{
    const struct snapuq_conv_add_s8 layer = {
        conv_from(c),
        add_from((const int32_t *)c->blob[0] + CONV_SCALARS),
    };
    const uint32_t in_bytes = (uint32_t)(layer.conv.in_h * layer.conv.in_w * layer.conv.in_c);
    const uint32_t out_bytes = (uint32_t)layer.add.length;
    int8_t *scratch = allocate((uint32_t)layer.conv.out_c);
    int8_t *output = *result = allocate(c->bytes[6]);
    memcpy(output, c->blob[6], c->bytes[6]);
    for (uint32_t n = 0; n < c->bytes[5] / in_bytes; ++n) {
        int8_t *place = output + n * out_bytes;
        snapuq_conv_add_s8(&layer, (const int8_t *)c->blob[5] + n * in_bytes, place, scratch, place);
    }
    free(scratch);
    return c->bytes[6];
}

static uint32_t run_add_s8(const struct test_case *c, void **result)
{
    return run_addition(c, result, snapuq_add_s8);
}

static uint32_t run_sub_s8(const struct test_case *c, void **result)
{
    return run_addition(c, result, snapuq_sub_s8);
}

/* layer fields in order, the multiplier as mantissa and shift | x1, x2 */
static uint32_t run_mul_s8(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_mul_s8 layer = {
        .length = s[0],
        .in1_length = s[1],
        .in2_length = s[2],
        .in1_zero_point = s[3],
        .in2_zero_point = s[4],
        .multiplier = {s[5], s[6]},
        .out_zero_point = s[7],
        .min = s[8],
        .max = s[9],
    };
    int8_t *output = *result = allocate((uint32_t)layer.length);
    snapuq_mul_s8(&layer, in_place(c, output, layer.length), c->blob[2], output);
    return (uint32_t)layer.length;
}

/* positions, classes | x, exp_q31 */
static uint32_t run_softmax_s8(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_softmax_s8 layer = {s[0], s[1], c->blob[2]};
    int8_t *output = *result = allocate(c->bytes[1]);
    const int8_t *input = in_place(c, output, (int32_t)c->bytes[1]);
    for (uint32_t start = 0; start < c->bytes[1]; start += (uint32_t)(s[0] * s[1])) {
        snapuq_softmax_s8(&layer, input + start, output + start);
    }
    return c->bytes[1];
}

/* no scalars | x, table */
static uint32_t run_lut_s8(const struct test_case *c, void **result)
{
    const struct snapuq_lut_s8 layer = {(int32_t)c->bytes[1], c->blob[2]};
    int8_t *output = *result = allocate(c->bytes[1]);
    snapuq_lut_s8(&layer, in_place(c, output, layer.length), output);
    return c->bytes[1];
}

/* limit | x */
static uint32_t run_clip_s8(const struct test_case *c, void **result)
{
    const struct snapuq_clip_s8 layer = {(int32_t)c->bytes[1], *(const int32_t *)c->blob[0]};
    int8_t *output = *result = allocate(c->bytes[1]);
    snapuq_clip_s8(&layer, in_place(c, output, layer.length), output);
    return c->bytes[1];
}

/* length, kept, zero_point | x */
static uint32_t run_ash_s8(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_ash_s8 layer = {s[0], s[1], s[2]};
    int8_t *output = *result = allocate(c->bytes[1]);
    const int8_t *input = in_place(c, output, (int32_t)c->bytes[1]);
    for (uint32_t start = 0; start < c->bytes[1]; start += (uint32_t)layer.length) {
        snapuq_ash_s8(&layer, input + start, output + start);
    }
    return c->bytes[1];
}

/* from, length, to | memory; the result is the memory afterwards */
static uint32_t run_move_s8(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    int8_t *memory = *result = allocate(c->bytes[1]);
    memcpy(memory, c->blob[1], c->bytes[1]);
    if (snapuq_move_s8(memory + s[0], s[1], memory + s[2]) != memory + s[2]) {
        fail("a move says that it went elsewhere");
    }
    return c->bytes[1];
}

static struct snapuq_copy_s8 copy_from(const int32_t *s)
{
    return (struct snapuq_copy_s8){
        .count = {s[0], s[1], s[2], s[3]},
        .in_step = {s[4], s[5], s[6], s[7]},
        .out_step = {s[8], s[9], s[10], s[11]},
        .in_start = s[12],
        .out_start = s[13],
    };
}

/* layer fields in order, bytes of the output | x */
static uint32_t run_copy_s8(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_copy_s8 layer = copy_from(s);
    snapuq_copy_s8(&layer, c->blob[1], *result = allocate((uint32_t)s[14]));
    return (uint32_t)s[14];
}

/* fields of each copy in order, bytes of the output | x per copy */
static uint32_t run_concatenation_s8(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const int32_t inputs = (int32_t)c->blobs - 1;
    struct snapuq_copy_s8 copies[BLOBS_MAX];
    const int8_t *from[BLOBS_MAX];
    for (int32_t k = 0; k < inputs; ++k, s += 14) {
        copies[k] = copy_from(s);
        from[k] = c->blob[1 + k];
    }
    const struct snapuq_concatenation_s8 layer = {inputs, copies};
    snapuq_concatenation_s8(&layer, from, *result = allocate((uint32_t)*s));
    return (uint32_t)*s;
}

/* length, value, fields of copy in order | x */
static uint32_t run_pad_s8(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_pad_s8 layer = {s[0], s[1], copy_from(s + 2)};
    snapuq_pad_s8(&layer, c->blob[1], *result = allocate((uint32_t)s[0]));
    return (uint32_t)s[0];
}

/* in_w, channels, out_h, out_w | row, column, x */
static uint32_t run_resize_nearest_s8(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_resize_nearest_s8 layer = {s[0], s[1], s[2], s[3], c->blob[1], c->blob[2]};
    const uint32_t bytes = (uint32_t)(layer.out_h * layer.out_w * layer.channels);
    snapuq_resize_nearest_s8(&layer, c->blob[3], *result = allocate(bytes));
    return bytes;
}

/* zero_point | scale, x */
static uint32_t run_quantize_f32_s8(const struct test_case *c, void **result)
{
    const int32_t length = (int32_t)(c->bytes[2] / sizeof(float));
    const struct snapuq_quantize_f32_s8 layer = {
        length, *(const float *)c->blob[1], *(const int32_t *)c->blob[0]};
    snapuq_quantize_f32_s8(&layer, c->blob[2], *result = allocate((uint32_t)length));
    return (uint32_t)length;
}

/* zero_point | scale, x */
static uint32_t run_dequantize_s8_f32(const struct test_case *c, void **result)
{
    const struct snapuq_dequantize_s8_f32 layer = {
        (int32_t)c->bytes[2], *(const float *)c->blob[1], *(const int32_t *)c->blob[0]};
    const uint32_t bytes = c->bytes[2] * (uint32_t)sizeof(float);
    snapuq_dequantize_s8_f32(&layer, c->blob[2], *result = allocate(bytes));
    return bytes;
}

typedef void summing(const int8_t *input, int32_t positions, int32_t channels,
                     int32_t zero_point, int32_t *sum);

/* positions, channels, zero_point | x; values: that a channel is pooled to */
static uint32_t run_summing(const struct test_case *c, void **result, summing *kernel,
                            uint32_t values)
{
    const int32_t *s = c->blob[0];
    const uint32_t in_bytes = (uint32_t)(s[0] * s[1]), length = values * (uint32_t)s[1];
    const uint32_t batch = c->bytes[1] / in_bytes;
    int32_t *sum = *result = allocate(batch * length * sizeof *sum);
    for (uint32_t n = 0; n < batch; ++n) {
        kernel((const int8_t *)c->blob[1] + n * in_bytes, s[0], s[1], s[2], sum + n * length);
    }
    return batch * length * (uint32_t)sizeof *sum;
}

static uint32_t run_pool_sum_s8(const struct test_case *c, void **result)
{
    return run_summing(c, result, snapuq_pool_sum_s8, 1);
}

static uint32_t run_pool_moments_s8(const struct test_case *c, void **result)
{
    return run_summing(c, result, snapuq_pool_moments_s8, 2);
}

/* mantissa, shift | values */
static uint32_t run_requantize(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0], *value = c->blob[1];
    int32_t *output = *result = allocate(c->bytes[1]);
    for (uint32_t n = 0; n < c->bytes[1] / sizeof *value; ++n) {
        output[n] = snapuq_requantize(value[n], s[0], s[1]);
    }
    return c->bytes[1];
}

/* in_channels, channels, components, rank, before.shift, after.shift, latent, mean, xi,
 * class_scale (mantissa, shift each), xi_zero_point | before.mantissa, before.offset,
 * after.mantissa, after.offset, projector, mean_weights, xi_weights, xi_bias, inverse_sigma_q9,
 * class_mean, sum_before, sum_after, predicted -> u_q12, inverse_sigma_q9, latent as int32 */
static uint32_t run_residual_s8(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_head_s8 head = {
        .in_channels = s[0],
        .channels = s[1],
        .components = s[2],
        .rank = s[3],
        .before = {c->blob[1], c->blob[2], s[4]},
        .after = {c->blob[3], c->blob[4], s[5]},
        .projector = c->blob[5],
        .latent = {s[6], s[7]},
        .mean_weights = c->blob[6],
        .mean = {s[8], s[9]},
        .xi_weights = c->blob[7],
        .xi_bias = c->blob[8],
        .xi = {s[10], s[11]},
        .xi_zero_point = s[14],
        .inverse_sigma_q9 = c->blob[9],
        .class_mean = c->bytes[10] ? c->blob[10] : NULL,
        .class_scale = {s[12], s[13]},
    };
    const int32_t *before = c->blob[11], *after = c->blob[12], *predicted = c->blob[13];
    const uint32_t batch = c->bytes[13] / sizeof *predicted;
    const uint32_t rows = (uint32_t)(head.components * head.channels);
    const uint32_t inputs = (uint32_t)(head.rank ? head.rank : head.in_channels);
    int16_t *scratch =
        allocate((size_t)SNAPUQ_RESIDUAL_SCRATCH(head.in_channels, head.rank) * sizeof *scratch);
    const int16_t *latent = scratch;
    uint16_t *inverse_sigma = allocate(rows * sizeof *inverse_sigma);
    int32_t *alone = allocate(rows * sizeof *alone);
    const uint32_t bytes = batch * (2 * rows + inputs) * (uint32_t)sizeof(int32_t);
    int32_t *output = *result = allocate(bytes);
    for (uint32_t n = 0; n < batch; ++n, before += s[0], after += s[1]) {
        snapuq_residual_s8(&head, before, after, predicted[n], scratch, alone, NULL);
        snapuq_residual_s8(&head, before, after, predicted[n], scratch, output, inverse_sigma);
        if (memcmp(alone, output, rows * sizeof *alone)) {
            fail("residuals depend on who looks at the deviations");
        }
        output += rows;
        for (uint32_t i = 0; i < rows; ++i) {
            *output++ = inverse_sigma[i];
        }
        for (uint32_t i = 0; i < inputs; ++i) {
            *output++ = latent[i];
        }
    }
    free(scratch);
    free(inverse_sigma);
    free(alone);
    return bytes;
}

/* An energy of row n of a case: u_q12 is blob 1, channels the first scalar. */
typedef uint32_t energy_of(const struct test_case *c, const int32_t *u_q12, uint32_t n);

static uint32_t run_energy(const struct test_case *c, void **result, uint32_t rows,
                           energy_of *energy)
{
    const int32_t *u_q12 = c->blob[1];
    const uint32_t batch = c->bytes[1] / rows / sizeof *u_q12;
    uint32_t *output = *result = allocate(batch * sizeof *output);
    for (uint32_t n = 0; n < batch; ++n) {
        output[n] = energy(c, u_q12 + n * rows, n);
    }
    return batch * (uint32_t)sizeof *output;
}

static uint32_t channels_of(const struct test_case *c)
{
    return (uint32_t)*(const int32_t *)c->blob[0];
}

static uint32_t gaussian(const struct test_case *c, const int32_t *u_q12, uint32_t n)
{
    (void)n;
    return snapuq_energy_gaussian_q16(u_q12, (int32_t)channels_of(c));
}

/* channels | u_q12 */
static uint32_t run_energy_gaussian_q16(const struct test_case *c, void **result)
{
    return run_energy(c, result, channels_of(c), gaussian);
}

static uint32_t student_t(const struct test_case *c, const int32_t *u_q12, uint32_t n)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_energy_student_t energy = {s[1], s[2], c->blob[2]};
    (void)n;
    return snapuq_energy_student_t_q16(&energy, u_q12, s[0]);
}

/* channels, inverse_nu_q18, nu_plus_1_q16 | u_q12, log2_q15 */
static uint32_t run_energy_student_t_q16(const struct test_case *c, void **result)
{
    return run_energy(c, result, channels_of(c), student_t);
}

static uint32_t huber(const struct test_case *c, const int32_t *u_q12, uint32_t n)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_energy_huber energy = {s[1]};
    (void)n;
    return snapuq_energy_huber_q16(&energy, u_q12, s[0]);
}

/* channels, delta_q12 | u_q12 */
static uint32_t run_energy_huber_q16(const struct test_case *c, void **result)
{
    return run_energy(c, result, channels_of(c), huber);
}

static uint32_t lowrank(const struct test_case *c, const int32_t *u_q12, uint32_t n)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_energy_lowrank energy = {s[1], c->blob[3]};
    const uint16_t *inverse_sigma = (const uint16_t *)c->blob[2] + n * (uint32_t)s[0];
    float *scratch = allocate((size_t)SNAPUQ_LOWRANK_SCRATCH(s[1]) * sizeof *scratch);
    const uint32_t e = snapuq_energy_lowrank_f32(&energy, u_q12, inverse_sigma, s[0], scratch);
    free(scratch);
    return e;
}

/* channels, factors | u_q12, inverse_sigma_q9, factor */
static uint32_t run_energy_lowrank_f32(const struct test_case *c, void **result)
{
    return run_energy(c, result, channels_of(c), lowrank);
}

static uint32_t mixture(const struct test_case *c, const int32_t *u_q12, uint32_t n)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_energy_mixture energy = {
        s[1], s[2], c->blob[4], c->blob[5], {s[3], s[4]}, c->blob[6]};
    const uint16_t *inverse_sigma = (const uint16_t *)c->blob[2] + n * (uint32_t)(s[0] * s[1]);
    const int16_t *latent = (const int16_t *)c->blob[3] + n * (uint32_t)s[2];
    return snapuq_energy_mixture_q16(&energy, u_q12, inverse_sigma, s[0], latent);
}

/* channels, components, inputs, logit (mantissa, shift) | u_q12, inverse_sigma_q9, latent,
 * weights, bias, log2_q15 */
static uint32_t run_energy_mixture_q16(const struct test_case *c, void **result)
{
    const uint32_t components = (uint32_t)((const int32_t *)c->blob[0])[1];
    return run_energy(c, result, components * channels_of(c), mixture);
}

/* no scalars | values */
static uint32_t run_exp_q16(const struct test_case *c, void **result)
{
    const uint64_t *value = c->blob[1];
    const uint32_t batch = c->bytes[1] / sizeof *value;
    uint32_t *output = *result = allocate(batch * sizeof *output);
    for (uint32_t n = 0; n < batch; ++n) {
        output[n] = snapuq_exp_q16(value[n]);
    }
    return batch * (uint32_t)sizeof *output;
}

/* channels, rank, classes, input.shift, shift | input.mantissa, input.offset, whitening,
 * mantissa, centre, sum, answer -> own_q16, next_q16 each */
static uint32_t run_mahalanobis_s8(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0], *sum = c->blob[6];
    const struct snapuq_mahalanobis_s8 head = {
        .channels = s[0],
        .rank = s[1],
        .classes = s[2],
        .input = {c->blob[1], c->blob[2], s[3]},
        .whitening = c->blob[3],
        .mantissa = c->blob[4],
        .shift = s[4],
        .centre = c->blob[5],
    };
    const uint32_t batch = c->bytes[6] / (uint32_t)s[0] / sizeof *sum;
    int16_t *scratch =
        allocate((size_t)SNAPUQ_MAHALANOBIS_SCRATCH(head.channels, head.rank) * sizeof *scratch);
    const int32_t *answer = c->blob[7];
    struct snapuq_distances *output = *result = allocate(batch * sizeof *output);
    for (uint32_t n = 0; n < batch; ++n) {
        output[n] = snapuq_mahalanobis_s8(&head, sum + n * (uint32_t)s[0], answer[n], scratch);
    }
    free(scratch);
    return batch * (uint32_t)sizeof *output;
}

/* taps | weight_q16, surprisal_q16 */
static uint32_t run_score_q16(const struct test_case *c, void **result)
{
    const int32_t taps = *(const int32_t *)c->blob[0];
    const uint32_t *surprisal = c->blob[2];
    const uint32_t batch = c->bytes[2] / (uint32_t)taps / sizeof *surprisal;
    uint32_t *output = *result = allocate(batch * sizeof *output);
    for (uint32_t n = 0; n < batch; ++n) {
        output[n] = snapuq_score_q16(surprisal + n * (uint32_t)taps, c->blob[1], taps);
    }
    return batch * (uint32_t)sizeof *output;
}

/* no scalars | log2_q15, values -> ln_q16, ln_of_q16 each */
static uint32_t run_ln_q16(const struct test_case *c, void **result)
{
    const uint32_t *value = c->blob[2];
    const uint32_t batch = c->bytes[2] / sizeof *value;
    int32_t *output = *result = allocate(2 * batch * sizeof *output);
    for (uint32_t n = 0; n < batch; ++n) {
        output[2 * n] = snapuq_ln_q16(value[n], c->blob[1]);
        output[2 * n + 1] = snapuq_ln_of_q16(value[n], c->blob[1]);
    }
    return 2 * batch * (uint32_t)sizeof *output;
}

/* no scalars | tail_q16, values */
static uint32_t run_sigmoid_q16(const struct test_case *c, void **result)
{
    const int64_t *value = c->blob[2];
    const uint32_t batch = c->bytes[2] / sizeof *value;
    uint32_t *output = *result = allocate(batch * sizeof *output);
    for (uint32_t n = 0; n < batch; ++n) {
        output[n] = snapuq_sigmoid_q16(value[n], c->blob[1]);
    }
    return batch * (uint32_t)sizeof *output;
}

/* classes, step_q16, alpha_q16 | exp_q15, log2_q15, logits
 * -> argmax, error_logit_q16, doubt_q16, energy_q16 each */
static uint32_t run_confidence(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_confidence confidence = {s[0], s[1], c->blob[1]};
    const uint32_t batch = c->bytes[3] / (uint32_t)s[0];
    int32_t *output = *result = allocate(4 * batch * sizeof *output);
    for (uint32_t n = 0; n < batch; ++n) {
        const int8_t *logits = (const int8_t *)c->blob[3] + n * (uint32_t)s[0];
        const int32_t predicted = snapuq_argmax_s8(logits, s[0]);
        output[4 * n] = predicted;
        output[4 * n + 1] = snapuq_error_logit_q16(&confidence, logits, predicted, c->blob[2]);
        output[4 * n + 2] =
            (int32_t)snapuq_doubt_q16(&confidence, logits, predicted, (uint32_t)s[2]);
        output[4 * n + 3] = snapuq_free_energy_q16(&confidence, logits, predicted, c->blob[2]);
    }
    return 4 * batch * (uint32_t)sizeof *output;
}

/* classes, step_q24 | logits */
static uint32_t run_probability_q16(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const uint32_t classes = (uint32_t)s[0], logits = c->bytes[1];
    uint32_t *output = *result = allocate(logits * sizeof *output);
    for (uint32_t n = 0; n < logits; n += classes) {
        snapuq_probability_q16((const int8_t *)c->blob[1] + n, s[0], (uint32_t)s[1], output + n);
    }
    return logits * (uint32_t)sizeof *output;
}

/* classes | log2_q15, probability_q16 */
static uint32_t run_entropy_q16(const struct test_case *c, void **result)
{
    const int32_t classes = *(const int32_t *)c->blob[0];
    const uint32_t *probability = c->blob[2];
    const uint32_t batch = c->bytes[2] / (uint32_t)classes / sizeof *probability;
    uint32_t *output = *result = allocate(batch * sizeof *output);
    for (uint32_t n = 0; n < batch; ++n) {
        output[n] = snapuq_entropy_q16(probability + n * (uint32_t)classes, classes, c->blob[1]);
    }
    return batch * (uint32_t)sizeof *output;
}

/* members, classes | value_q16; every second average is written over its first member */
static uint32_t run_average_q16(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const uint32_t members = (uint32_t)s[0], classes = (uint32_t)s[1];
    uint32_t *value = c->blob[1];
    const uint32_t batch = c->bytes[1] / members / classes / sizeof *value;
    uint32_t *output = *result = allocate(batch * classes * sizeof *output);
    for (uint32_t n = 0; n < batch; ++n) {
        uint32_t *mine = value + n * members * classes, *average = output + n * classes;
        snapuq_average_q16(mine, s[0], s[1], n % 2 ? mine : average);
        if (n % 2) {
            memcpy(average, mine, classes * sizeof *average);
        }
    }
    return batch * classes * (uint32_t)sizeof *output;
}

/* b0, b2, gates | slope_q16, theta_q16, tail_q16, input_q16, error_logit_q16 */
static uint32_t run_map_gated_q16(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0], *input = c->blob[4], *error_logit = c->blob[5];
    const struct snapuq_map_gated map = {s[0], s[1], s[2], c->blob[1], c->blob[2], c->blob[3]};
    uint32_t *output = *result = allocate(c->bytes[5]);
    for (uint32_t n = 0; n < c->bytes[5] / sizeof *error_logit; ++n) {
        output[n] = snapuq_map_gated_q16(&map, input + n * (uint32_t)map.gates, error_logit[n]);
    }
    return c->bytes[5];
}

/* b0, b2, familiar, taps, others | slope_q16, theta_q16, inverse_cap_q16, also_q16, offset_q16,
 * strange_offset_q16, tail_q16, input_q16, error_logit_q16, answer */
static uint32_t run_map_class_gated_q16(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0], *input = c->blob[8], *error_logit = c->blob[9];
    const int32_t *answer = c->blob[10];
    const struct snapuq_map_class_gated map = {
        .b0_q16 = s[0],
        .b2_q16 = s[1],
        .familiar_q16 = s[2],
        .taps = s[3],
        .others = s[4],
        .slope_q16 = c->blob[1],
        .theta_q16 = c->blob[2],
        .inverse_cap_q16 = c->blob[3],
        .also_q16 = c->blob[4],
        .offset_q16 = c->blob[5],
        .strange_offset_q16 = c->blob[6],
        .tail_q16 = c->blob[7],
    };
    const uint32_t width = (uint32_t)(map.taps + map.others);
    uint32_t *output = *result = allocate(c->bytes[9]);
    for (uint32_t n = 0; n < c->bytes[9] / sizeof *error_logit; ++n) {
        output[n] =
            snapuq_map_class_gated_q16(&map, input + n * width, error_logit[n], answer[n]);
    }
    return c->bytes[9];
}

/* units, inputs, classes, start | out_q16, weight_q16, bias_q16, input_q16, answer */
static uint32_t run_hidden_q16(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0], *input = c->blob[4], *answer = c->blob[5];
    const struct snapuq_hidden layer = {s[0], s[1], s[2], c->blob[1], c->blob[2], c->blob[3]};
    int32_t *output = *result = allocate(c->bytes[5]);
    for (uint32_t n = 0; n < c->bytes[5] / sizeof *answer; ++n) {
        output[n] =
            snapuq_hidden_q16(&layer, s[3], input + n * (uint32_t)layer.inputs, answer[n]);
    }
    return c->bytes[5];
}

/* b0, b1, b2 | tail_q16, score_q16, doubt_q16 */
static uint32_t run_map_logistic_q16(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_map_logistic map = {s[0], s[1], s[2], c->blob[1]};
    const uint32_t *score = c->blob[2], *doubt = c->blob[3];
    uint32_t *output = *result = allocate(c->bytes[2]);
    for (uint32_t n = 0; n < c->bytes[2] / sizeof *score; ++n) {
        output[n] = snapuq_map_logistic_q16(&map, score[n], doubt[n]);
    }
    return c->bytes[2];
}

/* gamma_q16, breakpoints | breakpoint_q16, value_q16, score_q16, doubt_q16 */
static uint32_t run_map_isotonic_q16(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_map_isotonic map = {(uint32_t)s[0], s[1], c->blob[1], c->blob[2]};
    const uint32_t *score = c->blob[3], *doubt = c->blob[4];
    uint32_t *output = *result = allocate(c->bytes[3]);
    for (uint32_t n = 0; n < c->bytes[3] / sizeof *score; ++n) {
        output[n] = snapuq_map_isotonic_q16(&map, score[n], doubt[n]);
    }
    return c->bytes[3];
}

/* budget, eta, kappa, threshold | uncertainty_q16 -> abstain, rate, threshold each */
static uint32_t run_budget_q24(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const struct snapuq_budget budget = {s[0], s[1], s[2], s[3]};
    const uint32_t *uncertainty = c->blob[1];
    struct snapuq_budget_state state;
    int32_t *output = *result = allocate(3 * c->bytes[1]);
    snapuq_budget_start(&budget, &state);
    for (uint32_t n = 0; n < c->bytes[1] / sizeof *uncertainty; ++n) {
        output[3 * n] = snapuq_budget_step(&budget, &state, uncertainty[n]);
        output[3 * n + 1] = state.rate_q24;
        output[3 * n + 2] = state.threshold_q24;
    }
    return 3 * c->bytes[1];
}

/* scalars | edge_q16 | gain_q16 | log2_q15 | value_q16 | uncertainty_q16 | what comes before each
 * frame: nothing, a clear, a
 * baseline, a state that no stream leaves -> eight members of the state each */
static uint32_t run_alarm(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    struct snapuq_alarm alarm = {
        .detector = (uint32_t)s[0],
        .threshold_q16 = s[1],
        .clear_q16 = s[2],
        .start_q16 = s[3],
        .offset_q16 = s[4],
        .limit_q16 = s[5],
        .baseline = (uint32_t)s[6],
        .confidence_q16 = s[7],
    };
    memcpy(alarm.edge_q16, c->blob[1], sizeof alarm.edge_q16);
    memcpy(alarm.gain_q16, c->blob[2], sizeof alarm.gain_q16);
    const uint32_t *value = c->blob[4], *uncertainty = c->blob[5], *before = c->blob[6];
    const uint32_t frames = c->bytes[4] / sizeof *value;
    struct snapuq_alarm_state state;
    int32_t *output = *result = allocate(8 * c->bytes[4]);
    snapuq_alarm_start(&alarm, &state);
    for (uint32_t n = 0; n < frames; ++n, output += 8) {
        if (before[n] == 1) {
            snapuq_alarm_clear(&alarm, &state);
        } else if (before[n] == 2) {
            snapuq_alarm_baseline(&alarm, &state);
        } else if (before[n] == 3) {
            const struct snapuq_alarm_state kept = {
                INT32_MAX, INT32_MIN, 5, UINT32_MAX, 7, UINT16_MAX, 9, 11, 200, {0x21, 0x43},
            };
            snapuq_alarm_resume(&alarm, &state, &kept);
        }
        output[0] = snapuq_alarm_step(&alarm, &state, value[n], uncertainty[n], c->blob[3]);
        output[1] = state.statistic_q16;
        output[2] = state.offset_q16;
        output[3] = (int32_t)state.frames;
        output[4] = (int32_t)state.right_q24;
        output[5] = (int32_t)state.baseline_sum_q16;
        output[6] = state.baseline_left;
        output[7] = state.alarms;
    }
    return 8 * c->bytes[4];
}

/* capacity | value_q16 -> of each frame: whether it is kept, how many are, the free place, and the
 * place of each, or -1 */
static uint32_t run_evidence(const struct test_case *c, void **result)
{
    const uint32_t capacity = *(const uint32_t *)c->blob[0];
    const uint32_t *value = c->blob[1];
    const uint32_t frames = c->bytes[1] / sizeof *value, width = 3 + capacity;
    struct snapuq_kept *kept = allocate((capacity + 1) * sizeof *kept);
    struct snapuq_evidence evidence;
    int32_t *output = *result = allocate(4 * width * frames);
    snapuq_evidence_start(&evidence, kept, capacity);
    for (uint32_t n = 0; n < frames; ++n, output += width) {
        const struct snapuq_kept offered = {.value_q16 = value[n], .frame = n};
        output[0] = snapuq_evidence_offer(&evidence, &offered);
        output[1] = (int32_t)evidence.count;
        output[2] = (int32_t)evidence.free;
        for (uint32_t i = 0; i < capacity; ++i) {
            output[3 + i] = i < evidence.count ? (int32_t)kept[i].place : -1;
        }
    }
    free(kept);
    return 4 * width * frames;
}

/* settings check, device low, high, time, frames of a record at most, alarm kept | model id |
 * uncertainty_q16 | foreign_q16 | abstain | foreign | alarms of the state | on | baseline left |
 * right_q24 -> the records back to back, then what each frame returned */
static uint32_t run_telemetry(const struct test_case *c, void **result)
{
    const int32_t *s = c->blob[0];
    const uint64_t device = (uint64_t)(uint32_t)s[2] << 32 | (uint32_t)s[1];
    const uint32_t *uncertainty = c->blob[2], *foreign_q16 = c->blob[3], *right = c->blob[9];
    const int32_t *abstain = c->blob[4], *foreign = c->blob[5], *alarms = c->blob[6];
    const int32_t *on = c->blob[7], *left = c->blob[8];
    const uint32_t frames = c->bytes[2] / sizeof *uncertainty, each = (uint32_t)s[4];
    const uint32_t bytes = ((frames - 1) / each + 1) * SNAPUQ_TELEMETRY_BYTES;
    struct snapuq_alarm_state state = {0};
    const struct snapuq_alarm_state *const seen = s[5] ? &state : NULL;
    struct snapuq_telemetry telemetry;
    uint8_t *output = *result = allocate(bytes + frames), *record = output;
    snapuq_telemetry_start(&telemetry, (uint32_t)s[3], seen);
    for (uint32_t n = 0; n < frames; ++n) {
        if (n && n % each == 0) {
            snapuq_telemetry_record(&telemetry, c->blob[1], (uint32_t)s[0], device, record);
            snapuq_telemetry_next(&telemetry, (uint32_t)s[3] + n);
            record += SNAPUQ_TELEMETRY_BYTES;
        }
        state.alarms = (uint16_t)alarms[n];
        state.on = (uint8_t)on[n];
        state.baseline_left = (uint16_t)left[n];
        state.right_q24 = right[n];
        output[bytes + n] = (uint8_t)snapuq_telemetry_add(&telemetry, uncertainty[n], abstain[n],
                                                          foreign_q16[n], foreign[n], seen);
    }
    snapuq_telemetry_record(&telemetry, c->blob[1], (uint32_t)s[0], device, record);
    return bytes + frames;
}

/* The number of a kernel in a case file is its place here; tests/golden/c_runner.py reads
 * this list. */
static uint32_t (*const kernels[])(const struct test_case *c, void **result) = {
    run_requantize,
    run_conv_s8,
    run_depthwise_conv_s8,
    run_fully_connected_s8,
    run_mean_s8,
    run_average_pool_s8,
    run_max_pool_s8,
    run_add_s8,
    run_conv_add_s8,
    run_sub_s8,
    run_mul_s8,
    run_softmax_s8,
    run_lut_s8,
    run_clip_s8,
    run_ash_s8,
    run_move_s8,
    run_copy_s8,
    run_concatenation_s8,
    run_pad_s8,
    run_resize_nearest_s8,
    run_quantize_f32_s8,
    run_dequantize_s8_f32,
    run_pool_sum_s8,
    run_pool_moments_s8,
    run_residual_s8,
    run_energy_gaussian_q16,
    run_energy_student_t_q16,
    run_energy_huber_q16,
    run_energy_lowrank_f32,
    run_energy_mixture_q16,
    run_exp_q16,
    run_mahalanobis_s8,
    run_score_q16,
    run_ln_q16,
    run_sigmoid_q16,
    run_confidence,
    run_probability_q16,
    run_entropy_q16,
    run_average_q16,
    run_map_gated_q16,
    run_map_class_gated_q16,
    run_hidden_q16,
    run_map_logistic_q16,
    run_map_isotonic_q16,
    run_budget_q24,
    run_alarm,
    run_evidence,
    run_telemetry,
};

int main(int argc, char **argv)
{
    FILE *cases = argc == 3 ? fopen(argv[1], "rb") : NULL;
    FILE *results = argc == 3 ? fopen(argv[2], "wb") : NULL;
    if (!cases || !results) {
        fail("usage: runner CASES RESULTS");
    }
    for (uint32_t left = read_u32(cases); left > 0; --left) {
        struct test_case c;
        c.kernel = read_u32(cases);
        c.blobs = read_u32(cases);
        if (c.kernel >= sizeof kernels / sizeof *kernels || c.blobs > BLOBS_MAX) {
            fail("malformed case");
        }
        for (uint32_t i = 0; i < c.blobs; ++i) {
            c.bytes[i] = read_u32(cases);
            c.blob[i] = allocate(c.bytes[i]);
            read_bytes(cases, c.blob[i], c.bytes[i]);
        }
        void *result = NULL;
        const uint32_t bytes = kernels[c.kernel](&c, &result);
        write_result(results, result, bytes);
        free(result);
        for (uint32_t i = 0; i < c.blobs; ++i) {
            free(c.blob[i]);
        }
    }
    fclose(cases);
    return fclose(results) ? 1 : 0;
}
