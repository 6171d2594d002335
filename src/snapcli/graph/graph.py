"""The typed layer list and what it computes."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array
from snapcli.graph.operators import Kernel, operator


@dataclass(frozen=True)
class Tensor:
    """An activation; shape without the batch axis of 1.

    int8: real = scale * (q - zero_point). float32 (only a graph's own inputs and outputs):
    scale 1, zero point 0. index is its number in the file; None: only we compute it.
    """

    name: str
    shape: tuple[int, ...]
    scale: float
    zero_point: int
    dtype: str = "int8"
    index: int | None = None

    @property
    def size_bytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def channels(self) -> int:
        return self.shape[-1]

    @property
    def positions(self) -> int:
        return math.prod(self.shape) // self.channels

    def quantize(self, real: NDArray[np.float32]) -> NDArray[np.int8]:
        """Rounds half to even, as TFLite's converter and QUANTIZE users in numpy do."""
        steps = np.rint(real / np.float32(self.scale)) + self.zero_point
        return np.clip(steps, -128, 127).astype(np.int8)

    def real(self, q: NDArray[np.int8]) -> NDArray[np.float32]:
        """What quantize() takes back to the same bytes."""
        return (q.astype(np.float32) - np.float32(self.zero_point)) * np.float32(self.scale)

    def channel_means(self, sums: NDArray[np.int32]) -> Array:
        """Real means over the positions, from sums of q - zero_point; deviations behind them have
        the same scale."""
        return sums * np.float64(self.scale / self.positions)


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
        return operator(self.operator).macs(self.kernel)

    @property
    def c_function(self) -> str:
        return operator(self.operator).c_function


@dataclass(frozen=True)
class Graph:
    """tensors by name, each name an identifier; layers in an order that can be run.

    outputs maps the names of the .tflite's signature to tensors. constants are int8 operands
    [size] that no layer computes. views maps a tensor to the one whose bytes it shows under
    another shape (RESHAPE); that one is not a view itself.
    """

    tensors: dict[str, Tensor]
    layers: tuple[Layer, ...]
    inputs: tuple[str, ...]
    outputs: dict[str, str]
    constants: dict[str, NDArray[np.int8]]
    views: dict[str, str] = field(default_factory=dict)

    @property
    def input(self) -> str:
        """The only input of a graph that has just one."""
        (name,) = self.inputs
        return name

    @property
    def macs(self) -> int:
        return sum(layer.macs for layer in self.layers)

    def stored(self, name: str) -> str:
        """The tensor that holds the bytes of this one."""
        return self.views.get(name, name)

    def quantize(self, x: NDArray[np.float32]) -> NDArray[np.int8]:
        """Real values of the only input -> the int8 that run() takes."""
        return self.tensors[self.input].quantize(x)

    def run(self, x: NDArray | Mapping[str, NDArray], keep: Collection[str]) -> dict[str, NDArray]:
        """Integer evaluation: {tensor name: values [n, *shape]} of those to keep.

        x: values [n, *input shape] of the only input, or of every input by its name.
        """
        given = x if isinstance(x, Mapping) else {self.input: x}
        count = len(next(iter(given.values())))
        constants = {name: values[np.newaxis] for name, values in self.constants.items()}
        current: dict[str, NDArray] = {**given, **constants}
        last_use = {
            self.stored(source): i
            for i, layer in enumerate(self.layers)
            for source in layer.sources
        }
        wanted: dict[str, list[str]] = {}
        for name in keep:
            wanted.setdefault(self.stored(name), []).append(name)
        kept: dict[str, NDArray] = {}

        def store(name: str, values: NDArray) -> None:
            for view in wanted.get(name, ()):
                kept[view] = values.reshape(count, *self.tensors[view].shape)

        for name, values in given.items():
            store(name, values)
        for i, layer in enumerate(self.layers):
            sources = [self._shown(name, current) for name in layer.sources]
            current[layer.target] = operator(layer.operator).run(layer.kernel, *sources)
            store(layer.target, current[layer.target])
            for name in {self.stored(source) for source in layer.sources}:
                if last_use[name] == i:
                    del current[name]
        return kept

    def _shown(self, name: str, current: Mapping[str, NDArray]) -> NDArray:
        values = current[self.stored(name)]
        return values.reshape(len(values), *self.tensors[name].shape)
