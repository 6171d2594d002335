"""The typed layer list and what it computes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx

Kernel = fx.ConvS8 | fx.FullyConnectedS8 | fx.MeanS8


@dataclass(frozen=True)
class Tensor:
    """An int8 activation: real = scale * (q - zero_point); shape without the batch axis."""

    name: str
    shape: tuple[int, ...]
    scale: float
    zero_point: int

    @property
    def size_bytes(self) -> int:
        return int(np.prod(self.shape))

    @property
    def channels(self) -> int:
        return self.shape[-1]

    @property
    def positions(self) -> int:
        return self.size_bytes // self.channels

    def quantize(self, real: NDArray[np.float32]) -> NDArray[np.int8]:
        """Rounds half to even, as TFLite's converter and QUANTIZE users in numpy do."""
        steps = np.rint(real / np.float32(self.scale)) + self.zero_point
        return np.clip(steps, -128, 127).astype(np.int8)


@dataclass(frozen=True)
class Layer:
    """One kernel from one activation to another; depthwise tells the two convolutions apart."""

    name: str
    kernel: Kernel
    source: str
    target: str
    depthwise: bool = False

    @property
    def macs(self) -> int:
        k = self.kernel
        if isinstance(k, fx.ConvS8):
            outputs = k.out_h * k.out_w * k.out_c
            return outputs * k.kernel_h * k.kernel_w * (1 if self.depthwise else k.in_c)
        if isinstance(k, fx.FullyConnectedS8):
            return k.inputs * k.outputs
        return k.positions * k.channels

    def run(self, x: NDArray[np.int8]) -> NDArray[np.int8]:
        k = self.kernel
        if isinstance(k, fx.ConvS8):
            return fx.depthwise_conv_s8(k, x) if self.depthwise else fx.conv_s8(k, x)
        if isinstance(k, fx.FullyConnectedS8):
            return fx.fully_connected_s8(k, x.reshape(len(x), -1))
        return fx.mean_s8(k, x)


@dataclass(frozen=True)
class Graph:
    """tensors by name; outputs maps the names of the .tflite's signature to tensors."""

    tensors: dict[str, Tensor]
    layers: tuple[Layer, ...]
    input: str
    outputs: dict[str, str]

    @property
    def macs(self) -> int:
        return sum(layer.macs for layer in self.layers)

    def run(self, x: NDArray[np.int8], keep: set[str]) -> dict[str, NDArray[np.int8]]:
        """Integer evaluation of x [n, *input shape]: {tensor name: values} of those to keep."""
        current, kept = {self.input: x}, {}
        last_use = {layer.source: i for i, layer in enumerate(self.layers)}
        for i, layer in enumerate(self.layers):
            current[layer.target] = layer.run(current[layer.source])
            if layer.target in keep:
                kept[layer.target] = current[layer.target]
            if last_use[layer.source] == i:
                del current[layer.source]
        return kept
