/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "telemetry.h"

#include "clock.h"
#include "port.h"
#include "settings.h"

#ifdef SNAP_MODEL_WITHOUT_HEADS

void app_telemetry_start(void)
{
}

void app_telemetry_stream(const struct snapuq_alarm_state *alarm)
{
    (void)alarm;
}

void app_telemetry_take(const struct snap_model_result *result,
                        const struct snapuq_alarm_state *alarm)
{
    (void)result, (void)alarm;
}

uint32_t app_telemetry_record(uint32_t now, uint64_t device, uint8_t *record)
{
    (void)now, (void)device, (void)record;
    return 0;
}

void app_telemetry_next(void)
{
}

#else

static struct snapuq_telemetry telemetry;
static uint64_t began; /* the record at hand, by the device's own clock */

void app_telemetry_start(void)
{
    snapuq_telemetry_start(&telemetry, 0, 0);
    began = app_clock();
}

void app_telemetry_stream(const struct snapuq_alarm_state *alarm)
{
    telemetry.alarms_seen = alarm->alarms;
}

void app_telemetry_take(const struct snap_model_result *result,
                        const struct snapuq_alarm_state *alarm)
{
    snap_telemetry_add(&telemetry, result, alarm);
}

uint32_t app_telemetry_record(uint32_t now, uint64_t device, uint8_t *record)
{
    const uint64_t passed_s = (app_clock() - began) / port_board.counter_hz;
    telemetry.time = now > passed_s ? now - (uint32_t)passed_s : 0;
    snap_telemetry_record_with(app_settings(), &telemetry, device, record);
    return SNAPUQ_TELEMETRY_BYTES;
}

void app_telemetry_next(void)
{
    snapuq_telemetry_next(&telemetry, 0);
    began = app_clock();
}

#endif
