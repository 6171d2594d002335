"""docs/porting.md, done as it says: its port linked with the library of each core, and asked."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from snapcli import toolchain
from snapcli.device import Client, Emulator, open_port
from snapcli.emit.closure import needed_files
from snapcli.errors import UsageError
from snapcli.kernels import snapuq_files
from snapcli.targets import Target, emulated_twin, load_target
from tests.conftest import Workspace, need

DOCUMENT = Path(__file__).parents[2] / "docs" / "porting.md"
FIRMWARE = toolchain.firmware_dir()
WARNINGS = ("-Wall", "-Wextra", "-Werror")


@dataclass(frozen=True)
class Machine:
    """One that QEMU emulates and that runs the code of a core."""

    name: str
    code: int = 0x00000000
    data: int = 0x20000000
    defines: tuple[str, ...] = ()


# What only Armv8-M has is at the secure addresses, where its core starts.
SECURE = ("-DUART_AT=0x50200000u", "-DTIMER_AT=0x50000000u")
MACHINES = {
    "cortex-m0+": Machine("mps2-an386"),  # an M4 runs all of an M0+'s instructions
    "cortex-m4": Machine("mps2-an386"),
    "cortex-m7": Machine("mps2-an500"),
    "cortex-m33": Machine("mps2-an505", 0x10000000, 0x38000000, SECURE),
}

# What a vendor gives: vectors, memory and the way to main().
STARTUP = """
#include <stdint.h>
#include <string.h>
extern uint8_t stack_top[], data_start[], data_end[], bss_start[], bss_end[], data_load[];
int main(void);
void reset(void);
void reset(void)
{
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* an FPU, where there is one */
    memcpy(data_start, data_load, (size_t)(data_end - data_start));
    memset(bss_start, 0, (size_t)(bss_end - bss_start));
    main();
}
__attribute__((section(".vectors"), used)) static void *const vectors[2] = {stack_top, reset};
"""
SCRIPT = """
MEMORY
{{
    code (rx) : ORIGIN = {code:#x}, LENGTH = 1M
    data (rw) : ORIGIN = {data:#x}, LENGTH = 64K
}}
SECTIONS
{{
    .text : {{ KEEP(*(.vectors)) *(.text* .rodata*) . = ALIGN(4); }} > code
    .data : {{ data_start = .; *(.data*) . = ALIGN(4); data_end = .; }} > data AT > code
    data_load = LOADADDR(.data);
    .bss : {{ bss_start = .; *(.bss*) . = ALIGN(4); bss_end = .; }} > data
    stack_top = {data:#x} + 64K;
}}
"""


def document_port() -> str:
    """The C code of the page."""
    (code,) = re.findall(r"```c\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    return code


def compiler(target: Target, *arguments: str | Path) -> None:
    command = [toolchain.GCC, *target.cpu_flags, "-std=c11", "-O2", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def link(
    target: Target, archive: Path, include: Sequence[Path], folder: Path, machine: Machine
) -> Path:
    (folder / "board.c").write_text(document_port())
    (folder / "startup.c").write_text(STARTUP)
    (folder / "part.ld").write_text(SCRIPT.format(code=machine.code, data=machine.data))
    elf = folder / "firmware.elf"
    includes = [f"-I{path}" for path in include]
    sources = [folder / "board.c", folder / "startup.c"]
    library = [f"-L{archive.parent}", f"-l{archive.stem.removeprefix('lib')}", "-Wl,--gc-sections"]
    own = ["-nostartfiles", "--specs=nano.specs", f"-T{folder / 'part.ld'}"]
    options = [*WARNINGS, *machine.defines, "-ffunction-sections", *includes]
    compiler(target, *options, *sources, *library, *own, "-o", elf)
    return elf


def tiny_library(target: Target, folder: Path) -> toolchain.Library:
    """Of the tests' own model, with the application."""
    app = [path for path in toolchain.app_sources() if path.name != "main.c"]
    model = FIRMWARE / "test" / "tiny_model"
    needed = needed_files(snapuq_files(), [(model / "snap_model.c").read_text()])
    kernels = [FIRMWARE / "snapuq" / "src" / name for name in needed if name.endswith(".c")]
    includes = [model, FIRMWARE / "snapuq" / "include"]
    return toolchain.build_library(
        target, [*app, model / "snap_model.c", *kernels], includes, {}, folder
    )


@pytest.mark.parametrize("name", MACHINES)
def test_the_port_of_the_page_answers(tmp_path: Path, name: str) -> None:
    need(compiler=True, emulator=True)
    target, machine = load_target(name), MACHINES[name]
    built = tiny_library(target, tmp_path / "out")
    assert 4096 < built.flash_bytes < 32768
    assert built.ram_bytes > 0
    elf = link(target, built.archive, [FIRMWARE / "port"], tmp_path, machine)
    emulated = replace(target, emulator=machine.name)
    with Emulator(emulated, elf) as emulator, open_port(emulator.port) as port:
        client = Client(port)
        hello = client.hello()
        assert hello.target == name
        assert (hello.counter_unit, hello.counter_step) == ("cycles", 1)
        assert not hello.is_damaged
        assert client.selftest().first_mismatch is None
        assert (client.stack().used_bytes, client.stack().reserved_bytes) == (0, 0)


def test_the_page_speaks_of_every_function_of_a_port() -> None:
    contract = (FIRMWARE / "port" / "port.h").read_text()
    asked, may = contract.split("A port may give")
    may = may.split("The application gives")[0]
    page = DOCUMENT.read_text("utf-8")
    required = re.findall(r"\b(port_\w+)\(", asked.split("A port has to give")[1])
    assert len(required) == 3
    code = document_port()
    assert all(f" {function}(" in code for function in required)
    optional = set(re.findall(r"^(?!struct port_\w+ \{)[\w ]+ \**(port_\w+)\(", may, re.MULTILINE))
    assert len(optional) >= 10
    table = page.split("## 4.")[1]
    assert {function for function in optional if f"`{function}`" not in table} == set()


def test_a_core_has_the_defaults_of_all_that_a_port_may_give() -> None:
    """The library of a core links with the three functions and the constant alone."""
    defaults = (FIRMWARE / "port" / "defaults.c").read_text()
    contract = (FIRMWARE / "port" / "port.h").read_text()
    may = contract.split("A port may give")[1].split("The application gives")[0]
    for function in re.findall(r"\b(port_\w+)\([^)]*\);", may):
        assert re.search(rf"^WEAK .*\b{function}\(", defaults, re.MULTILINE), function


def test_only_cores_that_are_emulated_have_a_twin() -> None:
    assert emulated_twin(load_target("cortex-m4")).name == "qemu-m4"
    assert emulated_twin(load_target("cortex-m7")).name == "qemu-m7"
    for name in ("cortex-m0+", "cortex-m33"):
        with pytest.raises(UsageError, match=f"runs the code of {re.escape(name)}") as caught:
            emulated_twin(load_target(name))
        assert "qemu-m4 or qemu-m7" in caught.value.hint


def linked_run(workspace: Workspace, name: str, kernels: str, folder: Path) -> Emulator:
    """The latest run as the firmware of a core, by the commands of the page."""
    exported = workspace.snap("export-c", "--target", name, "--kernels", kernels)
    assert exported.code == 0, exported.err
    flashed = workspace.snap("flash", "--target", name, "--json")
    assert flashed.code == 0, flashed.err
    size, plain = flashed.json["size"], flashed.json["size_without_heads"]
    assert 0 < plain["flash_bytes"] < size["flash_bytes"]
    built = workspace.run / "build" / name
    assert flashed.json["image"].endswith(f"build/{name}/libsnap.a")
    target, machine = load_target(name), MACHINES[name]
    elf = link(target, built / "libsnap.a", [built / "include"], folder, machine)
    return Emulator(replace(target, emulator=machine.name), elf)


@pytest.mark.parametrize("name", ["cortex-m0+", "cortex-m33"])
def test_arm_s_kernels_compute_the_same_on_every_core(
    workspace: Workspace, cmsis_nn: Path, tmp_path: Path, name: str
) -> None:
    with (
        linked_run(workspace, name, "cmsis-nn", tmp_path) as emulator,
        Client(open_port(emulator.port)) as client,
    ):
        assert client.selftest().first_mismatch is None


def test_a_run_on_a_part_of_one_s_own_is_benched(workspace: Workspace, tmp_path: Path) -> None:
    with linked_run(workspace, "cortex-m33", "reference", tmp_path) as emulator:
        asked = ("--port", emulator.port, "--inputs", "20", "--warmup", "1", "--json")
        benched = workspace.snap("bench", *asked)
    assert benched.code == 0, benched.err
    assert benched.json["target"] == "cortex-m33"
    assert benched.json["bit_exact"] == 20
