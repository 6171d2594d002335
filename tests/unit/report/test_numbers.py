"""Figures as words."""

import pytest

from snapcli.report.numbers import DASH, MINUS, decimal, signed


@pytest.mark.parametrize("value", [0.0, -0.0, 0.0004, -0.0004])
def test_what_rounds_to_nothing_has_no_sign(value: float) -> None:
    assert decimal(value) == signed(value) == "0.000"


def test_signs() -> None:
    assert (signed(0.25), signed(-0.25)) == ("+0.250", f"{MINUS}0.250")
    assert (decimal(0.25), decimal(-0.25)) == ("0.250", f"{MINUS}0.250")
    assert signed(None) == decimal(None) == DASH
