/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Weak defaults of what a port may give: a function of the port takes the place of
 * the one here. For any compiler with GNU attributes and any Cortex-M; elsewhere
 * (a host) there are no interrupts to mask and no reset. */
#include "port.h"

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define CORTEX_M 1
#define SCB_AIRCR (*(volatile uint32_t *)0xE000ED0Cu)
#else
#define CORTEX_M 0
#endif

#define WEAK __attribute__((weak))

WEAK void port_init(void)
{
}

WEAK void port_idle(void)
{
}

WEAK void port_counter_align(void)
{
}

WEAK bool port_uart_set_baud(uint32_t baud)
{
    (void)baud;
    return false;
}

WEAK void port_marker(bool high)
{
    (void)high;
}

WEAK uint32_t port_irq_mask(void)
{
    uint32_t state = 0;
#if CORTEX_M
    __asm volatile("mrs %0, primask\n cpsid i" : "=r"(state)::"memory");
#endif
    return state;
}

WEAK void port_irq_restore(uint32_t state)
{
#if CORTEX_M
    __asm volatile("msr primask, %0" ::"r"(state) : "memory");
#else
    (void)state;
#endif
}

WEAK struct port_settings port_settings(int page)
{
    (void)page;
    return (struct port_settings){0, 0};
}

WEAK bool port_settings_replace(int page, const uint8_t *bytes, size_t count)
{
    (void)page;
    (void)bytes;
    (void)count;
    return false;
}

WEAK uint32_t *port_kept(void)
{
    return 0;
}

WEAK void port_watchdog_feed(void)
{
}

WEAK struct port_image port_image(void)
{
    return (struct port_image){0, 0, 0};
}

WEAK uint32_t port_stack_used_bytes(void)
{
    return 0;
}

WEAK uint32_t port_stack_reserved_bytes(void)
{
    return 0;
}

WEAK _Noreturn void port_restart(void)
{
#if CORTEX_M
    __asm volatile("dsb" ::: "memory");
    SCB_AIRCR = 0x05FA0004u; /* the key, SYSRESETREQ */
    __asm volatile("dsb" ::: "memory");
#endif
    for (;;) {
    }
}
