"""Maps are judged on corruption types that they have not seen."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from snapcli.score import calibration
from snapcli.score.calibration import (
    Condition,
    Conditions,
    choose_map,
    choose_threshold,
    evaluate,
    fit_map,
)
from snapcli.score.maps import MAPS, Features

TYPES = ("noise", "blur", "contrast", "shift")
# Types are dealt out in turn: those beside each other are fitted together.
HALVES = (("noise", "contrast"), ("blur", "shift"))
every_map = pytest.mark.parametrize("kind", MAPS)


def condition(rng: np.random.Generator, count: int, shift: float) -> Condition:
    log_score = rng.normal(shift, 0.4, count)
    error_logit = rng.normal(-3 + shift, 2, count)
    doubt = expit(error_logit) * rng.uniform(0.7, 1.0, count)
    wrong = rng.random(count) < expit(0.8 * error_logit + shift)
    return Condition(Features(np.exp(log_score), error_logit, doubt), wrong)


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
        return Condition(Features(f.score**-2, f.error_logit, f.doubt), wrong)

    return replace(
        dev,
        corrupted={k: upside_down(c) if k[0] == name else c for k, c in dev.corrupted.items()},
    )


@every_map
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
    assert choice.map == MAPS["gated"].fit(
        features, np.concatenate([p.wrong for p in parts]), clean
    )


def spoiled(data: Conditions, column: str) -> Conditions:
    """With this feature shuffled within each condition: there it says nothing about errors."""
    rng = np.random.default_rng(0)

    def shuffled(c: Condition) -> Condition:
        values = rng.permutation(getattr(c.features, column))
        return Condition(replace(c.features, **{column: values}), c.wrong)

    return Conditions(shuffled(data.clean), {k: shuffled(c) for k, c in data.corrupted.items()})


@pytest.mark.parametrize(
    ("column", "unharmed"),
    [("doubt", {"gated"}), ("error_logit", {"logistic", "isotonic"})],
)
def test_auto_takes_the_best_map_that_does_no_harm(column: str, unharmed: set[str]) -> None:
    """A map that has lost the confidence it reads cannot win."""
    dev = spoiled(conditions(1), column)
    choice = choose_map("auto", dev)
    report = evaluate(choice.map, dev, dev, {}).errors
    limit = report["max-probability"].per_cell.auroc - calibration.HARM
    harmless = {k: d.pooled.auroc for k, d in choice.dev.items() if d.per_cell.auroc >= limit}
    assert choice.map.kind == max(harmless, key=lambda k: harmless[k])
    assert choice.map.kind in unharmed
    assert set(choice.dev) == set(MAPS)
    for d in choice.dev.values():
        assert f"{d.pooled.auroc:.3f} / {d.per_cell.auroc:.3f}" in choice.reason
    # The figures are the cross-fitted ones that evaluate reports for that map.
    assert report["U"] == choice.dev[choice.map.kind]


def test_auto_takes_the_least_harmful_map_where_all_do_harm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calibration, "HARM", -1.0)  # nothing can be that much better
    choice = choose_map("auto", spoiled(conditions(3), "error_logit"))
    per_cell = {k: d.per_cell.auroc for k, d in choice.dev.items()}
    assert choice.map.kind == max(per_cell, key=lambda k: per_cell[k])


@every_map
def test_a_named_map_is_taken(kind: str) -> None:
    choice = choose_map(kind, conditions(1))
    assert choice.map.kind == kind
    assert choice.reason == "asked for"


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
    for name, values in vars(whole.features).items():
        np.testing.assert_array_equal(getattr(part.features, name), values[::3], err_msg=name)


def test_types_keep_their_order_and_accuracy_is_that_of_clean_data() -> None:
    dev = conditions(1)
    assert dev.types() == list(TYPES)
    assert dev.accuracy() == pytest.approx(np.mean(~dev.clean.wrong))
