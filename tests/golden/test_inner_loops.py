"""The inner loops of the packed kernels are as long as the heads of their files say.

`snap bench --profile` measures every kernel by these counts.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from snapcli.emit.bounds import InnerLoop, inner_loop
from snapcli.toolchain import GCC

from .c_runner import FIRMWARE

OBJDUMP = "arm-none-eabi-objdump"
SNAPNN = FIRMWARE / "snapnn"
TITLE = "Inner loop:"
# What has a loop with these labels has to say how long it is.
COUNTED = [
    path
    for path in sorted((SNAPNN / "src").glob("*.c"))
    if TITLE in path.read_text() or f"{path.stem}_loop_end:" in path.read_text()
]
CORES = ("cortex-m4", "cortex-m7")
_SYMBOL = re.compile(r"^[0-9a-f]+ <(\w+)>:$")
_INSTRUCTION = re.compile(r"^ *[0-9a-f]+:\t(?:[0-9a-f]{4} )+ *\t([\w.]+)")
# Two products of int16 or one, added to a sum.
_MACS = {2: re.compile(r"smladx?"), 1: re.compile(r"smla[bt][bt]|mla")}


def disassembled(source: Path, core: str, folder: Path, *more: str) -> str:
    made = folder / f"{source.stem}.o"
    include = [
        f"-I{FIRMWARE / part}" for part in ("snapnn/include", "snapuq/include", "snapuq/src")
    ]
    flags = (f"-mcpu={core}", "-mthumb", "-O2", "-std=c11", *include, *more)
    subprocess.run([GCC, *flags, "-c", str(source), "-o", str(made)], check=True)
    command = [OBJDUMP, "-d", str(made)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def between(listing: str, first: str, end: str) -> list[str]:
    """The mnemonics between two symbols."""
    found: dict[str, list[str]] = {}
    mine: list[str] = []
    for line in listing.splitlines():
        if symbol := _SYMBOL.match(line):
            mine = found.setdefault(symbol[1], [])
        elif instruction := _INSTRUCTION.match(line):
            mine.append(instruction[1].removesuffix(".w").removesuffix(".n"))
    names = list(found)
    assert first in found, f"no symbol {first}"
    assert end in found, f"no symbol {end}"
    return [each for name in names[names.index(first) : names.index(end)] for each in found[name]]


def macs(mnemonic: str) -> int:
    return next((count for count, name in _MACS.items() if name.fullmatch(mnemonic)), 0)


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("source", COUNTED, ids=lambda path: path.stem)
def test_an_inner_loop_is_as_long_as_its_file_says(source: Path, core: str, tmp_path: Path) -> None:
    text = source.read_text()
    told = inner_loop(text)
    assert text.count(TITLE) == 1
    assert told is not None, "the head of the file says it in other words, or not at all"
    for tool in (GCC, OBJDUMP):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    loop = f"{source.stem}_loop"
    inside = between(disassembled(source, core, tmp_path), loop, f"{loop}_end")
    assert InnerLoop(len(inside), sum(map(macs, inside))) == told


INTRUDERS = ("-fstack-protector-all", "-finstrument-functions", "--coverage")


@pytest.mark.parametrize("flag", INTRUDERS)
@pytest.mark.parametrize("source", COUNTED, ids=lambda path: path.stem)
def test_no_flag_puts_code_in_front_of_the_assembly(
    source: Path, flag: str, tmp_path: Path
) -> None:
    """Arguments are still in their registers there."""
    for tool in (GCC, OBJDUMP):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    listing = disassembled(source, "cortex-m4", tmp_path, flag)
    first = between(listing, source.stem, f"{source.stem}_loop")[0]
    assert first in ("stmdb", "push")


def test_without_unaligned_access_there_is_no_assembly(tmp_path: Path) -> None:
    for tool in (GCC, OBJDUMP):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    for source in COUNTED:
        listing = disassembled(source, "cortex-m4", tmp_path, "-mno-unaligned-access")
        assert f"<{source.stem}>:" in listing
        assert f"{source.stem}_loop" not in listing
