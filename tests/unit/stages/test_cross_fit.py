"""Who is judged on a corruption has not seen it, who deploys has seen all."""

from collections.abc import Callable

import numpy as np
import pytest

from snapcli.baselines.method import Array, Batch, Dev, SinglePass
from snapcli.stages.cross_fit import CrossFitted
from snapcli.stages.evidence import Evidence
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


@pytest.mark.parametrize("name", TYPES)
def test_nobody_judges_a_type_that_it_has_seen(name: str) -> None:
    fitted = CrossFitted(Witness, made_evidence())
    batch = made_evidence().clean
    seen = seen_by(fitted.score(batch, name))
    assert seen
    assert name not in seen
    np.testing.assert_array_equal(
        fitted.probabilities(batch, name)[:, 0], fitted.score(batch, name)
    )


def test_every_type_is_seen_by_one_half() -> None:
    fitted, batch = CrossFitted(Witness, made_evidence()), made_evidence().clean
    halves = {frozenset(seen_by(fitted.score(batch, name))) for name in TYPES}
    assert len(halves) == 2
    assert frozenset().union(*halves) == set(TYPES)


@pytest.mark.parametrize("corruption", [None, "hail"])
def test_what_belongs_to_neither_half_gets_the_mean_of_both(corruption: str | None) -> None:
    """Clean data, foreign inputs, and a type that dev does not have."""
    fitted, batch = CrossFitted(Witness, made_evidence()), made_evidence().clean
    halves = {float(fitted.score(batch, name)[0]) for name in TYPES}
    np.testing.assert_allclose(fitted.score(batch, corruption), np.mean(list(halves)))


def test_whole_has_seen_all_types() -> None:
    assert set(CrossFitted(Witness, made_evidence()).whole.seen_) == set(TYPES)  # type: ignore[attr-defined]


def test_clean_dev_data_are_given_to_every_half() -> None:
    given = []

    class Noting(Witness):
        def fit(self, train: Batch, dev: Dev) -> None:
            super().fit(train, dev)
            given.append(dev.clean)

    CrossFitted(Noting, made_evidence())
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
    fitted, batch = CrossFitted(Chooser, made_evidence()), made_evidence().clean
    for name in TYPES:
        np.testing.assert_array_equal(fitted.score(batch, name), len(TYPES))


@pytest.mark.parametrize(
    ("make", "types"), [(Careless, TYPES), (Witness, TYPES[:1]), (Witness, ())]
)
def test_without_slopes_or_types_to_swap_whole_judges(
    make: Callable[[], Witness], types: tuple[str, ...]
) -> None:
    evidence = made_evidence()
    conditions = {
        key: batch
        for key, batch in evidence.conditions.items()
        if key.split != "dev" or key.condition in ("clean", *types)
    }
    few = Evidence(evidence.train, conditions, evidence.rows, (), ())
    fitted = CrossFitted(make, few)
    assert seen_by(fitted.score(evidence.clean, TYPES[0])) == set(types)
