"""What a network shows of its inputs in one pass: in float, or in the device's integers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array
from snapcli.data.dataset import Inputs
from snapcli.errors import ArtifactError
from snapcli.fixedpoint.fully_connected import FullyConnectedS8
from snapcli.graph.chunks import in_chunks
from snapcli.graph.graph import Graph
from snapcli.graph.shaping import last_layer
from snapcli.heads.head import Head, surprisals, tapped_blocks
from snapcli.methods.method import (
    DISTANCE,
    FEATURES,
    FOREIGN,
    LOGITS,
    SURPRISAL,
    UNCERTAINTY,
)
from snapcli.methods.network import surprisal_by
from snapcli.methods.shaped_features import LastLayer
from snapcli.monitor.body import Body
from snapcli.monitor.decision import ONE_Q16
from snapcli.monitor.monitor import Monitor
from snapcli.monitor.pooled import pooled

Outputs = dict[str, Array]


@dataclass(frozen=True, eq=False)
class FloatNetwork:
    """model: image -> {block: map, "logits"}; further: heads of other kinds. observe() gives the
    outputs of a methods.method.Batch for inputs [n, h, w, c]."""

    model: Any
    own: list[Head]
    own_head: str
    statistics: str
    further: Mapping[str, list[Head]]
    is_integer: ClassVar[bool] = False
    shows_activations: ClassVar[bool] = True

    @property
    def taps(self) -> tuple[str, ...]:
        return tuple(head.after for head in self.own)

    @property
    def has_heads(self) -> bool:
        return bool(self.own)

    @property
    def heads(self) -> tuple[str, ...]:
        return tuple(self.further)

    @property
    def last(self) -> LastLayer | None:
        layer = self._last_layer
        if layer is None:
            return None
        weights, *bias = layer.get_weights()
        zero = np.zeros(weights.shape[1])
        return LastLayer(weights.astype(np.float64), (bias[0] if bias else zero).astype(np.float64))

    @property
    def _last_layer(self) -> Any:
        """The Dense layer that gives the logits, None if something else does."""
        logits = self.model.output[LOGITS]
        layer = logits._keras_history.layer
        plain = type(layer).__name__ == "Dense" and layer.activation.__name__ == "linear"
        return layer if plain and len(layer.input.shape) == 2 else None

    def observe(self, x: Inputs) -> Outputs:
        from snapcli.models.activations import pooled_activations

        sets = (self.own, *self.further.values())
        blocks = [name for heads in sets for name in tapped_blocks(list(heads))]
        model, flat = self._visible
        activations = pooled_activations(model, x, blocks, self.statistics, flat=flat)
        outputs = {name: values.astype(np.float64) for name, values in activations.items()}
        outputs[SURPRISAL] = surprisals(self.own, activations)
        for kind, heads in self.further.items():
            outputs[surprisal_by(kind)] = surprisals(heads, activations)
        return outputs

    @cached_property
    def _visible(self) -> tuple[Any, tuple[str, ...]]:
        """The model with its features as one more output, if it has them, and that one's name."""
        import tf_keras

        layer = self._last_layer
        if layer is None:
            return self.model, ()
        outputs = {**self.model.output, FEATURES: layer.input}
        return tf_keras.Model(self.model.input, outputs), (FEATURES,)


@dataclass(frozen=True, eq=False)
class IntegerNetwork:
    """monitor: the deployed one; further: bodies of other heads on the same graph."""

    monitor: Monitor
    own_head: str
    further: Mapping[str, Body]
    is_integer: ClassVar[bool] = True
    shows_activations: ClassVar[bool] = True

    @property
    def body(self) -> Body:
        return self.monitor.body

    @property
    def taps(self) -> tuple[str, ...]:
        return tuple(tap.after for tap in self.body.taps)

    @property
    def has_heads(self) -> bool:
        return bool(self.body.heads)

    @property
    def heads(self) -> tuple[str, ...]:
        return tuple(self.further)

    @property
    def last(self) -> LastLayer | None:
        layer = _last_of(self.body.graph, self.body.logits_tensor)
        if layer is None:
            return None
        kernel, source = layer
        tensors = self.body.graph.tensors
        scale = np.float64(tensors[self.body.logits_tensor].scale)
        multiplier = scale * np.ldexp(kernel.out.mantissa.astype(np.float64), kernel.out.shift - 31)
        weights = kernel.weights.astype(np.float64) * multiplier[:, None] / tensors[source].scale
        largest = float(tensors[source].real(np.array(127, np.int8)))
        return LastLayer(weights.T, kernel.out.bias * multiplier, largest)

    def observe(self, x: Inputs) -> Outputs:
        return in_parts(self.body.graph, self._observe, x)

    def _observe(self, q: np.ndarray) -> Outputs:
        body, tensors = self.body, self.body.graph.tensors
        tapped = body.tapped.union(*(b.tapped for b in self.further.values()))
        last = _last_of(body.graph, body.logits_tensor)
        features = (last[1],) if last else ()
        seen = pooled(body.graph, tapped, body.statistics, q, features)
        raw = body.score(seen)
        outputs = seen.channel_means(body.graph)
        outputs[LOGITS] = seen.logits * np.float64(tensors[body.logits_tensor].scale)
        for name in features:
            real = tensors[name].real(seen.shown[name])
            outputs[FEATURES] = real.reshape(len(q), -1).astype(np.float64)
        for kind, each in self.further.items():
            outputs[surprisal_by(kind)] = each.surprisals_q16(seen) / ONE_Q16
        if body.distance:
            outputs[DISTANCE] = raw.distance_q16 / ONE_Q16
        outputs[SURPRISAL] = raw.surprisal_q16 / ONE_Q16
        decided = self.monitor.decide(raw)
        outputs[UNCERTAINTY] = decided.uncertainty_q16 / ONE_Q16
        outputs[FOREIGN] = decided.foreign_q16 / ONE_Q16
        return outputs


def in_parts(graph: Graph, observe: Callable[[NDArray[np.int8]], Outputs], x: Inputs) -> Outputs:
    """What a look at int8 inputs gives for real ones, a few at a time."""
    parts = [part for _, part in in_chunks(observe, graph.quantize(x))]
    return {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}


def _last_of(graph: Graph, logits: str) -> tuple[FullyConnectedS8, str] | None:
    """The layer of weights that gives the logits and the tensor it reads."""
    try:
        layer = last_layer(graph, logits)
    except ArtifactError:
        return None
    assert isinstance(layer.kernel, FullyConnectedS8)
    return layer.kernel, layer.sources[0]
