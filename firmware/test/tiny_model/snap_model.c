/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snap_model.h"

#include <string.h>

#define ONE_Q16 65536
#define ONE_Q24 (1 << 24)
#define LOGIT_STEP_Q24 419430u /* 0.025 */

#ifndef TINY_MODEL_WORK /* turns of a loop for each unit of the first byte */
#define TINY_MODEL_WORK 0
#endif
#ifndef TINY_MODEL_LEAST /* and so many whatever it is */
#define TINY_MODEL_LEAST 0
#endif

#ifdef TINY_MODEL_OVERFLOW /* an input of nothing but 255 overflows the stack */
static uint32_t deep(volatile uint32_t level)
{
    volatile uint32_t frame[64] = {level};
    return level == 0 ? frame[1] : deep(level - 1) + frame[0];
}
#endif

static uint32_t sum_of(const uint8_t *bytes)
{
    const uint32_t work = TINY_MODEL_LEAST + (uint32_t)TINY_MODEL_WORK * bytes[0];
    uint32_t sum = 0;
    for (volatile uint32_t turn = 0; turn < work; turn++) {
    }
    for (int i = 0; i < SNAP_MODEL_INPUT_BYTES; i++) {
        sum += bytes[i];
    }
#ifdef TINY_MODEL_OVERFLOW
    if (sum == 255u * SNAP_MODEL_INPUT_BYTES) {
        sum = deep(100000);
    }
#endif
    return sum;
}

#ifndef SNAP_MODEL_WITHOUT_HEADS

const struct snap_model_settings snap_model_settings = {
    .magic = 0x53504E53, /* SNPS */
    .bytes = sizeof snap_model_settings,
    .check = 0x67483C64,
    .replaces = 0,
    .model_id = {0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF},
    .layout = 0x796E6974,
    .threshold_q16 = 40000,
    .controlled = 1,
    .controller = {ONE_Q24 / 4, ONE_Q24 / 5, ONE_Q24 / 10, 40000 << 8},
    .alpha_q16 = 0,
    .weight_q16 = {ONE_Q16, 0},
    .b0_q16 = 0,
    .b1_q16 = ONE_Q16,
    .b2_q16 = 0,
    .foreign_threshold_q16 = 60000,
};

static int32_t unit_q24(int32_t value)
{
    return value >= 0 && value <= ONE_Q24;
}

int32_t snap_model_settings_fit(const struct snap_model_settings *settings)
{
    const struct snap_model_settings *own = &snap_model_settings;
    return settings->magic == own->magic && settings->bytes == own->bytes &&
           memcmp(settings->model_id, own->model_id, sizeof own->model_id) == 0 &&
           settings->layout == own->layout && settings->threshold_q16 <= ONE_Q16 + 1 &&
           settings->controlled <= 1 && unit_q24(settings->controller.budget_q24) &&
           unit_q24(settings->controller.eta_q24) && unit_q24(settings->controller.kappa_q24) &&
           unit_q24(settings->controller.threshold_q24) && settings->weight_q16[0] <= ONE_Q16 &&
           settings->weight_q16[1] == ONE_Q16 - settings->weight_q16[0];
}

void snap_model_start(const struct snap_model_settings *settings,
                      struct snapuq_budget_state *state)
{
    const uint32_t still = settings->threshold_q16 < ONE_Q16 ? settings->threshold_q16 : ONE_Q16;
    *state = (struct snapuq_budget_state){0, (int32_t)still << 8};
    if (settings->controlled) {
        snapuq_budget_start(&settings->controller, state);
    }
}

int32_t snap_model_decide(const struct snap_model_settings *settings,
                          struct snapuq_budget_state *state,
                          const struct snap_model_result *result)
{
    return settings->controlled
               ? snapuq_budget_step(&settings->controller, state, result->uncertainty_q16)
               : result->abstain;
}

/* log2(1 + i / 256), Q15: a bit for each squaring. */
static uint16_t log2_q15[257];
static struct snapuq_alarm alarm = {
    .detector = SNAPUQ_ALARM_SUM,
    .threshold_q16 = 2 * ONE_Q16,
    .limit_q16 = ONE_Q16 / 2,
    .baseline = 8,
    .confidence_q16 = ONE_Q16,
};

static void make_tables(void)
{
    for (int32_t i = 0; i < SNAPUQ_ALARM_BINS; i++) {
        alarm.gain_q16[i] = (i - 7) * 8192;
        if (i > 0) {
            alarm.edge_q16[i - 1] = (uint32_t)i * 4096;
        }
    }
    for (uint32_t i = 0; i < 256; i++) {
        uint64_t x_q31 = (uint64_t)(256 + i) << 23;
        uint32_t l_q16 = 0;
        for (int bit = 0; bit < 16; bit++) {
            x_q31 = x_q31 * x_q31 >> 31;
            const uint32_t one = x_q31 >= UINT64_C(1) << 32;
            x_q31 >>= one;
            l_q16 = 2 * l_q16 + one;
        }
        log2_q15[i] = (uint16_t)((l_q16 + 1) / 2);
    }
    log2_q15[256] = 1 << 15;
}

