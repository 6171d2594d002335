"""The text commands of MLPerf Tiny (SPEC 3.7), on this machine, over a pty."""

import re
import time

import pytest

from snapcli.device.frame import encode
from snapcli.device.messages import Type
from tests.conftest import need

from . import tiny_model
from .running import Console, running
from .tiny_model import INPUT_BYTES, expected, probabilities

pytestmark = pytest.mark.slow

LAP = re.compile(r"m-lap-us-(\d+)")
MESSAGE = re.compile(r"(m-[\w-]+|m-\[.*\]|m-[\w-]+\[.*\]|e-\[.*\])")


@pytest.fixture(scope="module")
def slow_firmware(tmp_path_factory):
    """A run takes a millisecond or so."""
    need(host=True)
    program = tmp_path_factory.mktemp("slow") / "firmware"
    return tiny_model.build(program, "TINY_MODEL_LEAST=500000", sanitize=False)


@pytest.fixture
def slow(slow_firmware):
    with running(slow_firmware) as process:
        yield process.console


def load(console: Console, data: bytes, chunk: int = 31) -> None:
    """As the runner of MLCommons does it: 31 bytes in a command."""
    assert console.say(f"db load {len(data)}") == [f"m-[Expecting {len(data)} bytes]"]
    pieces = [data[i : i + chunk] for i in range(0, len(data), chunk)]
    answers = [console.say(f"db {piece.hex()}") for piece in pieces]
    assert answers == [[]] * (len(pieces) - 1) + [["m-load-done"]]


def results(line: str) -> list[float]:
    found = re.fullmatch(r"m-results-\[((?:[01]\.\d{3},)*[01]\.\d{3})\]", line)
    assert found, line
    return [float(value) for value in found[1].split(",")]


def test_name_profile_and_timestamp(console):
    assert console.say("name") == ["m-name-dut-[snap host]"]
    assert console.say("profile") == [
        "m-profile-[ULPMark for tinyML Firmware V0.0.1]",
        "m-model-[snap]",
    ]
    started = time.monotonic()
    (first,) = console.say("timestamp")
    time.sleep(0.3)
    (second,) = console.say("timestamp")
    seconds = time.monotonic() - started
    passed = int(LAP.fullmatch(second)[1]) - int(LAP.fullmatch(first)[1])
    assert 300_000 <= passed < 1_000_000 * seconds + 2


def test_a_clock_that_outlasts_its_counter(console):
    """2^32 ns are 4.3 s."""
    (first,) = console.say("timestamp")
    time.sleep(4.5)
    (second,) = console.say("timestamp")
    assert int(LAP.fullmatch(second)[1]) - int(LAP.fullmatch(first)[1]) >= 4_500_000


@pytest.mark.parametrize("chunk", [1, 5, 26, 31])
def test_an_input_is_loaded_and_inferred(console, chunk):
    data = bytes(range(200, 200 + INPUT_BYTES))
    load(console, data, chunk)
    assert console.say("db print") == [f"m-buffer-{data.hex()}"]
    *lines, told = console.say("infer 3 2")
    laps = [int(LAP.fullmatch(line)[1]) for line in lines if LAP.fullmatch(line)]
    assert [line for line in lines if not LAP.fullmatch(line)] == [
        "m-warmup-start-2",
        "m-warmup-done",
        "m-infer-start-3",
        "m-infer-done",
    ]
    assert lines.index("m-infer-start-3") == 2
    assert laps == sorted(laps)
    assert len(laps) == 2
    assert results(told) == probabilities(expected(data).logits)
    assert abs(sum(results(told)) - 1) < 0.006
    assert console.say("results") == [told]
    # The buffer outlives the inference.
    assert console.say("db print") == [f"m-buffer-{data.hex()}"]
    assert console.say("infer 1 0")[-1] == told


def test_a_short_input_is_filled_up_with_zeros(console):
    load(console, b"\xff" * INPUT_BYTES)
    load(console, b"\x07")
    assert console.say("db print") == ["m-buffer-07"]
    assert results(console.say("infer 1")[-1]) == probabilities(expected(b"\x07").logits)


def test_pixels(baseline):
    pixels = bytes(range(100, 100 + INPUT_BYTES))
    signed = bytes(pixel - 128 & 255 for pixel in pixels)
    with running(baseline) as process:
        load(process.console, pixels)
        assert process.console.say("db print") == [f"m-buffer-{pixels.hex()}"]
        told = process.console.say("infer 1 0")[-1]
        assert results(told) == probabilities(expected(signed).logits)
        load(process.console, b"\x80")  # the rest are black, which is -128
        rest = bytes([0]) + b"\x80" * (INPUT_BYTES - 1)
        told = process.console.say("infer 1 0")[-1]
        assert results(told) == probabilities(expected(rest).logits)


