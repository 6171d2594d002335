/* Runs a model once, on the input that the anchors were measured with, when a byte arrives.
 * Answers with u64 instructions, u32 bytes of stack, and the output.
 *
 * cycles.py calls fill_input(), snap_model_run() and output_values() one by one, by their symbols:
 * so they stay functions. */
#include "port.h"
#include "snap_model.h"

static _Alignas(SNAP_MODEL_ARENA_ALIGN) uint8_t arena[SNAP_MODEL_ARENA_BYTES];

static void send(const void *values, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        port_uart_write(((const uint8_t *)values)[i]);
    }
}

void app_fault(const struct port_fault *fault)
{
    (void)fault; /* a run that faults has no answer */
}

__attribute__((noinline)) static void fill_input(void)
{
    int8_t *input = snap_model_input(arena);
    uint32_t state = 1;
    for (int32_t i = 0; i < SNAP_MODEL_INPUT_BYTES; i++) {
        state = state * 1664525u + 1013904223u;
        input[i] = (int8_t)(state >> 24);
    }
}

__attribute__((noinline)) static const int8_t *output_values(void)
{
    return snap_model_output(arena);
}

int main(void)
{
    uint8_t byte;

    port_init();
    for (;;) {
        while (!port_uart_poll(&byte)) {
            port_idle();
        }
        fill_input();
        const uint32_t interrupts = port_irq_mask();
        port_counter_align();
        const uint32_t start = port_counter();
        snap_model_run(arena);
        const uint64_t count = (uint64_t)(port_counter() - start) * port_board.counter_step;
        port_irq_restore(interrupts);
        const uint32_t stack = port_stack_used_bytes();
        send(&count, sizeof count);
        send(&stack, sizeof stack);
        send(output_values(), SNAP_MODEL_OUTPUT_BYTES);
    }
}
