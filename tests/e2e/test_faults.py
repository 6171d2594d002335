"""What the boards share, without the application: startup and faults, vectored by QEMU."""

import statistics
import struct
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
import serial

from snapcli import toolchain
from snapcli.device.emulator import Emulator
from snapcli.device.transport import BAUD
from snapcli.targets import Target, load_target
from tests.conftest import need

PATIENCE_S = 60.0
BOOTED = b"B"
NMI, HARD, MEMORY, BUS, USAGE = 2, 3, 4, 5, 6
FORCED = 1 << 30  # of the HFSR
NOWHERE = 0x50000000
RAM, GUARD_BYTES = 0x20000000, 32768
# Bits of the CFSR, by the name that Arm gives them.
DACCVIOL, MSTKERR, MMARVALID = 1 << 1, 1 << 4, 1 << 7
PRECISERR, STKERR, BFARVALID = 1 << 9, 1 << 12, 1 << 15
UNDEFINSTR, INVSTATE, DIVBYZERO = 1 << 16, 1 << 17, 1 << 25


@dataclass(frozen=True)
class Bare:
    """firmware/test/bare.c, built for an emulated target."""

    target: Target
    build: toolchain.Build

    def functions(self) -> dict[str, range]:
        """{name: addresses} of its code."""
        listing = subprocess.run(
            ["arm-none-eabi-nm", "-S", str(self.build.elf)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        fields = [line.split() for line in listing.splitlines()]
        return {
            f[3]: range(int(f[0], 16), int(f[0], 16) + int(f[1], 16))
            for f in fields
            if len(f) == 4 and f[2] in "tT"
        }


@pytest.fixture(scope="module", params=["qemu-m4", "qemu-m7"])
def bare(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bare:
    need(compiler=True, emulator=True)
    target = load_target(request.param)
    firmware = toolchain.firmware_dir()
    sources = [firmware / "test" / "bare.c", firmware / "app" / "main.c"]
    return Bare(target, toolchain.build(target, sources, [], {}, tmp_path_factory.mktemp("bare")))


@pytest.fixture
def port(bare: Bare) -> Iterator[serial.Serial]:
    with (
        Emulator(bare.target, bare.build.elf) as emulator,
        serial.Serial(emulator.port, BAUD, timeout=PATIENCE_S, exclusive=True) as opened,
    ):
        # QEMU drops the byte of the boot where nobody has opened the port by then, as on a busy
        # machine. What it is sent waits: so the program is asked, and all up to its answer goes.
        opened.write(b"7")
        answered = struct.pack("<I", bare.target.stack_bytes)
        assert opened.read_until(answered).endswith(answered)
        yield opened


def ask(port: serial.Serial, request: bytes, words: int) -> tuple[int, ...]:
    port.write(request)
    answer = port.read(4 * words)
    assert len(answer) == 4 * words
    return struct.unpack(f"<{words}I", answer)


@dataclass(frozen=True)
class Fault:
    """struct port_fault"""

    exception: int
    cfsr: int
    hfsr: int
    address: int
    pc: int
    lr: int
    stack_overflow: int


def provoke(port: serial.Serial, letter: str) -> Fault:
    """The report of the fault, after which the program has started anew."""
    port.write(letter.encode())
    assert port.read(1) == b"F"
    fault = Fault(*struct.unpack("<7I", port.read(28)))
    assert port.read(1) == BOOTED
    return fault


@pytest.mark.parametrize(
    ("letter", "function", "exception", "cfsr", "address"),
    [
        ("u", "fault_undefined", USAGE, UNDEFINSTR, 0),
        ("d", "fault_division", USAGE, DIVBYZERO, 0),
        ("r", "fault_read", BUS, PRECISERR | BFARVALID, NOWHERE),
        ("w", "fault_write", BUS, PRECISERR | BFARVALID, NOWHERE),
    ],
)
def test_a_fault_is_told_with_its_cause_and_place(
    bare: Bare,
    port: serial.Serial,
    letter: str,
    function: str,
    exception: int,
    cfsr: int,
    address: int,
) -> None:
    functions = bare.functions()
    for masked in (False, True):
        fault = provoke(port, letter if masked else letter.upper())
        # What cannot be taken where interrupts are masked becomes a hard fault.
        assert fault.exception == (HARD if masked else exception)
        assert fault.hfsr == (FORCED if masked else 0)
        assert (fault.cfsr, fault.address, fault.stack_overflow) == (cfsr, address, 0)
        assert fault.pc in functions[function]
        assert fault.lr & 1  # Thumb
        assert fault.lr - 1 in functions["app_run"]


def test_leaving_the_thumb_state_is_a_usage_fault(port: serial.Serial) -> None:
    fault = provoke(port, "S")
    assert (fault.exception, fault.cfsr, fault.pc) == (USAGE, INVSTATE, 0x100)


@pytest.mark.parametrize("letter", ["O", "F", "o", "f"])
def test_a_stack_that_overflows_meets_its_guard(port: serial.Serial, letter: str) -> None:
    """By recursion, and by one large frame, which leaves some of the guard untouched."""
    fault = provoke(port, letter)
    assert fault.exception in (HARD, MEMORY)
    assert fault.stack_overflow == 1
    assert fault.cfsr & (DACCVIOL | MSTKERR | MMARVALID) == DACCVIOL | MSTKERR | MMARVALID
    assert RAM - GUARD_BYTES <= fault.address < RAM
    assert (fault.pc, fault.lr) == (0, 0)  # there was no room left to keep them


@pytest.mark.parametrize("letter", ["P", "p"])
def test_a_lost_stack_pointer_is_no_overflow(port: serial.Serial, letter: str) -> None:
    fault = provoke(port, letter)
    assert fault.cfsr & STKERR
    assert (fault.stack_overflow, fault.pc) == (0, 0)


def test_exceptions_that_nobody_waits_for_are_told(port: serial.Serial) -> None:
    assert provoke(port, "n").exception == NMI
    assert provoke(port, "I").exception == 16 + 5


@pytest.mark.parametrize("letter", ["T", "t"])
def test_a_fault_in_the_report_restarts_at_once(port: serial.Serial, letter: str) -> None:
    port.write(letter.encode())
    assert port.read(1) == BOOTED


def test_the_stack_mark_stops_above_the_guard(bare: Bare, port: serial.Serial) -> None:
    used, reserved = ask(port, b"7", 2)
    assert reserved == bare.target.stack_bytes
    assert 0 < used < 512


def test_the_image_has_the_crc_that_the_build_tells(bare: Bare, port: serial.Serial) -> None:
    start, count, crc = ask(port, b"3", 3)
    image = port.read(count)
    assert (start, count, crc) == (0, bare.build.image_bytes, bare.build.image_crc)
    assert zlib.crc32(image) == crc
    assert image == bare.build.bin.read_bytes()[:count]


def test_settings_outlive_a_restart(bare: Bare, port: serial.Serial) -> None:
    assert ask(port, b"40abcd", 1) == (1,)
    assert ask(port, b"41efgh", 1) == (1,)
    port.write(b"8")
    assert port.read(1) == BOOTED
    for page, written in (b"0", b"abcd"), (b"1", b"efgh"):
        capacity, first, second = ask(port, b"5" + page, 3)
        assert capacity == bare.target.settings_bytes / 2
        assert first == int.from_bytes(written, "little")
        assert second == 0xFFFFFFFF  # erased
    assert ask(port, b"6", 1) == (0,)  # more than there is room for
    assert ask(port, b"40ABCD", 1) == (1,)
    assert ask(port, b"51", 3) == (capacity, first, second)  # the other one is left alone


def test_one_word_of_ram_outlives_a_restart(port: serial.Serial) -> None:
    ask(port, b"9x", 1)
    port.write(b"8")
    assert port.read(1) == BOOTED
    assert ask(port, b"9y", 1) == (ord("x"),)


@pytest.fixture(params=["qemu-m4", "qemu-m7"])
def guarded(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[serial.Serial]:
    """Whose watchdog waits for half a virtual second only."""
    need(compiler=True, emulator=True)
    target = load_target(request.param)
    firmware = toolchain.firmware_dir()
    sources = [firmware / "test" / "bare.c", firmware / "app" / "main.c"]
    built = toolchain.build(target, sources, [], {"PORT_WATCHDOG_S": "1/2"}, tmp_path)
    with (
        Emulator(target, built.elf) as emulator,
        serial.Serial(emulator.port, BAUD, timeout=PATIENCE_S, exclusive=True) as opened,
    ):
        opened.write(b"7")
        answered = struct.pack("<I", target.stack_bytes)
        assert opened.read_until(answered).endswith(answered)
        yield opened


def test_a_hang_ends_in_a_restart_and_a_wait_does_not(guarded: serial.Serial) -> None:
    """QEMU's watchdog tells about it first, as a fault; that of a board only resets."""
    guarded.timeout = 2.0  # four times what the watchdog waits
    assert guarded.read(1) == b""
    guarded.timeout = PATIENCE_S
    guarded.write(b"0")
    assert guarded.read(1) == b"F"
    fault = Fault(*struct.unpack("<7I", guarded.read(28)))
    assert fault.exception == NMI
    assert guarded.read(1) == BOOTED


def test_counts_are_repeatable_and_time_goes_forward(port: serial.Serial) -> None:
    answers = ask(port, b"1", 40)
    counts, times = answers[::2], answers[1::2]
    assert len(set(counts)) == 1
    assert counts[0] > 1000 * 3 / 40  # a load, an addition, a branch
    assert all(b - a > counts[0] for a, b in pairwise(times))


def test_a_sleep_lasts_a_tenth_of_a_second_at_most(port: serial.Serial) -> None:
    slept = [ask(port, b"2", 1)[0] for _ in range(5)]
    assert min(slept) > 0
    # The middle one: QEMU wakes late now and then, on a machine with more to do.
    assert statistics.median(slept) <= 2 * 25_000_000 / 10 * 1.1
