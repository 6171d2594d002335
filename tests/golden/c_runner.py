"""Builds firmware/test/runner.c and feeds it golden cases; the format is described there."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snapcli.targets.cores import CORES

FIRMWARE = Path(__file__).parents[2] / "firmware"
RUNNER = FIRMWARE / "test" / "runner.c"
SOURCES = [*sorted((FIRMWARE / "snapuq" / "src").glob("*.c")), RUNNER]
FLAGS = [
    "-std=c11",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wmissing-prototypes",
    f"-I{FIRMWARE / 'snapuq' / 'include'}",
]

# The number of a kernel is its place in kernels[] of runner.c, the only list.
KERNELS = re.findall(r"^    run_(\w+),$", RUNNER.read_text("utf-8"), re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Vectors:
    """One case for the runner: int32 scalars, then arrays as blobs, and the bytes to expect."""

    kernel: str
    scalars: Sequence[int]
    arrays: Sequence[np.ndarray]
    expected: np.ndarray


@dataclass(frozen=True)
class Host:
    """This machine, with address and undefined-behaviour sanitizers."""

    tools = ("cc",)
    compiler = ("cc", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    linking = ()
    startup = ()

    def command(self, program: str, *arguments: str) -> list[str]:
        return [f"./{program}", *arguments]


@dataclass(frozen=True)
class Qemu:
    """An emulated Cortex-M, files by semihosting."""

    core: str
    machine: str
    tools = ("arm-none-eabi-gcc", "qemu-system-arm")
    linking = ("--specs=rdimon.specs", f"-T{FIRMWARE / 'semihost' / 'mps2.ld'}")
    startup = (FIRMWARE / "semihost" / "startup.c",)

    @property
    def compiler(self) -> tuple[str, ...]:
        return ("arm-none-eabi-gcc", *CORES[self.core].flags, "-O2")

    def command(self, program: str, *arguments: str) -> list[str]:
        told = ",".join(f"arg={word}" for word in (program, *arguments))
        return [
            *["qemu-system-arm", "-M", self.machine, "-nographic", "-monitor", "none"],
            *["-serial", "none", "-kernel", program, "-semihosting-config"],
            f"enable=on,target=native,{told}",
        ]


Platform = Host | Qemu


def missing_tools(platform: Platform) -> list[str]:
    """Programs the platform needs and this machine lacks."""
    return [tool for tool in platform.tools if shutil.which(tool) is None]


def run(platform: Platform, folder: Path, cases: Sequence[Vectors]) -> list[bytes]:
    """Results of all cases, from one start of the runner, built in folder."""
    sources = map(str, (*SOURCES, *platform.startup))
    call([*platform.compiler, *FLAGS, *platform.linking, *sources, "-o", "runner"], folder)
    (folder / "cases").write_bytes(_u32(len(cases)) + b"".join(map(_pack, cases)))
    call(platform.command("runner", "cases", "results"), folder)
    data, results = (folder / "results").read_bytes(), []
    while data:
        end = 4 + int.from_bytes(data[:4], "little")
        results.append(data[4:end])
        data = data[end:]
    assert len(results) == len(cases)
    return results


def _pack(case: Vectors) -> bytes:
    blobs = [np.array(case.scalars, "<i4"), *case.arrays]
    packed = b"".join(_u32(blob.nbytes) + blob.tobytes() for blob in blobs)
    return _u32(KERNELS.index(case.kernel)) + _u32(len(blobs)) + packed


def _u32(value: int) -> bytes:
    return value.to_bytes(4, "little")


def call(command: Sequence[str], folder: Path) -> None:
    """Run a command in the folder; fails with all that it said."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{command[0]} failed:\n{done.stdout}{done.stderr}"
