"""A share of every class is set apart, always the same one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.data.dataset import Split
from snapcli.data.splits import named, without_share
from snapcli.errors import ConfigError


def split(counts: list[int]) -> Split:
    """The class of a row follows from its number."""
    y = np.repeat(np.arange(len(counts)), counts)
    return Split(np.arange(len(y))[:, None], y, named("row", len(y)))


@given(
    counts=st.lists(st.integers(10, 60), min_size=2, max_size=6),
    share=st.sampled_from([0.1, 0.125, 1 / 7, 0.2, 0.3]),
)
def test_both_parts_hold_every_class_and_nothing_twice(counts: list[int], share: float) -> None:
    whole = split(counts)
    rest, part = without_share(whole, share)
    assert len(part) == np.ceil(share * sum(counts))
    np.testing.assert_array_equal(
        np.sort(np.concatenate([rest.x, part.x]), axis=0), np.arange(len(whole))[:, None]
    )
    for found in (rest, part):
        np.testing.assert_array_equal(found.y, whole.y[found.x[:, 0]])
        np.testing.assert_array_equal(found.origins, whole.origins[found.x[:, 0]])
    taken = np.bincount(part.y, minlength=len(counts))
    assert taken.min() >= 1
    # As stratified as whole examples can be.
    assert np.abs(taken - share * np.array(counts)).max() <= 1.5


def test_the_same_examples_give_the_same_parts() -> None:
    one, other = (without_share(split([20, 30]), 0.2) for _ in range(2))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.x, b.x)


@given(
    rare=st.integers(1, 9),
    counts=st.lists(st.integers(10, 200), min_size=1, max_size=5),
    share=st.sampled_from([0.1, 0.125, 0.2]),
    place=st.integers(0, 5),
)
def test_a_class_whose_share_is_less_than_one_is_named(
    rare: int, counts: list[int], share: float, place: int
) -> None:
    counts.insert(place, rare)
    whole = split(counts)
    if rare * share >= 1:
        assert np.bincount(without_share(whole, share)[1].y, minlength=len(counts)).all()
        return
    with pytest.raises(ConfigError, match=f"has {rare} examples, too few") as caught:
        without_share(whole, share)
    first = whole.origins[np.flatnonzero(whole.y == counts.index(rare))[0]]
    assert f"the class of {first} " in caught.value.message


def test_names_follow_the_position() -> None:
    assert list(named("train", 3)) == ["train/0", "train/1", "train/2"]
    assert len(named("train", 0)) == 0
