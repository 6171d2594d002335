/* What both STM32 boards share: USART (the F0/F3/L4/F7 kind), GPIO and the cycle
 * counter of the core. It is the larger part of their ports, so each port.c
 * includes it once, after it has named its STM32_CONSOLE. Polled, because the
 * bench loop has nothing to do while it waits. */
#ifndef STM32_H
#define STM32_H

#include "port.h"

struct stm32_usart {
    volatile uint32_t cr1, cr2, cr3, brr, gtpr, rtor, rqr, isr, icr, rdr, tdr;
};
struct stm32_gpio {
    volatile uint32_t moder, otyper, ospeedr, pupdr, idr, odr, bsrr, lckr, afr[2];
};

static inline void stm32_pin_alternate(struct stm32_gpio *gpio, uint32_t pin, uint32_t function)
{
    const uint32_t shift = pin % 8 * 4;
    gpio->afr[pin / 8] = (gpio->afr[pin / 8] & ~(0xFu << shift)) | function << shift;
    gpio->moder = (gpio->moder & ~(3u << (pin * 2))) | 2u << (pin * 2);
}

static inline void stm32_console_start(uint32_t clock_hz)
{
    STM32_CONSOLE->brr = (clock_hz + 115200u / 2) / 115200u;
    STM32_CONSOLE->cr1 = 0xDu; /* TE, RE, UE */
}

#define STM32_DEMCR (*(volatile uint32_t *)0xE000EDFCu)
#define STM32_DWT_CTRL (*(volatile uint32_t *)0xE0001000u)
#define STM32_DWT_CYCCNT (*(volatile uint32_t *)0xE0001004u)
#define STM32_DWT_LAR (*(volatile uint32_t *)0xE0001FB0u)

const struct port_board port_board = {PORT_UNIT_CYCLES, 1, false};

_Noreturn void port_exit(int status)
{
    (void)status; /* nobody to tell: a semihosting call without a debugger would fault */
    port_irq_mask();
    for (;;) {
    }
}

bool port_uart_poll(uint8_t *byte)
{
    STM32_CONSOLE->icr = 1u << 3; /* an overrun left standing would stop reception */
    if (!(STM32_CONSOLE->isr & 1u << 5)) {
        return false;
    }
    *byte = (uint8_t)STM32_CONSOLE->rdr;
    return true;
}

uint8_t port_uart_read(void)
{
    uint8_t byte;
    while (!port_uart_poll(&byte)) {
    }
    return byte;
}

void port_uart_write(uint8_t byte)
{
    while (!(STM32_CONSOLE->isr & 1u << 7)) {
    }
    STM32_CONSOLE->tdr = byte;
}

void port_counter_start(void)
{
    STM32_DEMCR |= 1u << 24;     /* TRCENA */
    STM32_DWT_LAR = 0xC5ACCE55u; /* the M7 keeps the DWT locked; the M4 ignores this */
    STM32_DWT_CTRL |= 1u;
    STM32_DWT_CYCCNT = 0;
}

uint64_t port_counter_read(void)
{
    return STM32_DWT_CYCCNT;
}

#endif
