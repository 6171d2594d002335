/* STM32F767ZI on a NUCLEO-F767ZI: USART3 on PD8 and PD9.
 * It runs at the reset clock (HSI) with the caches off: clock tree and caches
 * belong to the step that flashes a real board, where they can be verified. */
#define STM32_CONSOLE ((struct stm32_usart *)0x40004800u)
#include "../stm32.h"

#define GPIOD ((struct stm32_gpio *)0x40020C00u)
#define RCC_AHB1ENR (*(volatile uint32_t *)0x40023830u)
#define RCC_APB1ENR (*(volatile uint32_t *)0x40023840u)
#define RESET_CLOCK_HZ 16000000u

void port_init(void)
{
    RCC_AHB1ENR |= 1u << 3;  /* GPIOD */
    RCC_APB1ENR |= 1u << 18; /* USART3 */
    (void)RCC_APB1ENR;       /* the clock runs only after the write has arrived */
    stm32_pin_alternate(GPIOD, 8, 7);
    stm32_pin_alternate(GPIOD, 9, 7);
    stm32_console_start(RESET_CLOCK_HZ);
}
