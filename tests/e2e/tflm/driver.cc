/* The adapter on tensors that TFLite-Micro computed elsewhere.
 *
 * stdin: counts of outputs and samples, the size of each output, then sample by sample all of
 * them. stdout: per sample the result as text. The tensors are heap blocks of their exact size, so
 * that a sanitizer sees every read beside them. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "snap_tflm.h"

struct Tensor {
    union {
        int8_t *int8;
    } data;
    size_t bytes;
};

struct Interpreter {
    Tensor tensors[16];
    size_t count;

    size_t outputs_size() const { return count; }
    Tensor *output(size_t index) { return index < count ? &tensors[index] : nullptr; }
};

/* What is wrong with an interpreter shows once, and then nothing is read from it. */
static bool refuses(Interpreter interpreter, snap_tflm_status expected)
{
    snap_tflm<Interpreter> monitor;
    snap_model_result result;
    return monitor.attach(&interpreter) == expected &&
           monitor.read(&result) == SNAP_TFLM_NOT_ATTACHED;
}

static bool refuses_all(const Interpreter &good)
{
    const size_t last = snap_monitor_tensors[SNAP_MONITOR_TENSORS - 1].output;
    Interpreter fewer = good, larger = good, without = good;
    fewer.count = 0;
    larger.tensors[last].bytes++;
    without.tensors[last].data.int8 = nullptr;
    return refuses(fewer, SNAP_TFLM_OUTPUTS) && refuses(larger, SNAP_TFLM_SIZE) &&
           refuses(without, SNAP_TFLM_NO_TENSOR);
}

static uint32_t number()
{
    uint32_t value = 0;
    if (fread(&value, sizeof value, 1, stdin) != 1) {
        exit(2);
    }
    return value;
}

int main()
{
    Interpreter interpreter;
    interpreter.count = number();
    const uint32_t samples = number();
    for (size_t i = 0; i < interpreter.count; i++) {
        interpreter.tensors[i].bytes = number();
        interpreter.tensors[i].data.int8 =
            static_cast<int8_t *>(malloc(interpreter.tensors[i].bytes));
    }
    snap_tflm<Interpreter> monitor;
    snap_model_result result;
    if (!refuses_all(interpreter) || monitor.read(&result) != SNAP_TFLM_NOT_ATTACHED ||
        monitor.attach(&interpreter) != SNAP_TFLM_OK) {
        return 1;
    }
    for (uint32_t sample = 0; sample < samples; sample++) {
        for (size_t i = 0; i < interpreter.count; i++) {
            const Tensor &tensor = interpreter.tensors[i];
            if (fread(tensor.data.int8, 1, tensor.bytes, stdin) != tensor.bytes) {
                return 2;
            }
        }
        if (monitor.read(&result) != SNAP_TFLM_OK) {
            return 1;
        }
        printf("%d %u %u %u %d %d", static_cast<int>(result.predicted),
               static_cast<unsigned>(result.score_q16),
               static_cast<unsigned>(result.uncertainty_q16),
               static_cast<unsigned>(result.foreign_q16), static_cast<int>(result.abstain),
               static_cast<int>(result.foreign));
        for (int tap = 0; tap < SNAP_MODEL_TAPS; tap++) {
            printf(" %u", static_cast<unsigned>(result.surprisal_q16[tap]));
        }
        for (int k = 0; k < SNAP_MODEL_CLASSES; k++) {
            printf(" %d", result.logits[k]);
        }
        puts("");
    }
    for (size_t i = 0; i < interpreter.count; i++) {
        free(interpreter.tensors[i].data.int8);
    }
    return 0;
}
