/* Copyright (c) 2026 The snap developers
 * SPDX-License-Identifier: MIT */
/* S, U, class and decision from the tensors of a TFLite-Micro interpreter.
 *
 *     snap_tflm<tflite::MicroInterpreter> monitor;
 *     monitor.attach(&interpreter);    once, after AllocateTensors()
 *     monitor.read(&result);           after every Invoke(), before the next one
 *
 * The model is the exported one, snap_flatbuffer.c: its last outputs are what the monitor reads.
 * C++11, no heap, no exceptions, no RTTI. */
#ifndef SNAP_TFLM_H
#define SNAP_TFLM_H

#include <stddef.h>
#include <stdint.h>

#include "snap_monitor.h"

enum snap_tflm_status {
    SNAP_TFLM_OK,
    SNAP_TFLM_NOT_ATTACHED, /* attach() was not called, or it failed */
    SNAP_TFLM_OUTPUTS,      /* fewer outputs: not the flatbuffer of this export */
    SNAP_TFLM_SIZE,         /* an output of another size: likewise */
    SNAP_TFLM_NO_TENSOR,    /* an output without memory: AllocateTensors() is missing or failed */
};

/* Interpreter: tflite::MicroInterpreter, or whatever has its outputs_size() and output(). */
template <typename Interpreter>
class snap_tflm {
public:
    /* Checks that this interpreter has every tensor that the monitor reads. */
    snap_tflm_status attach(Interpreter *interpreter)
    {
        interpreter_ = nullptr;
        for (size_t i = 0; i < SNAP_MONITOR_TENSORS; i++) {
            const snap_monitor_tensor &wanted = snap_monitor_tensors[i];
            if (wanted.output >= interpreter->outputs_size()) {
                return SNAP_TFLM_OUTPUTS;
            }
            const auto *const tensor = interpreter->output(wanted.output);
            if (tensor == nullptr || tensor->data.int8 == nullptr) {
                return SNAP_TFLM_NO_TENSOR;
            }
            if (tensor->bytes != wanted.bytes) {
                return SNAP_TFLM_SIZE;
            }
        }
        interpreter_ = interpreter;
        return SNAP_TFLM_OK;
    }

    /* The result of the last Invoke(). settings: nullptr for those of the export. */
    snap_tflm_status read(struct snap_model_result *result,
                          const struct snap_model_settings *settings = nullptr)
    {
        if (interpreter_ == nullptr) {
            return SNAP_TFLM_NOT_ATTACHED;
        }
        const int8_t *tensors[SNAP_MONITOR_TENSORS];
        for (size_t i = 0; i < SNAP_MONITOR_TENSORS; i++) {
            tensors[i] = interpreter_->output(snap_monitor_tensors[i].output)->data.int8;
        }
        snap_monitor_run(tensors, scratch_, settings, result);
        return SNAP_TFLM_OK;
    }

private:
    Interpreter *interpreter_ = nullptr;
    alignas(8) uint8_t scratch_[SNAP_MONITOR_SCRATCH_BYTES];
};

#endif
