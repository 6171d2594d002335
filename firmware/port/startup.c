/* Reset, faults, stack and interrupt mask: the same on every Cortex-M board. */
#include "port.h"

#define STACK_PAINT 0xC0DEFADEu
#define SCB_VTOR (*(volatile uint32_t *)0xE000ED08u)
#define SCB_CPACR (*(volatile uint32_t *)0xE000ED88u)

/* From sections.ld. */
extern uint32_t port_stack_limit[], port_stack_top[];
extern uint32_t port_data_start[], port_data_end[], port_bss_start[], port_bss_end[];
extern const uint32_t port_data_load[];

int main(void);
void port_reset(void);
void port_fault(void);

/* Consoles are polled, so only the core's own exceptions can happen. */
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack_top;
    void (*handler[15])(void);
} vectors = {
    port_stack_top,
    {port_reset, port_fault, port_fault, port_fault, port_fault, port_fault, 0, 0, 0, 0,
     port_fault, port_fault, 0, port_fault, port_fault},
};

__attribute__((noreturn)) void port_reset(void)
{
    SCB_VTOR = (uint32_t)&vectors;
    SCB_CPACR |= 0xFu << 20;
    __asm volatile("dsb\n isb" ::: "memory");

    /* volatile: as a call to memset this loop would paint over its own frame. */
    volatile uint32_t *sp;
    __asm volatile("mov %0, sp" : "=r"(sp));
    for (volatile uint32_t *word = port_stack_limit; word < sp; word++) {
        *word = STACK_PAINT;
    }
    const uint32_t *source = port_data_load;
    for (uint32_t *word = port_data_start; word < port_data_end; word++) {
        *word = *source++;
    }
    for (uint32_t *word = port_bss_start; word < port_bss_end; word++) {
        *word = 0;
    }
    port_exit(main());
}

__attribute__((noreturn)) void port_fault(void)
{
    port_exit(1);
}

uint32_t port_irq_mask(void)
{
    uint32_t state;
    __asm volatile("mrs %0, primask\n cpsid i" : "=r"(state)::"memory");
    return state;
}

void port_irq_restore(uint32_t state)
{
    __asm volatile("msr primask, %0" ::"r"(state) : "memory");
}

uint32_t port_stack_used_bytes(void)
{
    const volatile uint32_t *word = port_stack_limit;
    while (word < port_stack_top && *word == STACK_PAINT) {
        word++;
    }
    return (uint32_t)(port_stack_top - word) * sizeof *word;
}

uint32_t port_stack_reserved_bytes(void)
{
    return (uint32_t)(port_stack_top - port_stack_limit) * sizeof *port_stack_top;
}
