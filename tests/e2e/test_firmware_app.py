"""The bench program with a small hand-written model: on QEMU, and linked for the boards."""

import ctypes
import random
import shutil
import struct
import subprocess
import zlib
from dataclasses import astuple, replace

import numpy as np
import pytest
import serial
from snapcli.device.protocol import Decoder, ErrorCode, Frame, Type, encode

from snapcli import toolchain
from snapcli.device import Client, Emulator, Selftest, open_port
from snapcli.errors import DeviceError
from snapcli.fixedpoint import budget_of, budget_run
from snapcli.targets import load_target, target_names

needs_gcc = pytest.mark.skipif(
    shutil.which(toolchain.GCC) is None, reason=f"{toolchain.GCC} is not installed"
)
needs_qemu = pytest.mark.skipif(
    shutil.which(toolchain.QEMU) is None, reason=f"{toolchain.QEMU} is not installed"
)
EMULATED = [name for name in target_names() if load_target(name).emulator]

MODEL_H = """
#ifndef SNAP_MODEL_H
#define SNAP_MODEL_H
#include "snapuq.h"
#define SNAP_MODEL_ID "0123456789abcdef"
#define SNAP_MODEL_INPUT_BYTES 256
#define SNAP_MODEL_CLASSES 10
#ifdef SNAP_MODEL_WITHOUT_HEADS
#define SNAP_MODEL_TAPS 0
#else
#define SNAP_MODEL_TAPS 2
#endif
#define SNAP_MODEL_ARENA_BYTES 6144
struct snap_model_result {
    int32_t predicted;
    uint32_t score_q16, uncertainty_q16;
    int32_t abstain;
    uint32_t surprisal_q16[SNAP_MODEL_TAPS > 0 ? SNAP_MODEL_TAPS : 1];
    int8_t logits[SNAP_MODEL_CLASSES];
};
static inline int8_t *snap_model_input(void *arena)
{
    return arena;
}
void snap_model_run(void *arena, struct snap_model_result *result);
void snap_model_profile(void *arena, struct snap_model_result *result,
                        const struct snapuq_probe *probe);
#ifdef CONTROLLED
#define SNAP_MODEL_CONTROLLER 1
void snap_model_start(struct snapuq_budget_state *state);
int32_t snap_model_decide(struct snapuq_budget_state *state,
                          const struct snap_model_result *result);
#endif
#endif
"""
# Class = sum of the bytes mod 10. It works longer for a bigger first byte, and an
# input of nothing but 255 overflows the stack.
MODEL_C = """
#include "snap_model.h"

static uint32_t deep(volatile uint32_t level)
{
    volatile uint32_t frame[64] = {level};
    return level == 0 ? frame[1] : deep(level - 1) + frame[0];
}

void snap_model_run(void *arena, struct snap_model_result *result)
{
    snap_model_profile(arena, result, 0);
}

void snap_model_profile(void *arena, struct snap_model_result *result,
                        const struct snapuq_probe *probe)
{
    const uint8_t *bytes = arena;
    volatile uint8_t *scratch = (uint8_t *)arena + SNAP_MODEL_INPUT_BYTES;
    uint32_t sum = 0;
    for (int i = 0; i < SNAP_MODEL_INPUT_BYTES; i++) {
        sum += bytes[i];
    }
    for (uint32_t i = 0; i < 1000u * bytes[0]; i++) {
        scratch[i % (SNAP_MODEL_ARENA_BYTES - SNAP_MODEL_INPUT_BYTES)] = (uint8_t)i;
    }
    snapuq_mark(probe, SNAPUQ_STAGE_BACKBONE);
    if (sum == 255u * SNAP_MODEL_INPUT_BYTES) {
        sum = deep(100000);
    }
    result->predicted = (int32_t)(sum % 10);
    result->abstain = sum > 32768;
    for (int i = 0; i < SNAP_MODEL_CLASSES; i++) {
        result->logits[i] = (int8_t)(i == result->predicted ? 127 : -i);
    }
    snapuq_mark(probe, SNAPUQ_STAGE_CLASSIFIER);
    result->score_q16 = SNAP_MODEL_TAPS ? sum : 0;
    result->uncertainty_q16 = SNAP_MODEL_TAPS ? 2 * sum : 0;
    for (int i = 0; i < SNAP_MODEL_TAPS; i++) {
        result->surprisal_q16[i] = sum + (uint32_t)i;
    }
    snapuq_mark(probe, SNAPUQ_STAGE_MAP);
}

#ifdef CONTROLLED
static const struct snapuq_budget controller = {BUDGET};

void snap_model_start(struct snapuq_budget_state *state)
{
    snapuq_budget_start(&controller, state);
}

int32_t snap_model_decide(struct snapuq_budget_state *state,
                          const struct snap_model_result *result)
{
    return snapuq_budget_step(&controller, state, result->uncertainty_q16);
}
#endif
"""
BUDGET = budget_of(0.3, 0.2, 0.1, 62000)
# {WRONG} makes the score of the last vector differ.
GOLDEN_H = """
#define SNAP_GOLDEN_COUNT 3
static const int8_t snap_golden_input[][SNAP_MODEL_INPUT_BYTES] = {{1}, {2, 3}, {-1}};
static const struct {
    int32_t predicted;
    uint32_t score_q16, uncertainty_q16;
} snap_golden_expected[] = {{1, 1, 2}, {5, 5, 10}, {5, 255 + WRONG, 510}};
"""


