/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* The telemetry record of the stream (SPEC.md, 4). */
#ifndef APP_TELEMETRY_H
#define APP_TELEMETRY_H

#include <stdint.h>

#include "snap_model.h"
#include "snapuq.h"

/* Begins the first record. */
void app_telemetry_start(void);
/* A stream begins, or goes on: alarms that its state has counted already are not counted again. */
void app_telemetry_stream(const struct snapuq_alarm_state *alarm);
/* A frame of the stream, behind its step of the alarm. */
void app_telemetry_take(const struct snap_model_result *result,
                        const struct snapuq_alarm_state *alarm);
/* The record [SNAPUQ_TELEMETRY_BYTES]; now: seconds since 1970, 0 if nobody knows. Returns how many
 * bytes there are, none without a monitor. */
uint32_t app_telemetry_record(uint32_t now, uint64_t device, uint8_t *record);
void app_telemetry_next(void);

#endif
