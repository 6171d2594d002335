"""The host's side of the wire, against a device that behaves and against ones that do not."""

import itertools
import os
import select
import struct
import threading
import time
import tty

import pytest

from snapcli.device import Client, ImageCheck, LinkError, Reason, Selftest, Stack
from snapcli.device.frame import Decoder, Frame, encode
from snapcli.device.messages import ErrorCode, Type
from snapcli.device.transport import open_port
from snapcli.errors import DeviceError
from tests.unit.device.fake_device import (
    IMAGE,
    INPUT_BYTES,
    MODEL_ID,
    SETTINGS_CHECK,
    FakeDevice,
    expected,
    framed,
)

pytestmark = pytest.mark.slow

HELLO = struct.pack(
    "<HHIHHHBBIIIIII16s", *(4, 3, 4, 3, 2, 4, 0, 0, 40, 25, 640, 1, 2, 3), b"0" * 16
)
# What comes is waited for; what gets lost is given up after a while that no thread takes.
PATIENCE_S, BRIEF_S = 60.0, 1.0
INPUTS = [bytes([7 * i % 256, 31 * i % 256] * (INPUT_BYTES // 2)) for i in range(12)]


@pytest.fixture(autouse=True)
def _short_memory(monkeypatch):
    """Where the device's memory of half frames does not matter, nobody waits for it."""
    monkeypatch.setattr("snapcli.device.exchange._FORGOTTEN_S", 0.2)


@pytest.fixture
def device():
    with FakeDevice() as found:
        yield found


@pytest.fixture
def client(device):
    with Client(device.path, PATIENCE_S, work_timeout_s=PATIENCE_S) as found:
        yield found


@pytest.fixture
def brief_client(device):
    with Client(device.path, BRIEF_S, work_timeout_s=2 * BRIEF_S) as found:
        yield found


class ScriptedDevice:
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
        while True:
            if not select.select([self.master], [], [], 0.01)[0]:
                if self._stop.is_set():
                    return  # with all requests seen
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
    payload = {Type.HELLO: HELLO + b"qemu-m4", Type.STACK: struct.pack("<II", 320, 4096)}
    return encode(Frame(frame.type | 0x80, frame.sequence, payload.get(frame.type, b"")))


def flipped(data):
    """The same bytes with one bit of the payload turned."""
    return data[:8] + bytes([data[8] ^ 1]) + data[9:]


def ask(script, question=Client.hello, timeout_s=PATIENCE_S):
    """The answer to a question and the requests that the device saw for it."""
    with (
        ScriptedDevice(script) as device,
        Client(open_port(device.path), timeout_s, work_timeout_s=timeout_s) as client,
    ):
        return question(client), device.requests


def wait_for(event):
    until = time.monotonic() + PATIENCE_S
    while not event():
        assert time.monotonic() < until
        time.sleep(0.01)


# ---- A device that behaves -------------------------------------------------


def test_hello(client):
    hello = client.hello()
    assert (hello.model_id, hello.target, hello.protocol_version) == (MODEL_ID, "fake", 4)
    assert (hello.input_bytes, hello.classes, hello.taps, hello.steps) == (16, 3, 2, 4)
    assert (hello.arena_bytes, hello.image_crc) == (2048, IMAGE[1])
    assert (hello.is_emulator, hello.has_heads, hello.is_damaged) == (True, True, False)
    assert (hello.counter_unit, hello.counter_step, hello.counter_hz) == ("cycles", 1, 80_000_000)
    assert hello.settings_check == hello.own_settings_check == SETTINGS_CHECK


def test_a_stream(client, device):
    client.start()
    assert [client.infer(data) for data in INPUTS] == expected(INPUTS)
    client.start()
    assert client.infer(INPUTS[0]) == expected(INPUTS)[0]
    assert (client.repeats, client.restarts) == (0, 0)
    assert device.starts == [None, None]


def test_a_stream_goes_on_from_a_state(client):
    answers = expected(INPUTS)
    client.start(answers[4].state)
    assert [client.infer(data) for data in INPUTS[5:]] == answers[5:]


def test_everything_else_it_can_be_asked(client):
    profile = client.profile(INPUTS[1])
    assert profile.step_counts == (1, 2, 3, 4)
    assert profile.inference.logits == expected(INPUTS)[1].logits
    assert client.stack() == Stack(320, 4096)
    assert client.selftest() == Selftest(3, None)
    assert client.check() == ImageCheck(*IMAGE)
    # The check of a block starts behind its head; this is the CRC-32 of four zeros.
    assert client.push_settings(bytes(20)) == 0x2144DF1C


def test_text(client):
    assert client.text("name") == ["m-name-dut-[snap fake]"]
    assert client.text("timestamp%") == ["m-lap-us-99"]
    assert client.text("nonsense") == ["e-[unknown]"]
    assert client.hello().target == "fake"


def test_selftest_names_the_first_mismatch():
    def script(frame, _turn):
        return encode(Frame(frame.type | 0x80, frame.sequence, struct.pack("<II", 3, 0)))

    assert ask(script, Client.selftest)[0] == Selftest(3, 0)


def test_sequence_numbers_skip_that_of_what_comes_unasked():
    def many(client):
        for _ in range(300):
            client.stack()

    _, requests = ask(good, many)
    numbers = [frame.sequence for frame in requests]
    assert 0 not in numbers
    assert all(a != b for a, b in itertools.pairwise(numbers))


def test_an_input_of_the_wrong_size_is_not_even_sent(client, device):
    with pytest.raises(DeviceError, match="inputs of 16 bytes, not 5"):
        client.infer(bytes(5))
    assert device.seen == [Type.HELLO]


# ---- A line that disturbs --------------------------------------------------


def test_noise_and_stale_frames_before_the_answer_are_dropped():
    def script(frame, _turn):
        stale = encode(Frame(frame.type | 0x80, (frame.sequence + 7) % 256, b"old"))
        return b"\xa5boot\xa5\xa5" + stale + b"\x00\x5a" + good(frame)

    hello, requests = ask(script)
    assert hello.target == "qemu-m4"
    assert len(requests) == 1


def test_a_false_start_in_front_of_an_answer_costs_time_but_no_repeat():
    def question(client):
        return client.hello(), client.repeats

    (hello, repeats), _ = ask(
        lambda frame, turn: b"\xa5\x5a\x01\x01\x00\x20" + good(frame), question, BRIEF_S
    )
    assert (hello.target, repeats) == ("qemu-m4", 0)


@pytest.mark.parametrize("disturb", [flipped, lambda data: data[:-5], lambda data: b""])
@pytest.mark.parametrize("times", [1, 2])
def test_a_lost_or_damaged_answer_is_asked_for_with_the_same_bytes(disturb, times):
    def script(frame, turn):
        return disturb(good(frame)) if turn <= times else good(frame)

    def question(client):
        return client.hello(), client.repeats

    (hello, repeats), requests = ask(script, question, BRIEF_S)
    assert hello.target == "qemu-m4"
    assert repeats == times
    assert len(requests) == times + 1
    assert len(set(requests)) == 1


@pytest.mark.parametrize("code", [ErrorCode.DAMAGED, ErrorCode.TOO_LONG])
@pytest.mark.parametrize("shift", [0, 5])
def test_a_request_that_arrives_damaged_is_sent_again(code, shift):
    def script(frame, turn):
        if turn == 1:
            return encode(Frame(Type.ERROR, (frame.sequence + shift) % 256, bytes([code, 1])))
        return good(frame)

    started = time.monotonic()
    hello, requests = ask(script)
    assert hello.target == "qemu-m4"
    assert len(requests) == 2
    assert time.monotonic() - started < PATIENCE_S / 2  # at once, not after the time-out


def test_a_lost_answer_moves_the_stream_once(brief_client, device):
    client = brief_client
    client.start()
    answers, lost = [], (0, 1, 0, 2, 1, 0)
    for data, device.answers_lost in zip(INPUTS, lost, strict=False):
        answers.append(client.infer(data))
    assert answers == expected(INPUTS)[: len(lost)]
    assert client.repeats == sum(lost)
    assert device.seen.count(Type.INFER) == len(lost)


def test_only_the_first_lost_answer_takes_the_whole_time_that_work_may(device):
    with Client(device.path, BRIEF_S, work_timeout_s=PATIENCE_S) as client:
        client.start()
        client.infer(INPUTS[0])
        device.answers_lost = 1
        started = time.monotonic()
        assert client.infer(INPUTS[1]) == expected(INPUTS)[1]
        assert time.monotonic() - started < PATIENCE_S / 2


# ---- A device that restarts -------------------------------------------------


@pytest.mark.parametrize("at", [0, 1, 7])
def test_a_stream_survives_a_restart(client, device, at):
    client.start()
    answers = [client.infer(data) for data in INPUTS[:at]]
    device.restart()
    answers += [client.infer(data) for data in INPUTS[at:]]
    assert answers == expected(INPUTS)
    assert client.restarts == 1
    assert device.starts == [None, answers[at - 1].state if at else None]


def test_a_restart_in_the_middle_of_an_inference_is_noticed_by_its_banner(device):
    def restart_at_work():
        wait_for(lambda: Type.INFER in device.seen)
        device.restart()

    with Client(device.path, BRIEF_S, work_timeout_s=PATIENCE_S) as client:
        client.hello()
        client.start()
        device.answers_lost = 1  # that of the inference
        threading.Thread(target=restart_at_work).start()
        started = time.monotonic()
        assert client.infer(INPUTS[0]) == expected(INPUTS)[0]
        assert time.monotonic() - started < PATIENCE_S / 2
        assert client.restarts == 1


def test_restarting_it_ourselves(client, device):
    client.start()
    answers = [client.infer(data) for data in INPUTS[:5]]
    client.restart()
    assert device.restarts == 1
    assert device.stream is None
    answers += [client.infer(data) for data in INPUTS[5:]]
    assert answers == expected(INPUTS)


def test_a_restart_with_another_firmware_is_not_the_same_stream(client, device):
    client.start()
    client.infer(INPUTS[0])
    device.target = "other"
    device.restart()
    with pytest.raises(DeviceError, match="another firmware"):
        client.infer(INPUTS[1])


def test_without_a_start_there_is_no_stream(client):
    with pytest.raises(LinkError, match="no stream") as caught:
        client.infer(INPUTS[0])
    assert caught.value.reason is Reason.NO_STREAM


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((5, 0x8200, 0, 0xE0000000, 0x08001234, 0x08000FFF, 0), "bus fault .*0xe0000000"),
        ((4, 0, 0, 0, 0x08001234, 0x08000FFF, 1), "stack overflow"),
        ((6, 1 << 25, 0, 0, 0x08001234, 0x08000FFF, 0), "usage fault .division by zero"),
        ((3, 0, 2, 0, 0x08001234, 0x08000FFF, 0), "hard fault"),
        ((27, 0, 0, 0, 0x08001234, 0x08000FFF, 0), "exception 27"),
    ],
)
def test_a_fault_says_what_and_where(client, device, numbers, words):
    client.hello()
    device.answers_lost = 1
    device.say(framed(0x7E, 0, struct.pack("<7I", *numbers)))
    with pytest.raises(LinkError, match=words) as caught:
        client.stack()
    assert "pc 0x08001234" in caught.value.message
    assert "addr2line" in caught.value.hint
    assert "0x08001234" in caught.value.hint
    assert caught.value.reason is Reason.FAULT


# ---- Rates -------------------------------------------------------------------


@pytest.fixture
def quick_lapse(monkeypatch):
    """A rate holds for half as long, which is still longer than a time-out of these tests."""
    monkeypatch.setattr("snapcli.device.client.RATE_HOLDS_S", 1.5)
    monkeypatch.setattr("snapcli.device.client._RATE_MARGIN_S", 0.3)
    monkeypatch.setattr("tests.unit.device.fake_device.RATE_HOLDS_S", 1.5)


def test_the_highest_rate_is_taken_and_left_again(device):
    with Client(device.path, PATIENCE_S) as client:
        assert client.speed_up() == 921600 == device.baud
        client.start()
        assert [client.infer(data) for data in INPUTS] == expected(INPUTS)
        assert client.repeats == 0
    assert device.baud == 115200


def test_a_rate_that_the_board_does_not_know_is_passed_over():
    with FakeDevice(known_rates=(230400, 115200)) as device, Client(device.path) as client:
        assert client.speed_up() == 230400 == device.baud
        assert client.stack() == Stack(320, 4096)


def test_a_rate_that_does_not_work_is_left(quick_lapse):
    with (
        FakeDevice(garbled_rates=(921600, 460800)) as device,
        Client(device.path, BRIEF_S / 2) as client,
    ):
        assert client.speed_up() == 230400 == device.baud
        assert client.repeats == 0  # it was asked when it had left that rate, not before
        client.start()
        assert client.infer(INPUTS[0]) == expected(INPUTS)[0]


def test_without_a_rate_that_works_it_stays_at_the_first(quick_lapse):
    with (
        FakeDevice(garbled_rates=(921600, 460800, 230400)) as device,
        Client(device.path, BRIEF_S / 2) as client,
    ):
        assert client.speed_up() == 115200 == device.baud
        assert client.repeats == 0
        assert client.stack() == Stack(320, 4096)


def test_a_restart_at_a_higher_rate(quick_lapse, device):
    with Client(device.path, BRIEF_S / 2, work_timeout_s=BRIEF_S) as client:
        client.speed_up()
        client.start()
        answers = [client.infer(data) for data in INPUTS[:5]]
        device.restart()
        answers += [client.infer(data) for data in INPUTS[5:]]
        assert answers == expected(INPUTS)
        assert client.repeats == 2
        assert client.baud == device.baud == 921600


def test_a_rate_that_lapsed_while_nobody_asked(quick_lapse, device):
    with Client(device.path, BRIEF_S / 2, work_timeout_s=BRIEF_S) as client:
        client.speed_up()
        client.start()
        answers = [client.infer(data) for data in INPUTS[:5]]
        wait_for(lambda: device.baud == 115200)
        answers += [client.infer(data) for data in INPUTS[5:]]
        assert answers == expected(INPUTS)
        assert client.repeats == 0
        assert client.baud == device.baud == 921600


def test_a_line_that_goes_bad_at_a_higher_rate(quick_lapse, device):
    with Client(device.path, BRIEF_S / 2, work_timeout_s=BRIEF_S) as client:
        client.speed_up()
        client.start()
        answers = [client.infer(data) for data in INPUTS[:5]]
        device.garbled_rates = (921600,)
        answers += [client.infer(data) for data in INPUTS[5:]]
        assert answers == expected(INPUTS)
        assert client.repeats == 2  # of the inference, before the rate was left
        assert client.baud == 460800


def test_text_is_spoken_at_the_first_rate_and_the_higher_one_taken_again(device):
    with Client(device.path, PATIENCE_S) as client:
        client.speed_up()
        assert client.text("name") == ["m-name-dut-[snap fake]"]
        assert device.text_rates == [115200]
        assert client.baud == device.baud == 921600


# ---- A device that fails ---------------------------------------------------


def refused(code):
    return lambda frame, turn: encode(Frame(Type.ERROR, frame.sequence, bytes([code, frame.type])))


def says(payload):
    return lambda frame, turn: encode(Frame(frame.type | 0x80, frame.sequence, payload))


@pytest.mark.parametrize(
    ("script", "message", "reason", "requests"),
    [
        (lambda frame, turn: b"", "does not answer", Reason.SILENT, 3),
        (lambda frame, turn: b"hello\r\n" * 5, "not in snap's protocol", Reason.FOREIGN, 3),
        (lambda frame, turn: good(frame)[:-9], "stopped in the middle", Reason.CUT_OFF, 3),
        (lambda frame, turn: flipped(good(frame)), "arrive damaged", Reason.DAMAGED, 3),
        (refused(1), "refused request 0x01: unknown type", Reason.REFUSED, 1),
        (refused(6), "does not hold what was written", Reason.REFUSED, 1),
        (refused(99), "error 99", Reason.REFUSED, 1),
        (says(b"\x01\x00"), "speaks protocol 1, this snap speaks 4", None, 1),
        (says(b"\x04\x00\x00"), "answer of the wrong form", None, 1),
        (says(HELLO[:14] + b"\x09" + HELLO[15:]), "answer of the wrong form", None, 1),
        (says(HELLO + b"\xff"), "answer of the wrong form", None, 1),
    ],
)
def test_each_failure_has_its_own_message(script, message, reason, requests):
    with ScriptedDevice(script) as device, Client(device.path, BRIEF_S / 2) as client:
        with pytest.raises(DeviceError, match=message) as caught:
            client.hello()
        assert caught.value.hint
        assert getattr(caught.value, "reason", None) is reason
    assert len(device.requests) == requests


@pytest.mark.parametrize("length", [0, 1, 51, 99, 100, 110, 112, 128])
def test_a_result_of_the_wrong_length_is_no_result(length):
    def script(frame, _turn):
        if frame.type in (Type.INFER, Type.PROFILE):
            return says(bytes(length))(frame, 0)
        return good(frame)

    assert length != 100 + 2 * 4 + 3  # taps and classes of HELLO
    for question in (Client.infer, Client.profile):
        with pytest.raises(DeviceError, match="wrong form"):
            ask(script, lambda client, question=question: question(client, bytes(4)))


def test_endless_noise_is_no_hang():
    with (
        ScriptedDevice(lambda frame, turn: b"") as device,
        Client(device.path, BRIEF_S / 2, work_timeout_s=BRIEF_S / 2) as client,
    ):
        stop = threading.Event()
        started = time.monotonic()

        def babble():
            while not stop.is_set() and time.monotonic() - started < PATIENCE_S:
                if select.select([], [device.master], [], 0.01)[1]:
                    os.write(device.master, b"noise" * 10)

        thread = threading.Thread(target=babble)
        thread.start()
        try:
            with pytest.raises(LinkError, match="not in snap's protocol"):
                client.hello()
            with pytest.raises(LinkError, match="does not answer"):
                client.text("name")
        finally:
            stop.set()
            thread.join()
        assert time.monotonic() - started < PATIENCE_S / 2


def test_a_port_that_vanishes():
    master, slave = os.openpty()
    with Client(os.ttyname(slave), 0.1) as client:
        os.close(master)
        with pytest.raises(LinkError, match="went away") as caught:
            client.hello()
        assert caught.value.reason is Reason.GONE
    os.close(slave)


def test_a_device_that_stops_reading():
    master, slave = os.openpty()
    tty.setraw(slave)
    port = open_port(os.ttyname(slave))
    port.write_timeout = 0.1
    with Client(port, 0.1) as client, pytest.raises(LinkError, match="does not read") as caught:
        client.push_settings(bytes(32768))
    assert caught.value.reason is Reason.STUCK
    os.close(master)
    os.close(slave)


# ---- A cable that is pulled ------------------------------------------------------


@pytest.mark.parametrize("idle_s", [None, 0.0, 1.2])
def test_a_stream_survives_unplugging(tmp_path, quick_lapse, idle_s):
    """idle_s: at a higher rate, how long after the last answer it goes on."""
    port = tmp_path / "board"
    first, second = FakeDevice(), FakeDevice()
    with second:
        with first:
            port.symlink_to(first.path)
            client = Client(str(port), PATIENCE_S, PATIENCE_S, reconnect_s=PATIENCE_S)
            if idle_s is not None:
                client.speed_up()
            client.start()
            answers = [client.infer(data) for data in INPUTS[:5]]
            port.unlink()
        time.sleep(idle_s or 0.0)

        def plug_in():
            port.symlink_to(second.path)

        threading.Timer(0.3, plug_in).start()
        with client:
            answers += [client.infer(data) for data in INPUTS[5:]]
            assert client.baud == (115200 if idle_s is None else 921600)
    assert answers == expected(INPUTS)
    assert second.starts == [answers[4].state]


def test_a_port_that_does_not_come_back(tmp_path):
    port = tmp_path / "board"
    with FakeDevice() as device:
        port.symlink_to(device.path)
        client = Client(str(port), PATIENCE_S, reconnect_s=0.4)
        client.hello()
        port.unlink()
    started = time.monotonic()
    with client, pytest.raises(LinkError, match=r"not back within 0\.4 s") as caught:
        client.hello()
    assert time.monotonic() - started < PATIENCE_S / 2
    assert caught.value.reason is Reason.MISSING
