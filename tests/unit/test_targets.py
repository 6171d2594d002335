import pytest

from snapcli.errors import UsageError
from snapcli.targets import load_target, target_names
from snapcli.toolchain import firmware_dir


def test_the_four_targets_are_known():
    assert target_names() == ["big-mcu", "qemu-m4", "qemu-m7", "small-mcu"]


@pytest.mark.parametrize("name", target_names())
def test_every_target_is_complete(name):
    target = load_target(name)
    assert target.name == name
    assert (firmware_dir() / "port" / target.port / "memory.ld").is_file()
    assert 0 < target.stack_bytes < target.ram_bytes < target.flash_bytes
    # An emulated target counts instructions, which are no time: it has no clock.
    emulated = target.emulator is not None
    assert (target.clock_hz is None) == emulated
    assert target.counter == ("instructions" if emulated else "cycles")


@pytest.mark.parametrize(("emulated", "real"), [("qemu-m4", "small-mcu"), ("qemu-m7", "big-mcu")])
def test_an_emulated_target_is_as_small_as_the_real_one(emulated, real):
    a, b = load_target(emulated), load_target(real)
    assert a.limits_of == real
    assert a.cpu_flags == b.cpu_flags
    assert (a.flash_bytes, a.ram_bytes, a.stack_bytes) == (
        b.flash_bytes,
        b.ram_bytes,
        b.stack_bytes,
    )


def test_facts_of_the_real_parts():
    small, big = load_target("small-mcu"), load_target("big-mcu")
    assert (small.part, small.flash_bytes, small.ram_bytes) == ("STM32L432KC", 256 << 10, 64 << 10)
    assert (big.part, big.flash_bytes, big.ram_bytes) == ("STM32F767ZI", 2 << 20, 512 << 10)


def test_a_typo_is_answered_with_a_suggestion():
    with pytest.raises(UsageError) as caught:
        load_target("qemu-m5")
    assert caught.value.message == "unknown target 'qemu-m5'"
    assert caught.value.hint in ("Did you mean qemu-m4?", "Did you mean qemu-m7?")


@pytest.mark.parametrize("name", ["arduino", "", "../targets/small-mcu"])
def test_nonsense_lists_the_known_targets(name):
    with pytest.raises(UsageError) as caught:
        load_target(name)
    assert "small-mcu" in (caught.value.hint or "")
