/* STM32L432KC on a NUCLEO-L432KC: USART2 on PA2 and PA15.
 * It runs at the reset clock (MSI): the clock tree belongs to the step that
 * flashes a real board, where it can be verified. */
#include "port.h"

#include "../stm32.h"

#define CONSOLE ((struct stm32_usart *)0x40004400u)
#define GPIOA ((struct stm32_gpio *)0x48000000u)
#define RCC_AHB2ENR (*(volatile uint32_t *)0x4002104Cu)
#define RCC_APB1ENR1 (*(volatile uint32_t *)0x40021058u)
#define RESET_CLOCK_HZ 4000000u

const struct port_board port_board = {PORT_UNIT_CYCLES, 1, false};

void port_init(void)
{
    RCC_AHB2ENR |= 1u << 0;   /* GPIOA */
    RCC_APB1ENR1 |= 1u << 17; /* USART2 */
    (void)RCC_APB1ENR1;       /* the clock runs only after the write has arrived */
    stm32_pin_alternate(GPIOA, 2, 7);
    stm32_pin_alternate(GPIOA, 15, 3);
    stm32_usart_start(CONSOLE, RESET_CLOCK_HZ);
}

_Noreturn void port_exit(int status)
{
    (void)status; /* nobody to tell: a semihosting call without a debugger would fault */
    port_irq_mask();
    for (;;) {
    }
}

bool port_uart_poll(uint8_t *byte)
{
    return stm32_usart_poll(CONSOLE, byte);
}

uint8_t port_uart_read(void)
{
    uint8_t byte;
    while (!port_uart_poll(&byte)) {
    }
    return byte;
}

void port_uart_write(uint8_t byte)
{
    stm32_usart_write(CONSOLE, byte);
}

void port_counter_start(void)
{
    stm32_cycles_start();
}

uint64_t port_counter_read(void)
{
    return STM32_DWT_CYCCNT;
}
