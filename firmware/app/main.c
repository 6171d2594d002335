/* The bench loop: answers one request after the other (SPEC.md, section 3). */
#include <stddef.h>
#include <string.h>

#include "command.h"
#include "port.h"
#include "snap_model.h"
#include "snapuq.h"

#include "snap_golden.h" /* speaks of the model's sizes */

_Static_assert(SNAP_MODEL_INPUT_BYTES <= APP_PAYLOAD_LIMIT, "an input has to fit one frame");

#define FLAG_EMULATOR 1u
#define FLAG_HEADS 2u

/* The longest answer is that to PROFILE, or that to HELLO with its target name. */
#define RESULT_BYTES (24 + 8 * SNAPUQ_STAGES + 4 * SNAP_MODEL_TAPS + SNAP_MODEL_CLASSES)
#define HELLO_BYTES (37 + sizeof PORT_TARGET_NAME - 1)
#define REPLY_BYTES (RESULT_BYTES > HELLO_BYTES ? RESULT_BYTES : HELLO_BYTES)

/* Counts of one inference, in the unit of the board's counter. */
struct timing {
    uint64_t total;
    uint64_t stage[SNAPUQ_STAGES];
    uint64_t last_mark;
};

static _Alignas(8) uint8_t arena[SNAP_MODEL_ARENA_BYTES];
#ifdef SNAP_MODEL_CONTROLLER
static struct snapuq_budget_state stream;
#endif

static void mark(void *context, enum snapuq_stage stage)
{
    struct timing *timing = context;
    const uint64_t now = port_counter_read();
    timing->stage[stage] += now - timing->last_mark;
    timing->last_mark = now;
}

static void run(struct snap_model_result *result, struct timing *timing,
                const struct snapuq_probe *probe)
{
    const uint32_t interrupts = port_irq_mask();
    port_counter_start();
    snap_model_profile(arena, result, probe);
    timing->total = port_counter_read();
    port_irq_restore(interrupts);
}

/* A host that says HELLO starts a stream; the inputs that it sends to INFER are the stream. */
static void start_stream(void)
{
#ifdef SNAP_MODEL_CONTROLLER
    snap_model_start(&stream);
#endif
}

static void decide(struct snap_model_result *result)
{
#ifdef SNAP_MODEL_CONTROLLER
    result->abstain = snap_model_decide(&stream, result);
#else
    (void)result; /* decided by the threshold that does not move */
#endif
}

static void send(struct app_frame *frame)
{
    app_frame_end(frame);
    for (size_t i = 0; i < frame->count; i++) {
        port_uart_write(frame->bytes[i]);
    }
}

static void send_error(uint8_t sequence, enum app_error code, uint8_t type)
{
    uint8_t bytes[APP_FRAME_BYTES(2)];
    struct app_frame frame;
    app_frame_begin(&frame, bytes, APP_ERROR, sequence);
    app_frame_put(&frame, code, 1);
    app_frame_put(&frame, type, 1);
    send(&frame);
}

static void put_hello(struct app_frame *frame)
{
    _Static_assert(sizeof SNAP_MODEL_ID == 16 + 1, "the model's name is 16 hex digits");
    const uint32_t flags =
        (port_board.emulator ? FLAG_EMULATOR : 0) | (SNAP_MODEL_TAPS ? FLAG_HEADS : 0);

    app_frame_put(frame, APP_PROTOCOL_VERSION, 2);
    app_frame_put(frame, flags, 2);
    app_frame_put(frame, SNAP_MODEL_INPUT_BYTES, 4);
    app_frame_put(frame, SNAP_MODEL_CLASSES, 2);
    app_frame_put(frame, SNAP_MODEL_TAPS, 2);
    app_frame_put(frame, SNAP_MODEL_ARENA_BYTES, 4);
    app_frame_put(frame, port_board.counter_unit, 1);
    app_frame_put(frame, port_board.counter_step, 4);
    app_frame_put_bytes(frame, SNAP_MODEL_ID, 16);
    app_frame_put_bytes(frame, PORT_TARGET_NAME, sizeof PORT_TARGET_NAME - 1);
}

