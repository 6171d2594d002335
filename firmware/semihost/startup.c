/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* The two vectors a Cortex-M needs to reach newlib's start code, which sets up
 * the rest by semihosting (rdimon.specs). */
#include <stdint.h>

#define CPACR (*(volatile uint32_t *)0xE000ED88)

extern char stack_top[];
extern void _start(void);

static void reset(void)
{
    CPACR |= UINT32_C(0xF) << 20; /* the floating-point unit, which is off after reset */
    __asm volatile("dsb\n isb");
    _start();
}

__attribute__((section(".vectors"), used)) static void *const vectors[2] = {
    stack_top,
    (void *)reset,
};
