/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* The model: its memory, timed runs, and the stream of inputs that a controller watches. */
#ifndef APP_INFERENCE_H
#define APP_INFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "snap_model.h"
#include "snapuq.h"

/* Where payloads arrive, and between inferences room for the probabilities of all classes.
 * Nothing there outlives an inference. */
#define APP_RECEIVE_BYTES (SNAP_MODEL_ARENA_BYTES > 2048 ? SNAP_MODEL_ARENA_BYTES : 2048)
#define APP_PROBABILITY_BYTES (4 * SNAP_MODEL_CLASSES)
#define APP_ARENA_BYTES \
    (APP_RECEIVE_BYTES > APP_PROBABILITY_BYTES ? APP_RECEIVE_BYTES : APP_PROBABILITY_BYTES)
extern _Alignas(SNAP_MODEL_ARENA_ALIGN) uint8_t app_arena[APP_ARENA_BYTES];

/* Runs the model on what is in its input, with the settings in use. steps is 0, or the counts
 * of all steps go there, [SNAP_MODEL_STEPS]. Returns the count of all, in the counter's unit. */
uint64_t app_inference(struct snap_model_result *result, uint32_t *steps);

/* Index of the first golden vector whose result differs, or their number; result is overwritten. */
uint32_t app_selftest(struct snap_model_result *result);
uint32_t app_selftest_count(void);

/* ---- The stream --------------------------------------------------------- */

/* What a stream remembers; goes over the link as it lies here (SPEC.md, 3.2). */
struct app_stream {
    struct snapuq_budget_state budget;
    struct snapuq_alarm_state alarm;
};

/* No stream until the next start. */
void app_stream_end(void);
/* Begins a stream with the settings in use; goes on with the state of one if it is not 0, whatever
 * that holds. */
void app_stream_start(const struct app_stream *state);
bool app_stream_started(void);
/* Takes the next result up: the controller, if the settings have one, decides whether it abstains,
 * and the alarm watches it. */
void app_stream_take(struct snap_model_result *result);
/* Ends an alarm; takes the baseline of the alarm anew. */
void app_stream_clear(void);
void app_stream_learn(void);
const struct app_stream *app_stream_state(void);

#endif
