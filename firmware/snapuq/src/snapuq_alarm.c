/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq_arith.h"

#define EDGES (SNAPUQ_ALARM_BINS - 1)
#define FULL SNAPUQ_ALARM_FRAMES
#define ONE_Q24 (1u << 24)
#define STATISTIC_LIMIT_Q16 (1 << 29)
#define OFFSET_LIMIT_Q16 (64 << 16)
#define LN_65536_Q16 (16 * 45426)
#define RECENT_BITS 7 /* of the mean of 1 - U: its frames are as old as those of a window of 2^8 */

static void rest(const struct snapuq_alarm *alarm, struct snapuq_alarm_state *state)
{
    state->statistic_q16 = alarm->start_q16;
    state->on = 0;
    state->place = 0;
}

void snapuq_alarm_start(const struct snapuq_alarm *alarm, struct snapuq_alarm_state *state)
{
    *state = (struct snapuq_alarm_state){0};
    state->offset_q16 = alarm->offset_q16;
    snapuq_alarm_baseline(alarm, state);
}

static int32_t within(int32_t value, int32_t limit)
{
    return value < -limit ? -limit : value > limit ? limit : value;
}

void snapuq_alarm_resume(const struct snapuq_alarm *alarm, struct snapuq_alarm_state *state,
                         const struct snapuq_alarm_state *kept)
{
    *state = *kept;
    state->statistic_q16 = within(kept->statistic_q16, STATISTIC_LIMIT_Q16);
    state->offset_q16 = within(kept->offset_q16, OFFSET_LIMIT_Q16);
    state->right_q24 = kept->right_q24 < ONE_Q24 ? kept->right_q24 : ONE_Q24;
    if (kept->baseline_left > alarm->baseline) {
        state->baseline_left = (uint16_t)alarm->baseline;
    }
    state->on = kept->on != 0;
    state->place = kept->place % (2 * FULL);
}

void snapuq_alarm_clear(const struct snapuq_alarm *alarm, struct snapuq_alarm_state *state)
{
    rest(alarm, state);
}

void snapuq_alarm_baseline(const struct snapuq_alarm *alarm, struct snapuq_alarm_state *state)
{
    rest(alarm, state);
    state->baseline_sum_q16 = 0;
    state->baseline_left = (uint16_t)alarm->baseline;
}

/* How many edges lie at or below the value. */
static uint32_t bin_of(const uint32_t *edge_q16, uint32_t value_q16)
{
    uint32_t bin = 0;
    for (uint32_t step = SNAPUQ_ALARM_BINS / 2; step > 0; step /= 2) {
        if (value_q16 >= edge_q16[bin + step - 1]) {
            bin += step;
        }
    }
    return bin;
}

static void sound(struct snapuq_alarm_state *state)
{
    state->on = 1;
    if (state->alarms < UINT16_MAX) {
        state->alarms++;
    }
}

/* The frames of the baseline are in: what they earn on average becomes the offset. */
static void settle(const struct snapuq_alarm *alarm, struct snapuq_alarm_state *state,
                   const uint16_t *log2_q15)
{
    const uint64_t sum = state->baseline_sum_q16;
    const uint64_t sure = (uint32_t)alarm->confidence_q16;
    const uint64_t most = sum + sure + snapuq_square_root(sure * sure + 2 * sum * sure);
    const uint32_t limited = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
    state->offset_q16 = alarm->gain_q16[EDGES] + snapuq_ln_q16(limited, log2_q15) -
                        snapuq_ln_q16(alarm->baseline, log2_q15) - LN_65536_Q16;
    if (state->offset_q16 > alarm->limit_q16) {
        /* With this offset no shift would be found, so the baseline is one itself. */
        state->offset_q16 = alarm->limit_q16;
        if (alarm->detector != SNAPUQ_ALARM_WINDOW) { /* whose statistic is that of its frames */
            state->statistic_q16 = alarm->threshold_q16;
        }
        sound(state);
    }
}

static uint32_t swapped(struct snapuq_alarm_state *state, uint32_t bin)
{
    const uint32_t at = state->place % FULL, shift = 4 * (at % 2);
    uint8_t *const pair = &state->window[at / 2];
    const uint32_t before = (uint32_t)*pair >> shift & 15u;
    *pair = (uint8_t)((*pair & ~(15u << shift)) | bin << shift);
    state->place = (uint8_t)((at + 1) % FULL + (at + 1 == FULL || state->place >= FULL ? FULL : 0));
    return before;
}

static void advance(const struct snapuq_alarm *alarm, struct snapuq_alarm_state *state,
                    uint32_t bin)
{
    const int32_t evidence = alarm->gain_q16[bin] - state->offset_q16;
    int32_t statistic = state->statistic_q16;
    if (alarm->detector == SNAPUQ_ALARM_SUM) {
        const int32_t most = 2 * alarm->threshold_q16;
        statistic = (statistic > 0 ? statistic : 0) + evidence;
        statistic = statistic < most ? statistic : most;
    } else if (alarm->detector == SNAPUQ_ALARM_MEAN) {
        statistic += evidence - (statistic >> SNAPUQ_ALARM_MEAN_BITS);
    } else {
        const int32_t was_full = state->place >= FULL;
        const uint32_t before = swapped(state, bin);
        statistic += evidence - (was_full ? alarm->gain_q16[before] - state->offset_q16 : 0);
    }
    state->statistic_q16 = statistic;
}

static void decide(const struct snapuq_alarm *alarm, struct snapuq_alarm_state *state)
{
    if (state->on) {
        state->on = state->statistic_q16 > alarm->clear_q16;
    } else if (state->statistic_q16 >= alarm->threshold_q16 &&
               (alarm->detector != SNAPUQ_ALARM_WINDOW || state->place >= FULL)) {
        sound(state);
    }
}

int32_t snapuq_alarm_step(const struct snapuq_alarm *alarm, struct snapuq_alarm_state *state,
                          uint32_t value_q16, uint32_t uncertainty_q16, const uint16_t *log2_q15)
{
    state->frames += state->frames < UINT32_MAX;
    const int32_t right_q24 = (int32_t)((65536 - uncertainty_q16) << 8);
    const int32_t off = right_q24 - (int32_t)state->right_q24;
    state->right_q24 += (uint32_t)(state->frames < 1u << RECENT_BITS ? off / (int32_t)state->frames
                                                                     : off >> RECENT_BITS);
    if (alarm->detector == SNAPUQ_ALARM_NONE) {
        return 0;
    }
    const uint32_t bin = bin_of(alarm->edge_q16, value_q16);
    if (state->baseline_left == 0) {
        advance(alarm, state, bin);
        decide(alarm, state);
    } else {
        const int32_t below = alarm->gain_q16[EDGES] - alarm->gain_q16[bin];
        state->baseline_sum_q16 += snapuq_exp_q16((uint64_t)below);
        if (--state->baseline_left == 0) {
            settle(alarm, state, log2_q15);
        }
    }
    return state->on;
}
