/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "evidence.h"

#include <string.h>

#include "settings.h"

#if APP_EVIDENCE > 0 && !defined SNAP_MODEL_WITHOUT_HEADS

static struct snapuq_kept kept[APP_EVIDENCE];
static int8_t inputs[APP_EVIDENCE + 1][SNAP_MODEL_INPUT_BYTES];
static struct snapuq_evidence evidence;

void app_evidence_forget(void)
{
    snapuq_evidence_start(&evidence, kept, APP_EVIDENCE);
}

void app_evidence_input(const int8_t *input)
{
    memcpy(inputs[evidence.free], input, SNAP_MODEL_INPUT_BYTES);
}

void app_evidence_take(const struct snap_model_result *result, uint32_t frame)
{
    snap_evidence_offer_with(app_settings(), &evidence, result, frame);
}

uint32_t app_evidence_count(void)
{
    return evidence.count;
}

const struct snapuq_kept *app_evidence_at(uint32_t index, const int8_t **input)
{
    *input = inputs[kept[index].place];
    return &kept[index];
}

#else

void app_evidence_forget(void)
{
}

void app_evidence_input(const int8_t *input)
{
    (void)input;
}

void app_evidence_take(const struct snap_model_result *result, uint32_t frame)
{
    (void)result, (void)frame;
}

uint32_t app_evidence_count(void)
{
    return 0;
}

const struct snapuq_kept *app_evidence_at(uint32_t index, const int8_t **input)
{
    (void)index, (void)input;
    return 0;
}

#endif
