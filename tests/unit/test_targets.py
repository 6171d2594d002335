import shutil
import subprocess
from dataclasses import replace

import pytest

from snapcli import toolchain
from snapcli.errors import ConfigError, UsageError
from snapcli.targets import LIMITS, load_target, target_names
from snapcli.targets.cores import CORES as ARM_CORES
from snapcli.toolchain import firmware_dir

CORES = ["cortex-m0+", "cortex-m33", "cortex-m4", "cortex-m7"]
BOARDS = [name for name in target_names() if name not in CORES]


def test_boards_and_cores_are_known():
    assert {"big-mcu", "qemu-m4", "qemu-m7", "small-mcu", *CORES} <= set(target_names())


@pytest.mark.parametrize("name", CORES)
def test_a_core_has_neither_port_nor_limits(name):
    target = load_target(name)
    assert f"-mcpu={name.replace('+', 'plus')}" in target.cpu_flags
    assert target.port == ""
    assert not any(getattr(target, limit) for limit in LIMITS)
    assert target.emulator is None


@pytest.mark.parametrize("name", BOARDS)
def test_every_board_is_complete(name):
    target = load_target(name)
    assert target.name == name
    for script in ("memory.ld", target.extra_script):
        assert script is None or (firmware_dir() / "port" / target.port / script).is_file()
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
    assert [getattr(a, limit) for limit in LIMITS] == [getattr(b, limit) for limit in LIMITS]


def test_facts_of_the_real_parts():
    small, big = load_target("small-mcu"), load_target("big-mcu")
    assert (small.part, small.ram_bytes) == ("STM32L432KC", 64 << 10)
    assert small.flash_bytes + small.settings_bytes == 256 << 10
    assert (big.part, big.ram_bytes) == ("STM32F767ZI", 512 << 10)
    assert big.flash_bytes + big.settings_bytes == 2 << 20
    assert (small.clock_hz, big.clock_hz) == (80_000_000, 216_000_000)


def test_a_variant_is_its_target_but_for_what_it_names():
    big, tcm = load_target("big-mcu"), load_target("big-mcu-tcm")
    assert tcm.ram_bytes == 128 << 10
    same = {"name": big.name, "ram_bytes": big.ram_bytes, "extra_script": None}
    assert replace(tcm, **same) == big


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


@pytest.mark.skipif(shutil.which(toolchain.GCC) is None, reason="needs a cross compiler")
@pytest.mark.parametrize("name", ARM_CORES)
def test_the_compiler_agrees_which_cores_have_the_dsp_extension(name):
    core = ARM_CORES[name]
    known = subprocess.run(
        [toolchain.GCC, *core.flags, "-dM", "-E", "-"], input="", capture_output=True, text=True
    )
    if "unrecognized -mcpu" in known.stderr:
        pytest.skip(f"this compiler does not know the {name}")
    assert known.returncode == 0, known.stderr
    assert ("#define __ARM_FEATURE_DSP 1" in known.stdout) == core.has_dsp


def test_the_dsp_extension_is_where_it_is():
    with_dsp = {name for name, core in ARM_CORES.items() if core.has_dsp}
    lacking = {"Cortex-M0", "Cortex-M0+", "Cortex-M3", "Cortex-M23"}
    assert with_dsp == set(ARM_CORES) - lacking
    small = load_target("small-mcu")
    assert [replace(small, core=name).has_dsp for name in sorted(lacking)] == [False] * 4


def test_an_unknown_core_is_an_error_that_names_the_known_ones():
    with pytest.raises(ConfigError, match="unknown core 'Cortex-M99'") as caught:
        replace(load_target("small-mcu"), core="Cortex-M99")
    assert all(name in caught.value.hint for name in ARM_CORES)
