"""Same bytes, however long it runs: a million inferences of the firmware with the digits' model as
a process of this machine, and 10,000 on the emulator.

Run: make soak. Inputs repeat in rounds of 254, each a stream that START begins, one request at a
time over the pty. Every answer must equal that of the first round: on this machine all but the
time it took, on the emulator its count of instructions too, and the stack mark of both ends.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from snapcli import toolchain
from snapcli.device import Client, Emulator
from snapcli.device.frame import CRC_BYTES, HEADER_BYTES, Frame, encode
from snapcli.device.messages import Type
from snapcli.measuring.sources import built_sources
from snapcli.targets import load_target

TARGET = "qemu-m4"
EPOCHS = 6
ROUND = 254  # inputs; each has a sequence number of its own, START has the last one
COUNT = slice(HEADER_BYTES + 16, HEADER_BYTES + 24)


@dataclass
class Soak:
    """What a device said in a long time."""

    inferences: int
    seconds: float
    differing: int
    stack: tuple[int, int]  # bytes in use after the first round and at the end
    first: list[bytes]  # the answers of the first round, without counts


def finished_run(folder: Path) -> Path:
    """A run of the digits up to its images."""
    options = {"train": ["--epochs", str(EPOCHS)], "export-c": ["--target", TARGET]}
    options["flash"] = options["export-c"]
    for stage in ("train", "calibrate", "quantize", "export-c", "flash"):
        command = [sys.executable, "-m", "snapcli", stage, *options.get(stage, [])]
        subprocess.run([*command, "--runs-dir", str(folder)], check=True, stdout=subprocess.DEVNULL)
    return (folder / "latest").resolve()


@contextmanager
def host_firmware(program: Path) -> Iterator[str]:
    """The port of the firmware that runs on this machine."""
    process = subprocess.Popen([str(program)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def ask(port: int, request: bytes, answer_bytes: int) -> bytes:
    """One answer, whole; it comes or a time-out of the caller's ends all."""
    os.write(port, request)
    answer = b""
    while len(answer) < answer_bytes:
        answer += os.read(port, answer_bytes - len(answer))
    return answer


def soak(path: str, inferences: int, exact_counts: bool) -> Soak:
    with Client(path) as client:
        hello = client.hello()
    generator = random.Random(1)
    inputs = [generator.randbytes(hello.input_bytes) for _ in range(ROUND)]
    requests = [encode(Frame(Type.INFER, n + 1, x)) for n, x in enumerate(inputs)]
    start = encode(Frame(Type.START, ROUND + 1, b""))
    answer_bytes = HEADER_BYTES + 32 + 4 * hello.taps + hello.classes + CRC_BYTES

    first: list[bytes] = []
    done = differing = 0
    stack_before = 0
    begun = time.monotonic()
    port = os.open(path, os.O_RDWR | os.O_NOCTTY)
    while done < inferences:
        ask(port, start, HEADER_BYTES + CRC_BYTES)
        for n, request in enumerate(requests):
            answer = ask(port, request, answer_bytes)
            whole = zlib.crc32(answer[2:-CRC_BYTES]).to_bytes(4, "little") == answer[-CRC_BYTES:]
            kept = answer if exact_counts else answer[: COUNT.start] + answer[COUNT.stop : -4]
            if len(first) < ROUND:
                first.append(kept)
            differing += not whole or kept != first[n]
        done += ROUND
        if not stack_before:
            stack_before = stack_of(port)
    seconds = time.monotonic() - begun
    stack = stack_before, stack_of(port)
    os.close(port)
    plain = [a[: COUNT.start] + a[COUNT.stop : -4] for a in first] if exact_counts else first
    return Soak(done, seconds, differing, stack, plain)


def stack_of(port: int) -> int:
    answer = ask(port, encode(Frame(Type.STACK, ROUND + 1, b"")), HEADER_BYTES + 8 + CRC_BYTES)
    return int.from_bytes(answer[HEADER_BYTES : HEADER_BYTES + 4], "little")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", type=int, default=1_000_000, help="inferences on this machine")
    parser.add_argument("--emulator", type=int, default=10_000, help="inferences under QEMU")
    parser.add_argument("--run", type=Path, help="a run with images for qemu-m4")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="snap-soak-") as name:
        folder = Path(name)
        run = given.run or finished_run(folder / "runs")
        sources, include_dirs = built_sources(run / "build" / TARGET, run / "export-c" / TARGET)
        program = toolchain.build_host_firmware(sources, include_dirs, folder / "firmware")
        with host_firmware(program) as path:
            here = soak(path, given.host, exact_counts=False)
        with Emulator(load_target(TARGET), run / "build" / TARGET / "firmware.elf") as emulator:
            there = soak(emulator.port, given.emulator, exact_counts=True)
    failed = False
    for where, found in (("this machine", here), ("emulator", there)):
        print(
            f"{where:<13} {found.inferences:>8} inferences, {found.differing} differ,"
            f" stack {found.stack[0]} -> {found.stack[1]} bytes,"
            f" {found.inferences / found.seconds:.0f} a second"
        )
        failed |= found.differing > 0 or found.stack[0] != found.stack[1]
    same = here.first == there.first
    print(f"both give the same bytes: {'yes' if same else 'no'}")
    return int(failed or not same)


if __name__ == "__main__":
    sys.exit(main())
