"""What the table of answers in a map is worth, answer by answer."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from snapcli.array import Array
from snapcli.config import FitOptions
from snapcli.metrics.detection import detection
from snapcli.score.calibration import Condition, Conditions, Deploy, fit_map
from snapcli.score.maps import ClassGatedMap
from snapcli.score.turns import turns

ANY = "any answer"


@dataclass(frozen=True)
class AnswerFigures:
    """Of test inputs, clean and corrupted, that got this answer, or any. share: of all inputs;
    wrong: of these. offset: what the answer adds to the logit of U, strange_offset what more on
    inputs that are wholly strange; nan for any answer. AUROC of errors among these inputs alone,
    by max-probability and by maps without and with class offsets that have not seen the types;
    nan where all are right."""

    answer: str
    share: float
    wrong: float
    offset: float
    strange_offset: float
    confidence: float
    without_offsets: float
    with_offsets: float


def by_answer(
    fitted: ClassGatedMap,
    dev: Conditions,
    test: Conditions,
    names: Sequence[str],
    deploy: Deploy,
    how: FitOptions,
) -> tuple[AnswerFigures, ...]:
    """fitted: the map on all of dev; names: of the classes."""
    everything = [test.clean, *test.corrupted.values()]
    answer = np.concatenate([c.features.answer for c in everything])
    wrong = np.concatenate([c.wrong for c in everything])
    fits = {"without_offsets": False, "with_offsets": True}
    scorers = {
        "confidence": _by_confidence,
        **{
            name: _scorer(fitted.kind, dev, deploy, replace(how, class_offsets=offsets))
            for name, offsets in fits.items()
        },
    }
    scores = {name: _turns(dev, test, scorer, len(names)) for name, scorer in scorers.items()}
    # Behind the last answer, all of them.
    groups = [*((name, answer == k) for k, name in enumerate(names)), (ANY, answer >= 0)]
    tables = zip((*fitted.offset, math.nan), (*fitted.strange_offset, math.nan), strict=True)
    return tuple(
        AnswerFigures(
            answer=name,
            share=float(np.mean(chosen)),
            wrong=float(wrong[chosen].mean()) if chosen.any() else math.nan,
            offset=offset,
            strange_offset=strange,
            **{score: float(figures[k]) for score, figures in scores.items()},
        )
        for k, ((name, chosen), (offset, strange)) in enumerate(zip(groups, tables, strict=True))
    )


_Scorer = Callable[[Condition], Array]


def _by_confidence(types: Sequence[str]) -> _Scorer:
    return attrgetter("confidence")


def _scorer(
    kind: str, dev: Conditions, deploy: Deploy, how: FitOptions
) -> Callable[[Sequence[str]], _Scorer]:
    def of(types: Sequence[str]) -> _Scorer:
        scorer = deploy(fit_map(kind, dev, types, how))
        return lambda condition: scorer(condition.features)

    return of


def _turns(
    dev: Conditions, test: Conditions, scorer: Callable[[Sequence[str]], _Scorer], classes: int
) -> Array:
    """AUROC among the inputs of each answer and of all, [classes + 1], mean over the turns."""
    figures = []
    for turn in turns(dev.types(), test.types()):
        score = scorer(turn.fitted)
        judged = [c for (name, _), c in test.corrupted.items() if name in turn.judged]
        some = [test.clean, *judged]
        answer = np.concatenate([c.features.answer for c in some])
        wrong = np.concatenate([c.wrong for c in some])
        value = np.concatenate([score(c) for c in some])
        chosen = [*(answer == k for k in range(classes)), answer >= 0]
        figures.append([detection(wrong[some], value[some]).auroc for some in chosen])
    known = np.ma.masked_invalid(np.array(figures))
    return np.asarray(known.mean(axis=0).filled(np.nan))