CONTROLLER_C = toolchain.firmware_dir() / "snapuq" / "src" / "snapuq_budget_q24.c"


def build_app(folder, name, wrong=0, **defines):
    for file, text in {
        "snap_model.h": MODEL_H,
        "snap_model.c": MODEL_C.replace("{BUDGET}", f"{{{', '.join(map(str, astuple(BUDGET)))}}}"),
        "snap_golden.h": GOLDEN_H.replace("WRONG", str(wrong)),
    }.items():
        (folder / file).write_text(text)
    return toolchain.build(
        load_target(name),
        [*toolchain.app_sources(), folder / "snap_model.c", CONTROLLER_C],
        [folder, toolchain.firmware_dir() / "snapuq" / "include"],
        defines,
        folder / "out",
    )


def inputs(count, seed=1):
    """Random inputs that do not take long."""
    generator = random.Random(seed)
    return [bytes([generator.randrange(20)]) + generator.randbytes(255) for _ in range(count)]


@pytest.fixture(scope="module", params=EMULATED)
def firmware(request, tmp_path_factory):
    if shutil.which(toolchain.GCC) is None or shutil.which(toolchain.QEMU) is None:
        pytest.skip("the ARM compiler or QEMU is not installed")
    folder = tmp_path_factory.mktemp(request.param)
    return load_target(request.param), build_app(folder, request.param)


@pytest.fixture
def port(firmware):
    target, built = firmware
    with Emulator(target, built.elf) as emulator, open_port(emulator.port) as opened:
        yield opened


@pytest.fixture
def client(port):
    return Client(port)


def exchange(port: serial.Serial, data: bytes, frames: int = 1) -> list[Frame]:
    """Write bytes as they are; the next frames that are no boot message."""
    port.write(data)
    port.timeout = 2.0
    decoder = Decoder()
    seen: list[Frame] = []
    while len(seen) < frames:
        byte = port.read(1)
        assert byte, f"silence after {seen}"
        seen += [frame for frame in decoder.feed(byte) if frame.sequence != 0]
    return seen


# ---- Under QEMU -------------------------------------------------------------


def test_hello_tells_what_was_built(firmware, client):
    target, _ = firmware
    hello = client.hello()
    assert (hello.target, hello.model_id) == (target.name, "0123456789abcdef")
    assert (hello.input_bytes, hello.classes, hello.taps) == (256, 10, 2)
    assert (hello.arena_bytes, hello.counter_step) == (6144, 40)
    assert (hello.counter_unit, hello.is_emulator, hello.has_heads) == (target.counter, True, True)


