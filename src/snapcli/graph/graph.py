"""The typed layer list and what it computes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli.graph.operators import OPERATORS, Kernel


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
    """An operator of TFLite with its parameters, from tensors (or constants) to a tensor."""

    name: str
    operator: str
    kernel: Kernel
    sources: tuple[str, ...]
    target: str

    @property
    def macs(self) -> int:
        return OPERATORS[self.operator].macs(self.kernel)

    @property
    def c_function(self) -> str:
        return OPERATORS[self.operator].c_function


@dataclass(frozen=True)
class Graph:
    """tensors by name; outputs maps the names of the .tflite's signature to tensors; constants
    are int8 operands [size] that no layer computes."""

    tensors: dict[str, Tensor]
    layers: tuple[Layer, ...]
    input: str
    outputs: dict[str, str]
    constants: dict[str, NDArray[np.int8]]

    @property
    def macs(self) -> int:
        return sum(layer.macs for layer in self.layers)

    def run(self, x: NDArray[np.int8], keep: set[str]) -> dict[str, NDArray[np.int8]]:
        """Integer evaluation of x [n, *input shape]: {tensor name: values} of those to keep."""
        constants = {name: values[np.newaxis] for name, values in self.constants.items()}
        current, kept = {self.input: x, **constants}, {}
        last_use = {source: i for i, layer in enumerate(self.layers) for source in layer.sources}
        for i, layer in enumerate(self.layers):
            sources = [current[name] for name in layer.sources]
            result = OPERATORS[layer.operator].run(layer.kernel, *sources)
            current[layer.target] = result.reshape(len(x), *self.tensors[layer.target].shape)
            if layer.target in keep:
                kept[layer.target] = current[layer.target]
            for name in set(layer.sources):
                if last_use[name] == i:
                    del current[name]
        return kept
