"""The part of the deployed whole that no map touches: int8 backbone, taps and heads."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.config import MEAN, MEAN_DEVIATION
from snapcli.errors import ArtifactError, SnapError
from snapcli.fixedpoint.requantize import INT32_MAX, INT32_MIN
from snapcli.graph.foreign import classifier, logits_of
from snapcli.graph.graph import Graph
from snapcli.graph.reader import read_tflite
from snapcli.heads.likelihoods import LIKELIHOODS
from snapcli.limits import read_bytes
from snapcli.monitor.pooled import Pooled, pooled
from snapcli.stored import Arrays, reading, stored_arrays

MODEL_FILE, HEADS_FILE = "model_int8.tflite", "heads_int8.npz"
_ENERGIES = {kind: likelihood.integer for kind, likelihood in LIKELIHOODS.items()}
_DISTANCE = "distance"


@dataclass(frozen=True)
class TapTensors:
    """Names of the graph's tensors before and after a tapped block."""

    before: str
    after: str


@dataclass(frozen=True, eq=False)
class ClassDistance:
    """How far a pooled tensor lies from the centres of the classes."""

    tensor: str
    parameters: fx.MahalanobisS8


@dataclass(frozen=True, eq=False)
class RawScores:
    """surprisal_q16 uint32 [n, taps]; logits int8 [n, classes]; distance_q16 uint32 [n, 2], to the
    answered and to the nearest other class, zeros where the body measures none."""

    surprisal_q16: NDArray[np.uint32]
    logits: NDArray[np.int8]
    distance_q16: NDArray[np.uint32]

    @property
    def predicted(self) -> NDArray[np.int32]:
        return fx.argmax_s8(self.logits)

    def without_taps(self) -> "RawScores":
        return replace(self, surprisal_q16=self.surprisal_q16[:, :0])

    @staticmethod
    def concatenate(parts: "list[RawScores]") -> "RawScores":
        return RawScores(
            np.concatenate([p.surprisal_q16 for p in parts]),
            np.concatenate([p.logits for p in parts]),
            np.concatenate([p.distance_q16 for p in parts]),
        )


@dataclass(frozen=True, eq=False)
class Body:
    """statistics: what a tap is pooled to, as in TrainOptions. A body without taps has a score
    of 0. distance: where a map reads it."""

    graph: Graph
    taps: tuple[TapTensors, ...]
    heads: tuple[fx.DeviceHead, ...]
    statistics: str = MEAN
    distance: ClassDistance | None = None

    def without_taps(self) -> "Body":
        return replace(self, taps=(), heads=())

    @property
    def logits_tensor(self) -> str:
        return logits_of(self.graph)

    @property
    def results(self) -> tuple[str, ...]:
        """What a caller reads at the end: the logits, then the outputs of a model that has others
        than these and what is tapped."""
        logits = self.logits_tensor
        others = (n for n in self.graph.outputs.values() if n not in {*self.tapped, logits})
        return (logits, *dict.fromkeys(others))

    @property
    def classes(self) -> int:
        return self.graph.tensors[self.logits_tensor].size_bytes

    @property
    def tapped(self) -> set[str]:
        """The tensors on both sides of every tap, and the one whose distance is measured."""
        measured = {self.distance.tensor} if self.distance else set()
        return {name for tap in self.taps for name in (tap.before, tap.after)} | measured

    def run(self, x: NDArray[np.int8]) -> RawScores:
        return self.score(pooled(self.graph, self.tapped, self.statistics, x))

    def score(self, seen: Pooled) -> RawScores:
        """seen: at least this body's tapped tensors, in its statistics."""
        distance = np.zeros((len(seen.logits), 2), np.uint32)
        if self.distance:
            sums, answer = seen.sums[self.distance.tensor], fx.argmax_s8(seen.logits)
            distance = fx.mahalanobis_s8(self.distance.parameters, sums, answer)
        return RawScores(self.surprisals_q16(seen), seen.logits, distance)

    def pooled_length(self, name: str) -> int:
        """Numbers that a tensor is pooled to."""
        return self.graph.tensors[name].channels * (1 if self.statistics == MEAN else 2)

    def surprisals_q16(self, seen: Pooled) -> NDArray[np.uint32]:
        """[n, taps]."""
        scores = np.zeros((len(seen.logits), len(self.taps)), np.uint32)
        for i in range(len(self.taps)):
            scores[:, i] = self.surprisal_q16(i, seen.sums, seen.logits)
        return scores

    def surprisal_q16(
        self, index: int, sums: Mapping[str, NDArray[np.int32]], logits: NDArray[np.int8]
    ) -> NDArray[np.uint32]:
        """Of one tap, uint32 [n]."""
        tap = self.taps[index]
        predicted = fx.argmax_s8(logits)
        return fx.surprisal_q16(self.heads[index], sums[tap.before], sums[tap.after], predicted)


