/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* What both STM32 boards share: GPIO, USART (the F0/F3/L4/F7 kind), the marker
 * pin, the watchdog and the cycle counter of the core. It is the larger part of their ports,
 * so each port.c includes it once, after it has named
 *   STM32_CORE_HZ      clock of the core, once port_init() is through
 *   STM32_CONSOLE      USART of the ST-LINK's serial port, at STM32_CONSOLE_HZ
 *   STM32_MARKER       GPIO and, with _PIN, its pin: Arduino D2
 * Polled, because the bench loop has nothing to do while it waits; and without
 * sleep, in which the cycle counter would stand still. */
#ifndef STM32_H
#define STM32_H

#include "port.h"

#define STM32_REGISTER(address) (*(volatile uint32_t *)(address))

struct stm32_usart {
    volatile uint32_t cr1, cr2, cr3, brr, gtpr, rtor, rqr, isr, icr, rdr, tdr;
};
#define USART_CR1_UE (1u << 0)
#define USART_CR1_RE (1u << 2)
#define USART_CR1_TE (1u << 3)
#define USART_ISR_ORE (1u << 3) /* and in ICR */
#define USART_ISR_RXNE (1u << 5)
#define USART_ISR_TC (1u << 6)
#define USART_ISR_TXE (1u << 7)
#define USART_BRR_LEAST 16u /* with 16 samples in a bit */
#define USART_BRR_MOST 0xFFFFu

struct stm32_gpio {
    volatile uint32_t moder, otyper, ospeedr, pupdr, idr, odr, bsrr, lckr, afr[2];
};

#define DEMCR STM32_REGISTER(0xE000EDFCu)
#define DEMCR_TRCENA (1u << 24)
#define DWT_CTRL STM32_REGISTER(0xE0001000u)
#define DWT_CTRL_CYCCNTENA (1u << 0)
#define DWT_CYCCNT STM32_REGISTER(0xE0001004u)
#define DWT_LAR STM32_REGISTER(0xE0001FB0u)

#define IWDG_KR STM32_REGISTER(0x40003000u)
#define IWDG_KR_START 0xCCCCu
#define IWDG_KR_UNLOCK 0x5555u
#define IWDG_KR_FEED 0xAAAAu
#define IWDG_PR STM32_REGISTER(0x40003004u)
#define IWDG_PR_BY_256 6u
#define IWDG_RLR STM32_REGISTER(0x40003008u)
#define IWDG_RLR_MOST 0xFFFu
#define IWDG_SR STM32_REGISTER(0x4000300Cu)
#define DBGMCU_APB1_FREEZE STM32_REGISTER(0xE0042008u)
#define DBGMCU_APB1_FREEZE_IWDG (1u << 12)

const struct port_board port_board = {PORT_UNIT_CYCLES, 1, STM32_CORE_HZ, false};

static inline void stm32_pin_mode(struct stm32_gpio *gpio, uint32_t pin, uint32_t mode)
{
    gpio->moder = (gpio->moder & ~(3u << pin * 2)) | mode << pin * 2;
}

static inline void stm32_pin_alternate(struct stm32_gpio *gpio, uint32_t pin, uint32_t function)
{
    const uint32_t shift = pin % 8 * 4;
    gpio->afr[pin / 8] = (gpio->afr[pin / 8] & ~(0xFu << shift)) | function << shift;
    stm32_pin_mode(gpio, pin, 2);
}

static inline void stm32_marker_start(void)
{
    port_marker(false);
    STM32_MARKER->otyper &= ~(1u << STM32_MARKER_PIN); /* push-pull */
    stm32_pin_mode(STM32_MARKER, STM32_MARKER_PIN, 1);
}

static inline void stm32_counter_start(void)
{
    DEMCR |= DEMCR_TRCENA;
    DWT_LAR = 0xC5ACCE55u; /* the M7 keeps the DWT locked; the M4 ignores this */
    DWT_CTRL |= DWT_CTRL_CYCCNTENA;
}

/* 2^20 periods of the 32 kHz oscillator LSI are 32.8 s, the longest there is: by its tolerance
 * 30.8 to 35.5 s on the L4, 22.3 to 61.7 s on the F7. It stands still while a debugger halts the
 * core. Nothing stops it but a reset. */
static inline void stm32_watchdog_start(void)
{
    DBGMCU_APB1_FREEZE |= DBGMCU_APB1_FREEZE_IWDG;
    IWDG_KR = IWDG_KR_START;
    IWDG_KR = IWDG_KR_UNLOCK;
    IWDG_PR = IWDG_PR_BY_256;
    IWDG_RLR = IWDG_RLR_MOST;
    while (IWDG_SR) { /* until both have arrived; should they not, it resets after 0.5 s */
    }
    IWDG_KR = IWDG_KR_FEED;
}

void port_watchdog_feed(void)
{
    IWDG_KR = IWDG_KR_FEED;
}

uint32_t port_counter(void)
{
    return DWT_CYCCNT;
}

void port_marker(bool high)
{
    STM32_MARKER->bsrr = high ? 1u << STM32_MARKER_PIN : 1u << (STM32_MARKER_PIN + 16);
}

bool port_uart_poll(uint8_t *byte)
{
    const uint32_t state = STM32_CONSOLE->isr;
    if (state & USART_ISR_ORE) {
        STM32_CONSOLE->icr = USART_ISR_ORE; /* left standing it would stop reception */
    }
    if (!(state & USART_ISR_RXNE)) {
        return false;
    }
    *byte = (uint8_t)STM32_CONSOLE->rdr;
    return true;
}

void port_uart_write(uint8_t byte)
{
    while (!(STM32_CONSOLE->isr & USART_ISR_TXE)) {
    }
    STM32_CONSOLE->tdr = byte;
}

bool port_uart_set_baud(uint32_t baud)
{
    const uint32_t divider = baud ? (STM32_CONSOLE_HZ + baud / 2) / baud : 0;
    if (divider < USART_BRR_LEAST || divider > USART_BRR_MOST) {
        return false;
    }
    const uint32_t back = divider * baud; /* the clock again, but for the rounding */
    const uint32_t error = back > STM32_CONSOLE_HZ ? back - STM32_CONSOLE_HZ
                                                   : STM32_CONSOLE_HZ - back;
    if (error > back / 50) {
        return false;
    }
    if (STM32_CONSOLE->cr1 & USART_CR1_UE) {
        while (!(STM32_CONSOLE->isr & USART_ISR_TC)) {
        }
    }
    STM32_CONSOLE->cr1 = 0; /* the divider may only change while it is off */
    STM32_CONSOLE->brr = divider;
    STM32_CONSOLE->cr1 = USART_CR1_TE | USART_CR1_RE | USART_CR1_UE;
    return true;
}

#endif
