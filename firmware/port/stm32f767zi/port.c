/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* STM32F767ZI on a NUCLEO-F767ZI, by the manual RM0410: 216 MHz, caches on,
 * USART3 on PD8 and PD9, the marker on PF15 (D2), settings in the last 512 KB
 * of the flash. */
#include <string.h>

#define STM32_CORE_HZ 216000000u
#define STM32_CONSOLE ((struct stm32_usart *)0x40004800u)
#define STM32_CONSOLE_HZ (STM32_CORE_HZ / 4)
#define STM32_MARKER ((struct stm32_gpio *)0x40021400u)
#define STM32_MARKER_PIN 15u
#include "../stm32.h"
#include "startup.h"

#define GPIOD ((struct stm32_gpio *)0x40020C00u)

#define RCC_CR STM32_REGISTER(0x40023800u)
#define RCC_CR_HSEON (1u << 16)
#define RCC_CR_HSERDY (1u << 17)
#define RCC_CR_HSEBYP (1u << 18)
#define RCC_CR_PLLON (1u << 24)
#define RCC_CR_PLLRDY (1u << 25)
#define RCC_PLLCFGR STM32_REGISTER(0x40023804u)
#define RCC_PLLCFGR_HSE (1u << 22)
#define RCC_CFGR STM32_REGISTER(0x40023808u)
#define RCC_CFGR_SW_PLL 2u
#define RCC_CFGR_SWS (3u << 2)
#define RCC_CFGR_SWS_PLL (2u << 2)
#define RCC_CFGR_APB1_BY_4 (5u << 10)
#define RCC_CFGR_APB2_BY_2 (4u << 13)
#define RCC_AHB1ENR STM32_REGISTER(0x40023830u)
#define RCC_AHB1ENR_GPIODEN (1u << 3)
#define RCC_AHB1ENR_GPIOFEN (1u << 5)
#define RCC_APB1ENR STM32_REGISTER(0x40023840u)
#define RCC_APB1ENR_USART3EN (1u << 18)
#define RCC_APB1ENR_PWREN (1u << 28)

#define PWR_CR1 STM32_REGISTER(0x40007000u)
#define PWR_CR1_VOS_SCALE_1 (3u << 14)
#define PWR_CR1_ODEN (1u << 16)
#define PWR_CR1_ODSWEN (1u << 17)
#define PWR_CSR1 STM32_REGISTER(0x40007004u)
#define PWR_CSR1_ODRDY (1u << 16)
#define PWR_CSR1_ODSWRDY (1u << 17)

#define FLASH_ACR STM32_REGISTER(0x40023C00u)
#define FLASH_ACR_LATENCY 0xFu
#define FLASH_ACR_PRFTEN (1u << 8)
#define FLASH_ACR_ARTEN (1u << 9)
#define FLASH_KEYR STM32_REGISTER(0x40023C04u)
#define FLASH_SR STM32_REGISTER(0x40023C0Cu)
#define FLASH_SR_ERRORS 0xF2u
#define FLASH_SR_BSY (1u << 16)
#define FLASH_CR STM32_REGISTER(0x40023C10u)
#define FLASH_CR_PG (1u << 0)
#define FLASH_CR_SER (1u << 1)
#define FLASH_CR_SNB_SHIFT 3
#define FLASH_CR_BY_WORDS (2u << 8)
#define FLASH_CR_STRT (1u << 16)
#define FLASH_CR_LOCK (1u << 31)
#define FLASH_OPTCR STM32_REGISTER(0x40023C14u)
#define FLASH_OPTCR_NDBANK (1u << 29)
#define SECTORS_OF_ONE_BANK {10u, 11u}  /* from 0x08180000 and 0x081C0000, 256 KB each */
#define SECTORS_OF_TWO_BANKS {24u, 26u} /* of the second, the 8th and 10th: there, 128 KB each */

#define SCB_CCR STM32_REGISTER(0xE000ED14u)
#define SCB_CCR_DC (1u << 16)
#define SCB_CCR_IC (1u << 17)
#define SCB_CCSIDR STM32_REGISTER(0xE000ED80u)
#define SCB_CSSELR STM32_REGISTER(0xE000ED84u)
#define SCB_ICIALLU STM32_REGISTER(0xE000EF50u)
#define SCB_DCIMVAC STM32_REGISTER(0xE000EF5Cu)
#define SCB_DCISW STM32_REGISTER(0xE000EF60u)
#define CACHE_LINE_BYTES 32u

/* From tcm.ld: without it they are 0, and nothing is copied. */
extern uint32_t port_itcm_start[] __attribute__((weak)), port_itcm_end[] __attribute__((weak));
extern const uint32_t port_itcm_load[] __attribute__((weak));
PORT_COPY itcm_copy = {port_itcm_load, port_itcm_start, port_itcm_end};

static inline void barrier(void)
{
    __asm volatile("dsb\n isb" ::: "memory");
}

/* The 8 MHz that the ST-LINK gives: true when they are there. In case they are
 * not this waits for some 100 ms. */
static bool start_hse(void)
{
    RCC_CR |= RCC_CR_HSEBYP;
    RCC_CR |= RCC_CR_HSEON;
    for (uint32_t i = 0; i < 100000u; i++) {
        if (RCC_CR & RCC_CR_HSERDY) {
            return true;
        }
    }
    RCC_CR &= ~RCC_CR_HSEON;
    RCC_CR &= ~RCC_CR_HSEBYP;
    return false;
}

