/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* The last words of a program that cannot go on: a frame, and a line for who reads text. */
#include "console.h"
#include "frame.h"
#include "port.h"

static void say_field(const char *name, uint32_t value)
{
    app_say(name);
    app_say_hex(value, 8);
}

void app_fault(const struct port_fault *fault)
{
    const uint32_t fields[] = {
        fault->exception, fault->cfsr, fault->hfsr, fault->address,
        fault->pc,        fault->lr,   fault->stack_overflow,
    };
    uint8_t bytes[APP_FRAME_BYTES(sizeof fields)];
    struct app_frame frame;
    app_frame_begin(&frame, bytes, APP_FAULT, 0);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        app_frame_put(&frame, fields[i], sizeof *fields);
    }
    app_frame_end(&frame);
    app_write(frame.bytes, frame.count);

    app_say("\r\ne-[fault ");
    app_say_number(fault->exception);
    app_say(fault->stack_overflow ? ", stack overflow" : "");
    say_field(", pc ", fault->pc);
    say_field(", lr ", fault->lr);
    say_field(", address ", fault->address);
    say_field(", cfsr ", fault->cfsr);
    app_say("]\r\n");
}
