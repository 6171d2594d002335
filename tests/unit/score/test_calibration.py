"""Maps are judged on corruption types that they have not seen."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from snapcli.config import MAPS
from snapcli.metrics.detection import Cell, error_detection
from snapcli.score.calibration import (
    CONFIDENCE,
    Condition,
    Conditions,
    choose_map,
    choose_threshold,
    evaluate,
    fit_map,
    judge,
)
from snapcli.score.choice import BY_PREFERENCE, choose_kind
from snapcli.score.maps import Features, fit

TYPES = ("noise", "blur", "contrast", "shift")
# Types are dealt out in turn: those beside each other are fitted together.
HALVES = (("noise", "contrast"), ("blur", "shift"))
every_map = pytest.mark.parametrize("kind", MAPS)


def condition(rng: np.random.Generator, count: int, shift: float) -> Condition:
    log_score = rng.normal(shift, 0.1, count)
    error_logit = rng.normal(-3, 2, count)
    doubt = expit(error_logit) * rng.uniform(0.7, 1.0, count)
    wrong = rng.random(count) < expit(0.8 * error_logit + 2 * shift)
    surprisal = np.exp(log_score[:, np.newaxis] + rng.normal(0, 0.05, (count, 2)))
    return Condition(Features(np.exp(log_score), error_logit, doubt, surprisal), wrong)


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
        return Condition(odd, wrong)

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
        return evaluate(fitted, data, only(test, judged), {}).errors["U"].per_cell.auroc

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
        return Condition(replace(c.features, **{column: values}), c.wrong)

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
    confidence = evaluate(choice.map, dev, dev, {}).errors[CONFIDENCE]
    assert choice.dev == {CONFIDENCE: confidence, **figures}
    expected = choose_kind(figures, confidence, int(dev.clean.wrong.sum()))
    assert (choice.map.kind, choice.reason) == expected
    assert choice.map.kind in unharmed
    # The figures are the cross-fitted ones that evaluate reports for that map.
    assert evaluate(choice.map, dev, dev, {}).errors["U"] == choice.dev[choice.map.kind]


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
    cells = [Cell(c.wrong, c.features.error_logit) for c in test.corrupted.values()]
    clean = Cell(test.clean.wrong, test.clean.features.error_logit)
    assert judge("temperature", dev, test) == error_detection(clean, cells)


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
        return Condition(replace(c.features, third=third), c.wrong)

    return Conditions(added(data.clean), {k: added(c) for k, c in data.corrupted.items()})


def test_a_third_input_that_is_left_out_is_mentioned() -> None:
    dev = conditions(1)
    assert choose_map("gated", with_third(dev, 1.0)).reason == "Asked for."
    useless = choose_map("gated", with_third(dev, 0.0))
    assert useless.reason == "Asked for. The third input adds nothing and is left out."
    assert useless.map == fit_map("gated", dev, list(TYPES))


def test_a_plain_fit_can_be_had() -> None:
    dev = conditions(1)
    plain = choose_map("logistic", dev, balanced=False)
    assert plain.map == fit_map("logistic", dev, list(TYPES), balanced=False)
    assert plain.map != fit_map("logistic", dev, list(TYPES))
    assert plain.dev["logistic"] == judge("logistic", dev, dev, balanced=False)
    report = evaluate(plain.map, dev, dev, {}, balanced=False)
    assert report.errors["U"] == plain.dev["logistic"]


def test_the_report_compares_u_with_its_parts() -> None:
    dev, test = conditions(1), conditions(2)
    fitted = choose_map("gated", dev).map
    foreign = condition(np.random.default_rng(9), 80, 4.0).features
    report = evaluate(fitted, dev, test, {"foreign": foreign})
    assert set(report.errors) == set(report.ood["foreign"]) == {"U", "S", "max-probability"}
    right = ~test.clean.wrong
    lower = test.clean.features.score[right][:, None] < foreign.score[None, :]
    # The AUROC is the share of pairs in the right order.
    assert report.ood["foreign"]["S"].auroc == pytest.approx(lower.mean())
    assert report.errors["S"].cells == len(test.corrupted)


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
    for cut, of in ((part, whole), (third.where(chosen), third)):
        for name, values in vars(of.features).items():
            expected = None if values is None else values[::3]
            np.testing.assert_array_equal(getattr(cut.features, name), expected, err_msg=name)


def test_types_keep_their_order_and_accuracy_is_that_of_clean_data() -> None:
    dev = conditions(1)
    assert dev.types() == list(TYPES)
    assert dev.accuracy() == pytest.approx(np.mean(~dev.clean.wrong))
