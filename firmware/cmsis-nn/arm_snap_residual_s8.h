/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* The residuals of a SNAP head in the manner of CMSIS-NN: its types, its DSP
 * helpers, its calling convention. Bit for bit the same as snapuq_residual_s8(),
 * whose header explains the arithmetic. A name that ends in _qN is a fixed-point
 * number with N fractional bits.
 */
#ifndef ARM_SNAP_RESIDUAL_S8_H
#define ARM_SNAP_RESIDUAL_S8_H

#include "arm_nn_types.h"

/* A pooled sum in standard deviations: requantize(sum[c], multiplier[c], shift) + offset. */
typedef struct
{
    const int32_t *multiplier; /* [channels] */
    const int32_t *offset;     /* [channels], or a row each */
    int32_t shift;
} arm_snap_standardize;

/* components * channels rows; row i predicts channel i % channels. in_channels and rank
 * are at most 256, channels at most 2048; weights lie in [-127, 127], shifts in [-30, 30]. */
typedef struct
{
    int32_t in_channels;
    int32_t channels;
    int32_t components;
    int32_t rank;                            /* 0: projector folded into the two heads */
    arm_snap_standardize before;             /* -> Q10, saturated to int16 */
    arm_snap_standardize after;              /* -> Q16 */
    const int8_t *projector;                 /* [rank][in_channels]; unused with rank 0 */
    cmsis_nn_per_tensor_quant_params latent; /* projector accumulator -> int16 */
    const int8_t *mean_weights;              /* [rows][rank ? rank : in_channels] */
    cmsis_nn_per_tensor_quant_params mean;   /* accumulator -> Q16 */
    const int8_t *xi_weights;                /* the shape of mean_weights */
    const int32_t *xi_bias;                  /* [rows], accumulator units */
    cmsis_nn_per_tensor_quant_params xi;     /* accumulator -> steps of the table */
    int32_t xi_offset;
    const uint16_t *inverse_sigma_q9;        /* [256], entry xi + 128 */
    const int8_t *class_mean;                /* [classes][channels]; NULL: none */
    cmsis_nn_per_tensor_quant_params class_scale; /* class_mean -> Q16 */
} arm_snap_residual_params;

/* Bytes at ctx->buf, aligned to 4, that arm_snap_residual_s8() needs. */
int32_t arm_snap_residual_s8_get_buffer_size(const arm_snap_residual_params *params);

/* (activation - mean) / sigma of each row.
 *
 * sum_before        [in_channels], pooled sums in front of the block
 * sum_after         [channels], pooled sums behind it
 * predicted         the class; only class_mean looks at it
 * u_q12             [rows]
 * inverse_sigma_q9  [rows], or NULL
 *
 * The latent stays at the start of the buffer.
 * Returns ARM_CMSIS_NN_ARG_ERROR without a buffer, else ARM_CMSIS_NN_SUCCESS. */
arm_cmsis_nn_status arm_snap_residual_s8(const cmsis_nn_context *ctx,
                                         const arm_snap_residual_params *params,
                                         const int32_t *sum_before,
                                         const int32_t *sum_after,
                                         const int32_t predicted,
                                         int32_t *u_q12,
                                         uint16_t *inverse_sigma_q9);

#endif