void snap_alarm_start_with(const struct snap_model_settings *settings,
                           struct snapuq_alarm_state *state)
{
    (void)settings;
    make_tables();
    snapuq_alarm_start(&alarm, state);
}

void snap_alarm_resume_with(const struct snap_model_settings *settings,
                            struct snapuq_alarm_state *state,
                            const struct snapuq_alarm_state *kept)
{
    (void)settings;
    snapuq_alarm_resume(&alarm, state, kept);
}

void snap_alarm_clear_with(const struct snap_model_settings *settings,
                           struct snapuq_alarm_state *state)
{
    (void)settings;
    snapuq_alarm_clear(&alarm, state);
}

void snap_alarm_baseline_with(const struct snap_model_settings *settings,
                              struct snapuq_alarm_state *state)
{
    (void)settings;
    snapuq_alarm_baseline(&alarm, state);
}

int32_t snap_alarm_step_with(const struct snap_model_settings *settings,
                             struct snapuq_alarm_state *state,
                             const struct snap_model_result *result)
{
    (void)settings;
    return snapuq_alarm_step(&alarm, state, result->uncertainty_q16, result->uncertainty_q16,
                             log2_q15);
}

int32_t snap_telemetry_add(struct snapuq_telemetry *telemetry,
                           const struct snap_model_result *result,
                           const struct snapuq_alarm_state *alarm)
{
    return snapuq_telemetry_add(telemetry, result->uncertainty_q16, result->abstain,
                                result->foreign_q16, result->foreign, alarm);
}

void snap_telemetry_record_with(const struct snap_model_settings *settings,
                                const struct snapuq_telemetry *telemetry, uint64_t device,
                                uint8_t *record)
{
    snapuq_telemetry_record(telemetry, settings->model_id, settings->check, device, record);
}

int32_t snap_evidence_offer_with(const struct snap_model_settings *settings,
                                 struct snapuq_evidence *evidence,
                                 const struct snap_model_result *result, uint32_t frame)
{
    (void)settings;
    const struct snapuq_kept offered = {
        result->uncertainty_q16, frame, result->uncertainty_q16, result->foreign_q16,
        result->predicted,       0,
    };
    return snapuq_evidence_offer(evidence, &offered);
}

static void judge(uint32_t sum, const struct snap_model_settings *settings,
                  struct snap_model_result *result)
{
    result->surprisal_q16[0] = 16 * sum;
    result->surprisal_q16[1] = ONE_Q16 - 16 * sum;
    result->score_q16 =
        snapuq_score_q16(result->surprisal_q16, settings->weight_q16, SNAP_MODEL_TAPS);
    const int64_t u = settings->b0_q16 + (((int64_t)settings->b1_q16 * result->score_q16) >> 16);
    result->uncertainty_q16 = u < 0 ? 0 : u > ONE_Q16 ? ONE_Q16 : (uint32_t)u;
    result->abstain = result->uncertainty_q16 >= settings->threshold_q16;
    result->foreign_q16 = ONE_Q16 - result->uncertainty_q16;
    result->foreign = result->foreign_q16 >= settings->foreign_threshold_q16;
}

#endif

void snap_model_profile(void *arena, const struct snap_model_settings *settings,
                        struct snap_model_result *result, const struct snapuq_probe *probe)
{
    const uint32_t sum = sum_of((const uint8_t *)snap_model_input(arena));
    memset(arena, (int)sum, SNAP_MODEL_ARENA_BYTES);
    snapuq_mark(probe, 0);
    memset(result, 0, sizeof *result);
    result->predicted = (int32_t)(sum % SNAP_MODEL_CLASSES);
    for (int k = 0; k < SNAP_MODEL_CLASSES; k++) {
        result->logits[k] = (int8_t)(k == result->predicted ? 60 : -10 * k);
    }
    snapuq_mark(probe, 2);
#ifdef SNAP_MODEL_WITHOUT_HEADS
    (void)settings;
#else
    judge(sum, settings, result);
    snapuq_mark(probe, 3);
#endif
}

void snap_model_run(void *arena, struct snap_model_result *result)
{
#ifdef SNAP_MODEL_WITHOUT_HEADS
    snap_model_profile(arena, 0, result, 0);
#else
    snap_model_profile(arena, &snap_model_settings, result, 0);
#endif
}

void snap_model_probability_q16(const struct snap_model_result *result, uint32_t *probability_q16)
{
    snapuq_probability_q16(result->logits, SNAP_MODEL_CLASSES, LOGIT_STEP_Q24, probability_q16);
}
