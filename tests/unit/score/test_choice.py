"""The rule of `auto`, on figures made up for it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from snapcli.metrics.detection import Detection, ErrorDetection
from snapcli.score.choice import BY_PREFERENCE, Worth, choose_kind, kinds_for
from snapcli.score.maps import Features

NAN = float("nan")


def figures(pooled: float, per_cell: float, clean: float) -> ErrorDetection:
    return ErrorDetection(*(Detection(v, 0.5) for v in (pooled, per_cell, clean)), cells=10)


CONFIDENCE = figures(0.8, 0.75, 0.9)
HARMFUL = figures(0.81, 0.70, 0.9)


def choose(clean_errors: int = 50, **changed: ErrorDetection) -> tuple[str, str]:
    """Maps that are not named do harm and gain next to nothing; _ stands for -."""
    found = dict.fromkeys(BY_PREFERENCE, HARMFUL) | {"temperature": CONFIDENCE}
    found |= {name.replace("_", "-"): value for name, value in changed.items()}
    return choose_kind(Worth(found, CONFIDENCE, clean_errors))


def test_the_largest_gain_without_harm_is_taken() -> None:
    kind, reason = choose(gated=figures(0.85, 0.75, 0.9), isotonic=figures(0.87, 0.746, 0.9))
    assert kind == "isotonic"
    assert reason == (
        "Of all maps, isotonic gains +0.070 pooled and -0.004 within conditions: the best balance."
    )


def test_of_maps_about_as_good_the_simplest_is_taken() -> None:
    kind, reason = choose(
        gated_taps=figures(0.868, 0.75, 0.9),
        logistic=figures(0.866, 0.75, 0.9),
        isotonic=figures(0.87, 0.75, 0.9),
    )
    assert kind == "logistic"
    assert reason.startswith("The simplest within 0.005 of the best, isotonic: logistic gains")


@pytest.mark.parametrize("order", [(a, b) for a in range(7) for b in range(a + 1, 7)])
def test_the_order_of_simplicity(order: tuple[int, int]) -> None:
    simple, other = (BY_PREFERENCE[i] for i in order)
    equal = figures(0.85, 0.75, 0.9)
    changed = {name.replace("-", "_"): equal for name in (other, simple)}
    assert choose(**changed)[0] == simple
    assert BY_PREFERENCE[:5] == ("gated", "logistic-s", "logistic", "gated-taps", "isotonic")
    assert BY_PREFERENCE[5:] == ("class-gated", "evidence", "temperature")


def test_without_heads_the_softmax_is_the_simplest() -> None:
    """Nothing else could react to what dev data do not show."""
    rows = np.zeros(2)
    features = Features(rows, rows, rows, np.zeros((2, 0)), rows.astype(int), 2)
    measured = replace(features, distances=np.ones((2, 2)))
    assert kinds_for(features) == ("temperature", "class-gated")
    assert kinds_for(measured) == ("temperature", "class-gated", "evidence")
    assert kinds_for(replace(measured, surprisal=np.ones((2, 1)))) == BY_PREFERENCE

    def taken(gain: float) -> str:
        gains = {"temperature": CONFIDENCE, "class-gated": figures(0.8 + gain, 0.75, 0.9)}
        return choose_kind(Worth(gains, CONFIDENCE, 50))[0]

    assert taken(0.004) == "temperature"
    assert taken(0.006) == "class-gated"


def test_what_is_gained_within_conditions_counts_as_much_as_the_pooled_gain() -> None:
    gated = figures(0.85, 0.75, 0.9)
    # The margin, and what distances cost.
    assert choose(gated=gated, evidence=figures(0.85, 0.766, 0.916))[0] == "evidence"
    assert choose(gated=gated, evidence=figures(0.85, 0.764, 0.916))[0] == "gated"
    assert choose(gated=gated, evidence=figures(0.85, 0.79, 0.9))[0] == "gated"
    assert choose(gated=gated, class_gated=figures(0.85, 0.756, 0.906))[0] == "class-gated"
    assert choose(gated=gated, class_gated=figures(0.85, 0.754, 0.906))[0] == "gated"


def test_distances_that_gain_nothing_are_not_paid_for() -> None:
    """Beside maps that all do harm: the softmax costs nothing."""
    assert choose(evidence=figures(0.80, 0.746, 0.896))[0] == "temperature"
    assert choose(evidence=figures(0.804, 0.75, 0.9))[0] == "temperature"
    assert choose(evidence=figures(0.816, 0.75, 0.9))[0] == "evidence"
    free = {"evidence": figures(0.80, 0.746, 0.896), "class-gated": HARMFUL}
    found = dict.fromkeys(BY_PREFERENCE, HARMFUL) | {"temperature": CONFIDENCE} | free
    assert choose_kind(Worth(found, CONFIDENCE, 50), measured=True)[0] == "evidence"


def test_harm_counts_three_times_beyond_the_margin() -> None:
    gated = figures(0.82, 0.75, 0.9)
    # 0.05 - 3 * 0.01 ties with 0.02, and less is worse.
    assert choose(gated=gated, isotonic=figures(0.85, 0.735, 0.9))[0] == "gated"
    assert choose(gated=gated, isotonic=figures(0.85, 0.738, 0.9))[0] == "isotonic"
    assert choose(gated=gated, isotonic=figures(0.85, 0.75, 0.885))[0] == "gated"
    assert choose(gated=gated, isotonic=figures(0.85, 0.75, 0.888))[0] == "isotonic"


def test_a_large_gain_excuses_some_harm() -> None:
    """Digits of one seed, and MNIST: the same loss, for a gain that is worth it or not."""
    assert choose(isotonic=figures(0.97, 0.70, 0.9), gated=figures(0.885, 0.743, 0.9))[0] == "gated"
    kind, reason = choose(gated=figures(0.99, 0.70, 0.9))
    assert kind == "gated"
    assert "gains +0.190 pooled and -0.050 within conditions" in reason


def test_few_clean_errors_cannot_judge_harm() -> None:
    seeming = figures(0.95, 0.75, 0.6)
    assert choose(10, gated=seeming, logistic=figures(0.82, 0.75, 0.9))[0] == "logistic"
    kind, reason = choose(9, gated=seeming, logistic=figures(0.82, 0.75, 0.9))
    assert kind == "gated"
    assert reason.endswith("Clean dev data has 9 errors, too few to judge harm there.")
    assert "has 1 error," in choose(1, gated=seeming)[1]
    assert "has no errors," in choose(0, gated=seeming)[1]


def test_evidence_costs_nothing_more_where_f_measures_distances() -> None:
    both = {"class-gated": figures(0.9, 0.8, 0.95), "evidence": figures(0.9, 0.8, 0.95)}
    worth = Worth({**both, "temperature": CONFIDENCE}, CONFIDENCE, 50)
    assert choose_kind(worth)[0] == "class-gated"
    assert choose_kind(worth, measured=True)[0] == "evidence"


def test_temperature_where_every_map_costs_more_than_it_gains() -> None:
    kind, reason = choose(gated=figures(0.91, 0.70, 0.9))
    assert kind == "temperature"  # 0.11 - 3 * 0.045
    assert reason.startswith("No other map is worth it: the best, gated gains +0.110 pooled")
    assert choose(gated=figures(0.794, 0.75, 0.9))[0] == "temperature"


def test_a_map_that_costs_nothing_is_kept() -> None:
    """Speech: nothing to gain on dev, and nothing to lose; foreign inputs are another matter."""
    kind, reason = choose(gated=figures(0.796, 0.748, 0.9))
    assert kind == "gated"
    assert reason.startswith("No map finds more errors on dev, but this one costs nothing: gated")


def test_what_cannot_be_judged_is_neither_gain_nor_loss() -> None:
    nothing = figures(NAN, NAN, NAN)
    kind, _ = choose_kind(Worth(dict.fromkeys(BY_PREFERENCE, nothing), nothing, 0))
    assert kind == "gated"
    assert choose(50, gated=figures(0.9, NAN, NAN))[0] == "gated"
    assert math.isnan(nothing.pooled.auroc)
