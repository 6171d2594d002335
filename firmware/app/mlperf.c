/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
#include "mlperf.h"

#include <stdbool.h>
#include <string.h>

#include "clock.h"
#include "console.h"
#include "image.h"
#include "inference.h"
#include "port.h"
#include "text.h"

#define LINE_BYTES 31u /* of the buffer in one line */
#define WARMUPS 10u
#ifndef APP_RUNS_MAX /* a fuzzer has no time for a million */
#define APP_RUNS_MAX 1000000u
#endif

/* What runners of MLPerf Tiny call these networks. */
#if SNAP_MODEL_INPUT_BYTES == 490 && SNAP_MODEL_CLASSES == 12
#define MODEL_NAME "kws01"
#elif SNAP_MODEL_INPUT_BYTES == 3072 && SNAP_MODEL_CLASSES == 10
#define MODEL_NAME "ic01"
#else
#define MODEL_NAME "snap"
#endif

/* A pixel p is the number p - 128, which is the same byte but for its highest bit. */
#define PIXEL (SNAP_MODEL_INPUT_PIXELS ? 0x80u : 0u)

static uint8_t input[SNAP_MODEL_INPUT_BYTES];
static uint32_t expected, loaded; /* bytes of the load at hand */
static struct snap_model_result last;
static bool inferred;

/* ---- Lines ------------------------------------------------------------------ */

static void say_line(const char *text)
{
    app_say(text);
    app_say("\r\n");
}

static void say_count(const char *text, uint64_t number)
{
    app_say(text);
    app_say_number(number);
    app_say("\r\n");
}

static void say_lap(void)
{
    say_count("m-lap-us-", app_clock_us());
}

static void say_results(void)
{
    uint32_t *const probability_q16 = (uint32_t *)(void *)app_arena;
    snap_model_probability_q16(&last, probability_q16);
    app_say("m-results-[");
    for (int k = 0; k < SNAP_MODEL_CLASSES; k++) {
        const uint32_t thousandths = (1000 * probability_q16[k] + (1u << 15)) >> 16;
        app_say(k ? "," : "");
        app_say_number(thousandths / 1000);
        app_say(".");
        app_say_number(thousandths / 100 % 10);
        app_say_number(thousandths / 10 % 10);
        app_say_number(thousandths % 10);
    }
    say_line("]");
}

/* ---- Commands ---------------------------------------------------------------- */

static void load(const char *count)
{
    uint32_t number;
    if (!app_text_number(count, sizeof input, &number) || number == 0) {
        app_say("e-[db load takes a number from 1 to ");
        app_say_number(sizeof input);
        say_line("]");
        return;
    }
    memset(input, PIXEL, sizeof input);
    expected = number;
    loaded = 0;
    app_say("m-[Expecting ");
    app_say_number(number);
    say_line(" bytes]");
}

static void store(const char *digits)
{
    const uint32_t count = (uint32_t)strlen(digits);
    for (uint32_t i = 0; i < count; i++) {
        if (app_text_hex(digits[i]) < 0) {
            say_line("e-[db takes load, print or hexadecimal digits]");
            return;
        }
    }
    if (count == 0 || count % 2) {
        say_line("e-[db takes two digits for each byte]");
        return;
    }
    if (count / 2 > expected - loaded) {
        say_line("e-[more bytes than db load has announced]");
        return;
    }
    for (uint32_t i = 0; i < count; i += 2) {
        const int byte = app_text_hex(digits[i]) << 4 | app_text_hex(digits[i + 1]);
        input[loaded++] = (uint8_t)((uint32_t)byte ^ PIXEL);
    }
    if (loaded == expected) {
        say_line("m-load-done");
    }
}

static void print(void)
{
    for (uint32_t i = 0; i < expected; i++) {
        app_say(i % LINE_BYTES ? "" : i ? "\r\nm-buffer-" : "m-buffer-");
        app_say_hex(input[i] ^ PIXEL, 2);
    }
    app_say(expected ? "\r\n" : "");
}

