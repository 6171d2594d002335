"""What a network shows a monitor in one pass: pooled sums at its taps, and its logits.

Every head, distance and map is computed from this: those of the deployed body, of attach's
candidates, and heads that are fitted anew.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.array import Array
from snapcli.config import MEAN
from snapcli.graph.chunks import in_chunks
from snapcli.graph.foreign import logits_of
from snapcli.graph.graph import Graph, Tensor


@dataclass(frozen=True, eq=False)
class Pooled:
    """sums: {tensor: int32 [n, channels], or twice as many with deviations}; logits int8
    [n, classes]; shown: activations int8 [n, *shape] that were asked for."""

    sums: Mapping[str, NDArray[np.int32]]
    logits: NDArray[np.int8]
    shown: Mapping[str, NDArray[np.int8]] = field(default_factory=dict)

    def channel_means(self, graph: Graph) -> dict[str, Array]:
        """{tensor: the sums as real means over its positions}."""
        return {name: graph.tensors[name].channel_means(q) for name, q in self.sums.items()}

    @staticmethod
    def concatenate(parts: "list[Pooled]") -> "Pooled":
        sums = {name: np.concatenate([p.sums[name] for p in parts]) for name in parts[0].sums}
        shown = {name: np.concatenate([p.shown[name] for p in parts]) for name in parts[0].shown}
        return Pooled(sums, np.concatenate([p.logits for p in parts]), shown)


def pooled(
    graph: Graph,
    tensors: Collection[str],
    statistics: str,
    x: NDArray[np.int8],
    shown: Collection[str] = (),
) -> Pooled:
    """statistics: what a tap is pooled to, as in TrainOptions."""
    logits = logits_of(graph)
    activations = graph.run(x, {*tensors, *shown, logits})
    sums = {
        name: pooled_sums(graph.tensors[name], activations[name], statistics) for name in tensors
    }
    return Pooled(sums, activations[logits], {name: activations[name] for name in shown})


def pooled_in_chunks(
    graph: Graph, tensors: Collection[str], statistics: str, x: NDArray[np.int8]
) -> Pooled:
    """pooled() of many inputs, by all processors."""
    parts = in_chunks(lambda chunk: pooled(graph, tensors, statistics, chunk), x)
    return Pooled.concatenate([part for _, part in parts])


def pooled_sums(tensor: Tensor, activation: NDArray[np.int8], statistics: str) -> NDArray[np.int32]:
    """What a head sees of an activation [n, *shape]: int32 [n, channels], or twice as many."""
    pool = fx.pool_sum_s8 if statistics == MEAN else fx.pool_moments_s8
    return pool(activation, tensor.zero_point)


def of_statistics(tensor: Tensor, sums: NDArray[np.int32], statistics: str) -> NDArray[np.int32]:
    """Pooled sums, perhaps with deviations behind them -> what heads of these statistics take."""
    return sums[:, : tensor.channels] if statistics == MEAN else sums
