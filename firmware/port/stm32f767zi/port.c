/* STM32F767ZI on a NUCLEO-F767ZI: USART3 on PD8 and PD9.
 * It runs at the reset clock (HSI) with the caches off: clock tree and caches
 * belong to the step that flashes a real board, where they can be verified. */
#include "port.h"

#include "../stm32.h"

#define CONSOLE ((struct stm32_usart *)0x40004800u)
#define GPIOD ((struct stm32_gpio *)0x40020C00u)
#define RCC_AHB1ENR (*(volatile uint32_t *)0x40023830u)
#define RCC_APB1ENR (*(volatile uint32_t *)0x40023840u)
#define RESET_CLOCK_HZ 16000000u

const struct port_board port_board = {PORT_UNIT_CYCLES, 1, false};

void port_init(void)
{
    RCC_AHB1ENR |= 1u << 3;  /* GPIOD */
    RCC_APB1ENR |= 1u << 18; /* USART3 */
    (void)RCC_APB1ENR;       /* the clock runs only after the write has arrived */
    stm32_pin_alternate(GPIOD, 8, 7);
    stm32_pin_alternate(GPIOD, 9, 7);
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
