"""Everything that calibration fits on dev data and judges on test data, in float or in integers."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from snapcli.config import CalibrateOptions
from snapcli.results.calibrate import ForeignReport, HeadsReport
from snapcli.score.by_answer import AnswerFigures, by_answer
from snapcli.score.calibration import (
    Condition,
    Conditions,
    Deploy,
    DetectionReport,
    MapChoice,
    Scorer,
    ThresholdChoice,
    choose_map,
    choose_threshold,
    evaluate,
    fit_map,
    gain_of_taps,
)
from snapcli.score.choice import MARGIN
from snapcli.score.foreign import fit_foreign
from snapcli.score.maps import SCORE, ClassGatedMap, GatedMap, Map, reads_distance, reads_surprise
from snapcli.score.threshold import threshold_by_coverage

# The map that knows nothing of right and wrong.
UNLABELLED_MAP = "percentile"


@dataclass(frozen=True)
class Fitted:
    """The map of U and its threshold, F and its threshold, and what they find."""

    choice: MapChoice
    threshold: ThresholdChoice
    foreign: GatedMap
    foreign_threshold: float
    foreign_report: ForeignReport
    heads: HeadsReport
    detection: DetectionReport
    answers: tuple[AnswerFigures, ...]


@dataclass(frozen=True)
class Given:
    """What a calibration sees: dev data to fit on, clean examples held out for a promise, test
    data and foreign sets to judge on, the names of the classes."""

    dev: Conditions
    held_out: Condition | None
    test: Conditions
    foreign: Mapping[str, Condition]
    classes: Sequence[str]
    labelled: bool


def fit_all(
    given: Given,
    options: CalibrateOptions,
    rank: Deploy,
    probability: Callable[[Map], Scorer],
) -> Fitted:
    """rank: a map as an order of inputs; probability: as U in [0, 1]."""
    dev, test, how = given.dev, given.test, options.fit
    strongest = [c.features for c in dev.strongest()]
    foreign, inputs = fit_foreign(dev.clean.features, strongest)
    choice = _choose(given, options, rank, reads_distance(foreign))
    threshold = choose_threshold(
        options.threshold, options.share, probability(choice.map), dev, given.held_out
    )
    measure = probability(foreign)
    foreign_threshold = threshold_by_coverage(measure(dev.clean.features), 1 - options.foreign)

    def share(condition: Condition) -> float:
        return float(np.mean(measure(condition.features) >= foreign_threshold))

    answers: tuple[AnswerFigures, ...] = ()
    if isinstance(choice.map, ClassGatedMap):
        answers = by_answer(choice.map, dev, test, given.classes, rank, how)
    return Fitted(
        choice=choice,
        threshold=threshold,
        foreign=foreign,
        foreign_threshold=foreign_threshold,
        foreign_report=ForeignReport(
            inputs=inputs,
            threshold=foreign_threshold,
            share=options.foreign,
            clean_test=share(test.clean),
            found={name: share(condition) for name, condition in given.foreign.items()},
        ),
        heads=_heads(choice, inputs, given, options, rank),
        detection=evaluate(choice.map, foreign, dev, test, given.foreign, rank, how),
        answers=answers,
    )


def _choose(given: Given, options: CalibrateOptions, rank: Deploy, measured: bool) -> MapChoice:
    if not given.labelled and not given.dev.corrupted:
        reason = "No labels: U says how rare S is, not how likely an error is."
        return MapChoice(fit_map(UNLABELLED_MAP, given.dev, []), {}, reason)
    return choose_map(options.map, given.dev, rank, options.fit, measured)


def _heads(
    choice: MapChoice,
    foreign: Sequence[str],
    given: Given,
    options: CalibrateOptions,
    rank: Deploy,
) -> HeadsReport:
    if not given.dev.clean.features.surprisal.shape[1]:
        return HeadsReport(
            present=False, read=False, idle=False, gain=0.0, find_errors=False, find_foreign=False
        )
    read = reads_surprise(choice.map)
    gain = gain_of_taps(choice, given.dev, rank, options.fit) if read else 0.0
    finds_errors = None if math.isnan(gain) else gain > MARGIN
    finds_foreign = SCORE in foreign if given.dev.corrupted else None
    return HeadsReport(
        present=True,
        read=read,
        idle=finds_errors is False and finds_foreign is False,
        gain=gain,
        find_errors=finds_errors,
        find_foreign=finds_foreign,
    )
