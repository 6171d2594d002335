/* What a board gives to the programs above it. startup.c and sections.ld are
 * shared by all Cortex-M boards; a board's folder holds port.c and memory.ld.
 */
#ifndef PORT_H
#define PORT_H

#include <stdbool.h>
#include <stdint.h>

enum port_unit {
    PORT_UNIT_INSTRUCTIONS,
    PORT_UNIT_CYCLES
};

struct port_board {
    enum port_unit counter_unit;
    uint32_t counter_step; /* units between two values the counter can show */
    bool emulator;
};

extern const struct port_board port_board;

/* Brings the console UART up, 115200 8N1. */
void port_init(void);

/* Ends the program: QEMU exits with this status, a board stops. */
_Noreturn void port_exit(int status);

/* ---- Console ----------------------------------------------------------- */

/* Takes one received byte; false when none is waiting. */
bool port_uart_poll(uint8_t *byte);
uint8_t port_uart_read(void);
void port_uart_write(uint8_t byte);

/* ---- Counter ----------------------------------------------------------- */

/* Units since port_counter_start(), right for less than 2^32 counter steps. */
void port_counter_start(void);
uint64_t port_counter_read(void);

/* ---- Core (startup.c) -------------------------------------------------- */

/* Masks interrupts and returns the state that port_irq_restore() takes back. */
uint32_t port_irq_mask(void);
void port_irq_restore(uint32_t state);

/* The stack is painted before main(): used is the most that was ever in use. */
uint32_t port_stack_used_bytes(void);
uint32_t port_stack_reserved_bytes(void);

#endif
