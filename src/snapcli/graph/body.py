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


@dataclass(frozen=True)
class TapTensors:
    """Names of the graph's tensors before and after a tapped block."""

    before: str
    after: str


@dataclass(frozen=True, eq=False)
class RawScores:
    """surprisal_q16 uint32 [n, taps]; logits int8 [n, classes]."""

    surprisal_q16: NDArray[np.uint32]
    logits: NDArray[np.int8]

    @property
    def predicted(self) -> NDArray[np.int32]:
        return fx.argmax_s8(self.logits)


@dataclass(frozen=True, eq=False)
class Body:
    graph: Graph
    taps: tuple[TapTensors, ...]
    heads: tuple[fx.GaussianHeadS8, ...]

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
        return RawScores(np.stack(surprisal, axis=-1), found[self.logits_tensor])


def save_body(body: Body, tflite: bytes, folder: Path) -> None:
    """model_int8.tflite and heads_int8.npz, every array in the device's own type."""
    (folder / MODEL_FILE).write_bytes(tflite)
    arrays: dict[str, NDArray[Any]] = {}
    for i, (tap, head) in enumerate(zip(body.taps, body.heads, strict=True)):
        arrays[f"{i}.tap"] = np.array([tap.before, tap.after])
        for field in fields(head):
            value = getattr(head, field.name)
            if isinstance(value, fx.Standardize):
                arrays[f"{i}.{field.name}.mantissa"] = value.mantissa
                arrays[f"{i}.{field.name}.offset"] = value.offset
                arrays[f"{i}.{field.name}.shift"] = np.array(value.shift)
            elif isinstance(value, fx.Multiplier):
                arrays[f"{i}.{field.name}"] = np.array([value.mantissa, value.shift])
            else:
                arrays[f"{i}.{field.name}"] = np.asarray(value)
    np.savez(folder / HEADS_FILE, **arrays)  # type: ignore[arg-type]


def load_body(folder: Path) -> Body:
    """What save_body left."""
    graph = read_tflite((folder / MODEL_FILE).read_bytes())
    with np.load(folder / HEADS_FILE) as arrays:
        count = sum(name.endswith(".tap") for name in arrays)
        heads = tuple(_load_head(arrays, str(i)) for i in range(count))
        tensors = tuple(TapTensors(*(str(n) for n in arrays[f"{i}.tap"])) for i in range(count))
    return Body(graph, tensors, heads)


def _load_head(arrays: Any, prefix: str) -> fx.GaussianHeadS8:
    def multiplier(name: str) -> fx.Multiplier:
        return fx.Multiplier(*(int(v) for v in arrays[f"{prefix}.{name}"]))

    def standardize(name: str) -> fx.Standardize:
        part = f"{prefix}.{name}"
        return fx.Standardize(
            arrays[f"{part}.mantissa"], arrays[f"{part}.offset"], int(arrays[f"{part}.shift"])
        )

    values: dict[str, Any] = {}
    for field in fields(fx.GaussianHeadS8):
        if field.name in ("before", "after"):
            values[field.name] = standardize(field.name)
        elif field.name in ("latent", "mean", "xi"):
            values[field.name] = multiplier(field.name)
        else:
            value = arrays[f"{prefix}.{field.name}"]
            values[field.name] = value if value.ndim else int(value)
    return fx.GaussianHeadS8(**values)
