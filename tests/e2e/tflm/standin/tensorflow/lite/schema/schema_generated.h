/* The part of TFLite-Micro's face that a user's program touches, with nothing behind it. */
#ifndef STANDIN_SCHEMA_GENERATED_H
#define STANDIN_SCHEMA_GENERATED_H

namespace tflite {
struct Model;
const Model *GetModel(const void *content);
}

#endif
