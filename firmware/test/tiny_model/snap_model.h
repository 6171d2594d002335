/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* A model by hand with the face of a generated one, small and fast, for tests of the
 * application around it. tests/unit/firmware/tiny_model.py computes the same.
 *
 * With s the sum of the input's bytes (0..255 each): class s mod 10, its logit 60, the others
 * -10 k; surprisals 16 s and 65536 - 16 s; U = b0 + b1 S between 0 and 1, F = 65536 - U. The
 * input lies in the middle of the arena, and a run overwrites all of it. Its alarm watches U and is
 * no part of its settings.
 */
#ifndef SNAP_MODEL_H
#define SNAP_MODEL_H

#include "snapuq.h"
#include "snapuq_probe.h"

#define SNAP_MODEL_ID "0123456789abcdef"
#ifndef SNAP_MODEL_CLASSES /* the golden vectors are those of 10 */
#define SNAP_MODEL_CLASSES 10
#endif
#define SNAP_MODEL_STEPS 4
#ifdef SNAP_MODEL_WITHOUT_HEADS
#define SNAP_MODEL_TAPS 0
#else
#define SNAP_MODEL_TAPS 2
#endif
#define SNAP_MODEL_ARENA_BYTES 64
#define SNAP_MODEL_ARENA_ALIGN 8
#define SNAP_MODEL_INPUT_BYTES 16
#ifndef SNAP_MODEL_INPUT_PIXELS
#define SNAP_MODEL_INPUT_PIXELS 0
#endif

static inline int8_t *snap_model_input(void *arena)
{
    return (int8_t *)arena + 24;
}

struct snap_model_result {
    int32_t predicted;
    uint32_t score_q16, uncertainty_q16;
    int32_t abstain;
    uint32_t foreign_q16;
    int32_t foreign;
    uint32_t surprisal_q16[SNAP_MODEL_TAPS > 0 ? SNAP_MODEL_TAPS : 1];
    int8_t logits[SNAP_MODEL_CLASSES];
};

/* SPEC.md, 3.6, without the tables at its end. */
struct snap_model_settings {
    uint32_t magic, bytes, check, replaces;
    uint8_t model_id[8];
    uint32_t layout;
    uint32_t threshold_q16;
    uint32_t controlled;
    struct snapuq_budget controller;
    uint32_t alpha_q16;
    uint32_t weight_q16[2];
    int32_t b0_q16, b1_q16, b2_q16;
    uint32_t foreign_threshold_q16;
};

#ifndef SNAP_MODEL_WITHOUT_HEADS
extern const struct snap_model_settings snap_model_settings;
int32_t snap_model_settings_fit(const struct snap_model_settings *settings);
void snap_model_start(const struct snap_model_settings *settings,
                      struct snapuq_budget_state *state);
int32_t snap_model_decide(const struct snap_model_settings *settings,
                          struct snapuq_budget_state *state,
                          const struct snap_model_result *result);
void snap_alarm_start_with(const struct snap_model_settings *settings,
                           struct snapuq_alarm_state *state);
void snap_alarm_resume_with(const struct snap_model_settings *settings,
                            struct snapuq_alarm_state *state,
                            const struct snapuq_alarm_state *kept);
void snap_alarm_clear_with(const struct snap_model_settings *settings,
                           struct snapuq_alarm_state *state);
void snap_alarm_baseline_with(const struct snap_model_settings *settings,
                              struct snapuq_alarm_state *state);
int32_t snap_telemetry_add(struct snapuq_telemetry *telemetry,
                           const struct snap_model_result *result,
                           const struct snapuq_alarm_state *alarm);
void snap_telemetry_record_with(const struct snap_model_settings *settings,
                                const struct snapuq_telemetry *telemetry, uint64_t device,
                                uint8_t *record);
int32_t snap_evidence_offer_with(const struct snap_model_settings *settings,
                                 struct snapuq_evidence *evidence,
                                 const struct snap_model_result *result, uint32_t frame);
int32_t snap_alarm_step_with(const struct snap_model_settings *settings,
                             struct snapuq_alarm_state *state,
                             const struct snap_model_result *result);
#endif
void snap_model_run(void *arena, struct snap_model_result *result);
void snap_model_profile(void *arena, const struct snap_model_settings *settings,
                        struct snap_model_result *result, const struct snapuq_probe *probe);
void snap_model_probability_q16(const struct snap_model_result *result,
                                uint32_t *probability_q16);

#endif
