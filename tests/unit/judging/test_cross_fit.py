"""Who is judged on a corruption has not seen it, who deploys has seen all."""

from dataclasses import replace

import numpy as np
import pytest

from snapcli.array import Array
from snapcli.data.evaluation import Key
from snapcli.judging.cross_fit import CrossFitted
from snapcli.judging.evidence import Evidence
from snapcli.methods.method import Batch, Dev, SinglePass
from tests.unit.made_evidence import TYPES, made_evidence


class Witness(SinglePass):
    """Its score names the types that it was fitted to: the sum of 2^index."""

    name = "witness"
    learns_shift = True

    def fit(self, train: Batch, dev: Dev) -> None:
        self.seen_ = dev.types()
        self.clean_ = dev.clean

    def score(self, batch: Batch) -> Array:
        return np.full(len(batch), float(sum(2 ** TYPES.index(name) for name in self.seen_)))

    def probabilities(self, batch: Batch) -> Array:
        return np.stack([self.score(batch), 1 - self.score(batch)], axis=-1)


class Careless(Witness):
    """As one that only chooses from a grid."""

    learns_shift = False


def seen_by(score: Array) -> set[str]:
    (bits,) = {int(value) for value in score}
    return {name for i, name in enumerate(TYPES) if bits & 2**i}


def seen_in(fitted: CrossFitted, name: str) -> set[str]:
    """What the one that judges a type has been fitted to."""
    (turn,) = (turn for turn in fitted.turns if name in turn.types)
    return seen_by(turn.method.score(made_evidence().clean))


@pytest.mark.parametrize("name", TYPES)
def test_nobody_judges_a_type_that_it_has_seen(name: str) -> None:
    seen = seen_in(CrossFitted(Witness(), made_evidence()), name)
    assert seen
    assert name not in seen


def test_every_type_is_seen_by_one_half() -> None:
    fitted = CrossFitted(Witness(), made_evidence())
    halves = {frozenset(seen_in(fitted, name)) for name in TYPES}
    assert len(halves) == len(fitted.judges) == 2
    assert frozenset().union(*halves) == set(TYPES)


def test_a_type_that_dev_does_not_have_is_judged_once() -> None:
    evidence = made_evidence()
    hail = {Key("test", "hail", 1): evidence.conditions[Key("test", "fog", 1)]}
    more = replace(evidence, conditions={**evidence.conditions, **hail})
    fitted = CrossFitted(Witness(), more)
    judged = [name for turn in fitted.turns for name in turn.types]
    assert sorted(judged) == sorted([*TYPES, "hail"])


def test_whole_has_seen_all_types() -> None:
    assert set(CrossFitted(Witness(), made_evidence()).whole.seen_) == set(TYPES)  # type: ignore[attr-defined]


def test_clean_dev_data_are_given_to_every_half() -> None:
    given = []

    class Noting(Witness):
        def fit(self, train: Batch, dev: Dev) -> None:
            super().fit(train, dev)
            given.append(dev.clean)

    CrossFitted(Noting(), made_evidence())
    assert len(given) == 3
    assert all(clean is made_evidence().dev.clean for clean in given)


class Chooser(Witness):
    """Chooses once, by all that it is given then."""

    chosen_: tuple[str, ...] = ()

    def fit(self, train: Batch, dev: Dev) -> None:
        super().fit(train, dev)
        self.chosen_ = self.chosen_ or tuple(self.seen_)

    def score(self, batch: Batch) -> Array:
        return np.full(len(batch), float(len(self.chosen_)))


def test_halves_keep_what_the_whole_has_chosen() -> None:
    fitted, batch = CrossFitted(Chooser(), made_evidence()), made_evidence().clean
    for judge in fitted.judges:
        np.testing.assert_array_equal(judge.score(batch), len(TYPES))


def test_what_learns_no_shift_judges_every_turn_itself() -> None:
    """On the same two halves, so that its figures are of the same data."""
    learning, careless = (CrossFitted(make(), made_evidence()) for make in (Witness, Careless))
    assert [turn.types for turn in careless.turns] == [turn.types for turn in learning.turns]
    assert careless.judges == [careless.whole]


@pytest.mark.parametrize("types", [TYPES[:1], ()])
def test_without_types_to_swap_one_that_knows_clean_data_alone_judges(
    types: tuple[str, ...],
) -> None:
    evidence = made_evidence()
    conditions = {
        key: batch
        for key, batch in evidence.conditions.items()
        if key.split != "dev" or key.condition in ("clean", *types)
    }
    fitted = CrossFitted(Witness(), Evidence(evidence.train, conditions, evidence.rows, (), ()))
    (turn,) = fitted.turns
    assert set(turn.types) == set(TYPES)
    assert seen_by(turn.method.score(evidence.clean)) == set()
