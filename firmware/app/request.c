/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "request.h"

#include <string.h>

#include "baud.h"
#include "console.h"
#include "evidence.h"
#include "image.h"
#include "inference.h"
#include "port.h"
#include "settings.h"
#include "telemetry.h"

#define FLAG_EMULATOR 1u
#define FLAG_HEADS 2u
#define FLAG_DAMAGED 4u
#ifdef SNAP_MODEL_WITHOUT_HEADS
#define HAS_MONITOR 0
#else
#define HAS_MONITOR 1
#endif

#define HELLO_BYTES (56 + sizeof PORT_TARGET_NAME - 1)
#define PROFILE_BYTES (32 + sizeof(struct app_stream) + 4 * SNAP_MODEL_TAPS + SNAP_MODEL_CLASSES + 4 * SNAP_MODEL_STEPS)
#define KEPT_BYTES (APP_EVIDENCE > 0 ? 28 + SNAP_MODEL_INPUT_BYTES : 8)
#define MONITOR_BYTES LARGER(KEPT_BYTES, SNAPUQ_TELEMETRY_BYTES)
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define ANSWER_BYTES LARGER(HELLO_BYTES, LARGER(PROFILE_BYTES, MONITOR_BYTES))
#define ALARM_CLEAR 1u
#define ALARM_LEARN 2u
#define FORGET UINT32_MAX
#define TELEMETRY_NEXT 1u
#define ASKED_BYTES 16u /* of TELEMETRY */

_Static_assert(ANSWER_BYTES <= APP_PAYLOAD_LIMIT, "an answer has to fit one frame");
_Static_assert(sizeof SNAP_MODEL_ID == 16 + 1, "the model's name is 16 hex digits");

/* What was answered last, for a host that did not get it. */
static uint8_t answer_bytes[APP_FRAME_BYTES(ANSWER_BYTES)];
static struct app_frame answer;
static uint32_t answered_crc;
static uint8_t answered_sequence;

/* Here and not on the stack: their size is the model's. */
static struct snap_model_result result;
static uint32_t steps[SNAP_MODEL_STEPS];

/* ---- Payloads ------------------------------------------------------------- */