def test_left_out_numbers(console):
    lines = console.say("infer")
    assert lines[0] == "m-warmup-start-10"
    assert lines[2] == "m-infer-start-1"
    assert console.say("infer 4")[0] == "m-warmup-start-10"


ENDED = "e-[infer was ended by what arrived]"


@pytest.mark.parametrize("phase", ["infer 1 1000000", "infer 1000000 0"])
def test_infer_can_be_ended(slow, phase):
    """Years of runs: only what arrives ends them, and it is the start of what comes next."""
    slow.write(f"{phase}%\r\n".encode())
    begun = slow.read_until_any((b"m-warmup-start-1000000\r\n", b"m-infer-start-1000000\r\n"))
    assert b"m-ready" not in begun
    slow.write(b"\r\n" * 3)  # of a runner that ends its lines so
    slow.write(b"n")
    assert slow.lines()[-1] == ENDED
    slow.write(b"ame%")
    assert slow.lines() == ["m-name-dut-[snap host]"]


def test_a_frame_ends_infer_too(slow):
    slow.write(b"infer 1000000 0%")
    slow.read_until_any((b"m-infer-start-1000000\r\n",))
    request = slow.frame(Type.STACK)
    slow.write(encode(request))
    (answer,) = slow.frames(1)
    assert (answer.type, answer.sequence) == (Type.STACK | 0x80, request.sequence)
    assert slow.lines()[-1] == ENDED


def test_a_single_run_is_not_ended_by_the_next_command(console):
    console.write(b"infer 1 1%name%")
    assert console.read_until(b"m-ready\r\nm-name-dut-[snap host]\r\nm-ready\r\n")


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("db load 17", "db load takes a number from 1 to 16"),
        ("db load 0", "db load takes a number from 1 to 16"),
        ("db load -1", "db load takes a number from 1 to 16"),
        ("db load 99999999999999999999", "db load takes a number from 1 to 16"),
        ("db load", "db load takes a number from 1 to 16"),
        ("db load 1x", "db load takes a number from 1 to 16"),
        ("db 123", "db takes two digits for each byte"),
        ("db", "db takes two digits for each byte"),
        ("db 1g", "db takes load, print or hexadecimal digits"),
        ("db 00", "more bytes than db load has announced"),
        ("infer 0", "infer takes from 1 to 1000000 runs"),
        ("infer x", "infer takes from 1 to 1000000 runs"),
        ("infer 1000001", "infer takes from 1 to 1000000 runs"),
        ("infer 1 -1", "infer takes from 0 to 1000000 warm-up runs"),
        ("infer 1 1000001", "infer takes from 0 to 1000000 warm-up runs"),
        ("results", "nothing was inferred yet"),
        ("names", "unknown command"),
        ("NAME", "unknown command"),
        ("x" * 80, "unknown command"),
        ("x" * 81, "a command has at most 80 characters"),
        ("x" * 5000, "a command has at most 80 characters"),
    ],
)
def test_errors(console, command, error):
    assert console.say(command) == [f"e-[{error}]"]
    assert console.say("name") == ["m-name-dut-[snap host]"]


def test_a_load_that_fails_stores_nothing(console):
    assert console.say("db load 3") == ["m-[Expecting 3 bytes]"]
    assert console.say("db 0102") == []
    assert console.say("db 0304") == ["e-[more bytes than db load has announced]"]
    assert console.say("db 0g") == ["e-[db takes load, print or hexadecimal digits]"]
    assert console.say("infer 1") == ["e-[the input is not complete]"]
    assert console.say("db print") == ["m-buffer-010200"]
    assert console.say("db 0A") == ["m-load-done"]
    assert console.say("db print") == ["m-buffer-01020a"]


def test_spaces_and_line_ends_do_not_count(console):
    assert console.say("\r\n  name  ") == ["m-name-dut-[snap host]"]
    assert console.say("na\r\nme") == ["m-name-dut-[snap host]"]
    assert console.say("") == []
    assert console.say("   ") == []


def test_help_names_every_command(console):
    text = "\n".join(console.say("help"))
    for command in ("name", "profile", "timestamp", "db load", "db print", "infer", "results"):
        assert command in text


@pytest.mark.parametrize("noise", [b"\x00", b"\x7f", b"\x80", b"\xa5", b"\xff", b"\t"])
def test_a_line_with_noise_in_it_is_refused(console, noise):
    for line in (b"na" + noise + b"me%", b"name" + noise + b"%"):
        console.write(line)
        assert console.lines() == ["e-[the command arrived damaged]"]
    # In front of a line it is skipped.
    console.write(noise * 3)
    assert console.say("name") == ["m-name-dut-[snap host]"]


def test_every_line_of_every_answer_is_a_message(console):
    for command in ("name", "profile", "timestamp", "infer 2 1", "results", "nonsense"):
        assert all(MESSAGE.fullmatch(line) for line in console.say(command))
