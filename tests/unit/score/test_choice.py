"""The rule of `auto`, on figures made up for it."""

import math

import pytest

from snapcli.metrics.detection import Detection, ErrorDetection
from snapcli.score.choice import BY_SIMPLICITY, TRIED, choose_kind

NAN = float("nan")


def figures(pooled: float, per_cell: float, clean: float) -> ErrorDetection:
    return ErrorDetection(*(Detection(v, 0.5) for v in (pooled, per_cell, clean)), cells=10)


CONFIDENCE = figures(0.8, 0.75, 0.9)
HARMFUL = figures(0.81, 0.70, 0.9)


def choose(clean_errors: int = 50, **changed: ErrorDetection) -> tuple[str, str]:
    """Maps that are not named do harm and gain next to nothing; _ stands for -."""
    found = dict.fromkeys(TRIED, HARMFUL) | {"temperature": CONFIDENCE}
    found |= {name.replace("_", "-"): value for name, value in changed.items()}
    return choose_kind(found, CONFIDENCE, clean_errors)


def test_the_best_of_the_harmless_is_taken() -> None:
    kind, reason = choose(gated=figures(0.85, 0.75, 0.9), isotonic=figures(0.87, 0.746, 0.9))
    assert kind == "isotonic"
    assert reason == (
        "The best of the harmless maps: +0.070 pooled and -0.004 per cell on max-probability."
    )


def test_of_maps_about_as_good_the_simplest_is_taken() -> None:
    kind, reason = choose(
        gated_taps=figures(0.868, 0.75, 0.9),
        logistic=figures(0.866, 0.75, 0.9),
        isotonic=figures(0.87, 0.75, 0.9),
    )
    assert kind == "logistic"
    assert "within 0.005 of the best, isotonic" in reason


@pytest.mark.parametrize("order", [(a, b) for a in range(5) for b in range(a + 1, 5)])
def test_the_order_of_simplicity(order: tuple[int, int]) -> None:
    simple, other = (BY_SIMPLICITY[i] for i in order)
    equal = figures(0.85, 0.75, 0.9)
    changed = {name.replace("-", "_"): equal for name in (other, simple)}
    assert choose(**changed)[0] == simple
    assert BY_SIMPLICITY == ("gated", "logistic-s", "logistic", "gated-taps", "isotonic")


def test_a_larger_gain_does_not_excuse_harm_where_a_map_does_none() -> None:
    harmless = figures(0.82, 0.75, 0.9)
    assert choose(gated=harmless, isotonic=figures(0.95, 0.744, 0.9))[0] == "gated"
    assert choose(gated=harmless, isotonic=figures(0.95, 0.75, 0.894))[0] == "gated"
    assert choose(gated=harmless, isotonic=figures(0.95, 0.7451, 0.8951))[0] == "isotonic"


def test_few_clean_errors_cannot_judge_harm() -> None:
    seeming = figures(0.95, 0.75, 0.6)
    assert choose(10, gated=seeming, logistic=figures(0.82, 0.75, 0.9))[0] == "logistic"
    kind, reason = choose(9, gated=seeming, logistic=figures(0.82, 0.75, 0.9))
    assert kind == "gated"
    assert reason.endswith("Clean dev data has 9 errors, too few to judge harm there.")
    assert "has 1 error," in choose(1, gated=seeming)[1]
    assert "has no errors," in choose(0, gated=seeming)[1]


def test_temperature_where_nothing_gains() -> None:
    kind, reason = choose(gated=figures(0.8049, 0.75, 0.9), isotonic=figures(0.803, 0.75, 0.9))
    assert kind == "temperature"
    assert "No harmless map gains 0.005 pooled" in reason
    assert "gated, gains +0.005" in reason
    assert choose(gated=figures(0.8051, 0.75, 0.9))[0] == "gated"


def test_where_all_do_harm_a_gain_must_outweigh_it() -> None:
    kind, reason = choose(gated=figures(0.95, 0.71, 0.9), logistic=figures(0.97, 0.70, 0.9))
    assert kind == "gated"  # 0.15 - 3 * 0.04 beats 0.17 - 3 * 0.05
    assert reason == (
        "Every map with S does harm; gated gains most for what it costs: "
        "+0.150 pooled, -0.040 per cell."
    )
    kind, reason = choose(gated=figures(0.91, 0.71, 0.9))
    assert kind == "temperature"  # 0.11 - 3 * 0.04 is a loss
    assert "gated, is not worth it: +0.110 pooled, -0.040 per cell" in reason


def test_harm_on_clean_data_alone_costs_nothing_in_the_balance() -> None:
    every = dict.fromkeys(("logistic_s", "logistic", "gated_taps", "isotonic"), HARMFUL)
    assert choose(gated=figures(0.83, 0.76, 0.8), **every)[0] == "gated"


def test_what_cannot_be_judged_is_neither_gain_nor_loss() -> None:
    nothing = figures(NAN, NAN, NAN)
    kind, _ = choose_kind(dict.fromkeys(TRIED, nothing), nothing, 0)
    assert kind == "temperature"
    assert choose(50, gated=figures(0.9, NAN, NAN))[0] == "gated"
    assert math.isnan(nothing.pooled.auroc)
