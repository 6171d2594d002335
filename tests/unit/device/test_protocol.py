"""The host's side of the wire against a device that a thread plays on a pty."""

import itertools
import os
import select
import struct
import threading
import time
import tty

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from snapcli.device import Client, Selftest, Stack, open_port
from snapcli.device.protocol import MAGIC, Decoder, ErrorCode, Frame, Type, encode
from snapcli.errors import DeviceError

HELLO = struct.pack("<HHIHHIBI16s", 1, 3, 4, 3, 2, 640, 0, 40, b"0123456789abcdef") + b"qemu-m4"
RESULT = struct.pack("<iiIIQIIbbb", 2, 1, 70000, 60000, 123456789012, 7, 8, -128, 0, 127)
PAIR = struct.pack("<II", 3, 3)

payloads = st.binary(max_size=300)
frames = st.builds(Frame, st.integers(0, 255), st.integers(0, 255), payloads)


class FakeDevice:
    """Answers each frame with what `script` makes of it: script(frame, turn) -> bytes."""

    def __init__(self, script):
        self.script = script
        self.requests = []
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.path = os.ttyname(self.slave)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    def _serve(self):
        decoder = Decoder()
        while not self._stop.is_set():
            if not select.select([self.master], [], [], 0.01)[0]:
                continue
            for frame in decoder.feed(os.read(self.master, 65536)):
                self.requests.append(frame)
                os.write(self.master, self.script(frame, len(self.requests)))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        os.close(self.master)
        os.close(self.slave)


def good(frame, _turn=0):
    payload = {
        Type.HELLO: HELLO,
        Type.INFER: RESULT,
        Type.PROFILE: RESULT + struct.pack("<4Q", 1, 2, 3, 4),
        Type.STACK: struct.pack("<II", 320, 4096),
        Type.SELFTEST: PAIR,
    }[frame.type]
    return encode(Frame(frame.type | 0x80, frame.sequence, payload))


def flipped(data):
    """The same bytes with one bit of the payload turned."""
    return data[:8] + bytes([data[8] ^ 1]) + data[9:]


def ask(script, question=Client.hello, timeout_s=0.1):
    """The answer to a question and the requests that the device saw for it."""
    with (
        FakeDevice(script) as device,
        Client(open_port(device.path), timeout_s, work_timeout_s=timeout_s) as client,
    ):
        return question(client), device.requests


# ---- A device that behaves -------------------------------------------------


def test_hello():
    hello, _ = ask(good)
    assert (hello.model_id, hello.target) == ("0123456789abcdef", "qemu-m4")
    assert (hello.input_bytes, hello.classes, hello.taps, hello.arena_bytes) == (4, 3, 2, 640)
    assert hello.is_emulator
    assert hello.has_heads
    assert (hello.counter_unit, hello.counter_step) == ("instructions", 40)


def test_infer_asks_for_the_shape_first():
    result, requests = ask(good, lambda client: client.infer(b"\x80\x00\x01\x7f"))
    assert [frame.type for frame in requests] == [Type.HELLO, Type.INFER]
    assert requests[1].payload == b"\x80\x00\x01\x7f"
    assert (result.predicted, result.abstain) == (2, True)
    assert (result.score_q16, result.uncertainty_q16) == (70000, 60000)
    assert result.surprisal_q16 == (7, 8)
    assert result.logits == (-128, 0, 127)
    assert result.count == 123456789012


def test_profile_stack_and_selftest():
    profile, _ = ask(good, lambda client: client.profile(bytes(4)))
    assert profile.stage_counts == {"backbone": 1, "heads": 2, "classifier": 3, "map": 4}
    assert profile.inference.predicted == 2
    assert ask(good, Client.stack)[0] == Stack(320, 4096)
    assert ask(good, Client.selftest)[0] == Selftest(3, None)


def test_selftest_names_the_first_mismatch():
    def script(frame, _turn):
        return encode(Frame(frame.type | 0x80, frame.sequence, struct.pack("<II", 3, 0)))

    assert ask(script, Client.selftest)[0] == Selftest(3, 0)


def test_sequence_numbers_skip_that_of_the_boot():
    def many(client):
        for _ in range(300):
            client.stack()

    _, requests = ask(good, many)
    numbers = [frame.sequence for frame in requests]
    assert 0 not in numbers
    assert all(a != b for a, b in itertools.pairwise(numbers))


def test_an_input_of_the_wrong_size_is_not_even_sent():
    with FakeDevice(good) as device, Client(open_port(device.path), 0.1) as client:
        with pytest.raises(DeviceError, match="inputs of 4 bytes, not 5"):
            client.infer(bytes(5))
        assert [frame.type for frame in device.requests] == [Type.HELLO]


# ---- A line that disturbs --------------------------------------------------


def test_noise_and_stale_frames_before_the_answer_are_dropped():
    def script(frame, _turn):
        stale = encode(Frame(frame.type | 0x80, (frame.sequence + 7) % 256, b"old"))
        boot = encode(Frame(0x81, 0, HELLO))
        return b"\xa5boot\xa5\xa5" + stale + b"\x00\x5a" + boot + good(frame)

    hello, requests = ask(script)
    assert hello.target == "qemu-m4"
    assert len(requests) == 1


