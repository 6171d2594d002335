/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "inference.h"

#include <string.h>

#include "clock.h"
#include "frame.h"
#include "port.h"
#include "settings.h"
#include "snapuq_probe.h"

#include "snap_golden.h" /* speaks of the model's sizes */

_Static_assert(SNAP_MODEL_INPUT_BYTES <= APP_PAYLOAD_LIMIT, "an input has to fit one frame");

/* Named: a linker script may place .bss.app_arena in the fastest memory. */
_Alignas(SNAP_MODEL_ARENA_ALIGN) uint8_t app_arena[APP_ARENA_BYTES];

/* ---- Runs --------------------------------------------------------------- */

struct timing {
    uint32_t last; /* the counter at the last mark */
    uint32_t *steps;
};

static uint32_t limited(uint64_t count)
{
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

static void mark(void *context, int32_t step)
{
    struct timing *timing = context;
    const uint32_t now = port_counter();
    const uint64_t passed = (uint64_t)(uint32_t)(now - timing->last) * port_board.counter_step;
    timing->steps[step] = limited(timing->steps[step] + passed);
    timing->last = now;
}

uint64_t app_inference(struct snap_model_result *result, uint32_t *steps)
{
    struct timing timing = {0, steps};
    const struct snapuq_probe probe = {mark, &timing};
    if (steps) {
        memset(steps, 0, SNAP_MODEL_STEPS * sizeof *steps);
    }
    port_watchdog_feed();
    const uint32_t interrupts = port_irq_mask();
    port_marker(true);
    port_counter_align();
    const uint32_t start = timing.last = port_counter();
    snap_model_profile(app_arena, app_settings(), result, steps ? &probe : 0);
    const uint32_t end = port_counter();
    port_marker(false);
    port_irq_restore(interrupts);
    app_clock(); /* many runs in a row may take longer than the counter lasts */
    return (uint64_t)(uint32_t)(end - start) * port_board.counter_step;
}

/* ---- Self-test ----------------------------------------------------------- */

uint32_t app_selftest(struct snap_model_result *result)
{
    for (uint32_t i = 0; i < SNAP_GOLDEN_COUNT; i++) {
        memcpy(snap_model_input(app_arena), snap_golden_input[i], SNAP_MODEL_INPUT_BYTES);
        port_watchdog_feed();
        snap_model_run(app_arena, result);
        app_clock();
        if (result->predicted != snap_golden_expected[i].predicted ||
            memcmp(result->logits, snap_golden_expected[i].logits, sizeof result->logits) ||
            memcmp(result->surprisal_q16, snap_golden_expected[i].surprisal_q16,
                   SNAP_MODEL_TAPS * sizeof *result->surprisal_q16)) {
            return i;
        }
    }
    return SNAP_GOLDEN_COUNT;
}

uint32_t app_selftest_count(void)
{
    return SNAP_GOLDEN_COUNT;
}

/* ---- The stream ---------------------------------------------------------- */

static bool started;
static struct app_stream stream;

_Static_assert(sizeof stream == 68, "as the link has it");

void app_stream_end(void)
{
    started = false;
    stream = (struct app_stream){0};
}

bool app_stream_started(void)
{
    return started;
}

const struct app_stream *app_stream_state(void)
{
    return &stream;
}

#ifdef SNAP_MODEL_WITHOUT_HEADS

void app_stream_start(const struct app_stream *state)
{
    (void)state;
    started = true;
}

void app_stream_take(struct snap_model_result *result)
{
    (void)result;
}

void app_stream_clear(void)
{
}

void app_stream_learn(void)
{
}

#else

static int32_t unit_q24(int32_t value)
{
    const int32_t one = 1 << 24;
    return value < 0 ? 0 : value > one ? one : value;
}

void app_stream_start(const struct app_stream *state)
{
    started = true;
    snap_model_start(app_settings(), &stream.budget);
    snap_alarm_start_with(app_settings(), &stream.alarm);
    if (state) {
        snap_alarm_resume_with(app_settings(), &stream.alarm, &state->alarm);
    }
    if (state && app_settings()->controlled) {
        stream.budget.rate_q24 = unit_q24(state->budget.rate_q24);
        stream.budget.threshold_q24 = unit_q24(state->budget.threshold_q24);
    }
}

void app_stream_take(struct snap_model_result *result)
{
    result->abstain = snap_model_decide(app_settings(), &stream.budget, result);
    snap_alarm_step_with(app_settings(), &stream.alarm, result);
}

void app_stream_clear(void)
{
    snap_alarm_clear_with(app_settings(), &stream.alarm);
}

void app_stream_learn(void)
{
    snap_alarm_baseline_with(app_settings(), &stream.alarm);
}

#endif
