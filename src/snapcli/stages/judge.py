"""The figures of a method on what a network saw, each with its bootstrap interval.

Examples are drawn together with all their corrupted copies, frames in blocks, and all methods are
measured by the same draws: differences between methods are paired.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from snapcli.baselines.method import Batch
from snapcli.data.evaluation import Key
from snapcli.metrics import calibration, event_scores, selective
from snapcli.metrics.bootstrap import (
    Counts,
    Interval,
    draw,
    draw_blocks,
    interval,
    measured,
    measured_together,
)
from snapcli.metrics.events import WINDOW, Event, event_frames, find_events, normal_band
from snapcli.metrics.ranking import Ranked
from snapcli.stages.cross_fit import CrossFitted
from snapcli.stages.eval_report import (
    DONE,
    Calibrated,
    Cluster,
    Errors,
    EventFigures,
    Found,
    MethodFigures,
    Reliability,
    Selective,
)
from snapcli.stages.evidence import Evidence, Played

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
COVERAGES, _NLL_COVERAGE = (0.8, 0.9, 0.95), 0.9
_SELECTIVE = ("risk_80", "risk_90", "risk_95", "aurc", "nll_90")
_FIGURES = ("auroc", "aupr", "fpr95")
# Figures of which less is better.
_LESS = ("fpr95", "risk_80", "risk_90", "risk_95", "aurc", "nll_90", "nll", "brier", "ece")
_CLUSTER_SEVERITIES, _CLUSTERS = (4, 5), 5
_STREAM_POINTS = 1000


@dataclass(frozen=True, eq=False)
class Sample:
    """A figure and its bootstrap replicates [B]."""

    point: float
    replicates: Array

    @property
    def interval(self) -> Interval:
        return interval(self.point, self.replicates)


Samples = dict[str, Sample]


@dataclass(frozen=True, eq=False)
class Part:
    """Scores of some examples by one method: whether each answer is wrong, the score, the negative
    log-likelihood and Brier score of the posterior, its probability of the answer; weights [B,
    n]."""

    wrong: Bools
    score: Array
    nll: Array
    brier: Array
    confidence: Array
    weights: Counts


class Judge:
    """Of one source: holds the draws that all methods share."""

    def __init__(self, evidence: Evidence, replicates: int) -> None:
        self.evidence, self._replicates = evidence, replicates

    @cached_property
    def _weights(self) -> dict[Key, Counts]:
        """Of every test and OOD condition."""
        rows = self.evidence.rows
        clean = Key("test", "clean")
        shared = draw(
            int(max(rows[k].max() for k in (clean, *self.evidence.cells))) + 1,
            self._replicates,
            seed=0,
        )
        found = {key: shared[:, rows[key]] for key in (clean, *self.evidence.cells)}
        for i, key in enumerate(self.evidence.foreign):
            found[key] = draw(len(rows[key]), self._replicates, seed=1 + i)
        return found

    @cached_property
    def _frame_weights(self) -> Counts:
        """Of the frames of all test streams."""
        streams = self.evidence.test_streams
        return np.concatenate(
            [
                draw_blocks(len(stream), WINDOW, self._replicates, seed=i)
                for i, stream in enumerate(streams)
            ],
            axis=1,
        )

    def figures(
        self, fitted: CrossFitted, kind: str, reference: Samples | None
    ) -> tuple[MethodFigures, Samples]:
        """reference: the samples of the method that gains are counted from."""
        evidence, method = self.evidence, fitted.whole
        clean = self._part(fitted, Key("test", "clean"))
        cells = {key: self._part(fitted, key) for key in evidence.cells}
        samples: Samples = {}
        everything = _joined([clean, *cells.values()])
        samples |= _found("errors.pooled", everything.wrong, everything.score, everything.weights)
        samples |= _found("errors.clean", clean.wrong, clean.score, clean.weights)
        by_cell = {
            key: _found("", part.wrong, part.score, part.weights)
            for key, part in cells.items()
            if 0 < part.wrong.sum() < len(part.wrong)
        }
        samples |= _mean("errors.per_cell", by_cell.values(), self._replicates)
        severities = sorted({key.severity for key in by_cell})
        types = list(dict.fromkeys(key.condition for key in by_cell))
        for severity in severities:
            some = [s for key, s in by_cell.items() if key.severity == severity]
            samples |= _mean(f"severity.{severity}", some, self._replicates)
        for name in types:
            some = [s for key, s in by_cell.items() if key.condition == name]
            samples |= _mean(f"type.{name}", some, self._replicates)
        samples |= self._foreign(fitted, clean)
        parts = {"clean": clean, "all": everything}
        for name, part in parts.items():
            samples |= _selective(f"selective.{name}", part)
        corrupted = {"corrupted": _joined(list(cells.values()))} if cells else {}
        for name, part in {"clean": clean, **corrupted}.items():
            samples |= _calibrated(f"posterior.{name}", part)
            if method.is_probability:
                samples |= _calibrated_uncertainty(f"uncertainty.{name}", part)
        events, thresholds, stream = self._events(fitted, samples)

        def found(name: str) -> Found:
            return Found(*(samples[f"{name}.{figure}"].interval for figure in _FIGURES))

        def calibrated(name: str) -> Calibrated:
            return Calibrated(*(samples[f"{name}.{f}"].interval for f in ("nll", "brier", "ece")))

        shown = {"clean": clean, **corrupted}
        return MethodFigures(
            name=method.name,
            kind=kind,
            status=DONE,
            source=method.source,
            tuning=method.tuning_,
            accuracy=float(1.0 - clean.wrong.mean()),
            errors=Errors(
                found("errors.pooled"),
                found("errors.per_cell"),
                found("errors.clean"),
                len(by_cell),
            ),
            ood={key.condition: found(f"ood.{key.condition}") for key in evidence.foreign},
            by_severity={str(s): found(f"severity.{s}") for s in severities},
            by_type={name: found(f"type.{name}") for name in types},
            events=events,
            selective={
                name: Selective(*(samples[f"selective.{name}.{f}"].interval for f in _SELECTIVE))
                for name in parts
            },
            posterior={name: calibrated(f"posterior.{name}") for name in shown},
            uncertainty={name: calibrated(f"uncertainty.{name}") for name in shown}
            if method.is_probability
            else None,
            gains=gains(samples, reference) if reference else {},
            clusters=_clusters(cells, thresholds),
            risk_coverage=tuple(
                (float(c), float(r))
                for c, r in selective.risk_coverage(everything.wrong, everything.score)
            ),
            reliability=_reliability(shown, method.is_probability),
            stream=stream,
        ), samples

    def pooled_auroc(self, fitted: CrossFitted) -> Sample:
        """Of wrong answers on clean and corrupted test data together; one of the figures."""
        keys = (Key("test", "clean"), *self.evidence.cells)
        found = _joined([self._part(fitted, key) for key in keys])
        return _found("", found.wrong, found.score, found.weights)[".auroc"]

    def _part(self, fitted: CrossFitted, key: Key) -> Part:
        batch = self.evidence.conditions[key]
        corruption = None if key.condition == "clean" else key.condition
        posterior = fitted.probabilities(batch, corruption)
        answers = fitted.answers(batch)
        return Part(
            answers != batch.y,
            fitted.score(batch, corruption),
            calibration.nll(posterior, batch.y),
            calibration.brier(posterior, batch.y),
            posterior[np.arange(len(batch)), answers],
            self._weights[key],
        )

    def _foreign(self, fitted: CrossFitted, clean: Part) -> Samples:
        """Foreign inputs against right answers, by the method as it would be deployed."""
        samples: Samples = {}
        right = ~clean.wrong
        usual = fitted.whole.score(self.evidence.clean)[right]
        for key in self.evidence.foreign:
            score = fitted.whole.score(self.evidence.conditions[key])
            positive = np.concatenate([np.zeros(len(usual), bool), np.ones(len(score), bool)])
            weights = np.concatenate([clean.weights[:, right], self._weights[key]], axis=1)
            found = _found(
                f"ood.{key.condition}", positive, np.concatenate([usual, score]), weights
            )
            samples |= found
        return samples

    def _events(
        self, fitted: CrossFitted, samples: Samples
    ) -> tuple[EventFigures | None, float, tuple[float, ...]]:
        """(figures, the threshold of 90 % recall on the dev stream, the thinned first stream);
        AUPRCs are added to the samples."""
        evidence = self.evidence
        if not evidence.test_streams or not evidence.dev_streams:
            return None, float("nan"), ()
        dev = _watched(fitted, evidence.dev_streams[0])
        tests = [_watched(fitted, stream) for stream in evidence.test_streams]
        at_f1 = event_scores.threshold_by_f1(dev.score, dev.active)
        at_recall = event_scores.threshold_by_recall(dev.score, dev.active)
        score = np.concatenate([t.score for t in tests])
        active = np.concatenate([t.active for t in tests])
        clean = np.concatenate([t.clean for t in tests])
        order = Ranked(active, score)
        shares = event_scores.event_weights(*_consecutive(tests))
        weights = self._frame_weights
        samples["events.auprc"] = Sample(*measured(order.average_precision, weights))
        samples["events.weighted_auprc"] = Sample(
            *measured(lambda rows: order.average_precision(rows * shares), weights)
        )
        delays = np.concatenate([event_scores.delays(t.events, t.score >= at_f1) for t in tests])
        figures = EventFigures(
            events=len(delays),
            auprc=samples["events.auprc"].interval,
            weighted_auprc=samples["events.weighted_auprc"].interval,
            threshold=at_f1,
            delay=event_scores.delay_interval(delays, self._replicates, seed=0),
            miss_rate=event_scores.miss_rate(delays),
            false_positives=event_scores.false_positive_rate(score, clean & ~active, at_recall),
        )
        return figures, at_recall, _thinned(tests[0].score)


@dataclass(frozen=True, eq=False)
class Watched:
    """A stream by one method; each [frames] but events."""

    score: Array
    active: Bools
    clean: Bools
    events: tuple[Event, ...]


def _watched(fitted: CrossFitted, stream: Played) -> Watched:
    pairs = list(zip(stream.segments, stream.parts, strict=True))
    score = [
        fitted.score(part, segment.condition if segment.kind == "corrupted" else None)
        for segment, part in pairs
    ]
    correct = np.concatenate([_right(fitted, part) for _, part in pairs])
    events = find_events(correct, normal_band(_right(fitted, stream.normal)))
    clean = np.concatenate([np.full(len(part), s.kind == "clean") for s, part in pairs])
    return Watched(np.concatenate(score), event_frames(events, len(correct)), clean, events)


def _right(fitted: CrossFitted, batch: Batch) -> Bools:
    return fitted.answers(batch) == batch.y


def _consecutive(streams: list[Watched]) -> tuple[tuple[Event, ...], int]:
    """The events of streams as if one followed the other, and all their frames."""
    events, first = [], 0
    for stream in streams:
        events += [Event(first + e.onset, first + e.offset) for e in stream.events]
        first += len(stream.score)
    return tuple(events), first


def _joined(parts: list[Part]) -> Part:
    def column(name: str) -> NDArray:
        return np.concatenate([getattr(part, name) for part in parts])

    return Part(
        wrong=column("wrong"),
        score=column("score"),
        nll=column("nll"),
        brier=column("brier"),
        confidence=column("confidence"),
        weights=np.concatenate([part.weights for part in parts], axis=1),
    )


def _found(name: str, positive: Bools, score: Array, weights: Counts) -> Samples:
    points, replicates = measured_together(Ranked(positive, score).figures, weights)
    return {
        f"{name}.{figure}": Sample(float(point), found)
        for figure, point, found in zip(_FIGURES, points, replicates, strict=True)
    }


def _mean(name: str, cells: Iterable[Samples], replicates: int) -> Samples:
    """Over cells; of a replicate without both classes in a cell, over the others."""
    some = list(cells)
    found: Samples = {}
    for figure in _FIGURES:
        of_cells = [cell[f".{figure}"] for cell in some]
        if not of_cells:
            found[f"{name}.{figure}"] = Sample(float("nan"), np.full(replicates, np.nan))
            continue
        values = np.stack([sample.replicates for sample in of_cells])
        known = ~np.isnan(values)
        count = known.sum(axis=0)
        total = np.where(known, values, 0.0).sum(axis=0)
        mean = np.divide(total, count, out=np.full(replicates, np.nan), where=count > 0)
        found[f"{name}.{figure}"] = Sample(float(np.mean([s.point for s in of_cells])), mean)
    return found


def _selective(name: str, part: Part) -> Samples:
    accepted = selective.Accepted(part.wrong, part.nll, part.score)
    points, replicates = measured_together(
        lambda w: accepted.figures(w, COVERAGES, _NLL_COVERAGE), part.weights
    )
    return {
        f"{name}.{figure}": Sample(float(point), found)
        for figure, point, found in zip(_SELECTIVE, points, replicates, strict=True)
    }


def _calibrated(name: str, part: Part) -> Samples:
    return _probabilities(name, part.nll, part.brier, part.confidence, ~part.wrong, part.weights)


def _calibrated_uncertainty(name: str, part: Part) -> Samples:
    nll = calibration.binary_nll(part.score, part.wrong)
    brier = calibration.binary_brier(part.score, part.wrong)
    return _probabilities(name, nll, brier, part.score, part.wrong, part.weights)


def _probabilities(
    name: str, nll: Array, brier: Array, stated: Array, came_true: Bools, weights: Counts
) -> Samples:
    def mean(values: Array) -> Sample:
        return Sample(*measured(lambda w: calibration.weighted_mean(values, w), weights))

    ece = measured(lambda w: calibration.ece(stated, came_true, w), weights)
    return {f"{name}.nll": mean(nll), f"{name}.brier": mean(brier), f"{name}.ece": Sample(*ece)}


def gains(samples: Samples, reference: Samples) -> dict[str, Interval]:
    """Of a method over another; better is positive, whichever way a figure counts."""
    found = {}
    for name, sample in samples.items():
        if name not in reference:
            continue
        sign = -1.0 if name.rpartition(".")[2] in _LESS else 1.0
        other = reference[name]
        found[name] = gain(sample, other, sign)
    return found


def gain(sample: Sample, reference: Sample, sign: float = 1.0) -> Interval:
    """How much more a figure is, draw by draw; sign -1: how much less."""
    difference = sign * (sample.replicates - reference.replicates)
    return interval(sign * (sample.point - reference.point), difference)


def _clusters(cells: dict[Key, Part], threshold: float) -> tuple[Cluster, ...]:
    found: dict[str, list[Part]] = {}
    for key, part in cells.items():
        if key.severity in _CLUSTER_SEVERITIES:
            found.setdefault(key.condition, []).append(part)
    clusters = []
    for name, parts in found.items():
        whole = _joined(parts)
        errors = int(whole.wrong.sum())
        if errors and not np.isnan(threshold):
            refused = float(np.mean(whole.score[whole.wrong] >= threshold))
            clusters.append(Cluster(name, errors, refused))
    return tuple(sorted(clusters, key=lambda c: -c.errors)[:_CLUSTERS])


def _reliability(
    shown: dict[str, Part], is_probability: bool
) -> dict[str, tuple[Reliability, ...]]:
    found = {}
    for name, part in shown.items():
        bins = calibration.reliability(part.confidence, ~part.wrong)
        found[f"posterior.{name}"] = tuple(Reliability(*b) for b in bins)
        if is_probability:
            bins = calibration.reliability(part.score, part.wrong)
            found[f"uncertainty.{name}"] = tuple(Reliability(*b) for b in bins)
    return found


def _thinned(score: Array) -> tuple[float, ...]:
    """At most _STREAM_POINTS, the largest of each group of neighbours."""
    step = -(-len(score) // _STREAM_POINTS)
    return tuple(float(score[i : i + step].max()) for i in range(0, len(score), step))
