"""Maps are judged on corruption types that they have not seen."""

from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from snapcli.config import MAPS, FitOptions
from snapcli.metrics.detection import Cell, Pool, error_detection
from snapcli.score.calibration import (
    CONFIDENCE,
    Condition,
    Conditions,
    Scorer,
    choose_map,
    choose_threshold,
    evaluate,
    fit_map,
    gain_of_taps,
    in_float,
    judge,
)
from snapcli.score.choice import BY_PREFERENCE, Worth, choose_kind
from snapcli.score.maps import Features, LogisticMap, Map, fit

pytestmark = pytest.mark.slow

TYPES = ("noise", "blur", "contrast", "shift")
# Types are dealt out in turn: those beside each other are fitted together.
HALVES = (("noise", "contrast"), ("blur", "shift"))
UNBALANCED = FitOptions(balanced=False)
every_map = pytest.mark.parametrize("kind", MAPS)


def condition(rng: np.random.Generator, count: int, shift: float) -> Condition:
    log_score = rng.normal(shift, 0.1, count)
    error_logit = rng.normal(-3, 2, count)
    doubt = expit(error_logit) * rng.uniform(0.7, 1.0, count)
    wrong = rng.random(count) < expit(0.8 * error_logit + 2 * shift)
    surprisal = np.exp(log_score[:, np.newaxis] + rng.normal(0, 0.05, (count, 2)))
    answer = rng.integers(0, 4, count)
    distances = np.exp(rng.normal([0, 1], 1, (count, 2)))
    features = Features(
        np.exp(log_score), error_logit, doubt, surprisal, answer, 4, distances=distances
    )
    return Condition(features, wrong, error_logit)


def conditions(seed: int) -> Conditions:
    rng = np.random.default_rng(seed)
    return Conditions(
        condition(rng, 200, 0.0),
        {
            (name, severity): condition(rng, 60, 0.3 * severity * (1 + i / 4))
            for i, name in enumerate(TYPES)
            for severity in (1, 3)
        },
    )


def only(judged: Conditions, types: tuple[str, ...]) -> Conditions:
    return replace(
        judged, corrupted={key: c for key, c in judged.corrupted.items() if key[0] in types}
    )


