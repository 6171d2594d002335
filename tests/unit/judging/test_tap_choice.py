"""Which candidates become taps: by gain and cost, or by depth where dev data cannot tell."""

from dataclasses import dataclass, replace

import pytest

from snapcli.config import MEAN
from snapcli.graph.graph import Graph
from snapcli.judging.tap_choice import choose_taps
from snapcli.monitor.body import Body, TapTensors
from snapcli.pricing.heads import Prices

NAMES = ("a", "b", "c", "d")
BODY = Body(
    Graph({}, (), (), {}, {}),
    tuple(TapTensors(f"before {name}", name) for name in NAMES),
    (),
    MEAN,
)


@dataclass(frozen=True)
class Dev:
    """Stands for dev scores: gains of taps add up."""

    without: float
    gains: dict[str, float]
    errors: int = 100

    def auprc_of(self, names: list[str]):
        assert tuple(names) == NAMES
        return lambda chosen: self.without + sum(self.gains.get(name, 0.0) for name in chosen)


def prices(instructions: int = 10) -> Prices:
    sums = {name: 0 for tap in BODY.taps for name in (tap.before, tap.after)}
    return Prices((1000,) * 4, 500, 10_000, sums, (instructions,) * 4, 0, 0)


def test_taps_that_find_errors_are_taken_by_depth() -> None:
    choice = choose_taps(BODY, Dev(0.5, {"d": 0.1, "b": 0.2}), prices(), 2.0)  # type: ignore[arg-type]
    assert choice.chosen == (1, 3)
    assert "+0.300" in choice.reason


def test_all_of_them_together_keep_to_the_overhead() -> None:
    dev = Dev(0.5, {"a": 0.1, "b": 0.2, "c": 0.3})
    # 80 of 10,000 each: two of them are within 2 %.
    choice = choose_taps(BODY, dev, prices(80), 2.0)  # type: ignore[arg-type]
    assert choice.chosen == (1, 2)


@pytest.mark.parametrize(
    ("errors", "said"), [(9, "fewer than 10 known errors"), (10, "no tap within the limits")]
)
def test_where_dev_data_cannot_tell_the_middle_and_the_last_are_taken(
    errors: int, said: str
) -> None:
    gains = {"a": 0.3} if errors < 10 else {}
    choice = choose_taps(BODY, Dev(0.5, gains, errors), prices(), 2.0)  # type: ignore[arg-type]
    assert choice.chosen == (1, 3)
    assert said in choice.reason
    alone = choose_taps(BODY, Dev(0.5, gains, errors), prices(150), 2.0)  # type: ignore[arg-type]
    assert alone.chosen == (3,)
    assert "two cost more than --max-overhead" in alone.reason


def test_a_tap_that_is_too_dear_gives_way_to_one_that_is_not() -> None:
    costs = replace(prices(), heads=(10, 10, 10, 500))
    choice = choose_taps(BODY, Dev(0.5, {}), costs, 2.0)  # type: ignore[arg-type]
    assert choice.chosen == (1, 2)


@pytest.mark.parametrize(("gains", "taken"), [({"b": 0.2, "c": 0.1}, 1), ({}, 3)])
def test_where_every_tap_is_too_dear_one_is_taken_and_that_is_said(
    gains: dict[str, float], taken: int
) -> None:
    choice = choose_taps(BODY, Dev(0.5, gains), prices(300), 2.0)  # type: ignore[arg-type]
    assert choice.chosen == (taken,)
    assert "every tap costs more than --max-overhead 2" in choice.reason
