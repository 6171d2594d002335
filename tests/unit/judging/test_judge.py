"""The judge's figures against scikit-learn's on arrays put together by hand."""

from dataclasses import asdict, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.metrics import (
    average_precision_score,
    log_loss,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from snapcli.array import Array
from snapcli.config import CalibrateOptions
from snapcli.data.evaluation import Key
from snapcli.judging.cross_fit import CrossFitted
from snapcli.judging.evidence import Evidence, StreamEvidence
from snapcli.judging.judge import Judge, Samples, gains
from snapcli.methods.logits import Entropy, MaxProbability
from snapcli.methods.method import SURPRISAL, Batch, Dev, SinglePass
from snapcli.methods.snap import Snap, Surprise
from snapcli.metrics.bootstrap import Interval
from snapcli.metrics.selective import risk_coverage
from snapcli.results.eval import DetectionFigures, MethodFigures
from tests.unit.made_evidence import CLASSES, FOREIGN_SETS, SEVERITIES, TYPES, made_evidence

REPLICATES = 30
GATED = CalibrateOptions(map="gated")
CLEAN = Key("test", "clean")


@cache
def judge() -> Judge:
    return Judge(made_evidence(), REPLICATES)


@cache
def judged(make: type[SinglePass] = MaxProbability) -> tuple[MethodFigures, Samples]:
    return judge().figures(CrossFitted(make(), made_evidence()), "single-pass", None)


class Oracle(SinglePass):
    """Knows what is wrong, but for a little noise."""

    name = "oracle"

    def score(self, batch: Batch) -> Array:
        wrong = batch.logits.argmax(axis=-1) != batch.y
        return wrong + np.random.default_rng(0).normal(0, 0.1, len(batch))

    def probabilities(self, batch: Batch) -> Array:
        found = np.full(batch.logits.shape, 0.01)
        found[np.arange(len(batch)), batch.y] = 1.0
        return found / found.sum(axis=-1, keepdims=True)


class Contrary(Oracle):
    """The same the wrong way round."""

    name = "contrary"

    def score(self, batch: Batch) -> Array:
        return -super().score(batch)


def told(keys: list[Key]) -> tuple[np.ndarray, np.ndarray]:
    """(wrong, 1 - max p) of these conditions, one after the other."""
    batches = [made_evidence().conditions[key] for key in keys]
    wrong = np.concatenate([b.logits.argmax(axis=-1) != b.y for b in batches])
    return wrong, np.concatenate([MaxProbability().score(b) for b in batches])


def fpr95(positive: np.ndarray, score: np.ndarray) -> float:
    fpr, tpr, _ = roc_curve(positive, score, drop_intermediate=False)
    return float(fpr[np.flatnonzero(tpr >= 0.95)[0]])


def halves() -> list[list[Key]]:
    """The conditions of each turn: types are dealt out one by one."""
    cells = made_evidence().cells
    first, second = set(TYPES[0::2]), set(TYPES[1::2])
    return [[CLEAN, *(k for k in cells if k.condition in half)] for half in (second, first)]


def assert_mean(found: DetectionFigures, pairs: list[tuple[np.ndarray, np.ndarray]]) -> None:
    """Of what scikit-learn says of each."""
    assert found.auroc.value == pytest.approx(np.mean([roc_auc_score(*pair) for pair in pairs]))
    average = np.mean([average_precision_score(*pair) for pair in pairs])
    assert found.aupr.value == pytest.approx(average)
    assert found.fpr95.value == pytest.approx(np.mean([fpr95(*pair) for pair in pairs]))


def assert_found(found: DetectionFigures, positive: np.ndarray, score: np.ndarray) -> None:
    assert found.auroc.value == pytest.approx(roc_auc_score(positive, score))
    assert found.aupr.value == pytest.approx(average_precision_score(positive, score))
    assert found.fpr95.value == pytest.approx(fpr95(positive, score))


# ---- Point estimates --------------------------------------------------------


def test_errors_are_counted_half_by_half_and_on_clean_data() -> None:
    figures, _ = judged()
    assert figures.errors is not None
    assert_mean(figures.errors.pooled, [told(half) for half in halves()])
    assert_found(figures.errors.clean, *told([CLEAN]))
    wrong, _ = told([CLEAN])
    assert figures.accuracy == pytest.approx(1 - wrong.mean())


def mean_auroc(keys: list[Key]) -> float:
    return float(np.mean([roc_auc_score(*told([key])) for key in keys]))


def test_cells_weigh_the_same() -> None:
    figures, cells = judged()[0], made_evidence().cells
    assert figures.errors is not None
    assert len(cells) == figures.errors.cells == len(TYPES) * len(SEVERITIES)
    assert figures.errors.per_cell.auroc.value == pytest.approx(mean_auroc(cells))
    assert set(figures.by_severity) == {str(s) for s in SEVERITIES}
    for severity in SEVERITIES:
        some = [key for key in cells if key.severity == severity]
        found = figures.by_severity[str(severity)].auroc.value
        assert found == pytest.approx(mean_auroc(some))
    assert set(figures.by_type) == set(TYPES)
    for name in TYPES:
        some = [key for key in cells if key.condition == name]
        assert figures.by_type[name].auroc.value == pytest.approx(mean_auroc(some))


def test_a_cell_without_errors_is_left_out() -> None:
    evidence = made_evidence()
    key = Key("test", "fog", 1)
    fine = evidence.conditions[key]
    fine = Batch(fine.outputs, fine.logits.argmax(axis=-1))
    changed = replace(evidence, conditions={**evidence.conditions, key: fine})
    figures, _ = Judge(changed, REPLICATES).figures(
        CrossFitted(MaxProbability(), changed), "single-pass", None
    )
    assert figures.errors is not None
    assert figures.errors.cells == len(evidence.cells) - 1
    others = [k for k in evidence.cells if k != key]
    assert figures.errors.per_cell.auroc.value == pytest.approx(mean_auroc(others))


@pytest.mark.parametrize("name", FOREIGN_SETS)
def test_foreign_inputs_stand_against_right_answers_on_clean_data(name: str) -> None:
    wrong, score = told([CLEAN])
    _, foreign = told([Key("ood", name)])
    both = np.concatenate([score[~wrong], foreign])
    positive = np.arange(len(both)) >= np.sum(~wrong)
    assert_found(judged()[0].ood[name], positive, both)


def test_foreign_inputs_are_scored_by_what_would_be_deployed() -> None:
    """Fitted on all types, unlike what judges these types."""
    fitted = CrossFitted(Snap("snap-gated", GATED), made_evidence())
    figures, _ = judge().figures(fitted, "single-pass", None)
    clean, key = made_evidence().clean, Key("ood", "letters")
    right = clean.logits.argmax(axis=-1) == clean.y
    usual = fitted.whole.score(clean)[right]
    strange = fitted.whole.score(made_evidence().conditions[key])
    both = np.concatenate([usual, strange])
    assert_found(figures.ood["letters"], np.arange(len(both)) >= len(usual), both)
    pairs = []
    for turn, keys in zip(fitted.turns, halves(), strict=True):
        scores = [turn.method.score(made_evidence().conditions[key]) for key in keys]
        pairs.append((told(keys)[0], np.concatenate(scores)))
    assert figures.errors is not None
    assert_mean(figures.errors.pooled, pairs)


def test_risk_is_the_error_rate_of_the_most_certain() -> None:
    selective = judged()[0].selective["all"]
    risks: dict[str, list[float]] = {}
    for half in halves():
        wrong, score = told(half)
        order = np.argsort(score)
        for coverage in (80, 90, 95):
            kept = order[: int(np.ceil(coverage / 100 * len(score)))]
            risks.setdefault(f"risk_{coverage}", []).append(wrong[kept].mean())
        share = np.cumsum(wrong[order]) / np.arange(1, len(wrong) + 1)
        risks.setdefault("aurc", []).append(share.mean())
    for name, found in risks.items():
        assert getattr(selective, name).value == pytest.approx(np.mean(found))


def test_the_curve_of_risk_is_the_mean_of_both_halves() -> None:
    curve = np.array(judged()[0].risk_coverage)
    both = [risk_coverage(*told(half)) for half in halves()]
    np.testing.assert_allclose(curve, np.unique(np.mean(both, axis=0), axis=0))
    assert curve[-1] == pytest.approx([1.0, np.mean([told(half)[0].mean() for half in halves()])])


def test_calibration_is_of_clean_and_of_corrupted_data() -> None:
    figures, _ = judged()
    parts = {"clean": [[CLEAN]], "corrupted": [half[1:] for half in halves()]}
    assert set(figures.posterior) == set(parts)
    assert figures.uncertainty is not None
    for name, groups in parts.items():
        found: dict[str, list[float]] = {}
        for keys in groups:
            batches = [made_evidence().conditions[key] for key in keys]
            p = np.concatenate([MaxProbability().probabilities(b) for b in batches])
            y = np.concatenate([b.y for b in batches])
            wrong, score = told(keys)
            distance = np.mean(np.sum((p - np.eye(CLASSES)[y]) ** 2, axis=-1)) / CLASSES
            for figure, value in (
                ("nll", log_loss(y, p, labels=range(CLASSES))),
                ("brier", distance),
                ("of u, nll", log_loss(wrong, score)),
                ("of u, brier", np.mean((score - wrong) ** 2)),
            ):
                found.setdefault(figure, []).append(value)
        mean = {figure: np.mean(values) for figure, values in found.items()}
        posterior, uncertainty = figures.posterior[name], figures.uncertainty[name]
        assert posterior.nll.value == pytest.approx(mean["nll"])
        assert posterior.brier.value == pytest.approx(mean["brier"])
        assert uncertainty.nll.value == pytest.approx(mean["of u, nll"])
        assert uncertainty.brier.value == pytest.approx(mean["of u, brier"])


def test_the_bins_of_reliability_say_what_the_ece_does() -> None:
    figures, _ = judged()
    assert figures.uncertainty is not None
    for name in ("clean", "corrupted"):
        for kind, found in (("posterior", figures.posterior), ("uncertainty", figures.uncertainty)):
            bins = figures.reliability[f"{kind}.{name}"]
            assert sum(b.mass for b in bins) == pytest.approx(1.0)
            assert [b.stated for b in bins] == sorted(b.stated for b in bins)
            gap = sum(b.mass * abs(b.stated - b.observed) for b in bins)
            # Gaps of two halves that lie on either side of the diagonal make up for each other.
            assert gap <= found[name].ece.value + 1e-9
            if name == "clean":  # one method judges these
                assert gap == pytest.approx(found[name].ece.value)


# ---- Two maps, two scales ---------------------------------------------------


class Scaled(Surprise):
    """A strictly growing function of S, another one for each set of types that it was fitted to;
    its U says the same where it has not rounded to 1."""

    name = "scaled"
    learns_shift = True

    def __init__(self) -> None:
        super().__init__("scaled", CalibrateOptions())

    def fit(self, train: Batch, dev: Dev) -> None:
        super().fit(train, dev)
        self.scale_ = 4.0 ** sum(2 ** TYPES.index(name) for name in dev.types())

    def score(self, batch: Batch) -> Array:
        return self.scale_ * super().score(batch)


def assert_same(found: object, expected: object) -> None:
    """Bit for bit, undefined figures included."""
    np.testing.assert_equal(asdict(found), asdict(expected))  # type: ignore[call-overload]


@given(st.integers(0, 10_000))
@settings(max_examples=15)
def test_a_map_that_is_monotone_in_s_leaves_all_figures_of_s_as_they_are(seed: int) -> None:
    """Bit for bit: errors, intervals, risks; so does each stream, which one map judges."""
    evidence = surprised(seed)
    judge = Judge(evidence, 5)
    plain, _ = judge.figures(
        CrossFitted(Surprise("snap-s", CalibrateOptions()), evidence), "", None
    )
    scaled, _ = judge.figures(CrossFitted(Scaled(), evidence), "", None)
    for name in ("errors", "ood", "by_severity", "by_type", "selective", "risk_coverage"):
        np.testing.assert_equal(figure_of(scaled, name), figure_of(plain, name), err_msg=name)
    assert scaled.events is not None
    assert plain.events is not None
    assert_same(scaled.events.auprc, plain.events.auprc)
    assert_same(scaled.events.weighted_auprc, plain.events.weighted_auprc)
    assert_same(scaled.events.delay, plain.events.delay)
    assert scaled.events.false_positives == plain.events.false_positives
    assert [asdict(c) for c in scaled.clusters] == [asdict(c) for c in plain.clusters]


def figure_of(figures: MethodFigures, name: str) -> object:
    return asdict(figures)[name]


def surprised(seed: int) -> Evidence:
    """The evidence with random surprisals, which span orders of magnitude."""
    rng = np.random.default_rng(seed)

    def drawn(batch: Batch) -> Batch:
        surprisal = np.exp(rng.normal(0, 3, (len(batch), 2)))
        return Batch({**batch.outputs, SURPRISAL: surprisal}, batch.y)

    evidence = made_evidence()

    def redrawn(streams: tuple[StreamEvidence, ...]) -> tuple[StreamEvidence, ...]:
        return tuple(replace(s, parts=tuple(map(drawn, s.parts))) for s in streams)

    return replace(
        evidence,
        conditions={key: drawn(batch) for key, batch in evidence.conditions.items()},
        dev_streams=redrawn(evidence.dev_streams),
        test_streams=redrawn(evidence.test_streams),
    )


def test_a_stream_is_judged_by_one_map_whatever_its_frames_are() -> None:
    """The one that would be deployed: its figures know no half."""
    fitted = CrossFitted(Snap("snap-gated", GATED), made_evidence())
    figures, _ = judge().figures(fitted, "single-pass", None)
    (stream,) = made_evidence().test_streams
    score = np.concatenate([fitted.whole.uncertainty(part) for part in stream.parts])
    _, active, _ = watched(stream)
    assert figures.events is not None
    assert figures.events.auprc.value == pytest.approx(average_precision_score(active, score))


def test_a_score_that_is_no_probability_has_no_calibration_of_its_own() -> None:
    assert judged(Entropy)[0].uncertainty is None
    assert not any(name.startswith("uncertainty") for name in judged(Entropy)[0].reliability)


# ---- Events -----------------------------------------------------------------


def watched(stream: StreamEvidence) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(1 - max p, whether an event is active, whether it is clean) of every frame; an event is by
    its definition, of drops that need no merging."""
    correct = np.concatenate([p.logits.argmax(axis=-1) == p.y for p in stream.parts])
    normal = stream.normal.logits.argmax(axis=-1) == stream.normal.y
    usual = sliding_window_view(normal, 100).mean(axis=-1)
    lower = usual.mean() - 3 * usual.std()
    low = sliding_window_view(correct, 100).mean(axis=-1) < lower
    active = np.concatenate([np.zeros(99, bool), low])
    onsets = np.flatnonzero(np.diff(active.astype(int), prepend=0) == 1)
    offsets = np.flatnonzero(np.diff(active.astype(int), append=0) == -1) + 1
    assert len(onsets) == 2
    assert np.all(offsets - onsets >= 100)
    assert onsets[1] - offsets[0] >= 100
    score = np.concatenate([MaxProbability().score(p) for p in stream.parts])
    clean = np.concatenate([[s.kind == "clean"] * len(s) for s in stream.segments])
    return score, active, clean


def test_events_are_drops_of_the_accuracy_and_foreign_frames_count_as_wrong() -> None:
    """Fog and the letters behind it are one drop, noise is another."""
    score, active, _ = watched(made_evidence().test_streams[0])
    letters = made_evidence().test_streams[0].segments[2]
    assert np.all(active[letters.first : letters.first + len(letters)])
    events = judged()[0].events
    assert events is not None
    assert events.events == 2
    assert events.auprc.value == pytest.approx(average_precision_score(active, score))
    # Each of the two drops weighs as much as all frames outside of them.
    number = np.cumsum(np.diff(active.astype(int), prepend=0) == 1) * active
    weight = 1 / np.bincount(number)[number]
    weighted = average_precision_score(active, score, sample_weight=weight)
    assert events.weighted_auprc.value == pytest.approx(weighted)


def test_thresholds_are_frozen_on_the_dev_stream() -> None:
    evidence, events = made_evidence(), judged()[0].events
    assert events is not None
    score, active, _ = watched(evidence.dev_streams[0])
    precision, recall, at = precision_recall_curve(active, score)
    f1 = dict(zip(at, (2 * precision * recall / (precision + recall))[:-1], strict=True))
    assert f1[events.threshold] == pytest.approx(max(f1.values()))
    at_recall = at[recall[:-1] >= 0.9].max()
    score, active, clean = watched(evidence.test_streams[0])
    quiet = clean & ~active
    assert events.false_positives == pytest.approx(np.mean(score[quiet] >= at_recall))
    alarm = score >= events.threshold
    onsets = np.flatnonzero(np.diff(active.astype(int), prepend=0) == 1)
    delays = [np.flatnonzero(alarm[onset:])[0] for onset in onsets]
    assert (events.delay.value, events.miss_rate) == (np.median(delays), 0.0)


def test_a_delay_of_few_events_has_no_interval() -> None:
    events = judged()[0].events
    assert events is not None
    assert np.isnan(events.delay.low)


def test_several_streams_are_one_after_the_other() -> None:
    evidence = made_evidence()
    twice = replace(evidence, test_streams=evidence.test_streams * 2)
    once, both = judged()[0].events, judged_on(twice).events
    assert once is not None
    assert both is not None
    assert both.events == 2 * once.events
    assert both.auprc.value == pytest.approx(once.auprc.value)
    assert both.threshold == once.threshold


def test_without_streams_there_are_no_events() -> None:
    figures = judged_on(replace(made_evidence(), dev_streams=(), test_streams=()))
    assert (figures.events, figures.stream, figures.clusters) == (None, (), ())


def test_without_corruptions_clean_data_are_all() -> None:
    evidence = made_evidence()
    kept = {k: b for k, b in evidence.conditions.items() if not k.severity}
    figures = judged_on(replace(evidence, conditions=kept, dev_streams=(), test_streams=()))
    assert figures.errors is not None
    assert figures.errors.cells == 0
    assert figures.errors.pooled.auroc.value == figures.errors.clean.auroc.value
    assert np.isnan(figures.errors.per_cell.auroc.value)
    assert set(figures.posterior) == {"clean"}


def judged_on(evidence: Evidence) -> MethodFigures:
    fitted = CrossFitted(MaxProbability(), evidence)
    return Judge(evidence, REPLICATES).figures(fitted, "single-pass", None)[0]


def test_clusters_are_errors_of_bad_severities() -> None:
    figures, _ = judged()
    wrong = {name: told([Key("test", name, 4)])[0].sum() for name in TYPES}
    assert {c.type: c.errors for c in figures.clusters} == wrong
    assert [c.errors for c in figures.clusters] == sorted(wrong.values(), reverse=True)


# ---- Intervals and gains ----------------------------------------------------


def test_intervals_hold_their_figure() -> None:
    found = judged()[0].errors
    assert found is not None
    for each in (found.pooled.auroc, found.per_cell.auroc, found.pooled.aupr):
        assert each.low < each.value < each.high


def test_the_same_method_gains_nothing_and_surely_so() -> None:
    figures, samples = judged()
    found = gains(samples, samples)
    assert set(found) == set(samples)
    defined = [gain for gain in found.values() if not np.isnan(gain.value)]
    assert defined
    assert all(gain == Interval(0.0, 0.0, 0.0) for gain in defined)
    again, _ = judge().figures(CrossFitted(MaxProbability(), made_evidence()), "x", samples)
    assert again.gains["errors.pooled.auroc"] == Interval(0.0, 0.0, 0.0)
    assert figures.gains == {}


LESS_IS_BETTER = (
    *("errors.pooled.fpr95", "selective.all.aurc", "selective.clean.aurc"),
    *("selective.all.risk_80", "selective.all.risk_90", "selective.all.risk_95"),
    *("selective.all.nll_90", "posterior.clean.nll", "posterior.corrupted.brier"),
)
MORE_IS_BETTER = (
    *("errors.pooled.auroc", "errors.pooled.aupr", "errors.per_cell.auroc", "errors.clean.auroc"),
    *("severity.4.auroc", "type.fog.auroc"),
)


@pytest.mark.parametrize("figure", [*LESS_IS_BETTER, *MORE_IS_BETTER])
def test_a_better_method_gains_whichever_way_a_figure_counts(figure: str) -> None:
    _, reference = judged()
    better, worse = (judged(kind)[1] for kind in (Oracle, Contrary))
    gain = gains(better, reference)[figure]
    assert gain.low > 0
    change = better[figure].point - reference[figure].point
    assert gain.value == pytest.approx(-change if figure in LESS_IS_BETTER else change)
    if "nll" not in figure and "posterior" not in figure:
        assert gains(worse, reference)[figure].high < 0


def test_gains_turn_their_sign_with_the_order() -> None:
    one, other = judged()[1], judged(Oracle)[1]
    forth, back = gains(other, one), gains(one, other)
    for name, gain in forth.items():
        if not np.isnan(gain.value):
            found = back[name]
            assert (found.value, found.low, found.high) == pytest.approx(
                (-gain.value, -gain.high, -gain.low), abs=1e-12
            )


def test_paired_draws_know_more_than_two_intervals() -> None:
    """Entropy and max-probability nearly agree: their difference is far better known."""
    one, other = judged()[1], judged(Entropy)[1]
    name = "errors.pooled.auroc"
    gain = gains(other, one)[name]
    alone = one[name].interval
    assert gain.high - gain.low < 0.5 * (alone.high - alone.low)


def test_an_example_is_drawn_with_all_its_corrupted_copies() -> None:
    """Copies of the clean data as a cell say nothing new: the interval stays as wide."""
    evidence = made_evidence()
    kept = {k: b for k, b in evidence.conditions.items() if not k.severity}
    copies = {Key("test", "copy", s): evidence.clean for s in (1, 2, 3)}
    rows = {**evidence.rows, **dict.fromkeys(copies, evidence.rows[CLEAN])}
    once = replace(evidence, conditions=kept, dev_streams=(), test_streams=())
    often = replace(once, conditions={**kept, **copies}, rows=rows)
    one, more = judged_on(once).errors, judged_on(often).errors
    assert one is not None
    assert more is not None
    assert more.pooled.auroc.low == pytest.approx(one.pooled.auroc.low)
    assert more.pooled.auroc.high == pytest.approx(one.pooled.auroc.high)


def test_the_shown_stream_is_thinned_by_the_largest() -> None:
    stream = made_evidence().test_streams[0]
    score = np.concatenate([MaxProbability().score(p) for p in stream.parts])
    shown = judged()[0].stream
    assert len(shown) <= 1000
    assert max(shown) == score.max()
    step = -(-len(score) // 1000)
    assert shown[3] == max(score[3 * step : 4 * step])
