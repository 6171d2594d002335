"""One int8 network and many sets of heads, which all read the same pass."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array
from snapcli.config import MEAN, MEAN_DEVIATION
from snapcli.data.dataset import Inputs
from snapcli.graph.foreign import logits_of
from snapcli.graph.graph import Graph
from snapcli.graph.passes import simplify
from snapcli.heads.head import Head, surprisals
from snapcli.judging.observe import Outputs, in_parts
from snapcli.methods.method import LOGITS
from snapcli.methods.network import surprisal_by
from snapcli.monitor.body import Body
from snapcli.monitor.decision import ONE_Q16
from snapcli.monitor.pooled import Pooled, of_statistics, pooled


class Heads(Protocol):
    """body: the int8 form of the heads, whatever they compute in."""

    @property
    def body(self) -> Body: ...
    def surprisal(self, seen: Pooled) -> Array:
        """[n, taps]."""


@dataclass(frozen=True, eq=False)
class IntegerHeads:
    body: Body

    def surprisal(self, seen: Pooled) -> Array:
        return self.body.surprisals_q16(_seen_by(self.body, seen)) / ONE_Q16


@dataclass(frozen=True, eq=False)
class FloatHeads:
    """On the int8 network; heads: by its tensors."""

    body: Body
    heads: list[Head]

    def surprisal(self, seen: Pooled) -> Array:
        mine = _seen_by(self.body, seen)
        real = mine.channel_means(self.body.graph)
        return surprisals(self.heads, {**real, "logits": mine.logits})


def half(heads: list[Head]) -> list[Head]:
    """With every number rounded to half precision."""
    return [_half(head) for head in heads]


def _half(head: Head) -> Head:
    likelihood = replace(head.likelihood, **_rounded(head.likelihood))  # type: ignore[type-var]
    return replace(head, **_rounded(head), likelihood=likelihood)


def _rounded(part: Any) -> dict[str, Any]:
    """The arrays of a dataclass; single numbers are few and stay."""
    values = {field.name: getattr(part, field.name) for field in fields(part)}
    arrays = {name: v for name, v in values.items() if isinstance(v, np.ndarray)}
    return {name: v.astype(np.float16).astype(np.float64) for name, v in arrays.items()}


def pooled_by(name: str) -> str:
    """The output that holds the pooled channels of a set's last tap."""
    return f"pooled {name}"


def _last_tap(body: Body, seen: Pooled) -> Array:
    tensor = body.graph.tensors[body.taps[-1].after]
    return tensor.channel_means(_seen_by(body, seen).sums[tensor.name])


def _seen_by(body: Body, seen: Pooled) -> Pooled:
    """With the statistics of this body, at its taps alone."""
    tensors = body.graph.tensors
    sums = {n: of_statistics(tensors[n], seen.sums[n], body.statistics) for n in body.tapped}
    return replace(seen, sums=sums)


@dataclass(frozen=True, eq=False)
class ManyHeads:
    """observe() shows logits and, as surprisal_by(name), the surprisals of every set; where a map
    wants distances, as pooled_by(name) also the pooled channels of its last tap."""

    graph: Graph
    sets: Mapping[str, Heads]
    with_distances: bool = False

    @property
    def _tapped(self) -> set[str]:
        return {tensor for heads in self.sets.values() for tensor in heads.body.tapped}

    def alone(self, name: str) -> Body:
        """The body of one set, whose network need not keep what only the others look at."""
        body = self.sets[name].body
        foreign = self._tapped - body.tapped
        kept = {n: tensor for n, tensor in self.graph.outputs.items() if tensor not in foreign}
        return replace(body, graph=simplify(replace(self.graph, outputs=kept)))

    def observe(self, x: Inputs) -> Outputs:
        return in_parts(self.graph, self._observe, x)

    def _observe(self, q: NDArray[np.int8]) -> Outputs:
        wide = any(h.body.statistics == MEAN_DEVIATION for h in self.sets.values())
        seen = pooled(self.graph, self._tapped, MEAN_DEVIATION if wide else MEAN, q)
        scale = np.float64(self.graph.tensors[logits_of(self.graph)].scale)
        outputs: Outputs = {LOGITS: seen.logits.reshape(len(q), -1) * scale}
        for name, heads in self.sets.items():
            outputs[surprisal_by(name)] = heads.surprisal(seen)
            if self.with_distances:
                outputs[pooled_by(name)] = _last_tap(heads.body, seen)
        return outputs
