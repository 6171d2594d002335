"""The conditions a monitor is judged on."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.data import Dataset, Split, load_dataset
from snapcli.data.evaluation import SEVERITIES, Key, evaluation_inputs, labels, split_back

words = st.text(st.characters(exclude_characters="/"), min_size=1)


@cache
def small() -> Dataset:
    """A few digits, the same ones for dev and test."""
    full = load_dataset("digits")
    few = Split(full.test.x[:6], full.test.y[:6])
    return replace(full, dev=few, test=few, ood={k: x[:3] for k, x in full.ood.items()})


def test_every_condition_is_there_once_and_in_the_same_order() -> None:
    keys = list(evaluation_inputs(small()))
    assert keys == list(evaluation_inputs(small()))
    cells = [(name, s) for name in small().corruptions for s in SEVERITIES]
    for split in ("dev", "test"):
        found = [(k.condition, k.severity) for k in keys if k.split == split]
        assert found == [("clean", 0), *cells]
    assert [k.condition for k in keys if k.split == "ood"] == list(small().ood)
    assert len(keys) == 2 * (1 + 8 * 5) + 3


@pytest.mark.parametrize("name", ["gaussian_noise", "impulse_noise", "occlusion", "translation"])
def test_dev_and_test_draw_different_noise(name: str) -> None:
    inputs = evaluation_inputs(small())
    np.testing.assert_array_equal(inputs[Key("dev", "clean")], inputs[Key("test", "clean")])
    for severity in SEVERITIES:
        dev, test = (inputs[Key(split, name, severity)] for split in ("dev", "test"))
        assert not np.array_equal(dev, test)


def test_labels_belong_to_the_split() -> None:
    full = load_dataset("digits")
    for split in ("dev", "test"):
        np.testing.assert_array_equal(labels(full, Key(split, "blur", 3)), getattr(full, split).y)
    assert labels(full, Key("ood", "letters")) is None


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_split_back_undoes_concatenate(lengths: list[int]) -> None:
    rng = np.random.default_rng(0)
    parts = {Key("dev", str(i)): rng.random((n, 2)) for i, n in enumerate(lengths)}
    images = {key: np.zeros((len(part), 4, 4, 1), np.float32) for key, part in parts.items()}
    found = split_back(images, np.concatenate(list(parts.values())))
    assert list(found) == list(parts)
    for key, part in parts.items():
        np.testing.assert_array_equal(found[key], part)
