#ifndef STANDIN_MICRO_INTERPRETER_H
#define STANDIN_MICRO_INTERPRETER_H

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/lite/schema/schema_generated.h"

enum TfLiteStatus { kTfLiteOk, kTfLiteError };

struct TfLiteTensor {
    union {
        int8_t *int8;
        char *raw;
    } data;
    size_t bytes;
};

namespace tflite {
class MicroOpResolver {
};

class MicroInterpreter {
public:
    MicroInterpreter(const Model *model, const MicroOpResolver &resolver, uint8_t *arena,
                     size_t arena_bytes);
    ~MicroInterpreter();
    TfLiteStatus AllocateTensors();
    TfLiteStatus Invoke();
    TfLiteTensor *input(size_t index);
    TfLiteTensor *output(size_t index);
    size_t outputs_size() const;
    size_t arena_used_bytes() const;
};
}

#endif
