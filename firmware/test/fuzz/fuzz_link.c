/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* The application with the tiny model on a board made of buffers: any bytes may arrive.
 *
 * Of an input, byte 0 says what is wrong with the board (below), bytes 1 and 2 after how many
 * received bytes it is quiet and for how many tenths of a second; the rest is received. Built
 * with libFuzzer (mutate.c), or with replay.c, which runs files.
 */
#include "fuzz_link.h"

#include <setjmp.h>
#include <string.h>

#include "app.h"
#include "port.h"

#define IMAGE_DAMAGED 1u
#define NO_SETTINGS 2u
#define FLASH_FAILS 4u
#define FAULTS 8u

#define COUNTER_HZ 1000000u
#define PAGE_BYTES 128

const struct port_board port_board = {PORT_UNIT_CYCLES, 1, COUNTER_HZ, true};

static struct {
    const uint8_t *next, *end;
    size_t quiet_at; /* bytes left to receive when it gets quiet */
    uint32_t quiet;  /* tenths of a second */
    uint32_t now;
    uint32_t kept;
    uint8_t broken;
} board;

static _Alignas(8) uint8_t flash[PORT_SETTINGS_PAGES][PAGE_BYTES];
static jmp_buf restart;

bool port_uart_poll(uint8_t *byte)
{
    if ((size_t)(board.end - board.next) == board.quiet_at && board.quiet) {
        return false;
    }
    if (board.next == board.end) {
        return false;
    }
    *byte = *board.next++;
    return true;
}

void port_idle(void)
{
    board.now += COUNTER_HZ / 10;
    if (board.quiet) {
        board.quiet--;
    }
}

void port_uart_write(uint8_t byte)
{
    (void)byte;
}

uint32_t port_counter(void)
{
    return board.now += 10;
}

bool port_uart_set_baud(uint32_t baud)
{
    return baud >= 9600;
}

struct port_settings port_settings(int page)
{
    return (struct port_settings){flash[page], board.broken & NO_SETTINGS ? 0 : PAGE_BYTES};
}

uint32_t *port_kept(void)
{
    return &board.kept;
}

bool port_settings_replace(int page, const uint8_t *bytes, size_t count)
{
    memset(flash[page], 0xFF, PAGE_BYTES);
    memcpy(flash[page], bytes, board.broken & FLASH_FAILS ? count / 2 : count);
    return !(board.broken & FLASH_FAILS);
}

struct port_image port_image(void)
{
    static const uint8_t image[4] = "snap";
    return (struct port_image){image, sizeof image,
                               board.broken & IMAGE_DAMAGED ? 0 : 0x36641D9Eu};
}

_Noreturn void port_restart(void)
{
    longjmp(restart, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < FUZZ_HEAD_BYTES) {
        return 0;
    }
    board.broken = data[0];
    board.next = data + FUZZ_HEAD_BYTES;
    board.end = data + size;
    board.quiet_at = size - FUZZ_HEAD_BYTES < data[1] ? 0 : size - FUZZ_HEAD_BYTES - data[1];
    board.quiet = data[2];
    board.now = 0;
    board.kept = 0;
    memset(flash, 0xFF, sizeof flash);

    setjmp(restart); /* comes back here with what is left to receive */
    app_boot();
    while (board.next < board.end) {
        app_turn();
    }
    app_turn();
    if (board.broken & FAULTS) {
        app_fault(&(struct port_fault){.exception = data[1], .pc = board.now});
    }
    return 0;
}
