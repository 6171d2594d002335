"""The alarm that a monitor carries: what of a result it watches, and the kernel's parameters."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.config import SIGNALS, AlarmOptions
from snapcli.stored import conform, read_json, reading

ALARM_FILE = "alarm.json"
# What keeps the statistics of a mean or a window of 64 frames within int32.
_NATS_LIMIT, _STATISTIC_LIMIT = 16 << 16, 1 << 28


@dataclass(frozen=True, eq=False)
class FieldAlarm:
    """signal: one of config.SIGNALS."""

    signal: str
    parameters: fx.Alarm

    @property
    def is_on(self) -> bool:
        return self.parameters.detector != fx.ALARM_NONE

    def values(
        self,
        uncertainty_q16: NDArray[np.uint32],
        foreign_q16: NDArray[np.uint32],
        score_q16: NDArray[np.uint32],
        abstain: NDArray[np.bool_],
    ) -> NDArray[np.uint32]:
        """What the kernel is given of each frame, [n]."""
        abstained = abstain.astype(np.uint32) << np.uint32(16)
        given = (uncertainty_q16, foreign_q16, score_q16, abstained)
        return dict(zip(SIGNALS, given, strict=True))[self.signal]


WITHOUT_ALARM = FieldAlarm(SIGNALS[0], fx.NO_ALARM)


def alarm_to_dict(alarm: FieldAlarm) -> dict[str, Any]:
    parameters = {k: np.asarray(v).tolist() for k, v in asdict(alarm.parameters).items()}
    return {"signal": alarm.signal, **parameters}


@dataclass(frozen=True)
class _Stored:
    """A FieldAlarm as JSON has it."""

    signal: str
    detector: int
    edge_q16: tuple[int, ...]
    gain_q16: tuple[int, ...]
    threshold_q16: int
    clear_q16: int
    start_q16: int
    offset_q16: int
    limit_q16: int
    baseline: int
    confidence_q16: int


def alarm_from_dict(values: Any) -> FieldAlarm:
    """What alarm_to_dict made, after JSON; raises ValueError for what is not of that form, or
    outside of what the kernel was made for."""
    stored: _Stored = conform(_Stored, values, "alarm")
    parts = dict(vars(stored))
    signal = parts.pop("signal")
    if signal not in SIGNALS:
        raise ValueError(f"the alarm watches {signal[:40]}")
    for name, size in (("edge_q16", fx.ALARM_BINS - 1), ("gain_q16", fx.ALARM_BINS)):
        if len(parts[name]) != size or list(parts[name]) != sorted(parts[name]):
            raise ValueError(f"{name} is not {size} ascending numbers")
    fx.check_between("edge_q16", min(parts["edge_q16"]), 0, 2**32 - 1)
    fx.check_between("edge_q16", max(parts["edge_q16"]), 0, 2**32 - 1)
    limits = {
        "detector": (fx.ALARM_NONE, fx.ALARM_WINDOW),
        "threshold_q16": (
            1 if parts["detector"] == fx.ALARM_SUM else -_STATISTIC_LIMIT,
            _STATISTIC_LIMIT,
        ),
        "clear_q16": (-_STATISTIC_LIMIT, _STATISTIC_LIMIT),
        "start_q16": (-_STATISTIC_LIMIT, _STATISTIC_LIMIT),
        "offset_q16": (-_NATS_LIMIT, _NATS_LIMIT),
        "limit_q16": (-_NATS_LIMIT, _NATS_LIMIT),
        "baseline": (0, 65535),
        "confidence_q16": (0, _STATISTIC_LIMIT),
    }
    for name, (low, high) in limits.items():
        fx.check_between(name, parts[name], low, high)
    for gain in (parts["gain_q16"][0], parts["gain_q16"][-1]):
        fx.check_between("gain_q16", gain, -_NATS_LIMIT, _NATS_LIMIT)
    parts["edge_q16"] = np.array(parts["edge_q16"], np.uint32)
    parts["gain_q16"] = np.array(parts["gain_q16"], np.int32)
    return FieldAlarm(signal, fx.Alarm(**parts))


def load_alarm(folder: Path, hint: str) -> FieldAlarm:
    """What the stage alarm left in its folder; raises ArtifactError."""
    path = folder / ALARM_FILE
    with reading(path, hint):
        return alarm_from_dict(read_json(path, dict[str, Any], hint)["device"])


def alarm_options(folder: Path, hint: str) -> AlarmOptions:
    """That it was fitted with; folder as for load_alarm."""
    path = folder / ALARM_FILE
    with reading(path, hint):
        options: AlarmOptions = conform(
            AlarmOptions, read_json(path, dict[str, Any], hint)["options"], "options"
        )
    return options
