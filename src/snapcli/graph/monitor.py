"""The deployed whole: an int8 graph, its heads, map and threshold, evaluated in integers.

This is the reference that the firmware must equal bit for bit.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.errors import ArtifactError
from snapcli.graph.graph import Graph
from snapcli.graph.reader import read_tflite
from snapcli.score.maps import Features, GatedMap, IsotonicMap, LogisticMap, Map

ONE_Q16 = 65536
DeviceMap = fx.MapGated | fx.MapLogistic | fx.MapIsotonic
MODEL_FILE, HEADS_FILE, CALIBRATION_FILE = "model_int8.tflite", "heads_int8.npz", "calibration.json"


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
class DeviceScores:
    """What the device answers for n inputs; each [n] but surprisal_q16 and logits."""

    predicted: NDArray[np.int32]
    surprisal_q16: NDArray[np.uint32]
    score_q16: NDArray[np.uint32]
    uncertainty_q16: NDArray[np.uint32]
    abstain: NDArray[np.bool_]
    logits: NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Body:
    """The part that does not depend on the map: backbone, taps and heads."""

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


@dataclass(frozen=True)
class Decision:
    """From raw scores to a decision: all that calibration fits, in the device's numbers.

    temperature is inside the exponential table; it is kept to say what the table holds.
    """

    weight_q16: tuple[int, ...]
    temperature: float
    alpha_q16: int
    map: DeviceMap
    threshold_q16: int


@dataclass(frozen=True, eq=False)
class Monitor:
    body: Body
    decision: Decision

    @property
    def confidence(self) -> fx.Confidence:
        logits = self.body.graph.tensors[self.body.logits_tensor]
        return fx.confidence_of(self.body.classes, logits.scale, self.decision.temperature)

    def run(self, x: NDArray[np.int8]) -> DeviceScores:
        return self.decide(self.body.run(x))

    def decide(self, raw: RawScores) -> DeviceScores:
        score = self._score_q16(raw)
        uncertainty = _uncertainty_q16(
            self.decision.map, score, self._error_logit_q16(raw), self._doubt_q16(raw)
        )
        return DeviceScores(
            predicted=raw.predicted,
            surprisal_q16=raw.surprisal_q16,
            score_q16=score,
            uncertainty_q16=uncertainty,
            abstain=uncertainty >= self.decision.threshold_q16,
            logits=raw.logits,
        )

    def features(self, raw: RawScores) -> Features:
        """The inputs of the map as the device computes them, as real numbers."""
        return Features(
            self._score_q16(raw) / ONE_Q16,
            self._error_logit_q16(raw) / ONE_Q16,
            self._doubt_q16(raw) / ONE_Q16,
        )

    def _score_q16(self, raw: RawScores) -> NDArray[np.uint32]:
        weights = np.asarray(self.decision.weight_q16, np.uint32)
        return fx.score_q16(raw.surprisal_q16, weights)

    def _doubt_q16(self, raw: RawScores) -> NDArray[np.uint32]:
        return fx.doubt_q16(self.confidence, raw.logits, raw.predicted, self.decision.alpha_q16)

    def _error_logit_q16(self, raw: RawScores) -> NDArray[np.int32]:
        return fx.error_logit_q16(self.confidence, raw.logits, raw.predicted)


def _uncertainty_q16(
    device_map: DeviceMap,
    score: NDArray[np.uint32],
    error_logit: NDArray[np.int32],
    doubt: NDArray[np.uint32],
) -> NDArray[np.uint32]:
    if isinstance(device_map, fx.MapGated):
        return fx.map_gated_q16(device_map, score, error_logit)
    if isinstance(device_map, fx.MapLogistic):
        return fx.map_logistic_q16(device_map, score, doubt)
    return fx.map_isotonic_q16(device_map, score, doubt)


def on_device(fitted: Map) -> Callable[[Features], NDArray[np.float64]]:
    """A map as the device computes it: U in steps of 2^-16 from features of Monitor.features."""
    device_map = quantize_map(fitted)

    def scorer(features: Features) -> NDArray[np.float64]:
        uncertainty = _uncertainty_q16(
            device_map,
            np.rint(features.score * ONE_Q16).astype(np.uint32),
            np.rint(features.error_logit * ONE_Q16).astype(np.int32),
            np.rint(features.doubt * ONE_Q16).astype(np.uint32),
        )
        return uncertainty / ONE_Q16

    return scorer


def quantize_map(fitted: Map) -> DeviceMap:
    def q16(value: float) -> int:
        return int(np.clip(round(value * ONE_Q16), -(2**31), 2**31 - 1))

    if isinstance(fitted, GatedMap):
        return fx.MapGated(q16(fitted.b0), q16(fitted.b1), q16(fitted.b2), q16(fitted.theta))
    if isinstance(fitted, LogisticMap):
        return fx.MapLogistic(q16(fitted.b0), q16(fitted.b1), q16(fitted.b2))
    assert isinstance(fitted, IsotonicMap)
    return fx.MapIsotonic(
        q16(fitted.gamma),
        np.asarray([q16(b) for b in fitted.breakpoints], np.uint32),
        np.asarray([q16(v) for v in fitted.values], np.uint32),
    )


_DEVICE_MAPS: dict[str, type[DeviceMap]] = {
    "gated": fx.MapGated,
    "logistic": fx.MapLogistic,
    "isotonic": fx.MapIsotonic,
}


def decision_to_dict(decision: Decision) -> dict[str, Any]:
    kind = next(k for k, v in _DEVICE_MAPS.items() if isinstance(decision.map, v))
    values = {k: np.asarray(v).tolist() for k, v in asdict(decision.map).items()}
    return {
        "weight_q16": list(decision.weight_q16),
        "temperature": decision.temperature,
        "alpha_q16": decision.alpha_q16,
        "map": {"kind": kind, **values},
        "threshold_q16": decision.threshold_q16,
    }


def decision_from_dict(values: dict[str, Any]) -> Decision:
    parameters: dict[str, Any] = {
        k: np.asarray(v, np.uint32) if isinstance(v, list) else v
        for k, v in values["map"].items()
        if k != "kind"
    }
    kind = _DEVICE_MAPS[values["map"]["kind"]]
    return Decision(
        tuple(values["weight_q16"]),
        values["temperature"],
        values["alpha_q16"],
        kind(**parameters),
        values["threshold_q16"],
    )


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


def load_monitor(folder: Path) -> Monitor:
    """What quantize left in its folder."""
    try:
        graph = read_tflite((folder / MODEL_FILE).read_bytes())
        with np.load(folder / HEADS_FILE) as arrays:
            count = sum(name.endswith(".tap") for name in arrays)
            heads = tuple(_load_head(arrays, str(i)) for i in range(count))
            tensors = tuple(TapTensors(*(str(n) for n in arrays[f"{i}.tap"])) for i in range(count))
        decision = decision_from_dict(json.loads((folder / CALIBRATION_FILE).read_text())["device"])
    except (OSError, EOFError, KeyError, ValueError, TypeError, BadZipFile) as error:
        raise ArtifactError(f"{folder} cannot be read ({error})", "Run: snap quantize") from None
    return Monitor(Body(graph, tensors, heads), decision)


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