/* In the order of the manual's over-drive mode: the PLL is started but not in
 * use, and but for PWR no peripheral has its clock yet. */
static void start_clock(void)
{
    RCC_APB1ENR |= RCC_APB1ENR_PWREN;
    (void)RCC_APB1ENR; /* the clock runs only after the write has arrived */
    PWR_CR1 |= PWR_CR1_VOS_SCALE_1;

    /* 8 MHz / 4 or HSI's 16 MHz / 8 are 2 MHz; x 216 / 2 to the output P; Q and R stay low. */
    const uint32_t source = start_hse() ? RCC_PLLCFGR_HSE | 4u : 8u;
    RCC_PLLCFGR = source | 216u << 6 | 0u << 16 | 9u << 24 | 2u << 28;
    RCC_CR |= RCC_CR_PLLON;

    PWR_CR1 |= PWR_CR1_ODEN;
    while (!(PWR_CSR1 & PWR_CSR1_ODRDY)) {
    }
    PWR_CR1 |= PWR_CR1_ODSWEN;
    while (!(PWR_CSR1 & PWR_CSR1_ODSWRDY)) {
    }
    FLASH_ACR = FLASH_ACR_ARTEN | FLASH_ACR_PRFTEN | 7u; /* wait states */
    while ((FLASH_ACR & FLASH_ACR_LATENCY) != 7u) {
    }
    RCC_CFGR = RCC_CFGR_APB1_BY_4 | RCC_CFGR_APB2_BY_2;
    while (!(RCC_CR & RCC_CR_PLLRDY)) {
    }
    RCC_CFGR |= RCC_CFGR_SW_PLL;
    while ((RCC_CFGR & RCC_CFGR_SWS) != RCC_CFGR_SWS_PLL) {
    }
}

/* What the caches hold after a reset is not defined. */
static void start_caches(void)
{
    barrier();
    SCB_ICIALLU = 0;
    SCB_CSSELR = 0; /* data, first level */
    barrier();
    const uint32_t size = SCB_CCSIDR;
    const uint32_t last_set = size >> 13 & 0x7FFFu, last_way = size >> 3 & 0x3FFu;
    const uint32_t set_shift = (size & 7u) + 4u, way_shift = (uint32_t)__builtin_clz(last_way);
    for (uint32_t set = 0; set <= last_set; set++) {
        for (uint32_t way = 0; way <= last_way; way++) {
            SCB_DCISW = way << way_shift | set << set_shift;
        }
    }
    barrier();
    SCB_CCR |= SCB_CCR_IC | SCB_CCR_DC;
    barrier();
}

void port_init(void)
{
    start_clock();
    start_caches();
    RCC_AHB1ENR |= RCC_AHB1ENR_GPIODEN | RCC_AHB1ENR_GPIOFEN;
    RCC_APB1ENR |= RCC_APB1ENR_USART3EN;
    (void)RCC_APB1ENR;
    stm32_marker_start();
    stm32_counter_start();
    stm32_watchdog_start();
    stm32_pin_alternate(GPIOD, 8, 7);
    stm32_pin_alternate(GPIOD, 9, 7);
    port_uart_set_baud(115200);
}

static void wait_for_flash(void)
{
    barrier();
    while (FLASH_SR & FLASH_SR_BSY) {
    }
}

bool port_settings_replace(int page, const uint8_t *bytes, size_t count)
{
    static const uint8_t sectors[][PORT_SETTINGS_PAGES] = {SECTORS_OF_TWO_BANKS,
                                                           SECTORS_OF_ONE_BANK};
    const struct port_settings settings = port_settings(page);
    uint8_t *const start = port_settings_page(page);
    if (count > settings.capacity) {
        return false;
    }
    wait_for_flash();
    FLASH_SR = FLASH_SR_ERRORS; /* one that is left standing forbids to write */
    if (FLASH_CR & FLASH_CR_LOCK) {
        FLASH_KEYR = 0x45670123u;
        FLASH_KEYR = 0xCDEF89ABu;
    }
    const bool one_bank = FLASH_OPTCR & FLASH_OPTCR_NDBANK;
    const uint32_t sector = sectors[one_bank][page];
    FLASH_CR = FLASH_CR_BY_WORDS | FLASH_CR_SER | sector << FLASH_CR_SNB_SHIFT;
    FLASH_CR |= FLASH_CR_STRT;
    wait_for_flash();

    FLASH_CR = FLASH_CR_BY_WORDS | FLASH_CR_PG;
    for (size_t at = 0; at < count; at += 4) {
        uint32_t word = UINT32_MAX;
        memcpy(&word, bytes + at, count - at < sizeof word ? count - at : sizeof word);
        *(volatile uint32_t *)(start + at) = word;
        wait_for_flash();
    }
    FLASH_CR = FLASH_CR_LOCK;
    for (size_t at = 0; at < settings.capacity; at += CACHE_LINE_BYTES) {
        SCB_DCIMVAC = (uint32_t)start + at; /* erasing goes past the data cache */
    }
    barrier();
    return !(FLASH_SR & FLASH_SR_ERRORS) && memcmp(start, bytes, count) == 0;
}