static void put_result(struct app_frame *frame, const struct snap_model_result *result,
                       uint64_t count)
{
    app_frame_put(frame, (uint32_t)result->predicted, 4);
    app_frame_put(frame, (uint32_t)result->abstain, 4);
    app_frame_put(frame, result->score_q16, 4);
    app_frame_put(frame, result->uncertainty_q16, 4);
    app_frame_put(frame, count, 8);
    for (int tap = 0; tap < SNAP_MODEL_TAPS; tap++) {
        app_frame_put(frame, result->surprisal_q16[tap], 4);
    }
    app_frame_put_bytes(frame, result->logits, sizeof result->logits);
}

/* Index of the first golden vector whose result differs, or their number. */
static uint32_t selftest(void)
{
    for (uint32_t i = 0; i < SNAP_GOLDEN_COUNT; i++) {
        struct snap_model_result result;
        memcpy(snap_model_input(arena), snap_golden_input[i], SNAP_MODEL_INPUT_BYTES);
        snap_model_run(arena, &result);
        if (result.predicted != snap_golden_expected[i].predicted) {
            return i;
        }
        /* Without heads there is no score to compare. */
        if (SNAP_MODEL_TAPS &&
            (result.score_q16 != snap_golden_expected[i].score_q16 ||
             result.uncertainty_q16 != snap_golden_expected[i].uncertainty_q16)) {
            return i;
        }
    }
    return SNAP_GOLDEN_COUNT;
}

static void answer(uint8_t type, uint8_t sequence, uint16_t length)
{
    const bool takes_input = type == APP_INFER || type == APP_PROFILE;
    struct snap_model_result result;
    struct timing timing = {0};
    uint8_t bytes[APP_FRAME_BYTES(REPLY_BYTES)];
    struct app_frame frame;

    if (type < APP_HELLO || type > APP_SELFTEST) {
        send_error(sequence, APP_ERROR_UNKNOWN_TYPE, type);
        return;
    }
    if (length != (takes_input ? SNAP_MODEL_INPUT_BYTES : 0)) {
        send_error(sequence, APP_ERROR_WRONG_LENGTH, type);
        return;
    }
    app_frame_begin(&frame, bytes, APP_REPLY | type, sequence);
    switch (type) {
    case APP_HELLO:
        start_stream();
        put_hello(&frame);
        break;
    case APP_INFER:
        run(&result, &timing, NULL);
        decide(&result);
        put_result(&frame, &result, timing.total);
        break;
    case APP_PROFILE:
        run(&result, &timing, &(struct snapuq_probe){mark, &timing});
        put_result(&frame, &result, timing.total);
        for (int stage = 0; stage < SNAPUQ_STAGES; stage++) {
            app_frame_put(&frame, timing.stage[stage], 8);
        }
        break;
    case APP_STACK:
        app_frame_put(&frame, port_stack_used_bytes(), 4);
        app_frame_put(&frame, port_stack_reserved_bytes(), 4);
        break;
    default:
        app_frame_put(&frame, SNAP_GOLDEN_COUNT, 4);
        app_frame_put(&frame, selftest(), 4);
        break;
    }
    send(&frame);
}

int main(void)
{
    struct app_parser parser;

    port_init();
    /* A payload goes where the model wants it; nothing there outlives an inference. */
    app_parser_init(&parser, (uint8_t *)snap_model_input(arena), SNAP_MODEL_INPUT_BYTES);
    answer(APP_HELLO, 0, 0); /* unasked: who watches the port sees that we boot */

    for (;;) {
        switch (app_parser_feed(&parser, port_uart_read())) {
        case APP_EVENT_NONE:
            break;
        case APP_EVENT_FRAME:
            answer(parser.type, parser.sequence, parser.length);
            break;
        case APP_EVENT_TOO_LONG:
            send_error(parser.sequence, APP_ERROR_TOO_LONG, parser.type);
            break;
        case APP_EVENT_DAMAGED:
            send_error(parser.sequence, APP_ERROR_DAMAGED, parser.type);
            break;
        }
    }
}