static uint32_t number_at(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void put_hello(void)
{
    const uint32_t flags = (port_board.emulator ? FLAG_EMULATOR : 0) |
                           (HAS_MONITOR ? FLAG_HEADS : 0) |
                           (app_image_damaged() ? FLAG_DAMAGED : 0);
    app_frame_put(&answer, APP_PROTOCOL_VERSION, 2);
    app_frame_put(&answer, flags, 2);
    app_frame_put(&answer, SNAP_MODEL_INPUT_BYTES, 4);
    app_frame_put(&answer, SNAP_MODEL_CLASSES, 2);
    app_frame_put(&answer, SNAP_MODEL_TAPS, 2);
    app_frame_put(&answer, SNAP_MODEL_STEPS, 2);
    app_frame_put(&answer, port_board.counter_unit, 1);
    app_frame_put(&answer, 0, 1);
    app_frame_put(&answer, port_board.counter_step, 4);
    app_frame_put(&answer, port_board.counter_hz, 4);
    app_frame_put(&answer, SNAP_MODEL_ARENA_BYTES, 4);
    app_frame_put(&answer, port_image().crc, 4);
    app_frame_put(&answer, app_settings_check(), 4);
    app_frame_put(&answer, app_settings_own_check(), 4);
    app_frame_put_bytes(&answer, SNAP_MODEL_ID, 16);
    app_frame_put_bytes(&answer, PORT_TARGET_NAME, sizeof PORT_TARGET_NAME - 1);
}

static void put_stream(void)
{
    app_frame_put_bytes(&answer, app_stream_state(), sizeof(struct app_stream));
}

static void put_result(uint64_t count)
{
    app_frame_put(&answer, (uint32_t)result.predicted, 4);
    app_frame_put(&answer, (uint32_t)result.abstain, 4);
    app_frame_put(&answer, result.score_q16, 4);
    app_frame_put(&answer, result.uncertainty_q16, 4);
    app_frame_put(&answer, (uint32_t)result.foreign, 4);
    app_frame_put(&answer, result.foreign_q16, 4);
    app_frame_put(&answer, count, 8);
    put_stream();
    for (int tap = 0; tap < SNAP_MODEL_TAPS; tap++) {
        app_frame_put(&answer, result.surprisal_q16[tap], 4);
    }
    app_frame_put_bytes(&answer, result.logits, sizeof result.logits);
}

/* ---- Requests: each puts the payload of its answer, or says why it is refused -- */

/* What arrived in the arena moves to where the model wants it. */
static void take_input(void)
{
    memmove(snap_model_input(app_arena), app_arena, SNAP_MODEL_INPUT_BYTES);
}

static enum app_error infer(void)
{
    if (app_image_damaged()) {
        return APP_ERROR_IMAGE;
    }
    if (!app_stream_started()) {
        return APP_ERROR_NO_STREAM;
    }
    take_input();
    app_evidence_input(snap_model_input(app_arena));
    const uint64_t count = app_inference(&result, 0);
    app_stream_take(&result);
    app_evidence_take(&result, app_stream_state()->alarm.frames);
    app_telemetry_take(&result, &app_stream_state()->alarm);
    put_result(count);
    return APP_OK;
}

static enum app_error profile(void)
{
    if (app_image_damaged()) {
        return APP_ERROR_IMAGE;
    }
    take_input();
    const uint64_t count = app_inference(&result, steps);
    put_result(count);
    for (int step = 0; step < SNAP_MODEL_STEPS; step++) {
        app_frame_put(&answer, steps[step], 4);
    }
    return APP_OK;
}

static enum app_error selftest(void)
{
    if (app_image_damaged()) {
        return APP_ERROR_IMAGE;
    }
    app_frame_put(&answer, app_selftest_count(), 4);
    app_frame_put(&answer, app_selftest(&result), 4);
    return APP_OK;
}

static void check(void)
{
    const struct port_image image = port_image();
    app_frame_put(&answer, image.count, 4);
    app_frame_put(&answer, image.crc, 4);
    app_frame_put(&answer, app_image_check(), 4);
}

static void start(uint32_t length)
{
    struct app_stream state;
    memcpy(&state, app_arena, sizeof state);
    app_stream_start(length ? &state : 0);
    app_telemetry_stream(&app_stream_state()->alarm);
}

static enum app_error replace_settings(uint32_t length)
{
    const enum app_error error = app_settings_replace(app_arena, length);
    if (error == APP_OK || error == APP_ERROR_FLASH) {
        /* All of these were by other settings. */
        app_stream_end();
        app_evidence_forget();
        app_telemetry_start();
    }
    app_frame_put(&answer, app_settings_check(), 4);
    return error;
}

static enum app_error alarm(void)
{
    if (!app_stream_started()) {
        return APP_ERROR_NO_STREAM;
    }
    switch (number_at(app_arena)) {
    case 0: break;
    case ALARM_CLEAR: app_stream_clear(); break;
    case ALARM_LEARN: app_stream_learn(); break;
    default: return APP_ERROR_ACTION;
    }
    put_stream();
    return APP_OK;
}

static void evidence(void)
{
    const uint32_t index = number_at(app_arena);
    if (index == FORGET) {
        app_evidence_forget();
    }
    app_frame_put(&answer, APP_EVIDENCE, 4);
    app_frame_put(&answer, app_evidence_count(), 4);
    if (index < app_evidence_count()) {
        const int8_t *input;
        const struct snapuq_kept *kept = app_evidence_at(index, &input);
        app_frame_put(&answer, kept->frame, 4);
        app_frame_put(&answer, kept->value_q16, 4);
        app_frame_put(&answer, kept->uncertainty_q16, 4);
        app_frame_put(&answer, kept->foreign_q16, 4);
        app_frame_put(&answer, (uint32_t)kept->predicted, 4);
        app_frame_put_bytes(&answer, input, SNAP_MODEL_INPUT_BYTES);
    }
}

/* What to do | seconds since 1970 | number of the device, low and high. */
static enum app_error telemetry(void)
{
    const uint32_t action = number_at(app_arena), now = number_at(app_arena + 4);
    const uint64_t device = (uint64_t)number_at(app_arena + 12) << 32 | number_at(app_arena + 8);
    if (action > TELEMETRY_NEXT) {
        return APP_ERROR_ACTION;
    }
    uint8_t record[SNAPUQ_TELEMETRY_BYTES];
    app_frame_put_bytes(&answer, record, app_telemetry_record(now, device, record));
    if (action == TELEMETRY_NEXT) {
        app_telemetry_next();
    }
    return APP_OK;
}

static enum app_error baud(void)
{
    const uint32_t rate = number_at(app_arena);
    app_frame_put(&answer, rate, 4);
    return app_baud_possible(rate) ? APP_OK : APP_ERROR_BAUD;
}

static enum app_error check_length(uint8_t type, uint32_t length)
{
    uint32_t expected = 0;
    switch (type) {
    case APP_INFER:
    case APP_PROFILE: expected = SNAP_MODEL_INPUT_BYTES; break;
    case APP_START: expected = length ? sizeof(struct app_stream) : 0; break;
    case APP_SETTINGS: expected = length; break; /* a block of another size is for another image */
    case APP_BAUD:
    case APP_ALARM:
    case APP_EVIDENCE_READ: expected = 4; break;
    case APP_TELEMETRY: expected = ASKED_BYTES; break;
    default: break;
    }
    return length == expected ? APP_OK : APP_ERROR_WRONG_LENGTH;
}

static enum app_error carry_out(uint8_t type, uint32_t length)
{
    switch (type) {
    case APP_HELLO: put_hello(); return APP_OK;
    case APP_INFER: return infer();
    case APP_PROFILE: return profile();
    case APP_STACK:
        app_frame_put(&answer, port_stack_used_bytes(), 4);
        app_frame_put(&answer, port_stack_reserved_bytes(), 4);
        return APP_OK;
    case APP_SELFTEST: return selftest();
    case APP_CHECK: check(); return APP_OK;
    case APP_START: start(length); return APP_OK;
    case APP_SETTINGS: return app_image_damaged() ? APP_ERROR_IMAGE : replace_settings(length);
    case APP_BAUD: return baud();
    case APP_ALARM: return alarm();
    case APP_EVIDENCE_READ: evidence(); return APP_OK;
    case APP_TELEMETRY: return telemetry();
    default: return APP_OK; /* RESTART: when it has been answered */
    }
}

/* ---- Answers ---------------------------------------------------------------- */

void app_request_init(void)
{
    answer.count = 0;
}

void app_request(const struct app_parser *request)
{
    const uint8_t type = request->type;
    if (answer.count && request->crc == answered_crc && request->sequence == answered_sequence) {
        app_write(answer.bytes, answer.count);
        return;
    }
    enum app_error error = APP_ERROR_UNKNOWN_TYPE;
    app_frame_begin(&answer, answer_bytes, APP_REPLY | type, request->sequence);
    if (type >= APP_HELLO && type <= APP_TELEMETRY) {
        error = check_length(type, request->length);
    }
    if (error == APP_OK) {
        error = carry_out(type, request->length);
    }
    if (error == APP_OK) {
        app_frame_end(&answer);
    } else {
        app_frame_error(&answer, answer_bytes, error, type, request->sequence);
    }
    app_write(answer.bytes, answer.count);
    answered_crc = request->crc;
    answered_sequence = request->sequence;

    if (error == APP_OK && type == APP_BAUD) {
        /* A host that repeats it did not follow, and we are back at the old rate: it counts anew. */
        answer.count = 0;
        app_baud_change(number_at(app_arena));
    }
    if (error == APP_OK && type == APP_RESTART) {
        port_restart();
    }
}

void app_request_refuse(const struct app_parser *request, enum app_error code)
{
    uint8_t bytes[APP_FRAME_BYTES(2)];
    struct app_frame frame;
    app_frame_error(&frame, bytes, code, request->type, request->sequence);
    app_write(frame.bytes, frame.count);
}
