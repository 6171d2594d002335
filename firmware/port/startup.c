/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* Reset, faults, stack and image: the same on every Cortex-M4 and M7 board. */
#include "startup.h"

#include "port.h"

#define STACK_PAINT 0xC0DEFADEu
#define GUARD_BYTES 0x8000u   /* below the stack; a power of two that divides its address */
#define INTERRUPTS 112        /* of the part that has most of them, rounded up */

#define SCB_VTOR (*(volatile uint32_t *)0xE000ED08u)
#define SCB_CCR (*(volatile uint32_t *)0xE000ED14u)
#define SCB_SHCSR (*(volatile uint32_t *)0xE000ED24u)
#define SCB_CFSR (*(volatile uint32_t *)0xE000ED28u)
#define SCB_HFSR (*(volatile uint32_t *)0xE000ED2Cu)
#define SCB_MMFAR (*(volatile uint32_t *)0xE000ED34u)
#define SCB_BFAR (*(volatile uint32_t *)0xE000ED38u)
#define SCB_CPACR (*(volatile uint32_t *)0xE000ED88u)
#define MPU_TYPE (*(volatile uint32_t *)0xE000ED90u)
#define MPU_CTRL (*(volatile uint32_t *)0xE000ED94u)
#define MPU_RNR (*(volatile uint32_t *)0xE000ED98u)
#define MPU_RBAR (*(volatile uint32_t *)0xE000ED9Cu)
#define MPU_RASR (*(volatile uint32_t *)0xE000EDA0u)
#define FPU_FPCCR (*(volatile uint32_t *)0xE000EF34u)

#define CCR_DIV_0_TRP (1u << 4)
#define SHCSR_ENABLE (7u << 16)  /* memory, bus and usage faults of their own */
#define SHCSR_PENDING (15u << 12)
#define CFSR_MMARVALID (1u << 7)
#define CFSR_BFARVALID (1u << 15)
#define MPU_RASR_XN (1u << 28)

/* From sections.ld. */
extern uint32_t port_stack_limit[], port_stack_top[], port_fault_frame[];
extern uint32_t port_data_start[], port_data_end[], port_bss_start[], port_bss_end[];
extern const uint32_t port_data_load[], port_image_crc[];
extern const uint8_t port_image_start[], port_image_end[];
extern const struct port_copy port_copies_start[], port_copies_end[];
/* Their addresses are numbers. */
extern uint8_t port_settings_start[], port_settings_stride[], port_settings_page_bytes[];

int main(void);
_Noreturn void port_reset(void);
static void fault_entry(void);

PORT_COPY data_copy = {port_data_load, port_data_start, port_data_end};

/* Consoles are polled: an exception that happens is one that nobody expects. */
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack_top;
    void (*handler[15 + INTERRUPTS])(void);
} vectors = {
    port_stack_top,
    {port_reset, [1 ... 14 + INTERRUPTS] = fault_entry},
};

/* Nobody may touch the addresses below the stack, which are those below RAM: an overflow
 * faults there whatever answers on the bus, unless a frame is larger than the guard. The
 * rest of the memory stays as without an MPU. */
static void guard_stack(void)
{
    if (!(MPU_TYPE & 0xFF00u)) {
        return; /* a core without regions */
    }
    MPU_RNR = 0;
    MPU_RBAR = (uint32_t)port_stack_limit - GUARD_BYTES;
    MPU_RASR = MPU_RASR_XN | (__builtin_ctz(GUARD_BYTES) - 1) << 1 | 1u;
    MPU_CTRL = 1u << 2 | 1u;
    __asm volatile("dsb\n isb" ::: "memory");
}