@pytest.mark.parametrize("disturb", [flipped, lambda data: data[:-5], lambda data: b""])
@pytest.mark.parametrize("times", [1, 2])
def test_a_lost_or_damaged_answer_is_asked_for_again(disturb, times):
    def script(frame, turn):
        return disturb(good(frame)) if turn <= times else good(frame)

    def question(client):
        return client.hello(), client.repeats

    (hello, repeats), requests = ask(script, question)
    assert hello.target == "qemu-m4"
    assert len(requests) == times + 1
    assert repeats == times


def test_a_request_that_arrives_damaged_is_sent_again():
    def script(frame, turn):
        if turn == 1:
            return encode(Frame(Type.ERROR, frame.sequence, bytes([ErrorCode.DAMAGED, 1])))
        return good(frame)

    hello, requests = ask(script)
    assert hello.target == "qemu-m4"
    assert len(requests) == 2


# ---- A device that fails ---------------------------------------------------


@pytest.mark.parametrize(
    ("script", "message", "requests"),
    [
        (lambda frame, turn: b"", "does not answer", 3),
        (lambda frame, turn: b"m-ready\r\n" * 5, "not in snap's protocol", 3),
        (lambda frame, turn: good(frame)[:-9], "stopped in the middle", 3),
        (lambda frame, turn: flipped(good(frame)), "arrive damaged", 3),
        (
            lambda frame, turn: encode(Frame(Type.ERROR, frame.sequence, b"\x01\x01")),
            "refused request 0x01: unknown type",
            1,
        ),
        (
            lambda frame, turn: encode(Frame(0x81, frame.sequence, b"\x02\x00")),
            "speaks protocol 2",
            1,
        ),
        (
            lambda frame, turn: encode(Frame(0x81, frame.sequence, b"\x01\x00\x00")),
            "answer of the wrong form",
            1,
        ),
    ],
)
def test_each_failure_has_its_own_message(script, message, requests):
    with FakeDevice(script) as device, Client(open_port(device.path), 0.1) as client:
        started = time.monotonic()
        with pytest.raises(DeviceError, match=message) as caught:
            client.hello()
        assert time.monotonic() - started < 5
        assert caught.value.hint
        assert len(device.requests) == requests


def test_endless_noise_is_no_hang():
    with FakeDevice(good) as device, Client(open_port(device.path), 0.1) as client:
        stop = threading.Event()

        def babble():
            while not stop.is_set():
                if select.select([], [device.master], [], 0.01)[1]:
                    os.write(device.master, b"noise" * 10)

        device.script = lambda frame, turn: b""
        thread = threading.Thread(target=babble)
        thread.start()
        try:
            with pytest.raises(DeviceError, match="not in snap's protocol"):
                client.hello()
        finally:
            stop.set()
            thread.join()


def test_a_port_that_vanishes():
    master, slave = os.openpty()
    with Client(open_port(os.ttyname(slave)), 0.1) as client:
        os.close(master)
        with pytest.raises(DeviceError, match="went away"):
            client.hello()
    os.close(slave)


def test_a_device_that_stops_reading():
    master, slave = os.openpty()
    tty.setraw(slave)
    port = open_port(os.ttyname(slave))
    port.write_timeout = 0.1
    with Client(port, 0.1) as client, pytest.raises(DeviceError, match="does not read"):
        client.hello()
    os.close(master)
    os.close(slave)


# ---- Frames ----------------------------------------------------------------


def test_the_bytes_of_a_frame():
    # 0x2144DF1C is the well-known CRC-32 of four zero bytes.
    assert encode(Frame(0, 0, b"")) == b"\xa5\x5a" + bytes(4) + b"\x1c\xdf\x44\x21"
    assert encode(Frame(0x02, 0x07, b"AB"))[:8] == b"\xa5\x5a\x02\x07\x02\x00AB"


@given(st.lists(frames, max_size=4), st.binary(max_size=20), st.integers(1, 50))
def test_frames_survive_any_cutting_and_leading_noise(sent, noise, step):
    # Noise that happens to hold a magic may rightly swallow what follows it.
    noise = noise.replace(b"\xa5", b"")
    stream = noise + b"".join(map(encode, sent))
    decoder = Decoder()
    received = [
        frame
        for start in range(0, len(stream), step)
        for frame in decoder.feed(stream[start : start + step])
    ]
    assert received == sent
    assert decoder.skipped == len(noise)
    assert decoder.damaged == 0


@given(st.binary(max_size=2000))
def test_the_decoder_survives_anything(data):
    Decoder().feed(data)


@given(frames, st.data())
def test_a_frame_is_found_behind_a_damaged_one(frame, data):
    broken = bytearray(encode(frame))
    position = data.draw(st.sampled_from([0, 1, 2, 3, *range(6, len(broken))]))
    broken[position] ^= 1 << data.draw(st.integers(0, 7))
    assume(MAGIC not in broken[2:])  # a magic inside may rightly swallow what follows it
    last = Frame(0x84, 9, b"fine")
    assert last in Decoder().feed(bytes(broken) + encode(last))
