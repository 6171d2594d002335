"""The part of the deployed whole that no map touches: int8 backbone, taps and integer heads."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.graph.graph import Graph
from snapcli.graph.reader import read_tflite

MODEL_FILE, HEADS_FILE = "model_int8.tflite", "heads_int8.npz"
DISTANCE = "distance"


@dataclass(frozen=True)
class TapTensors:
    """Names of the graph's tensors before and after a tapped block."""

    before: str
    after: str


@dataclass(frozen=True, eq=False)
class RawScores:
    """surprisal_q16 uint32 [n, taps]; logits int8 [n, classes]; distance_q16 uint32 [n], zeros
    where the body has none."""

    surprisal_q16: NDArray[np.uint32]
    logits: NDArray[np.int8]
    distance_q16: NDArray[np.uint32]

    @property
    def predicted(self) -> NDArray[np.int32]:
        return fx.argmax_s8(self.logits)

    @staticmethod
    def concatenate(parts: "list[RawScores]") -> "RawScores":
        return RawScores(
            np.concatenate([p.surprisal_q16 for p in parts]),
            np.concatenate([p.logits for p in parts]),
            np.concatenate([p.distance_q16 for p in parts]),
        )


@dataclass(frozen=True, eq=False)
class Body:
    """distance: to the nearest class, at the end of the last tap, where a map reads it."""

    graph: Graph
    taps: tuple[TapTensors, ...]
    heads: tuple[fx.GaussianHeadS8, ...]
    distance: fx.MahalanobisS8 | None = None

    @property
    def logits_tensor(self) -> str:
        return self.graph.outputs["logits"]

    @property
    def classes(self) -> int:
        return self.graph.tensors[self.logits_tensor].size_bytes

    def run(self, x: NDArray[np.int8]) -> RawScores:
        names = {name for tap in self.taps for name in (tap.before, tap.after)}
        found = self.graph.run(x, names | {self.logits_tensor})
        sums = {
            name: fx.pool_sum_s8(found[name], self.graph.tensors[name].zero_point) for name in names
        }
        surprisal = [
            fx.surprisal_s8(head, sums[tap.before], sums[tap.after])
            for tap, head in zip(self.taps, self.heads, strict=True)
        ]
        distance = np.zeros(len(x), np.uint32)
        if self.distance:
            distance = fx.mahalanobis_s8(self.distance, sums[self.taps[-1].after])
        return RawScores(np.stack(surprisal, axis=-1), found[self.logits_tensor], distance)


def save_body(body: Body, tflite: bytes, folder: Path) -> None:
    """model_int8.tflite and heads_int8.npz, every array in the device's own type."""
    (folder / MODEL_FILE).write_bytes(tflite)
    arrays: dict[str, NDArray[Any]] = {}
    for i, (tap, head) in enumerate(zip(body.taps, body.heads, strict=True)):
        arrays[f"{i}.tap"] = np.array([tap.before, tap.after])
        arrays |= _head_arrays(head, str(i))
    if body.distance:
        arrays |= _head_arrays(body.distance, DISTANCE)
    np.savez(folder / HEADS_FILE, **arrays)  # type: ignore[arg-type]


def _head_arrays(head: fx.GaussianHeadS8 | fx.MahalanobisS8, prefix: str) -> dict[str, NDArray]:
    arrays: dict[str, NDArray[Any]] = {}
    for field in fields(head):
        value, name = getattr(head, field.name), f"{prefix}.{field.name}"
        if isinstance(value, fx.Standardize):
            arrays[f"{name}.mantissa"] = value.mantissa
            arrays[f"{name}.offset"] = value.offset
            arrays[f"{name}.shift"] = np.array(value.shift)
        elif isinstance(value, fx.Multiplier):
            arrays[name] = np.array([value.mantissa, value.shift])
        else:
            arrays[name] = np.asarray(value)
    return arrays


def load_body(folder: Path) -> Body:
    """What save_body left."""
    graph = read_tflite((folder / MODEL_FILE).read_bytes())
    with np.load(folder / HEADS_FILE) as arrays:
        count = sum(name.endswith(".tap") for name in arrays)
        heads = tuple(_load_head(arrays, str(i)) for i in range(count))
        tensors = tuple(TapTensors(*(str(n) for n in arrays[f"{i}.tap"])) for i in range(count))
        distance = _load_distance(arrays) if f"{DISTANCE}.rank" in arrays else None
    return Body(graph, tensors, heads, distance)


def _load_head(arrays: Any, prefix: str) -> fx.GaussianHeadS8:
    def multiplier(name: str) -> fx.Multiplier:
        return fx.Multiplier(*(int(v) for v in arrays[f"{prefix}.{name}"]))

    values: dict[str, Any] = {}
    for field in fields(fx.GaussianHeadS8):
        if field.name in ("before", "after"):
            values[field.name] = _load_standardize(arrays, f"{prefix}.{field.name}")
        elif field.name in ("latent", "mean", "xi"):
            values[field.name] = multiplier(field.name)
        else:
            value = arrays[f"{prefix}.{field.name}"]
            values[field.name] = value if value.ndim else int(value)
    return fx.GaussianHeadS8(**values)


def _load_distance(arrays: Any) -> fx.MahalanobisS8:
    values: dict[str, Any] = {"input": _load_standardize(arrays, f"{DISTANCE}.input")}
    for field in fields(fx.MahalanobisS8):
        if field.name not in values:
            value = arrays[f"{DISTANCE}.{field.name}"]
            values[field.name] = value if value.ndim else int(value)
    return fx.MahalanobisS8(**values)


def _load_standardize(arrays: Any, name: str) -> fx.Standardize:
    parts = arrays[f"{name}.mantissa"], arrays[f"{name}.offset"]
    return fx.Standardize(*parts, int(arrays[f"{name}.shift"]))