def save_body(body: Body, tflite: bytes, folder: Path) -> None:
    """model_int8.tflite and heads_int8.npz, every array in the device's own type."""
    (folder / MODEL_FILE).write_bytes(tflite)
    arrays: dict[str, NDArray[Any]] = {"statistics": np.array(body.statistics)}
    for i, (tap, head) in enumerate(zip(body.taps, body.heads, strict=True)):
        kind = next(k for k, v in _ENERGIES.items() if isinstance(head.energy, v))
        arrays[f"{i}.tap"] = np.array([tap.before, tap.after])
        arrays[f"{i}.energy"] = np.array(kind)
        arrays |= _arrays(str(i), head.residual) | _arrays(f"{i}.energy", head.energy)
    if body.distance:
        arrays[f"{_DISTANCE}.tensor"] = np.array([body.distance.tensor])
        arrays |= _arrays(_DISTANCE, body.distance.parameters)
    np.savez(folder / HEADS_FILE, **arrays)  # type: ignore[arg-type]


def deployed_graph(tflite: bytes) -> Graph:
    """The network of a .tflite: ours shows what is tapped beside its logits, one of somebody else
    is a classifier."""
    graph = read_tflite(tflite)
    return graph if "logits" in graph.outputs and len(graph.outputs) > 1 else classifier(graph)


def read_graph(path: Path, hint: str) -> Graph:
    """deployed_graph of a file of a run; raises ArtifactError."""
    with reading(path, hint):
        content = read_bytes(path)
    try:
        return deployed_graph(content)
    except SnapError as error:
        raise ArtifactError(f"{path} cannot be read: {error.message}", hint) from None


def read_body(folder: Path, hint: str) -> Body:
    """What save_body left, each array of its type; whether they fit each other is left open."""
    graph = read_graph(folder / MODEL_FILE, hint)
    with stored_arrays(folder / HEADS_FILE, hint) as arrays:
        taps = next(i for i in count() if f"{i}.tap" not in arrays)
        heads = tuple(
            fx.DeviceHead(
                _load(arrays, str(i), fx.HeadS8),
                _load(arrays, f"{i}.energy", _ENERGIES[arrays.word(f"{i}.energy", *_ENERGIES)]),
            )
            for i in range(taps)
        )
        tensors = tuple(TapTensors(*arrays.words(f"{i}.tap", 2)) for i in range(taps))
        distance = None
        if f"{_DISTANCE}.tensor" in arrays:
            (tensor,) = arrays.words(f"{_DISTANCE}.tensor", 1)
            distance = ClassDistance(tensor, _load(arrays, _DISTANCE, fx.MahalanobisS8))
        statistics = arrays.word("statistics", MEAN, MEAN_DEVIATION)
    return Body(graph, tensors, heads, statistics, distance)


def _arrays(prefix: str, value: Any) -> dict[str, NDArray[Any]]:
    """{prefix.field: array} of a parameter dataclass and of those inside of it."""
    arrays: dict[str, NDArray[Any]] = {}
    for field in fields(value):
        name, part = f"{prefix}.{field.name}", getattr(value, field.name)
        if is_dataclass(part):
            arrays |= _arrays(name, part)
        else:
            arrays[name] = np.asarray(part)
    return arrays


def _load(arrays: Arrays, prefix: str, kind: Any) -> Any:
    values: dict[str, Any] = {}
    hints = get_type_hints(kind)
    for name in (field.name for field in fields(kind)):
        part = hints[name]
        whole = f"{prefix}.{name}"
        if is_dataclass(part):
            values[name] = _load(arrays, whole, part)
        elif part is int:
            values[name] = arrays.number(whole, INT32_MIN, INT32_MAX)
        else:
            held = arrays.any(whole)
            # NDArray[np.int8] is ndarray[shape, dtype[np.int8]].
            (dtype,) = get_args(get_args(part)[1])
            values[name] = arrays.array(whole, dtype, (None,) * held.ndim)
    return kind(**values)
