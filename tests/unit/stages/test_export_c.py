"""A model that does not fit is refused before anything is compiled, with the missing bytes."""

from dataclasses import replace

import pytest

from snapcli.emit import Emitted
from snapcli.errors import ConfigError
from snapcli.stages.export_c import check_fit
from snapcli.targets import Target, load_target

SMALL = Emitted({}, "0" * 16, constant_bytes=20_000, arena_bytes=6_000, input_bytes=256)


@pytest.fixture
def target() -> Target:
    return load_target("small-mcu")


def test_what_fits_exactly_is_taken(target: Target) -> None:
    flash, ram = check_fit(SMALL, target)
    tight = replace(target, flash_bytes=flash, ram_bytes=ram)
    assert check_fit(SMALL, tight) == (flash, ram)


@pytest.mark.parametrize(("kind", "limit"), [("flash", "flash_bytes"), ("RAM", "ram_bytes")])
def test_what_exceeds_a_limit_is_told_in_bytes(target: Target, kind: str, limit: str) -> None:
    need = dict(zip(("flash", "RAM"), check_fit(SMALL, target), strict=True))[kind]
    with pytest.raises(ConfigError) as caught:
        check_fit(SMALL, replace(target, **{limit: need - 1_234}))
    assert f"1,234 B more {kind} than its {need - 1_234:,} B" in caught.value.message


def test_both_limits_are_named_at_once(target: Target) -> None:
    with pytest.raises(ConfigError, match=r"flash .* and .* RAM"):
        check_fit(SMALL, replace(target, flash_bytes=1_000, ram_bytes=1_000))


def test_the_estimate_counts_stack_and_input(target: Target) -> None:
    _, ram = check_fit(SMALL, target)
    _, more = check_fit(replace(SMALL, input_bytes=356), replace(target, stack_bytes=5_096))
    assert more - ram == 100 + 5_096 - target.stack_bytes
