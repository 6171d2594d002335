"""The figures of a method on the outputs of a network, each with its bootstrap interval.

What a method judges in one turn is measured by itself, and a figure is the mean over the turns:
scores of two turns may have two scales (score/turns.py). A stream is judged by one method alone,
the one that would be deployed.

Examples are drawn together with all their corrupted copies, frames in blocks, and all methods are
measured by the same draws: differences between methods are paired.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from snapcli.array import Array, Bools
from snapcli.data.evaluation import Key
from snapcli.judging.cross_fit import CrossFitted
from snapcli.judging.evidence import Evidence, StreamEvidence
from snapcli.methods.method import Batch, Method
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
from snapcli.metrics.thinning import thinned
from snapcli.results.eval import (
    DONE,
    Cluster,
    DetectionFigures,
    Errors,
    EventFigures,
    MethodFigures,
    ProbabilityFigures,
    Reliability,
    Selective,
)

COVERAGES, _NLL_COVERAGE = (0.8, 0.9, 0.95), 0.9
_SELECTIVE = ("risk_80", "risk_90", "risk_95", "aurc", "nll_90")
_FIGURES = ("auroc", "aupr", "fpr95")
_CALIBRATED = ("nll", "brier", "ece")
# Figures of which less is better.
_LESS = ("fpr95", "risk_80", "risk_90", "risk_95", "aurc", "nll_90", "nll", "brier", "ece")
_CLUSTER_SEVERITIES, _CLUSTERS = (4, 5), 5


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
class ExampleScores:
    """Scores of some examples by one method: whether each answer is wrong, the score, U if the
    method has one, the negative log-likelihood and Brier score of the posterior, its probability
    of the answer; weights [B, n]."""

    wrong: Bools
    score: Array
    uncertainty: Array | None
    nll: Array
    brier: Array
    confidence: Array
    weights: Counts


@dataclass(frozen=True, eq=False)
class TurnScores:
    """What is judged in one turn."""

    clean: ExampleScores
    cells: dict[Key, ExampleScores]

    @cached_property
    def everything(self) -> ExampleScores:
        return _joined([self.clean, *self.cells.values()])


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
        weights = {key: shared[:, rows[key]] for key in (clean, *self.evidence.cells)}
        for i, key in enumerate(self.evidence.foreign):
            weights[key] = draw(len(rows[key]), self._replicates, seed=1 + i)
        return weights

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
        views = self._views(fitted)
        # A method that judges all turns has one opinion of the clean data.
        clean = list({id(view.clean): view.clean for view in views}.values())
        parts = {"clean": clean, "all": [view.everything for view in views]}
        shown = {"clean": clean}
        if evidence.cells:
            shown["corrupted"] = [_joined(list(view.cells.values())) for view in views]
        samples: Samples = {}

        def mean(
            name: str,
            some: Sequence[ExampleScores],
            measure: Callable[[ExampleScores], Samples],
            of: Sequence[str],
        ) -> None:
            samples.update(_mean(name, [measure(part) for part in some], of, self._replicates))

        mean("errors.pooled", parts["all"], _errors, _FIGURES)
        mean("errors.clean", clean, _errors, _FIGURES)
        cells = {key: part for view in views for key, part in view.cells.items()}
        by_cell = {
            key: _errors(cells[key])
            for key in evidence.cells
            if 0 < cells[key].wrong.sum() < len(cells[key].wrong)
        }
        severities = sorted({key.severity for key in by_cell})
        types = list(dict.fromkeys(key.condition for key in by_cell))
        groups = {"errors.per_cell": list(by_cell.values())}
        for severity in severities:
            some = [s for key, s in by_cell.items() if key.severity == severity]
            groups[f"severity.{severity}"] = some
        for name in types:
            groups[f"type.{name}"] = [s for key, s in by_cell.items() if key.condition == name]
        for name, of_cells in groups.items():
            samples |= _mean(name, of_cells, _FIGURES, self._replicates)
        samples |= self._foreign(method)
        for name, judged in parts.items():
            mean(f"selective.{name}", judged, _selective, _SELECTIVE)
        has_uncertainty = clean[0].uncertainty is not None
        for name, judged in shown.items():
            mean(f"posterior.{name}", judged, _calibrated, _CALIBRATED)
            if has_uncertainty:
                mean(f"uncertainty.{name}", judged, _calibrated_uncertainty, _CALIBRATED)
        events, threshold, stream = self._events(method, samples)

        def detection(name: str) -> DetectionFigures:
            return DetectionFigures(*(samples[f"{name}.{figure}"].interval for figure in _FIGURES))

        def calibrated(name: str) -> ProbabilityFigures:
            return ProbabilityFigures(
                *(samples[f"{name}.{figure}"].interval for figure in _CALIBRATED)
            )

        return MethodFigures(
            name=method.name,
            kind=kind,
            status=DONE,
            source=method.source,
            tuning=method.tuning_,
            accuracy=float(1.0 - clean[0].wrong.mean()),
            errors=Errors(
                detection("errors.pooled"),
                detection("errors.per_cell"),
                detection("errors.clean"),
                len(by_cell),
            ),
            ood={key.condition: detection(f"ood.{key.condition}") for key in evidence.foreign},
            by_severity={str(s): detection(f"severity.{s}") for s in severities},
            by_type={name: detection(f"type.{name}") for name in types},
            events=events,
            selective={
                name: Selective(*(samples[f"selective.{name}.{f}"].interval for f in _SELECTIVE))
                for name in parts
            },
            posterior={name: calibrated(f"posterior.{name}") for name in shown},
            uncertainty={name: calibrated(f"uncertainty.{name}") for name in shown}
            if has_uncertainty
            else None,
            gains=gains(samples, reference) if reference else {},
            clusters=self._clusters(method, threshold),
            risk_coverage=_risk_coverage(parts["all"]),
            reliability=_reliability(shown),
            stream=stream,
        ), samples

    def pooled_auroc(self, fitted: CrossFitted) -> Sample:
        """Of wrong answers on clean and corrupted test data together; one of the figures."""
        by_turn = [_errors(view.everything) for view in self._views(fitted)]
        return _mean("", by_turn, _FIGURES, self._replicates)[".auroc"]

    def _views(self, fitted: CrossFitted) -> list[TurnScores]:
        """One for each turn."""
        clean = {id(m): self._part(m, Key("test", "clean")) for m in fitted.judges}
        return [
            TurnScores(
                clean[id(turn.method)],
                {
                    key: self._part(turn.method, key)
                    for key in self.evidence.cells
                    if key.condition in turn.types
                },
            )
            for turn in fitted.turns
        ]

    def _part(self, method: Method, key: Key) -> ExampleScores:
        batch = self.evidence.conditions[key]
        posterior = method.probabilities(batch)
        answers = method.answers(batch)
        return ExampleScores(
            answers != batch.y,
            method.score(batch),
            method.uncertainty(batch),
            calibration.nll(posterior, batch.y),
            calibration.brier(posterior, batch.y),
            posterior[np.arange(len(batch)), answers],
            self._weights[key],
        )

    def _foreign(self, method: Method) -> Samples:
        """Foreign inputs against right answers, by the method as it would be deployed."""
        samples: Samples = {}
        clean = self.evidence.clean
        right = _right(method, clean)
        usual = method.score(clean)[right]
        of_right = self._weights[Key("test", "clean")][:, right]
        for key in self.evidence.foreign:
            score = method.score(self.evidence.conditions[key])
            positive = np.concatenate([np.zeros(len(usual), bool), np.ones(len(score), bool)])
            weights = np.concatenate([of_right, self._weights[key]], axis=1)
            detection = _found(
                f"ood.{key.condition}", positive, np.concatenate([usual, score]), weights
            )
            samples |= detection
        return samples

    def _events(
        self, method: Method, samples: Samples
    ) -> tuple[EventFigures | None, float, tuple[float, ...]]:
        """(figures, the threshold of 90 % recall on the dev stream, the thinned first stream);
        AUPRCs are added to the samples."""
        evidence = self.evidence
        if not evidence.test_streams or not evidence.dev_streams:
            return None, float("nan"), ()
        dev = _watched(method, evidence.dev_streams[0])
        tests = [_watched(method, stream) for stream in evidence.test_streams]
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
        return figures, at_recall, tuple(thinned(tests[0].score).tolist())

    def _clusters(self, method: Method, threshold: float) -> tuple[Cluster, ...]:
        """threshold: of what an alarm compares, nan where there is no stream to set it by."""
        by_type: dict[str, list[Batch]] = {}
        for key in self.evidence.cells:
            if key.severity in _CLUSTER_SEVERITIES and not np.isnan(threshold):
                by_type.setdefault(key.condition, []).append(self.evidence.conditions[key])
        clusters = []
        for name, batches in by_type.items():
            wrong = np.concatenate([~_right(method, batch) for batch in batches])
            alarm = np.concatenate([_alarming(method, batch) >= threshold for batch in batches])
            if errors := int(wrong.sum()):
                clusters.append(Cluster(name, errors, float(np.mean(alarm[wrong]))))
        return tuple(sorted(clusters, key=lambda c: -c.errors)[:_CLUSTERS])


@dataclass(frozen=True, eq=False)
class StreamScores:
    """A stream by one method; each [frames] but events."""

    score: Array
    active: Bools
    clean: Bools
    events: tuple[Event, ...]


def _watched(method: Method, stream: StreamEvidence) -> StreamScores:
    pairs = list(zip(stream.segments, stream.parts, strict=True))
    score = np.concatenate([_alarming(method, part) for part in stream.parts])
    correct = np.concatenate([_right(method, part) for part in stream.parts])
    events = find_events(correct, normal_band(_right(method, stream.normal)))
    clean = np.concatenate([np.full(len(part), s.kind == "clean") for s, part in pairs])
    return StreamScores(score, event_frames(events, len(correct)), clean, events)


def _alarming(method: Method, batch: Batch) -> Array:
    """What an alarm compares with its threshold: U, or the score of a method that has none."""
    uncertainty = method.uncertainty(batch)
    return method.score(batch) if uncertainty is None else uncertainty


def _right(method: Method, batch: Batch) -> Bools:
    return method.answers(batch) == batch.y


def _consecutive(streams: list[StreamScores]) -> tuple[tuple[Event, ...], int]:
    """The events of streams as if one followed the other, and all their frames."""
    events, first = [], 0
    for stream in streams:
        events += [Event(first + e.onset, first + e.offset) for e in stream.events]
        first += len(stream.score)
    return tuple(events), first


def _joined(parts: list[ExampleScores]) -> ExampleScores:
    def column(name: str) -> NDArray:
        return np.concatenate([getattr(part, name) for part in parts])

    return ExampleScores(
        wrong=column("wrong"),
        score=column("score"),
        uncertainty=None if parts[0].uncertainty is None else column("uncertainty"),
        nll=column("nll"),
        brier=column("brier"),
        confidence=column("confidence"),
        weights=np.concatenate([part.weights for part in parts], axis=1),
    )


def _found(name: str, positive: Bools, score: Array, weights: Counts) -> Samples:
    points, replicates = measured_together(Ranked(positive, score).figures, weights)
    return {
        f"{name}.{figure}": Sample(float(point), drawn)
        for figure, point, drawn in zip(_FIGURES, points, replicates, strict=True)
    }


def _errors(part: ExampleScores) -> Samples:
    return _found("", part.wrong, part.score, part.weights)


def _mean(name: str, parts: Sequence[Samples], figures: Sequence[str], replicates: int) -> Samples:
    """Over the parts where a figure is defined, replicate by replicate."""
    means: Samples = {}
    for figure in figures:
        some = [part[f".{figure}"] for part in parts]
        points = np.array([[sample.point] for sample in some]).reshape(-1, 1)
        values = np.array([sample.replicates for sample in some]).reshape(-1, replicates)
        means[f"{name}.{figure}"] = Sample(float(_defined(points)[0]), _defined(values))
    return means


def _defined(values: Array) -> Array:
    """[parts, k] -> [k]: the mean of the numbers, nan where there is none."""
    known = ~np.isnan(values)
    count = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    return np.divide(total, count, out=np.full(values.shape[1], np.nan), where=count > 0)


def _selective(part: ExampleScores) -> Samples:
    accepted = selective.Accepted(part.wrong, part.nll, part.score)
    points, replicates = measured_together(
        lambda w: accepted.figures(w, COVERAGES, _NLL_COVERAGE), part.weights
    )
    return {
        f".{figure}": Sample(float(point), drawn)
        for figure, point, drawn in zip(_SELECTIVE, points, replicates, strict=True)
    }


def _calibrated(part: ExampleScores) -> Samples:
    return _probabilities(part.nll, part.brier, part.confidence, ~part.wrong, part.weights)


def _calibrated_uncertainty(part: ExampleScores) -> Samples:
    u = part.uncertainty
    assert u is not None
    nll = calibration.binary_nll(u, part.wrong)
    brier = calibration.binary_brier(u, part.wrong)
    return _probabilities(nll, brier, u, part.wrong, part.weights)


def _probabilities(
    nll: Array, brier: Array, stated: Array, came_true: Bools, weights: Counts
) -> Samples:
    def mean(values: Array) -> Sample:
        return Sample(*measured(lambda w: calibration.weighted_mean(values, w), weights))

    ece = measured(lambda w: calibration.ece(stated, came_true, w), weights)
    return {".nll": mean(nll), ".brier": mean(brier), ".ece": Sample(*ece)}


def gains(samples: Samples, reference: Samples) -> dict[str, Interval]:
    """Of a method over another; better is positive, whichever way a figure counts."""
    intervals = {}
    for name, sample in samples.items():
        if name not in reference:
            continue
        sign = -1.0 if name.rpartition(".")[2] in _LESS else 1.0
        other = reference[name]
        intervals[name] = gain(sample, other, sign)
    return intervals


def gain(sample: Sample, reference: Sample, sign: float = 1.0) -> Interval:
    """How much more a figure is, draw by draw; sign -1: how much less."""
    difference = sign * (sample.replicates - reference.replicates)
    return interval(sign * (sample.point - reference.point), difference)


def _risk_coverage(parts: Sequence[ExampleScores]) -> tuple[tuple[float, float], ...]:
    """Point by point the mean of the parts' curves."""
    curves = [selective.risk_coverage(part.wrong, part.score) for part in parts]
    return tuple((float(c), float(r)) for c, r in np.unique(np.mean(curves, axis=0), axis=0))


def _reliability(shown: dict[str, list[ExampleScores]]) -> dict[str, tuple[Reliability, ...]]:
    """Bin by bin the mean of the parts' diagrams."""
    diagrams = {}
    for name, parts in shown.items():
        stated = {f"posterior.{name}": [(part.confidence, ~part.wrong) for part in parts]}
        some = [(p.uncertainty, p.wrong) for p in parts if p.uncertainty is not None]
        stated |= {f"uncertainty.{name}": some} if some else {}
        for what, pairs in stated.items():
            diagrams[what] = tuple(Reliability(*row) for row in calibration.reliability(pairs))
    return diagrams
