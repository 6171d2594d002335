/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "snapuq.h"

#define VERSION 1

static void look(struct snapuq_telemetry *telemetry, const struct snapuq_alarm_state *alarm)
{
    telemetry->flags = SNAPUQ_TELEMETRY_NO_ALARM;
    if (alarm) {
        telemetry->flags = alarm->on ? SNAPUQ_TELEMETRY_ON : 0;
        telemetry->flags |= alarm->baseline_left ? SNAPUQ_TELEMETRY_BASELINE : 0;
        telemetry->right_q24 = alarm->right_q24;
        telemetry->alarms_seen = alarm->alarms;
    }
}

void snapuq_telemetry_start(struct snapuq_telemetry *telemetry, uint32_t time,
                            const struct snapuq_alarm_state *alarm)
{
    *telemetry = (struct snapuq_telemetry){.time = time};
    look(telemetry, alarm);
}

void snapuq_telemetry_next(struct snapuq_telemetry *telemetry, uint32_t time)
{
    *telemetry = (struct snapuq_telemetry){
        .time = time,
        .sequence = telemetry->sequence + 1,
        .right_q24 = telemetry->right_q24,
        .alarms_seen = telemetry->alarms_seen,
        .flags = telemetry->flags,
    };
}

static void count(uint16_t *bins, uint32_t value_q16)
{
    const uint32_t bin = value_q16 >> 12;
    bins[bin < SNAPUQ_TELEMETRY_BINS ? bin : SNAPUQ_TELEMETRY_BINS - 1]++;
}

int32_t snapuq_telemetry_add(struct snapuq_telemetry *telemetry, uint32_t uncertainty_q16,
                             int32_t abstain, uint32_t foreign_q16, int32_t foreign,
                             const struct snapuq_alarm_state *alarm)
{
    if (telemetry->frames == SNAPUQ_TELEMETRY_FRAMES) {
        return 1; /* nor is the alarm looked at: one that is raised now counts in the next record */
    }
    telemetry->frames++;
    telemetry->abstained += abstain != 0;
    telemetry->foreign += foreign != 0;
    telemetry->uncertainty_sum_q16 += uncertainty_q16;
    count(telemetry->uncertainty_bins, uncertainty_q16);
    count(telemetry->foreign_bins, foreign_q16);
    if (alarm) {
        /* Fewer than before: the stream began anew. */
        const uint32_t before = alarm->alarms < telemetry->alarms_seen ? 0 : telemetry->alarms_seen;
        const uint32_t alarms = telemetry->alarms + (alarm->alarms - before);
        telemetry->alarms = (uint16_t)(alarms < UINT16_MAX ? alarms : UINT16_MAX);
        telemetry->alarm_frames += alarm->on != 0;
    }
    look(telemetry, alarm);
    return telemetry->frames == SNAPUQ_TELEMETRY_FRAMES;
}

static uint8_t *put(uint8_t *to, uint64_t value, int32_t bytes)
{
    for (; bytes > 0; bytes--, value >>= 8) {
        *to++ = (uint8_t)value;
    }
    return to;
}

static uint8_t *put_bins(uint8_t *to, const uint16_t *bins)
{
    for (int32_t i = 0; i < SNAPUQ_TELEMETRY_BINS; i++) {
        to = put(to, bins[i], 2);
    }
    return to;
}

void snapuq_telemetry_record(const struct snapuq_telemetry *telemetry, const uint8_t *model_id,
                             uint32_t settings_check, uint64_t device, uint8_t *record)
{
    uint8_t *to = put(record, 0x54504E53 /* SNPT */, 4);
    to = put(to, VERSION, 2);
    to = put(to, telemetry->flags, 2);
    for (int32_t i = 0; i < 8; i++) {
        *to++ = model_id[i];
    }
    to = put(to, settings_check, 4);
    to = put(to, device, 8);
    to = put(to, telemetry->time, 4);
    to = put(to, telemetry->sequence, 4);
    to = put(to, telemetry->frames, 2);
    to = put(to, telemetry->abstained, 2);
    to = put(to, telemetry->foreign, 2);
    to = put(to, telemetry->alarms, 2);
    to = put(to, telemetry->alarm_frames, 2);
    to = put(to, 0, 2);
    to = put(to, telemetry->uncertainty_sum_q16, 4);
    to = put_bins(to, telemetry->uncertainty_bins);
    to = put_bins(to, telemetry->foreign_bins);
    to = put(to, telemetry->right_q24, 4);
    put(to, snapuq_crc32(0, record, (uint32_t)(to - record)), 4);
}
