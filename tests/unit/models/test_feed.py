"""Batches of an epoch: every example once, the same for the same seed, mixed if asked for."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.config import TrainOptions
from snapcli.data import Dataset, load_dataset
from snapcli.data.dataset import Raw
from snapcli.models.feed import Batch, Feed


@cache
def digits() -> Dataset:
    return load_dataset(TrainOptions())


@cache
def numbered() -> Dataset:
    """5,000 examples of one pixel that tell who they are, not varied."""
    rows = np.resize(np.arange(len(digits().train)), 5000)
    tagged = np.arange(5000, dtype=np.float32).reshape(-1, 1, 1, 1)
    plain = replace(digits(), augment=lambda x, rng: x)
    return replace(plain, train=replace(digits().train.take(rows), x=tagged))


def epoch(data: Dataset, size: int, seed: int, mixup: float = 0.0) -> list[Batch]:
    return list(Feed(data, size, mixup, np.random.default_rng(seed)))


@given(st.integers(1, 5100), st.integers(0, 5))
def test_every_example_comes_once_with_its_label(size: int, seed: int) -> None:
    batches = epoch(numbered(), size, seed)
    assert all(len(batch.y) == size for batch in batches[:-1])
    tags = np.concatenate([batch.x[:, 0, 0, 0] for batch in batches]).astype(int)
    assert sorted(tags) == list(range(5000))
    np.testing.assert_array_equal(
        np.concatenate([batch.y for batch in batches]), numbered().train.y[tags]
    )


def test_the_order_follows_the_seed_and_so_does_the_variation() -> None:
    first, again, other = (epoch(digits(), 64, seed) for seed in (1, 1, 2))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.x, b.x)
        np.testing.assert_array_equal(a.y, b.y)
    assert not np.array_equal(first[0].x, other[0].x)


def test_mixing_blends_images_and_keeps_both_labels() -> None:
    """Every example is its own label, so that a blend tells its parents' shares."""
    train = replace(numbered().train, x=numbered().train.y.reshape(-1, 1, 1, 1).astype(np.float32))
    batches = epoch(replace(numbered(), train=train), 100, 4, mixup=0.4)
    assert len({batch.share for batch in batches}) == len(batches)
    for batch in batches:
        assert 0.0 <= batch.share <= 1.0
        np.testing.assert_allclose(
            batch.x[:, 0, 0, 0], batch.share * batch.y + (1 - batch.share) * batch.other, atol=1e-5
        )
        # Partners are the batch itself in another order.
        assert sorted(batch.other) == sorted(batch.y)
    assert {batch.share for batch in epoch(numbered(), 100, 4)} == {1.0}


def test_an_error_in_the_thread_reaches_the_training() -> None:
    def broken(x: Raw, rng: np.random.Generator) -> Raw:
        raise ValueError("no such place")

    with pytest.raises(ValueError, match="no such place"):
        epoch(replace(digits(), augment=broken), 64, 1)


def test_what_was_waited_for_is_counted() -> None:
    feed = Feed(digits(), 64, 0.0, np.random.default_rng(0))
    list(feed)
    assert feed.waited_s > 0
