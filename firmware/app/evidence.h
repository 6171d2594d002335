/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* The most surprising inputs of a stream, for a host that reads them back. */
#ifndef APP_EVIDENCE_H
#define APP_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "snap_model.h"
#include "snapuq.h"

#ifndef APP_EVIDENCE /* inputs that are kept; as many and one more lie in RAM */
#define APP_EVIDENCE 0
#endif

/* Keeps nothing from now on but what comes. */
void app_evidence_forget(void);
/* The input that the model runs on next, [SNAP_MODEL_INPUT_BYTES]. */
void app_evidence_input(const int8_t *input);
/* What came of it; frame: of the stream. */
void app_evidence_take(const struct snap_model_result *result, uint32_t frame);

uint32_t app_evidence_count(void);
/* index: below the count; input: where its input goes, [SNAP_MODEL_INPUT_BYTES]. */
const struct snapuq_kept *app_evidence_at(uint32_t index, const int8_t **input);

#endif
