import re
import shutil
from dataclasses import replace

import pytest

from snapcli import toolchain
from snapcli.errors import ConfigError, ToolchainError, UsageError
from snapcli.targets import load_target

needs_gcc = pytest.mark.skipif(
    shutil.which(toolchain.GCC) is None, reason=f"{toolchain.GCC} is not installed"
)
SMALL = load_target("small-mcu")
PROGRAM = """
#include "port.h"
int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static uint8_t buffer[BUFFER_BYTES];
int main(void) { port_init(); for (int i = 0;; i++) buffer[i % 8] += (uint8_t)table[i % 8]; }
"""


def build(folder, text=PROGRAM, target=SMALL, buffer_bytes=1000, sources=()):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.c").write_text(text)
    return toolchain.build(
        target,
        [folder / "main.c", *sources],
        [],
        {"BUFFER_BYTES": str(buffer_bytes)},
        folder / "out",
    )


@pytest.mark.parametrize(
    ("tool", "package"),
    [(toolchain.GCC, "gcc-arm-none-eabi"), (toolchain.QEMU, "qemu-system-arm")],
)
def test_a_missing_tool_comes_with_the_command_that_installs_it(monkeypatch, tool, package):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ToolchainError, match=f"{tool} is not installed") as caught:
        toolchain.find_tool(tool)
    assert "sudo apt-get install" in caught.value.hint
    assert package in caught.value.hint


@needs_gcc
def test_version_is_a_number():
    version = toolchain.tool_version(toolchain.GCC)
    assert re.fullmatch(r"\d+\.\d+(\.\d+)?", version)


def test_a_real_board_cannot_be_emulated(tmp_path):
    with pytest.raises(UsageError, match="real board"):
        toolchain.start_emulator(SMALL, tmp_path / "firmware.elf")


@needs_gcc
def test_sizes_count_what_takes_memory(tmp_path):
    built = build(tmp_path)
    assert built.sections[".data"] == 32
    assert built.sections[".stack"] == SMALL.stack_bytes
    assert built.sections[".bss"] == 1000
    assert built.ram_bytes == 32 + 1000 + SMALL.stack_bytes
    # The raw image is what is written to the flash: nothing more, nothing less.
    assert built.flash_bytes == built.bin.stat().st_size
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "firmware.bin",
        "firmware.elf",
        "firmware.map",
    ]


@needs_gcc
def test_the_same_sources_give_the_same_bytes_anywhere(tmp_path):
    first = build(tmp_path / "a")
    second = build(tmp_path / "elsewhere" / "deep")
    assert first.elf.read_bytes() == second.elf.read_bytes()
    assert first.bin.read_bytes() == second.bin.read_bytes()
    assert str(tmp_path).encode() not in first.elf.read_bytes()


@needs_gcc
@pytest.mark.parametrize(
    ("target", "region", "excess"),
    [
        (SMALL, "ram", SMALL.stack_bytes + 32 + 65536 - SMALL.ram_bytes),
        (replace(SMALL, flash_bytes=100, ram_bytes=1 << 20), "flash", None),
    ],
)
def test_a_program_that_does_not_fit_says_where_and_by_how_much(tmp_path, target, region, excess):
    with pytest.raises(ConfigError, match=f"{target.name}: its {region} of") as caught:
        build(tmp_path, target=target, buffer_bytes=65536)
    if excess is not None:
        assert f"by {excess} bytes" in caught.value.message
    assert caught.value.hint
    assert list((tmp_path / "out").iterdir()) == []


@needs_gcc
def test_a_compile_error_shows_its_first_line(tmp_path):
    with pytest.raises(ToolchainError, match=r"main\.c:3:.*first_mistake"):
        build(tmp_path, "int main(void)\n{\n  return first_mistake + second_mistake;\n}\n")


@needs_gcc
def test_a_warning_is_an_error(tmp_path):
    with pytest.raises(ToolchainError, match="unused"):
        build(tmp_path, "int main(void) { int idle; return 0; }")


@needs_gcc
def test_an_undefined_name_is_named(tmp_path):
    with pytest.raises(ToolchainError, match="nowhere"):
        build(tmp_path, "int nowhere(void); int main(void) { return nowhere(); }")


@needs_gcc
def test_two_sources_may_share_a_name(tmp_path):
    other = tmp_path / "other" / "main.c"
    other.parent.mkdir()
    other.write_text("int helper(void); int helper(void) { return 1; }")
    text = "int helper(void); int main(void) { return helper(); }"
    assert build(tmp_path, text, sources=[other]).flash_bytes > 0


@needs_gcc
def test_sizes_that_disagree_with_the_map_are_refused(tmp_path):
    built = build(tmp_path)
    forged = tmp_path / "forged.map"
    forged.write_text(
        built.map.read_text().replace("0x3e8", "0x3e9")  # the 1000 bytes of .bss
    )
    with pytest.raises(ToolchainError, match="do not agree"):
        toolchain._section_sizes(built.elf, forged)