_Noreturn void port_reset(void)
{
    SCB_VTOR = (uint32_t)&vectors;
    SCB_CPACR |= 0xFu << 20;
    __asm volatile("dsb\n isb" ::: "memory");
    /* No handler returns, so none has to keep the FPU's registers; kept late,
     * they would go to a stack that may be gone. */
    FPU_FPCCR &= ~(3u << 30);
    SCB_SHCSR |= SHCSR_ENABLE;
    SCB_CCR |= CCR_DIV_0_TRP;

    /* volatile: as a call to memset this loop would paint over its own frame. */
    volatile uint32_t *sp;
    __asm volatile("mov %0, sp" : "=r"(sp));
    for (volatile uint32_t *word = port_stack_limit; word < sp; word++) {
        *word = STACK_PAINT;
    }
    guard_stack();
    for (const struct port_copy *copy = port_copies_start; copy < port_copies_end; copy++) {
        const uint32_t *source = copy->load;
        for (uint32_t *word = copy->start; word < copy->end; word++) {
            *word = *source++;
        }
    }
    for (uint32_t *word = port_bss_start; word < port_bss_end; word++) {
        *word = 0;
    }
    main();
    port_restart();
}

/* ---- Faults -------------------------------------------------------------- */

static struct port_fault fault;
static volatile bool faulted; /* a second fault is one in the report of the first */

static _Noreturn void report(void)
{
    app_fault(&fault);
    port_restart();
}

/* In the handler, below the top of the stack: sp is that of the faulting code. Goes on to
 * report() by an exception return: where a hard fault is handled, one more would stop
 * the core for good. */
__attribute__((used)) static _Noreturn void take_fault(uint32_t sp, uint32_t pc, uint32_t lr)
{
    if (faulted) {
        port_restart();
    }
    faulted = true;
    __asm volatile("mrs %0, ipsr" : "=r"(fault.exception));
    fault.cfsr = SCB_CFSR;
    fault.hfsr = SCB_HFSR;
    fault.address = fault.cfsr & CFSR_MMARVALID   ? SCB_MMFAR
                    : fault.cfsr & CFSR_BFARVALID ? SCB_BFAR
                                                  : 0;
    fault.pc = pc;
    fault.lr = lr;
    fault.stack_overflow = sp < (uint32_t)port_stack_limit ||
                           (uint32_t)port_stack_limit - 1 - fault.address < GUARD_BYTES;
    SCB_SHCSR &= ~SHCSR_PENDING; /* the stacking of the same fault may have failed too */

    port_fault_frame[6] = (uint32_t)report & ~1u;
    port_fault_frame[7] = 1u << 24; /* Thumb */
    __asm volatile("mov sp, %0\n bx %1" ::"r"(port_fault_frame), "r"(0xFFFFFFF9u) : "memory");
    __builtin_unreachable();
}

/* Does not trust the stack: reads the frame only where a whole one can be, then moves
 * to the top, below the frame that take_fault() returns through. */
__attribute__((naked)) static void fault_entry(void)
{
    __asm volatile("cpsid i\n"
                   "mov r0, sp\n"
                   "movs r1, #0\n"
                   "movs r2, #0\n"
                   "ldr r3, =port_stack_limit\n"
                   "cmp r0, r3\n"
                   "blo 1f\n"
                   "ldr r3, =port_fault_frame\n"
                   "cmp r0, r3\n"
                   "bhi 1f\n"
                   "ldr r1, [r0, #24]\n"
                   "ldr r2, [r0, #20]\n"
                   "1: ldr r3, =port_fault_frame\n"
                   "mov sp, r3\n"
                   "b take_fault\n"
                   ".ltorg\n");
}

/* ---- Stack and image ------------------------------------------------------ */

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

struct port_image port_image(void)
{
    return (struct port_image){
        port_image_start,
        (size_t)(port_image_end - port_image_start),
        *port_image_crc,
    };
}

uint8_t *port_settings_page(int page)
{
    return port_settings_start + (size_t)page * (size_t)port_settings_stride;
}

struct port_settings port_settings(int page)
{
    return (struct port_settings){port_settings_page(page), (size_t)port_settings_page_bytes};
}

uint32_t *port_kept(void)
{
    static uint32_t word __attribute__((section(".kept")));
    return &word;
}
