/* The surprisal of a SNAP head in the manner of CMSIS-NN: its types, its DSP
 * helpers, its calling convention. Bit for bit the same as snapuq_surprisal_s8(),
 * whose header explains the arithmetic. A name that ends in _qN is a fixed-point
 * number with N fractional bits.
 */
#ifndef ARM_SNAP_SURPRISAL_S8_H
#define ARM_SNAP_SURPRISAL_S8_H

#include "arm_nn_types.h"

/* A pooled sum in standard deviations: requantize(sum[c], multiplier[c], shift) + offset[c]. */
typedef struct
{
    const int32_t *multiplier; /* [channels] */
    const int32_t *offset;     /* [channels] */
    int32_t shift;
} arm_snap_standardize;

/* Diagonal Gaussian head. in_channels and rank are at most 256, channels at most
 * 2048; weights lie in [-127, 127], shifts in [-30, 30]. */
typedef struct
{
    int32_t in_channels;
    int32_t channels;
    int32_t rank;                            /* 0: projector folded into the two heads */
    arm_snap_standardize before;             /* -> Q10, saturated to int16 */
    arm_snap_standardize after;              /* -> Q16 */
    const int8_t *projector;                 /* [rank][in_channels]; unused with rank 0 */
    cmsis_nn_per_tensor_quant_params latent; /* projector accumulator -> int16 */
    const int8_t *mean_weights;              /* [channels][rank ? rank : in_channels] */
    cmsis_nn_per_tensor_quant_params mean;   /* accumulator -> Q16 */
    const int8_t *xi_weights;                /* the shape of mean_weights */
    const int32_t *xi_bias;                  /* [channels], accumulator units */
    cmsis_nn_per_tensor_quant_params xi;     /* accumulator -> steps of the table */
    int32_t xi_offset;
    const uint16_t *inverse_sigma_q9;        /* [256], entry xi + 128 */
} arm_snap_surprisal_params;

/* Bytes at ctx->buf, aligned to 4, that arm_snap_surprisal_s8() needs. */
int32_t arm_snap_surprisal_s8_get_buffer_size(const arm_snap_surprisal_params *params);

/* Mean squared standardized residual, Q16, saturated to INT32_MAX.
 *
 * sum_before    [in_channels], pooled sums in front of the block
 * sum_after     [channels], pooled sums behind it
 *
 * Returns ARM_CMSIS_NN_ARG_ERROR without a buffer, else ARM_CMSIS_NN_SUCCESS. */
arm_cmsis_nn_status arm_snap_surprisal_s8(const cmsis_nn_context *ctx,
                                          const arm_snap_surprisal_params *params,
                                          const int32_t *sum_before,
                                          const int32_t *sum_after,
                                          uint32_t *surprisal_q16);

#endif
