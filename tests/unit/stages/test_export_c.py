"""A model that does not fit is refused before anything is compiled, with the missing bytes."""

from dataclasses import replace

import pytest

from snapcli.errors import ConfigError
from snapcli.pricing.memory import Surroundings, check_fit, our_firmware
from snapcli.targets import Target, load_target

FLASH, ARENA = 20_000, 6_000


@pytest.fixture
def target() -> Target:
    return load_target("small-mcu")


def needs(target: Target, around: Surroundings) -> dict[str, int]:
    return {
        "flash": FLASH + around.flash_bytes,
        "RAM": ARENA + target.stack_bytes + around.ram_bytes,
    }


@pytest.mark.parametrize("around", [Surroundings(), our_firmware(300, 77)])
@pytest.mark.parametrize(("kind", "limit"), [("flash", "flash_bytes"), ("RAM", "ram_bytes")])
def test_what_exceeds_a_limit_is_told_in_bytes(
    target: Target, kind: str, limit: str, around: Surroundings
) -> None:
    need = needs(target, around)[kind]
    check_fit(replace(target, **{limit: need}), FLASH, ARENA, around)
    with pytest.raises(ConfigError) as caught:
        check_fit(replace(target, **{limit: need - 1_234}), FLASH, ARENA, around)
    assert f"1,234 B more {kind} than its {need - 1_234:,} B" in caught.value.message


def test_both_limits_are_named_at_once(target: Target) -> None:
    with pytest.raises(ConfigError, match=r"flash .* and .* RAM"):
        check_fit(replace(target, flash_bytes=1_000, ram_bytes=1_000), FLASH, ARENA, Surroundings())
