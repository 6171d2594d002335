/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* QEMU mps2-an386 (Cortex-M4) and mps2-an500 (Cortex-M7), started with
 * -icount shift=0: one instruction takes one nanosecond of virtual time, so a
 * 25 MHz timer advances by one every 40 instructions, exactly repeatable.
 */
#include "port.h"
#include "startup.h"

#include <string.h>

#define CLOCK_HZ 25000000u
#define INSTRUCTIONS_PER_COUNT 40u
#ifndef PORT_WATCHDOG_S /* virtual seconds, 10^9 instructions each, or real ones of sleep */
#define PORT_WATCHDOG_S 30u
#endif

struct cmsdk_uart {
    volatile uint32_t data, state, control, interrupt, divider;
};
struct cmsdk_timer {
    volatile uint32_t control, value, reload, interrupt;
};
struct cmsdk_watchdog {
    volatile uint32_t load, value, control, interrupt;
};
#define UART0 ((struct cmsdk_uart *)0x40004000u)
#define TIMER0 ((struct cmsdk_timer *)0x40000000u) /* counts */
#define TIMER1 ((struct cmsdk_timer *)0x40001000u) /* ends a sleep */
#define WATCHDOG ((struct cmsdk_watchdog *)0x40008000u)
#define NVIC_ISER0 (*(volatile uint32_t *)0xE000E100u)
#define NVIC_ICPR0 (*(volatile uint32_t *)0xE000E280u)

#define UART_TX_FULL 1u
#define UART_RX_FULL 2u
#define UART_RX_INTERRUPT 2u
#define TIMER_RUN 1u
#define TIMER_RUN_INTERRUPT 9u
#define WATCHDOG_RUN 3u /* the first end of its count is an NMI, a second one resets */
#define WAKING_LINES (1u << 0 | 1u << 9) /* UART0 receives, TIMER1 */

const struct port_board port_board = {
    PORT_UNIT_INSTRUCTIONS, INSTRUCTIONS_PER_COUNT, CLOCK_HZ, true};

void port_init(void)
{
    UART0->divider = CLOCK_HZ / 115200u;
    UART0->control = 0xBu; /* transmit, receive, receive interrupt */
    TIMER0->reload = UINT32_MAX;
    TIMER0->control = TIMER_RUN;
    TIMER1->reload = CLOCK_HZ / 10;
    TIMER1->control = TIMER_RUN_INTERRUPT;
    WATCHDOG->load = CLOCK_HZ * PORT_WATCHDOG_S;
    WATCHDOG->control = WATCHDOG_RUN;
    port_irq_mask(); /* the two interrupts are only there to end a WFI */
    NVIC_ISER0 = WAKING_LINES;
}

bool port_uart_poll(uint8_t *byte)
{
    if (!(UART0->state & UART_RX_FULL)) {
        return false;
    }
    *byte = (uint8_t)UART0->data;
    return true;
}

void port_uart_write(uint8_t byte)
{
    while (UART0->state & UART_TX_FULL) {
    }
    UART0->data = byte;
}

bool port_uart_set_baud(uint32_t baud)
{
    const uint32_t divider = baud ? (CLOCK_HZ + baud / 2) / baud : 0;
    if (divider < 16 || divider > 0xFFFFFu) {
        return false;
    }
    const uint32_t nearest = CLOCK_HZ / divider;
    if (nearest > baud + baud / 50 || nearest < baud - baud / 50) {
        return false;
    }
    while (UART0->state & UART_TX_FULL) {
    }
    UART0->divider = divider;
    return true;
}

/* Sleeping instead of spinning leaves the host's cores to the host, and a byte then
 * arrives in two thirds of the time. What comes in between the caller's look and
 * the sleep is pending and ends the sleep. */
void port_idle(void)
{
    __asm volatile("wfi");
    UART0->interrupt = UART_RX_INTERRUPT;
    TIMER1->interrupt = 1u;
    NVIC_ICPR0 = WAKING_LINES;
}

/* TIMER0 and not SysTick: 32 bits last for 171e9 instructions, 24 for 0.67e9. */
uint32_t port_counter(void)
{
    return UINT32_MAX - TIMER0->value;
}

/* A timer that is started again begins a whole count from where it stood. */
void port_counter_align(void)
{
    TIMER0->control = 0;
    TIMER0->control = TIMER_RUN;
}

void port_watchdog_feed(void)
{
    WATCHDOG->interrupt = 1u;
}

bool port_settings_replace(int page, const uint8_t *bytes, size_t count)
{
    const size_t capacity = port_settings(page).capacity;
    uint8_t *const flash = port_settings_page(page);
    if (count > capacity) {
        return false;
    }
    memset(flash, 0xFF, capacity);
    memcpy(flash, bytes, count);
    return memcmp(flash, bytes, count) == 0;
}
