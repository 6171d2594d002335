"""The firmware's parser of frames against the host's encoder and zlib, with ASan and UBSan."""

import ctypes
import random
import subprocess
import zlib
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from snapcli import toolchain
from snapcli.device.frame import MAGIC, Decoder, Frame, encode
from tests.conftest import need

APP = toolchain.firmware_dir() / "app"
LIBRARY = toolchain.firmware_dir() / "snapuq"
CRC32 = LIBRARY / "src" / "snapuq_crc32.c"
# Reads bytes and prints an event per line; the payload buffer is exactly as long as stated.
HARNESS = """
#include <stdio.h>
#include <stdlib.h>
#include "frame.h"

int main(int argc, char **argv)
{
    const uint32_t capacity = (uint32_t)atoi(argv[argc - 1]);
    uint8_t *payload = malloc(capacity ? capacity : 1);
    struct app_parser parser;
    app_parser_init(&parser, payload, capacity);
    for (int byte; (byte = getchar()) != EOF;) {
        const enum app_event event = app_parser_feed(&parser, (uint8_t)byte);
        if (event == APP_EVENT_OUTSIDE || event == APP_EVENT_INSIDE) {
            continue;
        }
        printf("%d %d %d ", event, parser.type, parser.sequence);
        for (int i = 0; event == APP_EVENT_FRAME && i < parser.length; i++) {
            printf("%02x", payload[i]);
        }
        puts(".");
    }
    free(payload);
    return 0;
}
"""
FRAME, TOO_LONG, DAMAGED = 2, 3, 4
Parse = Callable[..., list[tuple[int, Frame]]]

frames = st.builds(Frame, st.integers(0, 255), st.integers(0, 255), st.binary(max_size=64))


@pytest.fixture(scope="module")
def parse(tmp_path_factory: pytest.TempPathFactory) -> Parse:
    """parse(data, capacity=64) -> (event, frame) each; the payload is that of a good frame."""
    need(host=True)
    folder = tmp_path_factory.mktemp("parser")
    (folder / "harness.c").write_text(HARNESS)
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", f"-I{APP}"]
    command += [f"-I{LIBRARY / 'include'}", str(CRC32)]
    command += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    command += [str(folder / "harness.c"), str(APP / "frame.c"), "-o", str(folder / "harness")]
    subprocess.run(command, check=True)

    def run(data: bytes, capacity: int = 64) -> list[tuple[int, Frame]]:
        done = subprocess.run(
            [str(folder / "harness"), str(capacity)], input=data, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        events = []
        for line in done.stdout.decode().splitlines():
            event, kind, sequence, payload = line.split()
            frame = Frame(int(kind), int(sequence), bytes.fromhex(payload[:-1]))
            events.append((int(event), frame))
        return events

    return run


@given(st.lists(frames, max_size=4), st.lists(st.binary(max_size=9), min_size=4, max_size=4))
def test_it_finds_what_the_host_encodes_in_any_noise(parse, sent, noise):
    # Noise that happens to hold a magic may rightly swallow what follows it.
    noise = [piece.replace(b"\x5a", b"\xa5") for piece in noise]
    stream = b"".join(n + encode(f) for n, f in zip(noise, sent, strict=False))
    assert parse(stream) == [(FRAME, frame) for frame in sent]


@given(st.binary(max_size=400), st.integers(0, 100))
def test_it_takes_no_frame_for_good_that_the_host_does_not(parse, data, capacity):
    data = data.replace(b"\x00", MAGIC)
    good = [frame for event, frame in parse(data, capacity) if event == FRAME]
    known = Decoder().feed(data)
    assert all(frame in known for frame in good)


@given(frames, st.data())
def test_a_frame_is_found_behind_a_damaged_one(parse, frame, data):
    broken = bytearray(encode(frame))
    position = data.draw(st.sampled_from([0, 1, 2, 3, *range(6, len(broken))]))
    broken[position] ^= 1 << data.draw(st.integers(0, 7))
    assume(MAGIC not in broken[2:])  # a magic inside may rightly swallow what follows it
    last = Frame(0x04, 9, b"fine")
    assert parse(bytes(broken) + encode(last))[-1] == (FRAME, last)


def test_it_refuses_what_does_not_fit(parse):
    assert parse(encode(Frame(2, 1, bytes(65)))[:6]) == [(TOO_LONG, Frame(2, 1, b""))]
    assert parse(encode(Frame(2, 1, bytes(1))), capacity=0)[0] == (TOO_LONG, Frame(2, 1, b""))
    assert parse(encode(Frame(2, 1, bytes(64))))[0][0] == FRAME


def test_it_notices_every_flipped_bit(parse):
    frame = encode(Frame(2, 1, b"abc"))
    for position in range(2, len(frame)):
        broken = bytearray(frame)
        broken[position] ^= 1 << position % 8
        # A longer length waits for more bytes: zeros end that wait.
        events = parse(bytes(broken) + bytes(100))
        assert events
        assert FRAME not in [event for event, _ in events]


def test_magics_everywhere(parse):
    generator = random.Random(7)
    for _ in range(20):
        pieces = [generator.randbytes(generator.randrange(30)) for _ in range(400)]
        for event, _ in parse(MAGIC.join(pieces), capacity=generator.randrange(300)):
            assert event in (TOO_LONG, DAMAGED)


def test_its_crc_is_zlib_s(tmp_path):
    need(host=True)
    library = tmp_path / "crc32.so"
    command = ["cc", "-shared", "-fPIC", f"-I{LIBRARY / 'include'}", str(CRC32)]
    subprocess.run([*command, "-o", str(library)], check=True)
    crc32 = ctypes.CDLL(str(library)).snapuq_crc32
    crc32.restype = ctypes.c_uint32
    data = bytes(range(256)) + random.Random(3).randbytes(744)
    for length in (0, 1, 2, 256, 999, 1000):
        assert crc32(0, data, ctypes.c_uint32(length)) == zlib.crc32(data[:length])
    begun = crc32(0, data, ctypes.c_uint32(10))
    assert crc32(begun, data[10:], ctypes.c_uint32(990)) == zlib.crc32(data)
