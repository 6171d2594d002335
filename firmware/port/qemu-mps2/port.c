/* QEMU mps2-an386 (Cortex-M4) and mps2-an500 (Cortex-M7), started with
 * -icount shift=0: one instruction takes one nanosecond of virtual time, so a
 * 25 MHz timer advances by one every 40 instructions, exactly repeatable.
 */
#include "port.h"

#define INSTRUCTIONS_PER_TICK 40u

struct cmsdk_uart {
    volatile uint32_t data, state, control, interrupt, divider;
};
struct cmsdk_timer {
    volatile uint32_t control, value, reload, interrupt;
};
#define UART0 ((struct cmsdk_uart *)0x40004000u)
#define TIMER0 ((struct cmsdk_timer *)0x40000000u)

#define UART_TX_FULL 1u
#define UART_RX_FULL 2u
#define UART_RX_INTERRUPT 2u /* in the interrupt register; line 0 of the NVIC */
#define NVIC_ISER0 (*(volatile uint32_t *)0xE000E100u)
#define NVIC_ICPR0 (*(volatile uint32_t *)0xE000E280u)

const struct port_board port_board = {PORT_UNIT_INSTRUCTIONS, INSTRUCTIONS_PER_TICK, true};

void port_init(void)
{
    UART0->divider = 25000000u / 115200u;
    UART0->control = 0xBu; /* transmit, receive, receive interrupt */
    port_irq_mask();       /* that interrupt is only there to end a WFI */
    NVIC_ISER0 = 1u;
}

_Noreturn void port_exit(int status)
{
    /* Semihosting SYS_EXIT_EXTENDED with the reason "application exit". */
    const uint32_t block[2] = {0x20026u, (uint32_t)status};
    register uint32_t operation __asm("r0") = 0x20u;
    register const uint32_t *argument __asm("r1") = block;
    __asm volatile("bkpt 0xAB" ::"r"(operation), "r"(argument) : "memory");
    for (;;) {
    }
}

bool port_uart_poll(uint8_t *byte)
{
    if (!(UART0->state & UART_RX_FULL)) {
        return false;
    }
    *byte = (uint8_t)UART0->data;
    return true;
}

uint8_t port_uart_read(void)
{
    uint8_t byte;
    /* Sleeping instead of spinning leaves the host's cores to the host, and a
     * byte then arrives in two thirds of the time. What comes in between the
     * look and the sleep is pending and ends the sleep. */
    while (!port_uart_poll(&byte)) {
        __asm volatile("wfi");
        UART0->interrupt = UART_RX_INTERRUPT;
        NVIC_ICPR0 = 1u;
    }
    return byte;
}

void port_uart_write(uint8_t byte)
{
    while (UART0->state & UART_TX_FULL) {
    }
    UART0->data = byte;
}

/* TIMER0 and not SysTick: 32 bits last for 171e9 instructions, 24 for 0.67e9. */
void port_counter_start(void)
{
    TIMER0->control = 0;
    TIMER0->reload = UINT32_MAX;
    TIMER0->value = UINT32_MAX;
    TIMER0->control = 1u;
}

uint64_t port_counter_read(void)
{
    return (uint64_t)(UINT32_MAX - TIMER0->value) * INSTRUCTIONS_PER_TICK;
}
