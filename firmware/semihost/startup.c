/* The two vectors a Cortex-M needs to reach newlib's start code, which sets up
 * the rest by semihosting (rdimon.specs). */
#include <stdint.h>

extern char stack_top[];
extern void _start(void);

__attribute__((section(".vectors"), used)) static void *const vectors[2] = {
    stack_top,
    (void *)_start,
};
