"""The deployed whole: body and decision, evaluated in integers.

This is the reference that the firmware must equal bit for bit.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.array import Bools
from snapcli.config import ENERGY, MAHALANOBIS, NO_THIRD
from snapcli.monitor.alarm import WITHOUT_ALARM, FieldAlarm
from snapcli.monitor.body import HEADS_FILE, Body, RawScores, read_body
from snapcli.monitor.checks import check_body, check_decision
from snapcli.monitor.decision import Decision, MapInputs, decision_from_dict, uncertainty_q16
from snapcli.score.maps import Features
from snapcli.stored import AGAIN, read_json, reading

CALIBRATION_FILE = "calibration.json"


@dataclass(frozen=True, eq=False)
class DeviceScores:
    """What the device answers for n inputs; each [n] but surprisal_q16 and logits. foreign: F at
    or above its threshold."""

    predicted: NDArray[np.int32]
    surprisal_q16: NDArray[np.uint32]
    score_q16: NDArray[np.uint32]
    uncertainty_q16: NDArray[np.uint32]
    abstain: Bools
    foreign_q16: NDArray[np.uint32]
    foreign: Bools
    logits: NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Monitor:
    """alarm: what watches the stream of its results."""

    body: Body
    decision: Decision
    alarm: FieldAlarm = WITHOUT_ALARM

    @property
    def confidence(self) -> fx.Confidence:
        logits = self.body.graph.tensors[self.body.logits_tensor]
        return fx.confidence_of(self.body.classes, logits.scale, self.decision.temperature)

    def run(self, x: NDArray[np.int8]) -> DeviceScores:
        return self.decide(self.body.run(x))

    def decide(self, raw: RawScores) -> DeviceScores:
        given = self._inputs(raw)
        uncertainty = uncertainty_q16(self.decision.map, given)
        foreign = uncertainty_q16(self.decision.foreign, given)
        return DeviceScores(
            predicted=raw.predicted,
            surprisal_q16=raw.surprisal_q16,
            score_q16=given.score_q16,
            uncertainty_q16=uncertainty,
            abstain=uncertainty >= self.decision.threshold_q16,
            foreign_q16=foreign,
            foreign=foreign >= self.decision.foreign_threshold_q16,
            logits=raw.logits,
        )

    def replay(self, scores: DeviceScores) -> DeviceScores:
        """The same inputs as a stream: decided by the controller, if there is one, from its start
        on; `decide` knows the static threshold alone."""
        if self.decision.controller is None:
            return scores
        abstain, _ = fx.budget_run(self.decision.controller, scores.uncertainty_q16)
        return replace(scores, abstain=abstain)

    def features(self, raw: RawScores) -> Features:
        """The inputs of the map as the device computes them, as real numbers."""
        measured = self.body.distance is not None
        return self._inputs(raw).features(self.decision.third != NO_THIRD, measured)

    def _inputs(self, raw: RawScores) -> MapInputs:
        decision, logits, predicted = self.decision, raw.logits, raw.predicted
        third = np.zeros(len(logits), np.int32)
        if decision.third == ENERGY:
            third = fx.free_energy_q16(self.confidence, logits, predicted)
        elif decision.third == MAHALANOBIS:
            third = fx.ln_of_q16(raw.distance_q16.min(axis=-1)).astype(np.int32)
        return MapInputs(
            score_q16=fx.score_q16(raw.surprisal_q16, np.asarray(decision.weight_q16, np.uint32)),
            error_logit_q16=fx.error_logit_q16(self.confidence, logits, predicted),
            doubt_q16=fx.doubt_q16(self.confidence, logits, predicted, decision.alpha_q16),
            surprisal_q16=raw.surprisal_q16,
            answer=predicted,
            classes=self.body.classes,
            third_q16=third,
            distance_q16=raw.distance_q16,
        )


def load_body(folder: Path, hint: str = AGAIN) -> Body:
    """What save_body left, if its parts fit each other; raises ArtifactError."""
    body = read_body(folder, hint)
    with reading(folder / HEADS_FILE, hint):
        check_body(body)
    return body


def load_monitor(folder: Path, decision_folder: Path | None = None, hint: str = AGAIN) -> Monitor:
    """The body that quantize or attach left in its folder; the decision may lie in another. hint:
    how they are made again. Raises ArtifactError."""
    body = load_body(folder, hint)
    path = (decision_folder or folder) / CALIBRATION_FILE
    with reading(path, hint):
        decision = decision_from_dict(read_json(path, dict[str, Any], hint)["device"])
        body = trimmed(body, decision)
        check_decision(decision, body)
    return Monitor(body, decision)


def trimmed(body: Body, decision: Decision) -> Body:
    """Without what the decision does not read: a decision without weights has no heads."""
    return replace(
        body,
        taps=body.taps if decision.weight_q16 else (),
        heads=body.heads if decision.weight_q16 else (),
        distance=body.distance if decision.reads_distance else None,
    )