def test_inference_gives_the_model_s_results(client):
    for data in inputs(20):
        result = client.infer(data)
        total = sum(data)
        assert result.predicted == total % 10
        assert result.abstain == (total > 32768)
        assert (result.score_q16, result.uncertainty_q16) == (total, 2 * total)
        assert result.surprisal_q16 == (total, total + 1)
        assert result.logits == tuple(127 if i == total % 10 else -i for i in range(10))


def test_counts_are_exactly_repeatable(firmware):
    target, built = firmware
    # The work that we ask for, in instructions per loop, is a whole number.
    probes = [bytes([work]) + bytes(255) for work in (0, 10, 20, 10)]
    runs = []
    for _ in range(2):
        with (
            Emulator(target, built.elf) as emulator,
            Client(open_port(emulator.port)) as client,
        ):
            runs.append([[client.infer(data).count for data in probes] for _ in range(5)])
    counts = runs[0][0]
    assert all(row == counts for run in runs for row in run)
    none, ten, twenty, again = counts
    assert ten == again
    assert none > 256  # at least one instruction for each input byte
    # 10,000 turns more cost the same each time, but for the steps of the counter.
    assert abs((twenty - ten) - (ten - none)) <= 2 * 40
    assert 5 <= (ten - none) / 10_000 <= 30


def test_profile_splits_the_count(client):
    data = bytes([10]) + bytes(255)
    plain, profile = client.infer(data), client.profile(data)
    assert profile.inference.predicted == plain.predicted
    assert profile.stage_counts["heads"] == 0
    assert profile.stage_counts["backbone"] > 10 * profile.stage_counts["classifier"] > 0
    parts = sum(profile.stage_counts.values())
    assert 0 <= profile.inference.count - parts <= 80
    assert 0 <= profile.inference.count - plain.count < 400


def test_stack_high_water_mark(firmware, client):
    target, _ = firmware
    client.infer(bytes(256))
    stack = client.stack()
    assert stack.reserved_bytes == target.stack_bytes
    assert 100 < stack.used_bytes < 1024


def test_selftest_passes(client):
    assert client.selftest() == Selftest(3, None)


@needs_gcc
@needs_qemu
def test_selftest_finds_the_vector_that_differs(tmp_path):
    built = build_app(tmp_path, "qemu-m4", wrong=1)
    with (
        Emulator(load_target("qemu-m4"), built.elf) as emulator,
        Client(open_port(emulator.port)) as client,
    ):
        assert client.selftest() == Selftest(3, 2)


@needs_gcc
@needs_qemu
def test_a_controller_decides_what_infer_is_asked_since_hello(tmp_path):
    built = build_app(tmp_path, "qemu-m4", CONTROLLED="")
    data = inputs(30)
    u = np.array([2 * sum(x) for x in data], np.uint32)
    expected, _ = budget_run(BUDGET, u)
    assert set(expected) == {False, True}
    with (
        Emulator(load_target("qemu-m4"), built.elf) as emulator,
        Client(open_port(emulator.port)) as client,
    ):
        for _ in range(2):
            client.hello()
            found = []
            for x in data:
                found.append(client.infer(x).abstain)
                # Neither of these is part of the stream.
                assert client.profile(x).inference.abstain == (sum(x) > 32768)
                client.selftest()
            assert found == expected.tolist()


@needs_gcc
@needs_qemu
def test_a_build_without_heads_says_so(tmp_path):
    # The wrong score does not matter: there is none to compare.
    built = build_app(tmp_path, "qemu-m4", wrong=1, SNAP_MODEL_WITHOUT_HEADS="")
    with (
        Emulator(load_target("qemu-m4"), built.elf) as emulator,
        Client(open_port(emulator.port)) as client,
    ):
        hello = client.hello()
        assert (hello.has_heads, hello.taps) == (False, 0)
        assert client.infer(bytes([3]) + bytes(255)).surprisal_q16 == ()
        assert client.selftest() == Selftest(3, None)


