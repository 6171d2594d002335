/* STM32L432KC on a NUCLEO-L432KC: USART2 on PA2 and PA15.
 * It runs at the reset clock (MSI): the clock tree belongs to the step that
 * flashes a real board, where it can be verified. */
#define STM32_CONSOLE ((struct stm32_usart *)0x40004400u)
#include "../stm32.h"

#define GPIOA ((struct stm32_gpio *)0x48000000u)
#define RCC_AHB2ENR (*(volatile uint32_t *)0x4002104Cu)
#define RCC_APB1ENR1 (*(volatile uint32_t *)0x40021058u)
#define RESET_CLOCK_HZ 4000000u

void port_init(void)
{
    RCC_AHB2ENR |= 1u << 0;   /* GPIOA */
    RCC_APB1ENR1 |= 1u << 17; /* USART2 */
    (void)RCC_APB1ENR1;       /* the clock runs only after the write has arrived */
    stm32_pin_alternate(GPIOA, 2, 7);
    stm32_pin_alternate(GPIOA, 15, 3);
    stm32_console_start(RESET_CLOCK_HZ);
}
