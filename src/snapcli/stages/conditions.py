"""Scores of the evaluation's conditions, sorted into what maps are fitted and judged on."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from snapcli.config import CalibrateOptions
from snapcli.data.evaluation import Evaluation, Key
from snapcli.metrics.detection import (
    Cell,
    Detection,
    ErrorDetection,
    error_detection,
    ood_detection,
)
from snapcli.score.calibration import Condition, Conditions
from snapcli.score.maps import Features


def conditions(
    features: dict[Key, Features],
    predicted: dict[Key, np.ndarray],
    evaluation: Evaluation,
    split: str,
) -> Conditions:
    """The clean and corrupted conditions of one split."""

    def condition(key: Key) -> Condition:
        return Condition(features[key], predicted[key] != evaluation.labels(key))

    corrupted = {
        (key.condition, key.severity): condition(key)
        for key in features
        if key.split == split and key.condition != "clean"
    }
    return Conditions(condition(Key(split, "clean")), corrupted)


def seen(evaluation: Evaluation, options: CalibrateOptions, key: Key) -> NDArray[np.bool_]:
    """Which examples of a dev condition may be fitted on: where the threshold's rule promises
    something, the second half is held out, and whatever was made of it."""
    half = evaluation.first_half(key)
    return half if options.promises else np.ones_like(half)


def dev_conditions(
    features: dict[Key, Features],
    predicted: dict[Key, np.ndarray],
    evaluation: Evaluation,
    options: CalibrateOptions,
) -> tuple[Conditions, Condition | None]:
    """What maps and thresholds are fitted on, and the clean examples held out for a promise."""
    everything = conditions(features, predicted, evaluation, "dev")
    clean = seen(evaluation, options, Key("dev", "clean"))
    corrupted = {
        (name, severity): c.where(seen(evaluation, options, Key("dev", name, severity)))
        for (name, severity), c in everything.corrupted.items()
    }
    held_out = everything.clean.where(~clean) if options.promises else None
    return Conditions(everything.clean.where(clean), corrupted), held_out


def ood_features(features: dict[Key, Features]) -> dict[str, Features]:
    return {key.condition: f for key, f in features.items() if key.split == "ood"}


def plain_detection(
    scores: Mapping[Key, NDArray[np.float64]],
    predicted: Mapping[Key, np.ndarray],
    evaluation: Evaluation,
) -> tuple[ErrorDetection, dict[str, Detection]]:
    """How well a score finds errors on test data and foreign inputs, without any map."""

    def cell(key: Key) -> Cell:
        return Cell(predicted[key] != evaluation.labels(key), scores[key])

    test = [key for key in scores if key.split == "test"]
    clean = cell(Key("test", "clean"))
    right = clean.score[~clean.wrong]
    return (
        error_detection(clean, [cell(key) for key in test if key.condition != "clean"]),
        {k.condition: ood_detection(right, s) for k, s in scores.items() if k.split == "ood"},
    )
