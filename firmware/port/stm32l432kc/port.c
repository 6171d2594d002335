/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* STM32L432KC on a NUCLEO-L432KC, by the manual RM0394: 80 MHz, USART2 on PA2
 * and PA15, the marker on PA12 (D2), settings in the last two pages of the flash. */
#include <string.h>

#define STM32_CORE_HZ 80000000u
#define STM32_CONSOLE ((struct stm32_usart *)0x40004400u)
#define STM32_CONSOLE_HZ STM32_CORE_HZ
#define STM32_MARKER ((struct stm32_gpio *)0x48000000u)
#define STM32_MARKER_PIN 12u
#include "../stm32.h"
#include "startup.h"

#define GPIOA ((struct stm32_gpio *)0x48000000u)

#define RCC_CR STM32_REGISTER(0x40021000u)
#define RCC_CR_PLLON (1u << 24)
#define RCC_CR_PLLRDY (1u << 25)
#define RCC_CFGR STM32_REGISTER(0x40021008u)
#define RCC_CFGR_SW_PLL 3u
#define RCC_CFGR_SWS_PLL (3u << 2)
#define RCC_PLLCFGR STM32_REGISTER(0x4002100Cu)
#define RCC_AHB2ENR STM32_REGISTER(0x4002104Cu)
#define RCC_AHB2ENR_GPIOAEN (1u << 0)
#define RCC_APB1ENR1 STM32_REGISTER(0x40021058u)
#define RCC_APB1ENR1_USART2EN (1u << 17)
#define RCC_APB1ENR1_PWREN (1u << 28)

#define PWR_CR1 STM32_REGISTER(0x40007000u)
#define PWR_SR2 STM32_REGISTER(0x40007014u)
#define PWR_SR2_VOSF (1u << 10)

#define FLASH_ACR STM32_REGISTER(0x40022000u)
#define FLASH_ACR_LATENCY 7u
#define FLASH_ACR_PRFTEN (1u << 8)
#define FLASH_ACR_CACHES (3u << 9)  /* ICEN, DCEN */
#define FLASH_ACR_FORGET (3u << 11) /* ICRST, DCRST */
#define FLASH_KEYR STM32_REGISTER(0x40022008u)
#define FLASH_SR STM32_REGISTER(0x40022010u)
#define FLASH_SR_ERRORS 0xC3FAu
#define FLASH_SR_BSY (1u << 16)
#define FLASH_CR STM32_REGISTER(0x40022014u)
#define FLASH_CR_PG (1u << 0)
#define FLASH_CR_PER (1u << 1)
#define FLASH_CR_PNB_SHIFT 3
#define FLASH_CR_STRT (1u << 16)
#define FLASH_CR_LOCK (1u << 31)
#define FLASH_START 0x08000000u
#define FLASH_PAGE_BYTES 2048u

static void start_clock(void)
{
    RCC_APB1ENR1 |= RCC_APB1ENR1_PWREN;
    (void)RCC_APB1ENR1; /* the clock runs only after the write has arrived */
    PWR_CR1 = (PWR_CR1 & ~(3u << 9)) | 1u << 9; /* voltage range 1 */
    while (PWR_SR2 & PWR_SR2_VOSF) {
    }
    FLASH_ACR = FLASH_ACR_CACHES | FLASH_ACR_PRFTEN | 4u; /* wait states */
    while ((FLASH_ACR & FLASH_ACR_LATENCY) != 4u) {
    }
    /* MSI, which has 4 MHz after a reset, / 1 x 40 / 2 to the output R. */
    RCC_PLLCFGR = 1u | 0u << 4 | 40u << 8 | 1u << 24 | 0u << 25;
    RCC_CR |= RCC_CR_PLLON;
    while (!(RCC_CR & RCC_CR_PLLRDY)) {
    }
    RCC_CFGR = RCC_CFGR_SW_PLL; /* the buses are not divided */
    while ((RCC_CFGR & RCC_CFGR_SWS_PLL) != RCC_CFGR_SWS_PLL) {
    }
}

void port_init(void)
{
    start_clock();
    RCC_AHB2ENR |= RCC_AHB2ENR_GPIOAEN;
    RCC_APB1ENR1 |= RCC_APB1ENR1_USART2EN;
    (void)RCC_APB1ENR1;
    stm32_marker_start();
    stm32_counter_start();
    stm32_watchdog_start();
    stm32_pin_alternate(GPIOA, 2, 7);
    stm32_pin_alternate(GPIOA, 15, 3);
    port_uart_set_baud(115200);
}

static void wait_for_flash(void)
{
    __asm volatile("dsb" ::: "memory");
    while (FLASH_SR & FLASH_SR_BSY) {
    }
}

bool port_settings_replace(int page, const uint8_t *bytes, size_t count)
{
    uint8_t *const start = port_settings_page(page);
    if (count > port_settings(page).capacity) {
        return false;
    }
    wait_for_flash();
    FLASH_SR = FLASH_SR_ERRORS; /* one that is left standing forbids to write */
    if (FLASH_CR & FLASH_CR_LOCK) {
        FLASH_KEYR = 0x45670123u;
        FLASH_KEYR = 0xCDEF89ABu;
    }
    FLASH_ACR &= ~FLASH_ACR_CACHES; /* they keep what is erased now */

    const uint32_t number = ((uint32_t)start - FLASH_START) / FLASH_PAGE_BYTES;
    FLASH_CR = FLASH_CR_PER | number << FLASH_CR_PNB_SHIFT;
    FLASH_CR |= FLASH_CR_STRT;
    wait_for_flash();

    FLASH_CR = FLASH_CR_PG;
    for (size_t at = 0; at < count; at += 8) {
        uint32_t pair[2] = {UINT32_MAX, UINT32_MAX};
        memcpy(pair, bytes + at, count - at < sizeof pair ? count - at : sizeof pair);
        volatile uint32_t *flash = (volatile uint32_t *)(start + at);
        flash[0] = pair[0]; /* two words in this order are the least that can be written */
        flash[1] = pair[1];
        wait_for_flash();
    }
    FLASH_CR = FLASH_CR_LOCK;
    FLASH_ACR |= FLASH_ACR_FORGET;
    FLASH_ACR &= ~FLASH_ACR_FORGET;
    FLASH_ACR |= FLASH_ACR_CACHES;
    return !(FLASH_SR & FLASH_SR_ERRORS) && memcmp(start, bytes, count) == 0;
}
