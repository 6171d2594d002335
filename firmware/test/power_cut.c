/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* The settings of the application with the tiny model, on a flash that loses power: once at each
 * byte that is erased or written. Whatever is left, a boot must find the old or the new ones.
 *
 * Processes share the flash and nothing else, so that each of them boots. The byte at which the
 * power goes is half done. Prints how many cuts left the old settings and how many the new ones;
 * the first that left others ends it.
 */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inference.h"
#include "port.h"
#include "settings.h"
#include "snapuq.h"

#define PAGE_BYTES 96
#define NEVER UINT32_MAX
#define CUT 99 /* exit status */

enum erase { /* in which order a page loses its bits */
    UPWARDS,
    DOWNWARDS,
    BY_CHANCE, /* all of it turns to noise first */
    ERASES
};

static struct {
    _Alignas(8) uint8_t page[PORT_SETTINGS_PAGES][PAGE_BYTES];
    uint32_t found; /* check of the settings that a process ended with */
} *flash;
static uint32_t steps_left = NEVER;
static enum erase erase;

/* ---- The board --------------------------------------------------------------- */

const struct port_board port_board = {PORT_UNIT_CYCLES, 1, 1000000u, true};

bool port_uart_poll(uint8_t *byte)
{
    (void)byte;
    return false;
}

void port_uart_write(uint8_t byte)
{
    (void)byte;
}

uint32_t port_counter(void)
{
    return 0;
}

struct port_settings port_settings(int page)
{
    return (struct port_settings){flash->page[page], PAGE_BYTES};
}

static void put(uint8_t *byte, uint8_t value)
{
    if (--steps_left == 0) {
        *byte = (uint8_t)((value & 0x5A) | (*byte & ~0x5A));
        _exit(CUT);
    }
    *byte = value;
}

bool port_settings_replace(int page, const uint8_t *bytes, size_t count)
{
    uint8_t *const start = flash->page[page];
    for (int i = 0; erase == BY_CHANCE && i < PAGE_BYTES; i++) {
        put(start + i, (uint8_t)(start[i] | rand()));
    }
    for (int i = 0; i < PAGE_BYTES; i++) {
        put(start + (erase == DOWNWARDS ? PAGE_BYTES - 1 - i : i), 0xFF);
    }
    for (size_t i = 0; i < count; i++) {
        put(start + i, bytes[i]);
    }
    return memcmp(start, bytes, count) == 0;
}

/* ---- Processes ----------------------------------------------------------------- */

static struct snap_model_settings settings_of(uint32_t threshold_q16)
{
    struct snap_model_settings settings = snap_model_settings;
    settings.threshold_q16 = threshold_q16;
    settings.check = snapuq_crc32(0, (const uint8_t *)&settings + 16, sizeof settings - 16);
    settings.replaces = snap_model_settings.check;
    return settings;
}

/* A device that boots, is sent settings (0: none) and loses power after so many steps: true;
 * false if it came to its end. */
static bool live(const struct snap_model_settings *settings, uint32_t steps)
{
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        steps_left = steps;
        app_settings_init();
        if (settings) {
            memcpy(app_arena, settings, sizeof *settings);
            if (app_settings_replace(app_arena, sizeof *settings) != APP_OK) {
                _exit(1);
            }
        }
        flash->found = app_settings_check();
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        (WEXITSTATUS(status) && WEXITSTATUS(status) != CUT)) {
        fprintf(stderr, "a process ended with status %d\n", status);
        exit(1);
    }
    return WEXITSTATUS(status) == CUT;
}

static void expect(bool right, const char *what, uint32_t cut)
{
    if (!right) {
        fprintf(stderr, "%s after a cut at %u, erased in order %d\n", what, cut, (int)erase);
        exit(1);
    }
}

int main(void)
{
    unsigned old_left = 0, new_left = 0;
    flash = mmap(0, sizeof *flash, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (flash == MAP_FAILED) {
        return 1;
    }
    const struct snap_model_settings chain[] = {
        snap_model_settings, settings_of(1), settings_of(2), settings_of(3),
        snap_model_settings, settings_of(1),
    };
    for (erase = UPWARDS; erase < ERASES; erase++) {
        memset(flash, 0xFF, sizeof *flash);
        for (size_t i = 1; i < sizeof chain / sizeof *chain; i++) {
            const uint32_t old = chain[i - 1].check, new = chain[i].check;
            uint8_t before[sizeof flash->page];
            memcpy(before, flash->page, sizeof before);
            for (uint32_t cut = 1; live(&chain[i], cut); cut++) {
                live(0, NEVER);
                expect(flash->found == old || flash->found == new, "other settings", cut);
                old_left += flash->found == old;
                new_left += flash->found == new;
                /* Once more, and again it goes; then to the end. */
                live(&chain[i], cut % 97 + 1);
                live(0, NEVER);
                expect(flash->found == old || flash->found == new, "others, twice", cut);
                live(&chain[i], NEVER);
                live(0, NEVER);
                expect(flash->found == new, "not the new ones", cut);
                memcpy(flash->page, before, sizeof before);
            }
        }
    }
    printf("%u %u\n", old_left, new_left);
    return 0;
}
