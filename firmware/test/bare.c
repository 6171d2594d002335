/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* A port without the application: answers single letters with words, and makes every
 * kind of fault. Small letters do so with interrupts masked, as inferences run;
 * capital ones without. */
#include "port.h"

#include <string.h>

#define NOWHERE 0x50000000u /* no board has anything there */
#define SCB_ICSR (*(volatile uint32_t *)0xE000ED04u)
#define NVIC_ISER0 (*(volatile uint32_t *)0xE000E100u)
#define NVIC_ICER0 (*(volatile uint32_t *)0xE000E180u)
#define NVIC_ISPR0 (*(volatile uint32_t *)0xE000E200u)

static volatile uint32_t zero;
static volatile bool faulty_report;

/* Not inlined: the pc of the report is looked up in them. */
#define APART __attribute__((noinline))
APART void fault_undefined(void);
APART void fault_division(void);
APART void fault_read(void);
APART void fault_write(void);
APART void fault_state(void);
APART uint32_t fault_recursion(uint32_t level);
APART void fault_frame(void);
APART void fault_stack_pointer(void);

static void write_word(uint32_t word)
{
    for (int shift = 0; shift < 32; shift += 8) {
        port_uart_write((uint8_t)(word >> shift));
    }
}

static uint8_t read_byte(void)
{
    uint8_t byte;
    while (!port_uart_poll(&byte)) {
        port_watchdog_feed();
        port_idle();
    }
    return byte;
}

void app_fault(const struct port_fault *fault)
{
    if (faulty_report) {
        fault_undefined();
    }
    const uint32_t words[] = {fault->exception, fault->cfsr, fault->hfsr, fault->address,
                              fault->pc, fault->lr, fault->stack_overflow};
    port_uart_write('F');
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        write_word(words[i]);
    }
}

/* ---- Faults ---------------------------------------------------------------- */

void fault_undefined(void)
{
    __asm volatile("udf #0");
}

void fault_division(void)
{
    zero = 100 / zero;
}

void fault_read(void)
{
    zero = *(volatile uint32_t *)NOWHERE;
}

void fault_write(void)
{
    *(volatile uint32_t *)NOWHERE = 1;
}

void fault_state(void)
{
    __asm volatile("bx %0" ::"r"(0x100u)); /* without the Thumb bit */
}

uint32_t fault_recursion(uint32_t level)
{
    volatile uint32_t frame[4] = {level};
    return level ? fault_recursion(level + 1) + frame[0] : 0;
}

void fault_frame(void)
{
    volatile uint32_t frame[0x1000];
    frame[0] = 1;
    zero = frame[0];
}

void fault_stack_pointer(void)
{
    __asm volatile("mov sp, %0\n push {r0}" ::"r"(NOWHERE));
}

static void make_fault(uint8_t letter)
{
    if (letter < 'a') {
        NVIC_ICER0 = UINT32_MAX; /* those that end a sleep */
        __asm volatile("cpsie i" ::: "memory");
        letter = (uint8_t)(letter + 'a' - 'A');
    }
    switch (letter) {
    case 'u': fault_undefined(); break;
    case 'd': fault_division(); break;
    case 'r': fault_read(); break;
    case 'w': fault_write(); break;
    case 's': fault_state(); break;
    case 'o': zero = fault_recursion(1); break;
    case 'f': fault_frame(); break;
    case 'p': fault_stack_pointer(); break;
    case 'n': SCB_ICSR = 1u << 31; break; /* NMI */
    case 'i': /* an interrupt that nobody waits for */
        NVIC_ISER0 = 1u << 5;
        NVIC_ISPR0 = 1u << 5;
        break;
    case 't': /* twice: in the report too */
        faulty_report = true;
        fault_undefined();
        break;
    default: break;
    }
    __asm volatile("dsb\n isb");
}

/* ---- What works ------------------------------------------------------------ */

/* Counts of the same work, and the time at its end: 20 of each. */
static void count_repeatedly(void)
{
    for (int run = 0; run < 20; run++) {
        port_counter_align();
        const uint32_t start = port_counter();
        for (volatile int i = 0; i < 1000; i++) {
        }
        const uint32_t end = port_counter();
        write_word(end - start);
        write_word(end);
    }
}

static void sleep(void)
{
    const uint32_t start = port_counter();
    port_idle(); /* what came with the last byte may end the first one at once */
    port_idle();
    write_word(port_counter() - start);
}

static void tell_image(void)
{
    const struct port_image image = port_image();
    write_word((uint32_t)image.bytes);
    write_word((uint32_t)image.count);
    write_word(image.crc);
    for (size_t i = 0; i < image.count; i++) {
        port_uart_write(image.bytes[i]);
    }
}

/* The letter, a page, then 4 bytes: replaces the page with them. */
static void replace_settings(void)
{
    const int page = read_byte() - '0';
    uint8_t bytes[4];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = read_byte();
    }
    write_word(port_settings_replace(page, bytes, sizeof bytes));
}

/* The letter, then a page. */
static void tell_settings(void)
{
    const struct port_settings settings = port_settings(read_byte() - '0');
    uint32_t words[2];
    memcpy(words, settings.bytes, sizeof words);
    write_word((uint32_t)settings.capacity);
    write_word(words[0]);
    write_word(words[1]);
}

_Noreturn void app_run(void)
{
    port_uart_write('B'); /* boots */
    for (;;) {
        const uint8_t letter = read_byte();
        switch (letter) {
        case '1': count_repeatedly(); break;
        case '2': sleep(); break;
        case '3': tell_image(); break;
        case '4': replace_settings(); break;
        case '5': tell_settings(); break;
        case '6': /* all of it but the erasing, which overwrites nothing here */
            write_word(port_settings_replace(0, 0, port_settings(0).capacity + 1));
            break;
        case '7':
            write_word(port_stack_used_bytes());
            write_word(port_stack_reserved_bytes());
            break;
        case '8': port_restart();
        case '9': /* what outlives a restart, and what the next one shall find there */
            write_word(*port_kept());
            *port_kept() = read_byte();
            break;
        case '0': /* hangs */
            for (;;) {
            }
        default: make_fault(letter);
        }
    }
}
