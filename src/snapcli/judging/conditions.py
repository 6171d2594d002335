"""Scores of the evaluation's conditions, sorted into what maps are fitted and judged on."""

from collections.abc import Mapping

import numpy as np

from snapcli.array import Array, Bools
from snapcli.config import CalibrateOptions
from snapcli.data.evaluation import Evaluation, Key
from snapcli.metrics.detection import (
    Cell,
    Detection,
    ErrorDetection,
    Pool,
    error_detection,
    ood_detection,
)
from snapcli.score.calibration import Condition, Conditions
from snapcli.score.confidence import error_logit
from snapcli.score.maps import Features
from snapcli.score.turns import turns


def conditions(
    features: Mapping[Key, Features],
    logits: Mapping[Key, np.ndarray],
    evaluation: Evaluation,
    split: str,
) -> Conditions:
    """The clean and corrupted conditions of one split; logits [n, classes], as real numbers."""
    every = {
        key: _condition(key, features, logits, evaluation) for key in features if key.split == split
    }
    clean = every.pop(Key(split, "clean"))
    return Conditions(clean, {(key.condition, key.severity): c for key, c in every.items()})


def foreign_conditions(
    features: Mapping[Key, Features], logits: Mapping[Key, np.ndarray], evaluation: Evaluation
) -> dict[str, Condition]:
    """The OOD sets, in which no answer is right."""
    return {
        key.condition: _condition(key, features, logits, evaluation)
        for key in features
        if key.split == "ood"
    }


def _condition(
    key: Key,
    features: Mapping[Key, Features],
    logits: Mapping[Key, np.ndarray],
    evaluation: Evaluation,
) -> Condition:
    answers, labels = logits[key].argmax(axis=-1), evaluation.labels(key)
    wrong = np.ones(len(answers), bool) if labels is None else answers != labels
    return Condition(features[key], wrong, error_logit(logits[key], 1.0))


def seen(evaluation: Evaluation, options: CalibrateOptions, key: Key) -> Bools:
    """Which examples of a dev condition may be fitted on: where the threshold's rule promises
    something, the second half is held out, and whatever was made of it."""
    half = evaluation.first_half(key)
    return half if options.promises else np.ones_like(half)


def dev_conditions(
    features: Mapping[Key, Features],
    logits: Mapping[Key, np.ndarray],
    evaluation: Evaluation,
    options: CalibrateOptions,
) -> tuple[Conditions, Condition | None]:
    """What maps and thresholds are fitted on, and the clean examples held out for a promise."""
    everything = conditions(features, logits, evaluation, "dev")
    clean = seen(evaluation, options, Key("dev", "clean"))
    corrupted = {
        (name, severity): c.where(seen(evaluation, options, Key("dev", name, severity)))
        for (name, severity), c in everything.corrupted.items()
    }
    held_out = everything.clean.where(~clean) if options.promises else None
    return Conditions(everything.clean.where(clean), corrupted), held_out


def plain_detection(
    scores: Mapping[Key, Array],
    predicted: Mapping[Key, np.ndarray],
    evaluation: Evaluation,
) -> tuple[ErrorDetection, dict[str, Detection]]:
    """How well a score finds errors on test data and foreign inputs, without any map."""

    def cell(key: Key) -> Cell:
        return Cell(predicted[key] != evaluation.labels(key), scores[key])

    def corrupted(split: str) -> list[Key]:
        return [key for key in scores if key.split == split and key.condition != "clean"]

    dev, test = (list(dict.fromkeys(k.condition for k in corrupted(s))) for s in ("dev", "test"))
    clean = cell(Key("test", "clean"))
    right = clean.score[~clean.wrong]
    pools = [
        Pool(clean, [cell(key) for key in corrupted("test") if key.condition in turn.judged])
        for turn in turns(dev, test)
    ]
    return (
        error_detection(pools),
        {k.condition: ood_detection(right, s) for k, s in scores.items() if k.split == "ood"},
    )
