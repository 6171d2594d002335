/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "app.h"

#include "baud.h"
#include "clock.h"
#include "console.h"
#include "evidence.h"
#include "frame.h"
#include "image.h"
#include "inference.h"
#include "mlperf.h"
#include "port.h"
#include "request.h"
#include "settings.h"
#include "telemetry.h"
#include "text.h"

#define SILENCE_S 1u /* after which half a frame or line is dropped */
#define CAPACITY (APP_RECEIVE_BYTES < APP_PAYLOAD_LIMIT ? APP_RECEIVE_BYTES : APP_PAYLOAD_LIMIT)

static struct app_parser parser;
static struct app_text text;
static uint64_t last_byte;

static void take_text(uint8_t byte)
{
    switch (app_text_feed(&text, byte)) {
    case APP_TEXT_NONE: break;
    case APP_TEXT_LINE: app_mlperf_command(text.line); break;
    case APP_TEXT_OVERLONG: app_mlperf_refuse("a command has at most 80 characters"); break;
    case APP_TEXT_DAMAGED: app_mlperf_refuse("the command arrived damaged"); break;
    }
}

static void take(uint8_t byte)
{
    switch (app_parser_feed(&parser, byte)) {
    case APP_EVENT_OUTSIDE: take_text(byte); break;
    case APP_EVENT_INSIDE: app_text_drop(&text); break; /* a frame ends the line before it */
    case APP_EVENT_FRAME:
        app_request(&parser);
        app_baud_confirm();
        break;
    case APP_EVENT_TOO_LONG: app_request_refuse(&parser, APP_ERROR_TOO_LONG); break;
    case APP_EVENT_DAMAGED: app_request_refuse(&parser, APP_ERROR_DAMAGED); break;
    }
}

void app_boot(void)
{
    app_clock_init();
    app_baud_init();
    app_image_check();
    app_settings_init();
    app_stream_end();
    app_evidence_forget();
    app_telemetry_start();
    app_request_init();
    app_parser_init(&parser, app_arena, CAPACITY);
    app_text_drop(&text);
    app_mlperf_boot();
    last_byte = app_clock();
}

void app_turn(void)
{
    uint8_t byte;
    port_watchdog_feed();
    if (app_read(&byte)) {
        take(byte);
        last_byte = app_clock();
    } else {
        port_idle();
        if (app_clock() - last_byte > (uint64_t)SILENCE_S * port_board.counter_hz) {
            app_parser_drop(&parser);
            app_text_drop(&text);
        }
    }
    if (!app_parser_inside(&parser)) { /* at a low rate a frame takes longer than a rate holds */
        app_baud_check();
    }
}

_Noreturn void app_run(void)
{
    app_boot();
    for (;;) {
        app_turn();
    }
}
