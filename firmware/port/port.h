/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* What a board gives to the application above it.
 *
 * Three functions and one constant are a port; everything else has a weak
 * default in defaults.c that does without. The STM32 and QEMU ports of this
 * folder give all of it (docs/porting.md).
 */
#ifndef PORT_H
#define PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum port_unit {
    PORT_UNIT_INSTRUCTIONS,
    PORT_UNIT_CYCLES,
    PORT_UNIT_NANOSECONDS
};

struct port_board {
    enum port_unit counter_unit;
    uint32_t counter_step; /* units of one count of port_counter() */
    uint32_t counter_hz;   /* counts in a second; virtual seconds on an emulator */
    bool emulator;
};

/* ---- A port has to give ------------------------------------------------ */

extern const struct port_board port_board;

/* Takes one received byte; false when none is waiting. */
bool port_uart_poll(uint8_t *byte);

/* Sends one byte, waiting for room as long as it takes. */
void port_uart_write(uint8_t byte);

/* Runs freely and wraps at 2^32; the application is back within one wrap. */
uint32_t port_counter(void);

/* ---- A port may give --------------------------------------------------- */

/* Clocks, pins and the console at 115200 8N1. Nothing by default. */
void port_init(void);

/* Called while no byte is waiting: may sleep, for 100 ms at most. */
void port_idle(void);

/* Brings the counter to a start that is the same each time, where its step is
 * coarse. Right before a timed run, with interrupts masked. */
void port_counter_align(void);

/* Another rate for the console, once everything written has left. False, and
 * nothing changes, if the board cannot come within 2 % of it. */
bool port_uart_set_baud(uint32_t baud);

/* A pin that is high while an inference is timed. */
void port_marker(bool high);

/* Masks interrupts and returns the state that port_irq_restore() takes back. */
uint32_t port_irq_mask(void);
void port_irq_restore(uint32_t state);

/* Flash of its own for settings, in two pages (0 and 1) that are erased apart: one is whole
 * while the other is written. capacity 0: there is none. */
#define PORT_SETTINGS_PAGES 2
struct port_settings {
    const uint8_t *bytes;
    size_t capacity;
};
struct port_settings port_settings(int page);

/* Erases a page and writes count bytes to its start, from the first to the last.
 * False unless they read back the same. */
bool port_settings_replace(int page, const uint8_t *bytes, size_t count);

/* A word of RAM that a restart leaves alone; after power-on it may hold anything. 0: there is
 * none. */
uint32_t *port_kept(void);

/* Starts the count of a watchdog anew, which port_init() has started. The application is back
 * here after each inference, each byte it sends and each turn of its loop; a page of settings
 * is erased in between. */
void port_watchdog_feed(void);

/* The program as it was linked: code, constants and initial values; bytes 0: not known. */
struct port_image {
    const uint8_t *bytes;
    size_t count;
    uint32_t crc; /* CRC-32 of the bytes, filled in behind the linker */
};
struct port_image port_image(void);

/* The stack is painted before main(): used is the most that was ever in use.
 * Both 0 where nobody knows. */
uint32_t port_stack_used_bytes(void);
uint32_t port_stack_reserved_bytes(void);

/* Starts the program anew, as after power-on. */
_Noreturn void port_restart(void);

/* ---- The application gives --------------------------------------------- */

/* What the core knows about a fault. */
struct port_fault {
    uint32_t exception; /* 2 NMI, 3 hard, 4 memory, 5 bus, 6 usage; others as in the IPSR */
    uint32_t cfsr, hfsr;
    uint32_t address;   /* that was touched; 0 if the core does not know */
    uint32_t pc, lr;    /* of the faulting code; 0 if its stack was gone */
    uint32_t stack_overflow; /* 1: the stack reached its guard */
};

/* Tells about a fault, on a stack that works, before the port restarts. */
void app_fault(const struct port_fault *fault);

/* Answers requests for ever (app.c). main() calls it after port_init(). */
_Noreturn void app_run(void);

#endif
