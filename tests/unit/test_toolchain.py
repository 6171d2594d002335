import re
import shutil
import struct
import subprocess
import zlib
from dataclasses import replace

import pytest

from snapcli import toolchain
from snapcli.errors import ConfigError, ToolchainError, UsageError
from snapcli.targets import load_target
from snapcli.used import mark, uses_since

needs_gcc = pytest.mark.skipif(
    shutil.which(toolchain.GCC) is None, reason=f"{toolchain.GCC} is not installed"
)
SMALL = load_target("qemu-m4")
MAIN = """
#include "port.h"
void app_fault(const struct port_fault *fault) { (void)fault; }
int main(void)
"""
PROGRAM = f"""
int table[8] = {{1, 2, 3, 4, 5, 6, 7, 8}};
static unsigned char buffer[BUFFER_BYTES];
{MAIN}
{{ port_init(); for (int i = 0;; i++) buffer[i % 8] += (uint8_t)table[i % 8]; }}
"""
FAULT_BYTES = 32  # what the startup code keeps of a fault
SETTINGS = """
#include <stdint.h>
extern const uint32_t snap_model_settings[5];
const uint32_t snap_model_settings[5] = {1, 2, 3, 4, VALUE};
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


@pytest.mark.parametrize(("name", "kind"), [("small-mcu", "real board"), ("cortex-m4", "core")])
def test_what_is_not_emulated_cannot_be_started(tmp_path, name, kind):
    with pytest.raises(UsageError, match=kind):
        toolchain.start_emulator(load_target(name), tmp_path / "firmware.elf")


def test_a_core_has_no_firmware(tmp_path):
    with pytest.raises(UsageError, match=r"cortex-m33 is a core") as caught:
        build(tmp_path, target=load_target("cortex-m33"))
    assert "snap flash" in caught.value.hint


@needs_gcc
def test_a_build_notes_its_flags_and_no_path(tmp_path):
    then = mark()
    build(tmp_path)
    uses = uses_since(then)
    assert {use.name for use in uses} == {toolchain.GCC}
    flags = [use.flags for use in uses]
    cpu = " ".join(SMALL.cpu_flags)
    assert all(line.startswith(cpu) for line in flags)
    # Our program as any source, the port as small as can be, and the link.
    compiled = [line for line in flags if "-O2" in line.split()]
    assert sorted(line.endswith("-Os") for line in compiled) == [False, True]
    assert [line for line in flags if "--specs=nano.specs" in line] == flags[len(compiled) :]
    assert not any("/" in line or "-D" in line for line in flags)


@needs_gcc
def test_sizes_count_what_takes_memory(tmp_path):
    built = build(tmp_path)
    assert built.sections[".data"] == 32
    assert built.sections[".stack"] == SMALL.stack_bytes
    assert built.sections[".bss"] == 1000 + FAULT_BYTES
    assert built.ram_bytes == 32 + 1000 + FAULT_BYTES + SMALL.stack_bytes
    # The raw image is what is written to the flash: nothing more, nothing less.
    assert built.flash_bytes == built.bin.stat().st_size
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "firmware.bin",
        "firmware.elf",
        "firmware.map",
    ]


def settings_build(folder, value):
    text = (
        f"extern const int snap_model_settings[5];{MAIN}"
        "{ for (volatile int i = 0;; i++) port_uart_write((uint8_t)snap_model_settings[i]); }"
    )
    folder.mkdir()
    (folder / "settings.c").write_text(SETTINGS.replace("VALUE", str(value)))
    return build(folder, text, sources=[folder / "settings.c"])


@needs_gcc
def test_the_image_is_followed_by_its_crc_and_the_settings(tmp_path):
    built = settings_build(tmp_path / "a", 5)
    raw = built.bin.read_bytes()
    image, rest = raw[: built.image_bytes], raw[built.image_bytes :]
    assert zlib.crc32(image) == built.image_crc
    assert rest == struct.pack("<6I", built.image_crc, 1, 2, 3, 4, 5)
    assert built.flash_bytes == len(raw)
    # The ELF loads the same bytes as the raw image.
    again = tmp_path / "again.bin"
    subprocess.run([toolchain.OBJCOPY, "-O", "binary", str(built.elf), str(again)], check=True)
    assert again.read_bytes() == raw


@needs_gcc
def test_images_that_differ_in_settings_alone_are_the_same_image(tmp_path):
    one, other = settings_build(tmp_path / "a", 5), settings_build(tmp_path / "b", 6)
    assert (one.image_bytes, one.image_crc) == (other.image_bytes, other.image_crc)
    a, b = one.bin.read_bytes(), other.bin.read_bytes()
    assert a != b
    assert a[: one.image_bytes + 4] == b[: one.image_bytes + 4]


@needs_gcc
def test_a_library_holds_the_sources_and_the_defaults(tmp_path):
    (tmp_path / "one.c").write_text(
        "int one(void); int one(void) { return 1; }"
        "void app_run(void); void port_idle(void); void app_run(void) { port_idle(); }"
    )
    built = toolchain.build_library(
        load_target("cortex-m0+"), [tmp_path / "one.c"], [], {}, tmp_path / "out"
    )
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["libsnap.a"]
    names = subprocess.run(
        ["arm-none-eabi-nm", str(built.archive)], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(r" T one$", names, re.MULTILINE)
    assert re.search(r" W port_idle$", names, re.MULTILINE)
    # What nobody calls is not counted.
    assert 0 < built.flash_bytes < 64
    assert built.ram_bytes < 4  # the linker aligns an empty section


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
        (SMALL, "ram", SMALL.stack_bytes + 32 + FAULT_BYTES + 65536 - SMALL.ram_bytes),
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
        build(tmp_path, f"int nowhere(void);{MAIN}{{ return nowhere(); }}")


@needs_gcc
def test_two_sources_may_share_a_name(tmp_path):
    other = tmp_path / "other" / "main.c"
    other.parent.mkdir()
    other.write_text("int helper(void); int helper(void) { return 1; }")
    text = f"int helper(void);{MAIN}{{ return helper(); }}"
    assert build(tmp_path, text, sources=[other]).flash_bytes > 0


@needs_gcc
def test_sizes_that_disagree_with_the_map_are_refused(tmp_path):
    built = build(tmp_path)
    forged = tmp_path / "forged.map"
    forged.write_text(
        built.map.read_text().replace("0x408", "0x409")  # the 1032 bytes of .bss
    )
    with pytest.raises(ToolchainError, match="do not agree"):
        toolchain._section_sizes(built.elf, forged)
