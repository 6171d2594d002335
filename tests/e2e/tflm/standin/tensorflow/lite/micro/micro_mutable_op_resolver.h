#ifndef STANDIN_MICRO_MUTABLE_OP_RESOLVER_H
#define STANDIN_MICRO_MUTABLE_OP_RESOLVER_H

#include "tensorflow/lite/micro/micro_interpreter.h"

namespace tflite {
/* Methods of the real one; what is not here does not compile. */
template <unsigned int count>
class MicroMutableOpResolver : public MicroOpResolver {
public:
    TfLiteStatus AddAdd();
    TfLiteStatus AddAveragePool2D();
    TfLiteStatus AddBatchToSpaceNd();
    TfLiteStatus AddCast();
    TfLiteStatus AddConcatenation();
    TfLiteStatus AddConv2D();
    TfLiteStatus AddDepthwiseConv2D();
    TfLiteStatus AddDequantize();
    TfLiteStatus AddDiv();
    TfLiteStatus AddExpandDims();
    TfLiteStatus AddFill();
    TfLiteStatus AddFullyConnected();
    TfLiteStatus AddGather();
    TfLiteStatus AddHardSwish();
    TfLiteStatus AddLeakyRelu();
    TfLiteStatus AddLogistic();
    TfLiteStatus AddMaxPool2D();
    TfLiteStatus AddMean();
    TfLiteStatus AddMul();
    TfLiteStatus AddPack();
    TfLiteStatus AddPad();
    TfLiteStatus AddQuantize();
    TfLiteStatus AddReduceMax();
    TfLiteStatus AddRelu();
    TfLiteStatus AddRelu6();
    TfLiteStatus AddReshape();
    TfLiteStatus AddResizeNearestNeighbor();
    TfLiteStatus AddShape();
    TfLiteStatus AddSlice();
    TfLiteStatus AddSoftmax();
    TfLiteStatus AddSpaceToBatchNd();
    TfLiteStatus AddSplit();
    TfLiteStatus AddSqueeze();
    TfLiteStatus AddStridedSlice();
    TfLiteStatus AddSub();
    TfLiteStatus AddTanh();
    TfLiteStatus AddTranspose();
};
}

#endif
