"""What a network shows of its inputs in one pass: in float, or in the device's integers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.baselines.last_layer import LastLayer
from snapcli.baselines.method import DISTANCE, FEATURES, LOGITS, SURPRISAL, UNCERTAINTY, Array
from snapcli.data.dataset import Inputs
from snapcli.errors import ArtifactError
from snapcli.fixedpoint.fully_connected import FullyConnectedS8
from snapcli.graph.chunks import in_chunks
from snapcli.graph.graph import Graph
from snapcli.graph.shaping import last_layer
from snapcli.heads.head import Head, surprisals, tapped_blocks
from snapcli.methods.network import surprisal_by
from snapcli.monitor.body import Body, RawScores
from snapcli.monitor.decision import ONE_Q16
from snapcli.monitor.monitor import Monitor

Outputs = dict[str, Array]


@dataclass(frozen=True, eq=False)
class FloatNetwork:
    """model: image -> {block: map, "logits"}; further: heads of other kinds. observe() gives the
    outputs of a baselines.method.Batch for inputs [n, h, w, c]."""

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
        found = pooled_activations(model, x, blocks, self.statistics, flat=flat)
        outputs = {name: values.astype(np.float64) for name, values in found.items()}
        outputs[SURPRISAL] = surprisals(self.own, found)
        for kind, heads in self.further.items():
            outputs[surprisal_by(kind)] = surprisals(heads, found)
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
    def heads(self) -> tuple[str, ...]:
        return tuple(self.further)

    @property
    def last(self) -> LastLayer | None:
        found = _last_of(self.body.graph, self.body.logits_tensor)
        if found is None:
            return None
        kernel, source = found
        tensors = self.body.graph.tensors
        scale = np.float64(tensors[self.body.logits_tensor].scale)
        multiplier = scale * np.ldexp(kernel.out.mantissa.astype(np.float64), kernel.out.shift - 31)
        weights = kernel.weights.astype(np.float64) * multiplier[:, None] / tensors[source].scale
        largest = float(tensors[source].real(np.array(127, np.int8)))
        return LastLayer(weights.T, kernel.out.bias * multiplier, largest)

    def observe(self, x: Inputs) -> Outputs:
        tensor = self.body.graph.tensors[self.body.graph.input]
        parts = [part for _, part in in_chunks(self._observe, tensor.quantize(x))]
        return {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}

    def _observe(self, q: np.ndarray) -> Outputs:
        body, graph = self.body, self.body.graph
        bodies: Sequence[Body] = (body, *self.further.values())
        tapped = set().union(*(b.tapped for b in bodies))
        last = _last_of(graph, body.logits_tensor)
        wanted = tapped | {body.logits_tensor} | ({last[1]} if last else set())
        found = graph.run(q, wanted)
        sums = {name: body.pooled(name, found[name]) for name in tapped}
        logits = found[body.logits_tensor]
        outputs: Outputs = {
            name: total * np.float64(graph.tensors[name].scale / graph.tensors[name].positions)
            for name, total in sums.items()
        }
        outputs[LOGITS] = logits * np.float64(graph.tensors[body.logits_tensor].scale)
        if last:
            features = graph.tensors[last[1]].real(found[last[1]])
            outputs[FEATURES] = features.reshape(len(q), -1).astype(np.float64)
        for kind, each in self.further.items():
            outputs[surprisal_by(kind)] = _surprisal_q16(each, sums, logits) / ONE_Q16
        surprisal = _surprisal_q16(body, sums, logits)
        distance = np.zeros(len(q), np.uint32)
        if body.distance:
            distance = fx.mahalanobis_s8(body.distance, sums[body.taps[-1].after])
            outputs[DISTANCE] = distance / ONE_Q16
        decided = self.monitor.decide(RawScores(surprisal, logits, distance))
        outputs[SURPRISAL] = surprisal / ONE_Q16
        outputs[UNCERTAINTY] = decided.uncertainty_q16 / ONE_Q16
        return outputs


def _surprisal_q16(
    body: Body, sums: Mapping[str, NDArray[np.int32]], logits: NDArray[np.int8]
) -> NDArray[np.uint32]:
    columns = [body.surprisal_q16(i, sums, logits) for i in range(len(body.taps))]
    return np.stack(columns, axis=-1)


def _last_of(graph: Graph, logits: str) -> tuple[FullyConnectedS8, str] | None:
    """The layer of weights that gives the logits and the tensor it reads."""
    try:
        layer = last_layer(graph, logits)
    except ArtifactError:
        return None
    assert isinstance(layer.kernel, FullyConnectedS8)
    return layer.kernel, layer.sources[0]
