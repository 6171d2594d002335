"""Heads that are fitted after the training."""

from dataclasses import replace

import numpy as np
import pytest

from snapcli.config import TrainOptions
from snapcli.data import load_dataset
from snapcli.data.dataset import Raw
from snapcli.models import load_backbone, posthoc
from snapcli.models.attached import AttachedHeads

from ...conftest import need

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("examples", "varied"), [(99, 3), (100, 0)])
def test_only_a_small_set_is_looked_at_varied(
    monkeypatch: pytest.MonkeyPatch, examples: int, varied: int
) -> None:
    seen = []

    def augment(x: Raw, rng: np.random.Generator) -> Raw:
        seen.append(len(x))
        return x

    need(tensorflow=True)
    monkeypatch.setattr(posthoc, "_SMALL", 100)
    monkeypatch.setattr(posthoc, "_STEPS", 1)
    digits, options = load_dataset(TrainOptions()), TrainOptions(mode="posthoc")
    data = replace(digits, train=digits.train.take(np.arange(examples)), augment=augment)
    backbone = load_backbone("dscnn-digits")
    model = backbone.build(data.input_shape, len(data.class_names))
    heads = AttachedHeads(backbone.taps(("P",)), model, len(data.class_names), options)
    posthoc.fit_heads(heads, model, data, options, np.random.default_rng(0))
    assert seen == [examples] * varied


@pytest.mark.parametrize("head", ["gaussian", "mixture"])
def test_rank_0_predicts_the_same_whatever_it_sees(
    monkeypatch: pytest.MonkeyPatch, head: str
) -> None:
    need(tensorflow=True)
    monkeypatch.setattr(posthoc, "_STEPS", 3)
    digits, options = load_dataset(TrainOptions()), TrainOptions(mode="posthoc", head=head, qat=0.5)
    data = replace(digits, train=digits.train.take(np.arange(60)))
    backbone = load_backbone("dscnn-digits")
    model = backbone.build(data.input_shape, len(data.class_names))
    (tap,) = backbone.taps(("P",))
    (constant,) = posthoc.heads_for(model, (replace(tap, rank=0),), data, options)
    rng = np.random.default_rng(0)
    before = rng.normal(0.0, 5.0, (2, 50, len(constant.before_mean)))
    after = rng.normal(0.0, 1.0, (50, len(constant.after_mean)))
    one, other = (constant.surprisal(b, after) for b in before)
    np.testing.assert_array_equal(one, other)
    assert np.ptp(one) > 0
    assert np.any(constant.mean_bias != 0)  # it has learned


def test_heads_to_what_was_seen_are_those_for_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """More blocks than they need change nothing."""
    need(tensorflow=True)
    monkeypatch.setattr(posthoc, "_STEPS", 3)
    monkeypatch.setattr(posthoc, "_SMALL", 10)
    digits, options = load_dataset(TrainOptions()), TrainOptions(mode="posthoc")
    data = replace(digits, train=digits.train.take(np.arange(60)))
    backbone = load_backbone("dscnn-digits")
    model = backbone.build(data.input_shape, len(data.class_names))
    taps, blocks = backbone.taps(("M", "P")), list(backbone.blocks)
    rng = np.random.default_rng(options.seed)
    seen = posthoc.looked_at(model, blocks, options.statistics, data, rng)
    found = posthoc.heads_to(seen, model, taps, len(data.class_names), options, rng)
    for ours, theirs in zip(found, posthoc.heads_for(model, taps, data, options), strict=True):
        assert (ours.before, ours.after) == (theirs.before, theirs.after)
        np.testing.assert_array_equal(ours.projector, theirs.projector)
        np.testing.assert_array_equal(ours.xi_bias, theirs.xi_bias)
