/* The blocks both STM32 boards share: USART (the F0/F3/L4/F7 kind), GPIO and
 * the cycle counter of the core. Polled, because the bench loop has nothing to
 * do while it waits. */
#ifndef STM32_H
#define STM32_H

#include <stdbool.h>
#include <stdint.h>

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

static inline void stm32_usart_start(struct stm32_usart *usart, uint32_t clock_hz)
{
    usart->brr = (clock_hz + 115200u / 2) / 115200u;
    usart->cr1 = 0xDu; /* TE, RE, UE */
}

static inline bool stm32_usart_poll(struct stm32_usart *usart, uint8_t *byte)
{
    usart->icr = 1u << 3; /* an overrun left standing would stop reception */
    if (!(usart->isr & 1u << 5)) {
        return false;
    }
    *byte = (uint8_t)usart->rdr;
    return true;
}

static inline void stm32_usart_write(struct stm32_usart *usart, uint8_t byte)
{
    while (!(usart->isr & 1u << 7)) {
    }
    usart->tdr = byte;
}

#define STM32_DEMCR (*(volatile uint32_t *)0xE000EDFCu)
#define STM32_DWT_CTRL (*(volatile uint32_t *)0xE0001000u)
#define STM32_DWT_CYCCNT (*(volatile uint32_t *)0xE0001004u)
#define STM32_DWT_LAR (*(volatile uint32_t *)0xE0001FB0u)

static inline void stm32_cycles_start(void)
{
    STM32_DEMCR |= 1u << 24;      /* TRCENA */
    STM32_DWT_LAR = 0xC5ACCE55u;  /* the M7 keeps the DWT locked; the M4 ignores this */
    STM32_DWT_CTRL |= 1u;
    STM32_DWT_CYCCNT = 0;
}

#endif