def test_an_oversize_frame_is_refused_and_nothing_else_happens(port):
    (error,) = exchange(port, encode(Frame(Type.INFER, 5, bytes(257))))
    assert error == Frame(Type.ERROR, 5, bytes([ErrorCode.TOO_LONG, Type.INFER]))
    (error,) = exchange(port, b"\xa5\x5a\x02\x06\xff\xff")
    assert error == Frame(Type.ERROR, 6, bytes([ErrorCode.TOO_LONG, Type.INFER]))
    assert Client(port).infer(bytes([7]) + bytes(255)).predicted == 7


def test_bad_frames_are_answered_with_their_error(port):
    damaged = bytearray(encode(Frame(Type.INFER, 9, bytes(256))))
    damaged[100] ^= 4
    (error,) = exchange(port, bytes(damaged))
    assert error == Frame(Type.ERROR, 9, bytes([ErrorCode.DAMAGED, Type.INFER]))
    for kind in (0x00, 0x06, 0x81, 0xFE):
        (error,) = exchange(port, encode(Frame(kind, 10, b"")))
        assert error == Frame(Type.ERROR, 10, bytes([ErrorCode.UNKNOWN_TYPE, kind]))
    for kind, length in ((Type.INFER, 255), (Type.PROFILE, 0), (Type.HELLO, 1)):
        (error,) = exchange(port, encode(Frame(kind, 11, bytes(length))))
        assert error == Frame(Type.ERROR, 11, bytes([ErrorCode.WRONG_LENGTH, kind]))


def test_noise_between_requests_is_skipped(port):
    stack = encode(Frame(Type.STACK, 3, b""))
    assert len(exchange(port, b"\xa5\x00noise\xa5\xa5" + stack + b"\x5a" + stack, 2)) == 2


def test_the_client_recovers_from_a_frame_that_was_cut_off(port):
    client = Client(port, timeout_s=0.5)
    client.hello()
    port.write(encode(Frame(Type.INFER, 200, bytes(256)))[:100])
    assert client.stack().used_bytes > 0


def test_a_stack_overflow_is_reported_and_not_survived(firmware):
    target, built = firmware

    def overflow():
        with Emulator(target, built.elf) as emulator, Client(open_port(emulator.port)) as client:
            assert client.infer(bytes([1]) * 256).predicted == 6
            client.infer(b"\xff" * 256)

    # Status 1 comes from our fault handler.
    with pytest.raises(DeviceError, match="ended by itself: exit status 1") as caught:
        overflow()
    assert "stack" in caught.value.hint


@needs_qemu
@pytest.mark.parametrize(
    ("machine", "reason"), [("mps2-an386", r"missing\.elf"), ("toaster", "unsupported machine")]
)
def test_an_emulator_that_cannot_start_says_why(tmp_path, machine, reason):
    target = replace(load_target("qemu-m4"), emulator=machine)

    def start():
        with Emulator(target, tmp_path / "missing.elf") as emulator:
            Client(open_port(emulator.port)).hello()

    with pytest.raises(DeviceError, match=f"ended by itself: qemu.*{reason}"):
        start()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), DeviceError("mine"), ValueError()])
def test_qemu_ends_with_its_context_and_lets_errors_through(firmware, error):
    emulator = Emulator(firmware[0], firmware[1].elf)

    def fail():
        with emulator:
            assert emulator._process.poll() is None
            raise error

    with pytest.raises(type(error)) as caught:
        fail()
    assert caught.value is error
    assert emulator._process.poll() is not None


# ---- The boards --------------------------------------------------------------


@needs_gcc
@pytest.mark.parametrize("name", ["small-mcu", "big-mcu"])
def test_links_for_the_real_boards(tmp_path, name):
    target = load_target(name)
    built = build_app(tmp_path, name)
    assert 1000 < built.flash_bytes < 8000
    # Arena and stack, and hardly anything else: inputs arrive in the arena.
    assert 0 <= built.ram_bytes - (6144 + target.stack_bytes) < 64
    stack_top, reset = struct.unpack_from("<II", built.bin.read_bytes())
    assert stack_top == 0x20000000 + target.stack_bytes
    assert 0x08000040 <= reset < 0x08000000 + built.flash_bytes
    assert reset & 1  # Thumb


