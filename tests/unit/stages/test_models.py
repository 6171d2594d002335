"""What the backbones cost, from the compiler."""

import pytest

from snapcli.errors import UsageError
from snapcli.stages import models as stage
from snapcli.stages.models import models

from ...conftest import need

pytestmark = pytest.mark.slow


def test_the_keyword_backbone_keeps_its_budget() -> None:
    need(tensorflow=True, compiler=True)
    (dscnn,) = models(("dscnn",))
    assert dscnn.macs <= 6_000_000
    assert dscnn.arena_bytes <= 51 * 1024
    assert dscnn.input_shape == (98, 40, 1)
    # Four blocks of 64: a depthwise 3x3 and a pointwise layer, each normalised.
    block = 9 * 64 + 64 * 64 + 4 * 64
    stem, classifier = 40 * 64 + 2 * 64, 64 * 12 + 12
    assert dscnn.parameters == stem + 4 * block + classifier
    for cost in dscnn.targets.values():
        # int8 weights and what surrounds them.
        assert dscnn.parameters < cost.flash_bytes < 3 * dscnn.parameters
        assert cost.fits


def test_what_is_too_large_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    need(tensorflow=True, compiler=True)
    monkeypatch.setattr("snapcli.stages.models.TARGETS", ("small-mcu",))
    monkeypatch.setitem(stage._MADE_FOR, "cnn-mnist", ((160, 160, 1), 10))
    (large,) = models(("cnn-mnist",))
    assert large.arena_bytes > 64 * 1024
    assert not large.targets["small-mcu"].fits


def test_a_typo_is_answered() -> None:
    with pytest.raises(UsageError, match="'dscn'"):
        models(("dscn",))
