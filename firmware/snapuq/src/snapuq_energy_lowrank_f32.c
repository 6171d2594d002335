/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq.h"

/* The order of operations is part of the result. gcc does not fuse multiply and add in a
 * standard mode of C (-std=c11); clang has to be told. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

/* seen^T inner^-1 seen by inner = L D L^T with a unit diagonal in L, which takes no roots.
 * inner is at least the identity, and so is D: what rounding takes away is given back. */
static float explained_of(float *inner, float *seen, int32_t k)
{
    float explained = 0.0f;
    for (int32_t j = 0; j < k; ++j) {
        const float found = inner[j * k + j];
        const float pivot = found < 1.0f ? 1.0f : found;
        explained += seen[j] * (seen[j] / pivot);
        for (int32_t row = j + 1; row < k; ++row) {
            const float ratio = inner[row * k + j] / pivot;
            seen[row] -= ratio * seen[j];
            for (int32_t column = j + 1; column <= row; ++column) {
                inner[row * k + column] -= ratio * inner[column * k + j];
            }
        }
    }
    return explained;
}

uint32_t snapuq_energy_lowrank_f32(const struct snapuq_energy_lowrank *energy,
                                   const int32_t *u_q12, const uint16_t *inverse_sigma_q9,
                                   int32_t channels, float *scratch)
{
    const int32_t k = energy->factors;
    float *const inner = scratch, *const seen = inner + k * k, *const scaled = seen + k;
    float total = 0.0f;

    for (int32_t j = 0; j < k; ++j) {
        seen[j] = 0.0f;
        for (int32_t l = 0; l <= j; ++l) {
            inner[j * k + l] = j == l ? 1.0f : 0.0f;
        }
    }
    for (int32_t i = 0; i < channels; ++i) {
        const float u = (float)u_q12[i] * 0x1p-12f;
        const float inverse_sigma = (float)inverse_sigma_q9[i] * 0x1p-9f;
        total += u * u;
        for (int32_t j = 0; j < k; ++j) {
            scaled[j] = energy->factor[i * k + j] * inverse_sigma;
            seen[j] += scaled[j] * u;
            for (int32_t l = 0; l <= j; ++l) {
                inner[j * k + l] += scaled[j] * scaled[l];
            }
        }
    }

    const float unexplained = total - explained_of(inner, seen, k);
    const float e = (unexplained > 0.0f ? unexplained : 0.0f) / (float)channels;
    return e < 0x1p15f ? (uint32_t)(e * 0x1p16f) : INT32_MAX;
}