static void buffer(char *rest)
{
    const char *word = app_text_word(&rest);
    if (strcmp(word, "load") == 0) {
        load(app_text_word(&rest));
    } else if (strcmp(word, "print") == 0) {
        print();
    } else {
        store(word);
    }
}

/* Whether somebody has something to say. Runners may end their lines in a CR or LF. */
static bool interrupted(void)
{
    uint8_t byte;
    if (!app_read(&byte) || byte == '\r' || byte == '\n') {
        return false;
    }
    app_unread(byte);
    return true;
}

/* False: it was ended before the last run. */
static bool run(uint32_t times)
{
    for (uint32_t done = 0; done < times; done++) {
        if (done && interrupted()) {
            say_line("e-[infer was ended by what arrived]");
            return false;
        }
        memcpy(snap_model_input(app_arena), input, sizeof input);
        app_inference(&last, 0);
        inferred = true;
    }
    return true;
}

static void infer(char *rest)
{
    uint32_t runs = 1, warmups = WARMUPS;
    const char *word = app_text_word(&rest);
    if (*word && (!app_text_number(word, APP_RUNS_MAX, &runs) || runs == 0)) {
        say_line("e-[infer takes from 1 to 1000000 runs]");
        return;
    }
    word = app_text_word(&rest);
    if (*word && !app_text_number(word, APP_RUNS_MAX, &warmups)) {
        say_line("e-[infer takes from 0 to 1000000 warm-up runs]");
        return;
    }
    if (loaded != expected) {
        say_line("e-[the input is not complete]");
        return;
    }
    if (app_image_damaged()) {
        say_line("e-[the image is damaged]");
        return;
    }
    say_count("m-warmup-start-", warmups);
    if (!run(warmups)) {
        return;
    }
    say_line("m-warmup-done");
    say_count("m-infer-start-", runs);
    say_lap();
    if (!run(runs)) {
        return;
    }
    say_lap();
    say_line("m-infer-done");
    say_results();
}

static void results(void)
{
    if (inferred) {
        say_results();
    } else {
        say_line("e-[nothing was inferred yet]");
    }
}

static void help(void)
{
    say_line("name%         what this is");
    say_line("profile%      which firmware and model");
    say_line("timestamp%    microseconds since boot");
    say_line("db load N%    announce an input of N bytes");
    say_line("db HEX%       its next bytes, two digits each");
    say_line("db print%     the input");
    say_line("infer N W%    W runs to warm up, N timed ones; any byte ends it");
    say_line("results%      probability of each class");
}

static void carry_out(char *line)
{
    const char *word = app_text_word(&line);
    if (strcmp(word, "name") == 0) {
        app_say("m-name-dut-[snap " PORT_TARGET_NAME);
        say_line(port_board.emulator ? " emulator]" : "]");
    } else if (strcmp(word, "profile") == 0) {
        say_line("m-profile-[ULPMark for tinyML Firmware V0.0.1]");
        say_line("m-model-[" MODEL_NAME "]");
    } else if (strcmp(word, "timestamp") == 0) {
        say_lap();
    } else if (strcmp(word, "db") == 0) {
        buffer(line);
    } else if (strcmp(word, "infer") == 0) {
        infer(line);
    } else if (strcmp(word, "results") == 0) {
        results();
    } else if (strcmp(word, "help") == 0) {
        help();
    } else if (*word) { /* runners send an empty command to find an end */
        say_line("e-[unknown command]");
    }
}

void app_mlperf_boot(void)
{
    memset(input, PIXEL, sizeof input);
    expected = loaded = 0;
    inferred = false;
    say_line("m-timestamp-mode-performance");
    say_lap();
    say_line("m-init-done");
    say_line("m-ready");
}

void app_mlperf_command(char *line)
{
    carry_out(line);
    say_line("m-ready");
}

void app_mlperf_refuse(const char *why)
{
    app_say("e-[");
    app_say(why);
    say_line("]");
    say_line("m-ready");
}