# ---- The parser on the host ---------------------------------------------------

HARNESS = """
#include <stdio.h>
#include <stdlib.h>
#include "command.h"

/* Reads bytes, prints an event per line; the payload buffer is exactly as long as stated. */
int main(int argc, char **argv)
{
    const uint32_t capacity = (uint32_t)atoi(argv[argc - 1]);
    uint8_t *payload = malloc(capacity);
    struct app_parser parser;
    app_parser_init(&parser, payload, capacity);
    for (int byte; (byte = getchar()) != EOF;) {
        const enum app_event event = app_parser_feed(&parser, (uint8_t)byte);
        if (event == APP_EVENT_NONE) {
            continue;
        }
        const uint32_t length = event == APP_EVENT_FRAME ? parser.length : 0;
        printf("%d %d %d %lu\\n", event, parser.type, parser.sequence,
               (unsigned long)app_crc32(0, payload, length));
    }
    free(payload);
    return 0;
}
"""
FRAME, TOO_LONG, DAMAGED = 1, 2, 3


@pytest.fixture(scope="module")
def parse(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    folder = tmp_path_factory.mktemp("parser")
    (folder / "harness.c").write_text(HARNESS)
    app = toolchain.firmware_dir() / "app"
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1"]
    command += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{app}"]
    command += [str(folder / "harness.c"), str(app / "command.c"), "-o", str(folder / "harness")]
    subprocess.run(command, check=True)

    def run(data: bytes, capacity: int = 64) -> list[tuple[int, ...]]:
        done = subprocess.run(
            [str(folder / "harness"), str(capacity)], input=data, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return [tuple(map(int, line.split())) for line in done.stdout.splitlines()]

    return run


@pytest.mark.parametrize("length", [0, 1, 63, 64])
def test_parser_finds_frames_in_noise(parse, length):
    payload = bytes(range(length))
    data = encode(Frame(2, 77, payload))
    assert (
        parse(b"\xa5\x00\xa5" + data + b"\x5a\xa5" + data)
        == [(FRAME, 2, 77, zlib.crc32(payload))] * 2
    )


def test_parser_refuses_what_does_not_fit(parse):
    assert parse(encode(Frame(2, 1, bytes(65)))) == [(TOO_LONG, 2, 1, 0)]
    assert parse(encode(Frame(2, 1, bytes(1))), capacity=0) == [(TOO_LONG, 2, 1, 0)]


def test_parser_notices_every_flipped_bit(parse):
    frame = encode(Frame(2, 1, b"abc"))
    for position in range(len(frame) - 2):
        broken = bytearray(frame)
        broken[2 + position] ^= 1 << position % 8
        # A longer length waits for more bytes: zeros end that wait.
        events = parse(bytes(broken) + bytes(100))
        assert events
        assert FRAME not in [event for event, *_ in events]


def test_parser_survives_random_bytes(parse):
    generator = random.Random(7)
    for _ in range(20):
        # Magics everywhere, so that most bytes are seen as some part of a frame.
        pieces = [generator.randbytes(generator.randrange(30)) for _ in range(400)]
        data = b"\xa5\x5a".join(pieces)
        for kind, *_ in parse(data, capacity=generator.randrange(300)):
            assert kind in (TOO_LONG, DAMAGED)


def test_host_and_firmware_agree_about_the_crc(tmp_path):
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    library = tmp_path / "command.so"
    source = toolchain.firmware_dir() / "app" / "command.c"
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    crc32 = ctypes.CDLL(str(library)).app_crc32
    crc32.restype = ctypes.c_uint32
    data = random.Random(3).randbytes(1000)
    for length in (0, 1, 2, 999, 1000):
        assert crc32(0, data, ctypes.c_size_t(length)) == zlib.crc32(data[:length])
    assert crc32(crc32(0, data, ctypes.c_size_t(10)), data[10:], ctypes.c_size_t(990)) == (
        zlib.crc32(data)
    )
