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