def poisoned(dev: Conditions, name: str) -> Conditions:
    """One type turned upside down: the surest inputs are the wrong ones, all at odd scores."""

    def upside_down(c: Condition) -> Condition:
        f = c.features
        order = np.argsort(f.error_logit)
        wrong = np.zeros(len(order), bool)
        wrong[order[: len(order) // 2]] = True
        odd = replace(f, score=f.score**-2, surprisal=f.surprisal**-2)
        return Condition(odd, wrong, c.confidence)

    return replace(
        dev,
        corrupted={k: upside_down(c) if k[0] == name else c for k, c in dev.corrupted.items()},
    )


# What one feature alone ranks, no fit can change.
@pytest.mark.parametrize("kind", ["gated", "gated-taps", "logistic", "isotonic"])
@pytest.mark.parametrize("name", ["noise", "shift"])
def test_no_map_has_seen_the_type_that_it_is_judged_on(kind: str, name: str) -> None:
    dev, test = conditions(1), conditions(2)
    fitted = fit_map(kind, dev, list(TYPES))
    same, other = HALVES if name in HALVES[0] else HALVES[::-1]

    def figure(data: Conditions, judged: tuple[str, ...]) -> float:
        return evaluate(fitted, fitted, data, only(test, judged), {}).errors["U"].per_cell.auroc

    poison = poisoned(dev, name)
    # Types of the poisoned one's own half are judged by the map of the other half.
    assert figure(poison, same) == figure(dev, same)
    # And the poison is strong enough to be noticed where it is allowed to act.
    assert figure(poison, other) != figure(dev, other)


def test_the_deployed_map_is_fitted_on_all_types_and_clean_data() -> None:
    dev = conditions(1)
    choice = choose_map("gated", dev)
    parts = [dev.clean, *dev.corrupted.values()]
    clean = np.arange(sum(len(p.wrong) for p in parts)) < len(dev.clean.wrong)
    features = Features.concatenate([p.features for p in parts])
    assert choice.map == fit("gated", features, np.concatenate([p.wrong for p in parts]), clean)


def spoiled(data: Conditions, column: str) -> Conditions:
    """With this feature shuffled within each condition: there it says nothing about errors."""
    rng = np.random.default_rng(0)

    def shuffled(c: Condition) -> Condition:
        values = rng.permutation(getattr(c.features, column))
        confidence = values if column == "error_logit" else c.confidence
        return replace(c, features=replace(c.features, **{column: values}), confidence=confidence)

    return Conditions(shuffled(data.clean), {k: shuffled(c) for k, c in data.corrupted.items()})


@pytest.mark.parametrize(
    ("column", "unharmed"),
    [("doubt", {"gated", "gated-taps"}), ("error_logit", {"logistic", "isotonic"})],
)
def test_auto_takes_what_the_rule_says_of_cross_fitted_figures(
    column: str, unharmed: set[str]
) -> None:
    """A map that has lost the confidence it reads cannot win."""
    dev = spoiled(conditions(1), column)
    choice = choose_map("auto", dev)
    figures = {kind: judge(kind, dev, dev) for kind in BY_PREFERENCE}
    confidence = evaluate(choice.map, choice.map, dev, dev, {}).errors[CONFIDENCE]
    assert choice.dev == {CONFIDENCE: confidence, **figures}
    # In float the map temperature ranks as max-probability at that temperature does.
    worth = Worth(figures, figures["temperature"], int(dev.clean.wrong.sum()))
    expected = choose_kind(worth)
    assert (choice.map.kind, choice.reason) == expected
    assert choice.map.kind in unharmed
    # The figures are those that evaluate reports for that map.
    assert evaluate(choice.map, choice.map, dev, dev, {}).errors["U"] == choice.dev[choice.map.kind]


@every_map
def test_a_named_map_is_taken_and_judged_beside_the_others(kind: str) -> None:
    dev = conditions(1)
    choice = choose_map(kind, dev)
    assert choice.map == fit_map(kind, dev, list(TYPES))
    assert set(choice.dev) == {CONFIDENCE, *BY_PREFERENCE, kind}
    assert choice.dev[kind] == judge(kind, dev, dev)
    assert choice.reason.startswith("Asked for.")
    assert ("percentile of clean dev data" in choice.reason) == (kind == "percentile")


def test_temperature_ranks_as_max_probability_does() -> None:
    dev, test = conditions(1), conditions(2)
    clean = Cell(test.clean.wrong, test.clean.confidence)
    pools = [
        Pool(clean, [Cell(c.wrong, c.confidence) for c in only(test, half).corrupted.values()])
        for half in HALVES
    ]
    assert judge("temperature", dev, test) == error_detection(pools)


# Sixteenths, so that powers of two times these, less 3, are exact: nothing rounds but U.
scores = st.lists(
    st.tuples(st.booleans(), st.integers(1, 10**9).map(lambda k: k / 16)), min_size=1, max_size=25
)


@given(st.lists(scores, min_size=3, max_size=6), st.lists(scores, min_size=3, max_size=6))
def test_a_map_that_is_monotone_in_s_leaves_its_figures_as_they_are(
    dev_parts: list[list[tuple[bool, float]]], test_parts: list[list[tuple[bool, float]]]
) -> None:
    """Bit for bit, also where U has rounded to 1."""

    def made(pairs: list[tuple[bool, float]]) -> Condition:
        score = np.array([s for _, s in pairs])
        nothing = np.zeros(len(pairs))
        answer = nothing.astype(int)
        features = Features(score, nothing, nothing, score[:, np.newaxis], answer, 2)
        return Condition(features, np.array([w for w, _ in pairs]), nothing)

    def conditions(parts: list[list[tuple[bool, float]]]) -> Conditions:
        clean, *rest = map(made, parts)
        return Conditions(clean, {(f"type {i}", 1): c for i, c in enumerate(rest)})

    dev, test = conditions(dev_parts), conditions(test_parts)
    scales = count(-2)

    def another_scale(fitted: Map) -> Scorer:
        assert isinstance(fitted, LogisticMap)
        return in_float(replace(fitted, b0=-3.0, b1=2.0 ** next(scales)))

    fitted = fit_map("logistic-s", dev, dev.types())
    report = evaluate(fitted, fitted, dev, test, {"x": test.clean}, another_scale)
    for part in ("pooled", "per_cell", "clean"):
        ours, own = (getattr(report.errors[name], part) for name in ("U", "S"))
        np.testing.assert_equal(vars(ours), vars(own))
    np.testing.assert_equal(vars(report.ood["x"]["U"]), vars(report.ood["x"]["S"]))


def test_auto_counts_no_gain_of_the_temperature_for_s() -> None:
    """The fitted temperature ranks better than the logits themselves; S says nothing."""
    dev = conditions(1)

    def worse(c: Condition) -> Condition:
        nothing = np.ones_like(c.features.score)
        features = replace(c.features, score=nothing, surprisal=np.ones_like(c.features.surprisal))
        noise = np.random.default_rng(0).normal(0, 3, len(c.wrong))
        return replace(c, features=features, confidence=c.confidence + noise)

    dev = Conditions(worse(dev.clean), {k: worse(c) for k, c in dev.corrupted.items()})
    choice = choose_map("auto", dev)
    gained = choice.dev["temperature"].pooled.auroc - choice.dev[CONFIDENCE].pooled.auroc
    assert gained > 0.02
    assert "gains +0.000 pooled" in choice.reason or "gains -0.000 pooled" in choice.reason


def test_a_map_is_deployed_before_it_is_judged() -> None:
    """A device that answers nothing finds nothing."""
    dev = conditions(1)
    blind = judge("gated", dev, dev, lambda fitted: lambda f: np.zeros(len(f.score)))
    assert blind.pooled.auroc == blind.per_cell.auroc == blind.clean.auroc == 0.5


def with_third(data: Conditions, slope: float) -> Conditions:
    """The third input knows of errors, among noise, or nothing with a slope of zero."""
    rng = np.random.default_rng(0)

    def added(c: Condition) -> Condition:
        third = slope * (c.wrong + rng.normal(0, 0.5, len(c.wrong)))
        return replace(c, features=replace(c.features, third=third))

    return Conditions(added(data.clean), {k: added(c) for k, c in data.corrupted.items()})


def test_a_third_input_that_is_left_out_is_mentioned() -> None:
    dev = conditions(1)
    assert choose_map("gated", with_third(dev, 1.0)).reason == "Asked for."
    useless = choose_map("gated", with_third(dev, 0.0))
    assert useless.reason == "Asked for. The third input adds nothing and is left out."
    assert useless.map == fit_map("gated", dev, list(TYPES))


def test_a_plain_fit_can_be_had() -> None:
    dev = conditions(1)
    plain = choose_map("logistic", dev, how=UNBALANCED)
    assert plain.map == fit_map("logistic", dev, list(TYPES), UNBALANCED)
    assert plain.map != fit_map("logistic", dev, list(TYPES))
    assert plain.dev["logistic"] == judge("logistic", dev, dev, how=UNBALANCED)
    report = evaluate(plain.map, plain.map, dev, dev, {}, how=UNBALANCED)
    assert report.errors["U"] == plain.dev["logistic"]


def test_the_report_compares_u_with_its_parts() -> None:
    dev, test = conditions(1), conditions(2)
    fitted = choose_map("gated", dev).map
    foreign = condition(np.random.default_rng(9), 80, 0.1)
    by_score = fit_map("logistic-s", dev, list(TYPES))
    report = evaluate(fitted, by_score, dev, test, {"foreign": foreign})
    assert set(report.errors) == {"U", "S", "max-probability"}
    assert set(report.ood["foreign"]) == {"F", *report.errors}
    right = ~test.clean.wrong
    lower = test.clean.features.score[right][:, None] < foreign.features.score[None, :]
    # The AUROC is the share of pairs in the right order.
    assert report.ood["foreign"]["S"].auroc == pytest.approx(lower.mean())
    assert report.ood["foreign"]["F"] == report.ood["foreign"]["S"]
    assert report.errors["S"].cells == len(test.corrupted)


def test_without_heads_there_is_no_score_to_compare() -> None:
    dev = conditions(1).without_taps()
    choice = choose_map("auto", dev)
    assert set(choice.dev) == {CONFIDENCE, "class-gated", "evidence", "temperature"}
    report = evaluate(choice.map, choice.map, dev, dev, {"x": dev.clean})
    assert set(report.errors) == {"U", "max-probability"}


def test_heads_are_worth_what_no_map_without_them_finds() -> None:
    """S knows of errors; shuffled within its condition it does not."""
    dev = conditions(1)
    choice = choose_map("gated", dev)
    assert gain_of_taps(choice, dev, in_float, FitOptions()) > 0.03
    blind = Conditions(
        dev.clean.without_taps(), {k: c.without_taps() for k, c in dev.corrupted.items()}
    )
    choice = choose_map("class-gated", blind)
    assert gain_of_taps(choice, blind, in_float, FitOptions()) <= 0


def test_evidence_comes_first_where_distances_are_measured_anyway() -> None:
    dev = conditions(1)
    for measured in (False, True):
        choice = choose_map("auto", dev, measured=measured)
        assert choice.worth is not None
        assert (choice.map.kind, choice.reason) == choose_kind(choice.worth, measured)


def test_the_strongest_conditions_are_the_last_of_each_type() -> None:
    dev = conditions(1)
    assert [id(c) for c in dev.strongest()] == [
        id(dev.corrupted[name, 3]) for name in sorted(TYPES)
    ]


def test_thresholds_are_taken_where_they_belong() -> None:
    dev = conditions(1)
    fitted = choose_map("gated", dev).map
    clean = fitted(dev.clean.features)
    everything = np.concatenate([clean, *(fitted(c.features) for c in dev.corrupted.values())])

    def threshold(rule: str, target: float) -> float:
        found = choose_threshold(rule, target, fitted, dev)
        assert found.promise is None
        return found.threshold

    assert np.mean(clean < threshold("coverage", 0.9)) == pytest.approx(0.9, abs=1 / len(clean))
    refused = everything >= threshold("budget", 0.2)
    assert np.mean(refused) == pytest.approx(0.2, abs=1 / len(everything))
    for rule in ("f1", "youden"):
        assert threshold(rule, 0.5) == threshold(rule, 0.1)
        assert threshold(rule, 0.5) in everything


@pytest.mark.parametrize("rule", ["risk", "false-alarm"])
def test_a_promise_is_about_the_examples_held_out(rule: str) -> None:
    dev, held_out = conditions(1), conditions(2).clean
    fitted = choose_map("gated", dev).map
    found = choose_threshold(rule, 0.3, fitted, dev, held_out)
    assert found.promise is not None
    refused = fitted(held_out.features) >= found.threshold
    counted = held_out.wrong[~refused] if rule == "risk" else refused[~held_out.wrong]
    assert found.promise.rule == rule
    assert (found.promise.n, found.promise.count) == (len(counted), counted.sum())


def test_a_condition_can_be_cut() -> None:
    whole = conditions(1).clean
    chosen = np.arange(len(whole.wrong)) % 3 == 0
    part = whole.where(chosen)
    np.testing.assert_array_equal(part.wrong, whole.wrong[::3])
    third = replace(whole, features=replace(whole.features, third=whole.features.score + 1))
    np.testing.assert_array_equal(part.confidence, whole.confidence[::3])
    for cut, of in ((part, whole), (third.where(chosen), third)):
        for name, values in vars(of.features).items():
            expected = values[::3] if isinstance(values, np.ndarray) else values
            np.testing.assert_array_equal(getattr(cut.features, name), expected, err_msg=name)


def test_types_keep_their_order_and_accuracy_is_that_of_clean_data() -> None:
    dev = conditions(1)
    assert dev.types() == list(TYPES)
    assert dev.accuracy() == pytest.approx(np.mean(~dev.clean.wrong))
