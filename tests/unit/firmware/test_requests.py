"""The application's frames (SPEC 3.1 to 3.6), on this machine, over a pty."""

import os
import random
import signal
import struct
import termios
import time
import zlib
from dataclasses import replace

import numpy as np
import pytest

from snapcli import fixedpoint as fx
from snapcli.device import (
    Client,
    Evidence,
    Fault,
    Kept,
    Link,
    LinkError,
    Reason,
    Stack,
    StreamState,
    Watch,
)
from snapcli.device.frame import Frame, encode
from snapcli.device.messages import (
    AlarmAction,
    ErrorCode,
    Hello,
    Type,
    pack_state,
    pack_word,
    parse_evidence,
    parse_fault,
    parse_hello,
    parse_state,
)
from snapcli.device.messages import parse_inference as parsed

from .running import PATIENCE_S, READY, Console, running
from .tiny_model import (
    ALARM,
    ARENA_BYTES,
    CLASSES,
    INPUT_BYTES,
    MODEL_ID,
    NO_WATCH,
    ONE_Q24,
    OTHER,
    OWN,
    RECEIVE_BYTES,
    STEPS,
    TAPS,
    Settings,
    alone,
    build,
    expected,
    watched,
)

pytestmark = pytest.mark.slow

IMAGE = b"123456789"  # what the host port calls its image
PAGE_BYTES = 2048  # of its settings


def inputs(count: int, seed: int = 1) -> list[bytes]:
    generator = random.Random(seed)
    return [generator.randbytes(INPUT_BYTES) for _ in range(count)]


def hello(console: Console) -> Hello:
    return parse_hello(console.ask(Type.HELLO).payload)


def refusal(kind: int, code: ErrorCode, sequence: int) -> Frame:
    return Frame(Type.ERROR, sequence, bytes([code, kind]))


def assert_refused(console: Console, kind: int, payload: bytes, code: ErrorCode) -> None:
    answer = console.ask(kind, payload)
    assert answer == refusal(kind, code, answer.sequence)


def start(console: Console, payload: bytes = b"") -> None:
    answer = console.ask(Type.START, payload)
    assert (answer.type, answer.payload) == (Type.START | 0x80, b"")


# ---- Every request -------------------------------------------------------------


def test_hello_tells_what_was_built(console):
    assert hello(console) == Hello(
        protocol_version=4,
        model_id=MODEL_ID,
        target="host",
        input_bytes=INPUT_BYTES,
        classes=CLASSES,
        taps=TAPS,
        steps=STEPS,
        arena_bytes=ARENA_BYTES,
        is_emulator=False,
        has_heads=True,
        is_damaged=False,
        counter_unit="nanoseconds",
        counter_step=1,
        counter_hz=10**9,
        image_crc=zlib.crc32(IMAGE),
        settings_check=OWN.check,
        own_settings_check=OWN.check,
    )


def test_a_stream_is_decided_by_the_controller(console):
    about, data = hello(console), inputs(40)
    start(console)
    found = [parsed(console.ask(Type.INFER, x).payload, about) for x in data]
    u = np.array([expected(x).uncertainty_q16 for x in data], np.uint32)
    decisions, states = fx.budget_run(OWN.controller, u)
    assert set(decisions.tolist()) == {False, True}
    assert [result.abstain for result in found] == decisions.tolist()
    assert [[result.rate_q24, result.threshold_q24] for result in found] == states.tolist()
    for x, result in zip(data, found, strict=True):
        assert alone(result) == replace(expected(x), abstain=result.abstain)
        assert 0 < result.count < 10**9


def test_a_stream_goes_on_from_a_known_state(console):
    about, data = hello(console), inputs(40)
    start(console)
    whole = [parsed(console.ask(Type.INFER, x).payload, about) for x in data]
    assert console.ask(Type.RESTART).payload == b""
    console.lines()
    start(console, pack_state(whole[19].state))
    for x, before in zip(data[20:], whole[20:], strict=True):
        after = parsed(console.ask(Type.INFER, x).payload, about)
        assert replace(after, count=0) == replace(before, count=0)


def test_a_state_outside_of_its_range_is_limited(console):
    about = hello(console)
    odd = Watch(2**31 - 1, -(2**31), 5, 2**32 - 1, 0, 65535, 3, True, 255, b"\xff" * 32)
    start(console, pack_state(StreamState(-5, 2**31 - 1, odd)))
    found = parsed(console.ask(Type.INFER, bytes(INPUT_BYTES)).payload, about)
    assert found.rate_q24 == 0
    assert 0 <= found.threshold_q24 <= ONE_Q24
    assert found.watch.baseline_left == ALARM.baseline - 1
    assert (found.watch.frames, found.watch.alarms) == (6, 3)
    assert 0 <= found.watch.right_q24 <= ONE_Q24


def test_the_alarm_watches_the_stream(console):
    about, data = hello(console), [bytes([240]) * INPUT_BYTES] * 30
    data = [*inputs(10), *data]
    start(console)
    found = [parsed(console.ask(Type.INFER, x).payload, about).watch for x in data]
    assert found == watched(data)
    assert [watch.baseline_left for watch in found[:9]] == [7, 6, 5, 4, 3, 2, 1, 0, 0]
    assert (found[-1].on, found[-1].alarms) == (True, 1)


def test_an_alarm_is_ended_and_its_baseline_taken_anew(console):
    about = hello(console)
    assert_refused(console, Type.ALARM, pack_word(AlarmAction.CLEAR), ErrorCode.NO_STREAM)
    start(console)
    for x in [*inputs(10), *[bytes([240]) * INPUT_BYTES] * 30]:
        last = parsed(console.ask(Type.INFER, x).payload, about)
    assert last.watch.on
    look = parse_state(console.ask(Type.ALARM, pack_word(AlarmAction.LOOK)).payload)
    assert look == last.state
    cleared = parse_state(console.ask(Type.ALARM, pack_word(AlarmAction.CLEAR)).payload)
    assert (cleared.watch.on, cleared.watch.statistic_q16) == (False, 0)
    assert (cleared.watch.alarms, cleared.watch.offset_q16) == (1, last.watch.offset_q16)
    learning = parse_state(console.ask(Type.ALARM, pack_word(AlarmAction.LEARN)).payload)
    assert learning.watch.baseline_left == ALARM.baseline
    assert_refused(console, Type.ALARM, pack_word(7), ErrorCode.UNKNOWN_ACTION)


def kept_of(console: Console, about: Hello, index: int) -> Evidence:
    return parse_evidence(console.ask(Type.EVIDENCE, pack_word(index)).payload, about)


def test_the_inputs_with_the_largest_values_are_kept(tmp_path):
    build(tmp_path / "firmware", "APP_EVIDENCE=3")
    data = inputs(25)
    with running(tmp_path / "firmware") as process:
        console = process.console
        about = hello(console)
        assert kept_of(console, about, 0) == Evidence(3, 0, None)
        start(console)
        for x in data:
            console.ask(Type.INFER, x)
            console.ask(Type.PROFILE, bytes(INPUT_BYTES))  # no part of the stream
        found = [kept_of(console, about, i).kept for i in range(3)]
        assert kept_of(console, about, 3) == Evidence(3, 3, None)
        answers = [expected(x) for x in data]
        every = [
            Kept(n, a.uncertainty_q16, a.uncertainty_q16, a.foreign_q16, a.predicted, x)
            for n, (x, a) in enumerate(zip(data, answers, strict=True), start=1)
        ]
        largest = sorted(every, key=lambda kept: -kept.value_q16)[:3]
        assert sorted(found, key=lambda kept: -kept.value_q16) == largest
        assert kept_of(console, about, 2**32 - 1) == Evidence(3, 0, None)


def record_of(console: Console, action: int, now_s: int, device: int) -> np.void:
    asked = struct.pack("<IIQ", action, now_s, device)
    return np.frombuffer(console.ask(Type.TELEMETRY, asked).payload, fx.TELEMETRY)[0]


def test_telemetry_tells_what_the_stream_was_like(console):
    device, now_s, data = 0x1122334455667788, 1_800_000_000, inputs(30)
    start(console)
    for x in data:
        console.ask(Type.INFER, x)
        console.ask(Type.PROFILE, bytes(INPUT_BYTES))  # no part of the stream
    record = record_of(console, 1, now_s, device)
    content = record.tobytes()
    assert zlib.crc32(content[:-4]) == record["crc"]
    assert (record["device"], record["settings_check"]) == (device, OWN.check)
    assert content[8:16] == bytes.fromhex(MODEL_ID)
    assert now_s - 60 < record["time"] <= now_s
    answers = [expected(x) for x in data]
    assert record["frames"] == len(data)
    assert record["uncertainty_sum_q16"] == sum(a.uncertainty_q16 for a in answers)
    assert record["foreign"] == sum(a.foreign for a in answers)
    bins = np.bincount([a.foreign_q16 >> 12 for a in answers], minlength=16)
    assert record["foreign_bins"].tolist() == bins.tolist()
    assert record["right_q24"] == watched(data)[-1].right_q24
    after = record_of(console, 0, 0, 0)
    assert (after["frames"], after["sequence"], after["time"]) == (0, 1, 0)
    assert_refused(console, Type.TELEMETRY, struct.pack("<IIQ", 2, 0, 0), ErrorCode.UNKNOWN_ACTION)


def test_a_stream_that_goes_on_counts_its_alarms_once(console):
    start(console)
    for x in [*inputs(10), *[bytes([240]) * INPUT_BYTES] * 30]:
        last = console.ask(Type.INFER, x).payload
    state = parsed(last, hello(console)).state
    assert state.watch.alarms == 1
    assert record_of(console, 1, 0, 0)["alarms"] == 1
    console.ask(Type.RESTART)
    console.lines()
    start(console, pack_state(state))
    console.ask(Type.INFER, inputs(1)[0])
    record = record_of(console, 0, 0, 0)
    assert (record["frames"], record["alarms"]) == (1, 0)


def test_what_was_counted_by_other_settings_is_not_mixed_with_the_next(tmp_path):
    build(tmp_path / "firmware", "APP_EVIDENCE=2")
    with running(tmp_path / "firmware", "--settings", str(tmp_path / "flash")) as process:
        console = process.console
        about = hello(console)
        start(console)
        for x in inputs(5):
            console.ask(Type.INFER, x)
        assert kept_of(console, about, 0).count == 2
        assert push(console, OTHER.pack(OWN.check)) == OTHER.check
        record = record_of(console, 0, 0, 0)
        assert (record["frames"], record["settings_check"]) == (0, OTHER.check)
        assert kept_of(console, about, 0).count == 0


def test_without_room_nothing_is_kept(console):
    about = hello(console)
    start(console)
    console.ask(Type.INFER, inputs(1)[0])
    assert kept_of(console, about, 0) == Evidence(0, 0, None)


def test_profile_selftest_and_text_are_no_part_of_the_stream(console):
    about, data = hello(console), inputs(10)
    start(console)
    alone = [parsed(console.ask(Type.INFER, x).payload, about) for x in data]
    start(console)
    for x, before in zip(data, alone, strict=True):
        payload = console.ask(Type.PROFILE, x).payload
        profile, steps = payload[: -4 * STEPS], struct.unpack(f"<{STEPS}I", payload[-4 * STEPS :])
        result = parsed(profile, about)
        assert (result.predicted, result.abstain) == (expected(x).predicted, expected(x).abstain)
        assert steps[1] == 0  # the model leaves that step out
        assert 0 < sum(steps) <= result.count
        assert struct.unpack("<II", console.ask(Type.SELFTEST).payload) == (3, 3)
        assert console.say("infer 1 0")[-1].startswith("m-results-")
        after = parsed(console.ask(Type.INFER, x).payload, about)
        assert replace(after, count=0) == replace(before, count=0)


def test_stack_and_check(console):
    assert console.ask(Type.STACK).payload == bytes(8)
    crc = zlib.crc32(IMAGE)
    assert struct.unpack("<III", console.ask(Type.CHECK).payload) == (len(IMAGE), crc, crc)


# ---- Every refusal ---------------------------------------------------------------


def test_unknown_types(console):
    for kind in (0x00, 0x0E, 0x7E, 0x81, 0xFE, 0xFF):
        assert_refused(console, kind, b"", ErrorCode.UNKNOWN_TYPE)


@pytest.mark.parametrize(
    ("kind", "length"),
    [
        *((Type.INFER, n) for n in (0, INPUT_BYTES - 1, INPUT_BYTES + 1)),
        *((Type.PROFILE, n) for n in (0, INPUT_BYTES - 1, INPUT_BYTES + 1)),
        *((kind, 1) for kind in (Type.HELLO, Type.STACK, Type.SELFTEST, Type.CHECK)),
        *((Type.START, n) for n in (1, 8, 67, 69)),
        *((kind, n) for kind in (Type.BAUD, Type.ALARM, Type.EVIDENCE) for n in (0, 3, 5)),
        *((Type.TELEMETRY, n) for n in (0, 15, 17)),
        (Type.RESTART, 1),
    ],
)
def test_wrong_lengths(console, kind, length):
    start(console)
    assert_refused(console, kind, bytes(length), ErrorCode.WRONG_LENGTH)


def test_what_does_not_fit_is_refused_when_its_length_arrives(console):
    console.write(encode(Frame(Type.INFER, 5, bytes(RECEIVE_BYTES + 1)))[:6])
    assert console.frames(1) == [refusal(Type.INFER, ErrorCode.TOO_LONG, 5)]
    console.write(b"\xa5\x5a\x02\x06\xff\xff")
    assert console.frames(1) == [refusal(Type.INFER, ErrorCode.TOO_LONG, 6)]
    # The most that fits is read to its end.
    assert_refused(console, Type.INFER, bytes(RECEIVE_BYTES), ErrorCode.WRONG_LENGTH)


def test_a_damaged_frame_is_refused(console):
    start(console)
    damaged = bytearray(encode(Frame(Type.INFER, 9, bytes(INPUT_BYTES))))
    damaged[12] ^= 4
    console.write(bytes(damaged))
    assert console.frames(1) == [refusal(Type.INFER, ErrorCode.DAMAGED, 9)]


def test_infer_needs_a_stream(console):
    assert_refused(console, Type.INFER, bytes(INPUT_BYTES), ErrorCode.NO_STREAM)
    start(console)
    assert console.ask(Type.INFER, bytes(INPUT_BYTES)).type == Type.INFER | 0x80


def test_a_damaged_image_runs_nothing(firmware):
    with running(firmware, "--damaged") as process:
        console = process.console
        about = hello(console)
        assert about.is_damaged
        assert about.image_crc == 0
        start(console)
        for kind, payload in (
            (Type.INFER, bytes(INPUT_BYTES)),
            (Type.PROFILE, bytes(INPUT_BYTES)),
            (Type.SELFTEST, b""),
            (Type.SETTINGS, Settings().pack()),
        ):
            assert_refused(console, kind, payload, ErrorCode.IMAGE_DAMAGED)
        assert console.say("infer 1") == ["e-[the image is damaged]"]
        linked, found = struct.unpack("<II", console.ask(Type.CHECK).payload[4:])
        assert (linked, found) == (0, zlib.crc32(IMAGE))


def test_a_build_without_heads(baseline):
    with running(baseline) as process:
        console = process.console
        about = hello(console)
        assert (about.has_heads, about.taps) == (False, 0)
        assert (about.settings_check, about.own_settings_check) == (0, 0)
        assert_refused(console, Type.INFER, bytes(INPUT_BYTES), ErrorCode.NO_STREAM)
        start(console, pack_state(StreamState(5, 6, NO_WATCH)))
        data = bytes([7]) + bytes(15)
        result = parsed(console.ask(Type.INFER, data).payload, about)
        assert (result.predicted, result.logits) == (7, expected(data).logits)
        numbers = (result.abstain, result.score_q16, result.rate_q24, result.threshold_q24)
        assert (*numbers, result.surprisal_q16) == (False, 0, 0, 0, ())
        assert (result.foreign, result.foreign_q16, result.watch) == (False, 0, NO_WATCH)
        assert parse_evidence(console.ask(Type.EVIDENCE, bytes(4)).payload, about).capacity == 0
        assert console.ask(Type.TELEMETRY, bytes(16)).payload == b""
        assert_refused(console, Type.SETTINGS, OTHER.pack(), ErrorCode.WRONG_SETTINGS)
        assert struct.unpack("<II", console.ask(Type.SELFTEST).payload) == (3, 2)


# ---- Once ------------------------------------------------------------------------


def test_a_repeated_request_is_answered_again_and_not_carried_out(console):
    about, (x, y) = hello(console), inputs(2, seed=3)
    start(console)
    first = console.frame(Type.INFER, x)
    answer = console.ask_again(first)
    # Noise, zeros, damaged frames and text in between change nothing.
    damaged = encode(first)[:-1] + bytes([encode(first)[-1] ^ 1])
    console.write(damaged + bytes(2000))
    assert console.frames(1)[0].type == Type.ERROR
    console.say("name")
    assert console.ask_again(first) == answer
    assert console.ask_again(first) == answer  # with the count of the one run
    second = parsed(console.ask(Type.INFER, y).payload, about)
    u = np.array([expected(data).uncertainty_q16 for data in (x, y)], np.uint32)
    _, states = fx.budget_run(OWN.controller, u)
    assert [second.rate_q24, second.threshold_q24] == states[1].tolist()
    # The same input with another number is another request.
    assert console.ask(Type.INFER, y).payload != answer.payload


def test_a_repeated_start_does_not_begin_anew(console):
    (x,) = inputs(1)
    begin = console.frame(Type.START)
    console.ask_again(begin)
    assert console.ask_again(begin).type == Type.START | 0x80
    refused = console.frame(Type.INFER, b"")
    assert console.ask_again(refused) == console.ask_again(refused)
    assert console.ask(Type.INFER, x).type == Type.INFER | 0x80


def test_only_the_last_request_is_remembered(console):
    about, (x, y) = hello(console), inputs(2)
    start(console)
    first = console.frame(Type.INFER, x)
    before = parsed(console.ask_again(first).payload, about)
    console.ask(Type.INFER, y)
    after = parsed(console.ask_again(first).payload, about)
    assert after.predicted == before.predicted
    assert after.threshold_q24 != before.threshold_q24


# ---- On the line -----------------------------------------------------------------


def test_noise_before_a_frame(console):
    stack = console.frame(Type.STACK)
    console.write(b"\xa5\x00noise\xa5\xa5" + encode(stack))
    assert console.frames(1)[0].sequence == stack.sequence


def test_zeros_end_a_half_frame(console):
    console.write(encode(Frame(Type.INFER, 200, bytes(INPUT_BYTES)))[:12])
    console.write(bytes(10 + RECEIVE_BYTES))
    assert console.frames(1) == [refusal(Type.INFER, ErrorCode.DAMAGED, 200)]
    assert hello(console).target == "host"
    assert console.say("name") == ["m-name-dut-[snap host]"]


def test_a_second_of_silence_ends_half_a_frame_and_half_a_line(console):
    half = encode(Frame(Type.INFER, 200, bytes(INPUT_BYTES)))[:12]
    console.write(half)
    time.sleep(0.5)
    console.write(half[:1])  # still inside of it
    time.sleep(1.3)
    assert hello(console).target == "host"
    console.write(b"na")
    time.sleep(1.3)
    assert console.say("name") == ["m-name-dut-[snap host]"]


def test_text_and_frames_take_turns(console):
    requests = [console.frame(Type.HELLO) for _ in range(3)]
    console.write(b"%".join([b"name", encode(requests[0]) + b"name", encode(requests[1])]))
    sequences = [frame.sequence for frame in console.frames(2)]
    assert sequences == [request.sequence for request in requests[:2]]
    assert console.read_until(READY) == b"m-name-dut-[snap host]\r\nm-ready\r\n" * 2
    # A frame ends a line that was begun before it.
    console.write(b"na" + encode(requests[2]) + b"me%")
    assert console.frames(1)[0].sequence == requests[2].sequence
    assert console.lines() == ["e-[unknown command]"]


def test_baud_changes_after_the_answer_and_falls_back(firmware):
    with running(firmware) as process:
        console, path = process.console, process.console.path
        answer = console.ask(Type.BAUD, struct.pack("<I", 921600))
        assert answer.payload == struct.pack("<I", 921600)
        wait_for_rate(path, 921600)
        time.sleep(1.0)
        asked = time.monotonic()
        assert hello(console).target == "host"
        wait_for_rate(path, 115200)
        assert time.monotonic() - asked > 2.5  # three seconds from that frame on
        assert_refused(console, Type.BAUD, struct.pack("<I", 123), ErrorCode.UNKNOWN_BAUD)
        wait_for_rate(path, 115200)
        # The same request once more: the host has not followed, so it is carried out.
        request = console.frame(Type.BAUD, struct.pack("<I", 460800))
        assert console.ask_again(request).payload == struct.pack("<I", 460800)
        wait_for_rate(path, 460800)
        wait_for_rate(path, 115200)
        assert console.ask_again(request).payload == struct.pack("<I", 460800)
        wait_for_rate(path, 460800)


@pytest.mark.parametrize("rate", [9600, 921600])
def test_a_rate_does_not_lapse_while_a_frame_arrives(firmware, rate):
    """A frame of 32 KB takes 34 s at 9600 baud; this one 4, and a rate holds for 3."""
    with running(firmware) as process:
        console, path = process.console, process.console.path
        console.ask(Type.BAUD, struct.pack("<I", rate))
        wait_for_rate(path, rate)
        *first, last = encode(Frame(Type.INFER, 200, bytes(30)))
        begun = time.monotonic()
        for number, byte in enumerate(first):
            time.sleep(max(0.0, begun + 4.0 * (number + 1) / len(first) - time.monotonic()))
            console.write(bytes([byte]))
        assert rate_of(path) == rate
        console.write(bytes([last]))
        assert console.frames(1) == [refusal(Type.INFER, ErrorCode.WRONG_LENGTH, 200)]
        assert rate_of(path) == rate
        # Half a frame is forgotten, and then the rate lapses as ever.
        console.write(bytes(first))
        wait_for_rate(path, 115200)


def rate_of(path: str) -> int:
    """Baud."""
    file = os.open(path, os.O_RDWR | os.O_NOCTTY)
    try:
        speed = termios.tcgetattr(file)[4]
    finally:
        os.close(file)
    return next(n for n in (9600, 115200, 460800, 921600) if getattr(termios, f"B{n}") == speed)


def wait_for_rate(path: str, rate: int) -> None:
    """The firmware changes it when an answer has left, or when it falls back."""
    until = time.monotonic() + PATIENCE_S
    while rate_of(path) != rate:
        assert time.monotonic() < until, f"never at {rate} baud"
        time.sleep(0.02)


# ---- Settings ----------------------------------------------------------------------


def push(console: Console, block: bytes) -> int:
    answer = console.ask(Type.SETTINGS, block)
    assert answer.type == Type.SETTINGS | 0x80, answer
    return int.from_bytes(answer.payload, "little")


def test_settings_are_taken_kept_and_given_up(firmware, tmp_path):
    flash = tmp_path / "flash"
    x = bytes(range(INPUT_BYTES))
    with running(firmware, "--settings", str(flash)) as process:
        console = process.console
        about = hello(console)
        assert push(console, OTHER.pack(OWN.check)) == OTHER.check
        # The threshold of a stream was that of other settings.
        assert_refused(console, Type.INFER, x, ErrorCode.NO_STREAM)
        # No controller: no rate and threshold to go on with.
        start(console, pack_state(StreamState(7, 8, NO_WATCH)))
        found = parsed(console.ask(Type.INFER, x).payload, about)
        assert alone(found) == expected(x, OTHER)
        assert (found.rate_q24, found.threshold_q24) == OTHER.start()
        console.ask(Type.RESTART)
        console.lines()
        assert hello(console).settings_check == OTHER.check
    with running(firmware, "--settings", str(flash)) as process:
        console = process.console
        about = hello(console)
        assert (about.settings_check, about.own_settings_check) == (OTHER.check, OWN.check)
        assert struct.unpack("<II", console.ask(Type.SELFTEST).payload) == (3, 3)
        assert push(console, OWN.pack()) == OWN.check
    with running(firmware, "--settings", str(flash)) as process:
        assert hello(process.console).settings_check == OWN.check


def page(block: bytes, sequence: int) -> bytes:
    """As a device writes it: SPEC 3.6."""
    filled = block + bytes(-len(block) % 8) + struct.pack("<I", sequence)
    return (filled + struct.pack("<I", zlib.crc32(filled))).ljust(PAGE_BYTES, b"\xff")


EMPTY = b"\xff" * PAGE_BYTES
THIRD = replace(OTHER, threshold_q16=1)


def test_settings_go_to_the_page_that_is_not_in_use(firmware, tmp_path):
    flash = tmp_path / "flash"
    with running(firmware, "--settings", str(flash)) as process:
        console = process.console
        expected = [EMPTY, EMPTY]
        for number, settings in enumerate((OTHER, THIRD, OWN, OTHER)):
            block = settings.pack(OWN.check)
            assert push(console, block) == settings.check
            expected[number % 2] = page(block, number + 1)
            assert flash.read_bytes() == b"".join(expected)
        # Those in use are not written again.
        assert push(console, OTHER.pack(OWN.check)) == OTHER.check
        assert flash.read_bytes() == b"".join(expected)


@pytest.mark.parametrize(
    ("pages", "in_use"),
    [
        ((page(OTHER.pack(OWN.check), 1), EMPTY), OTHER),
        ((EMPTY, page(OTHER.pack(OWN.check), 1)), OTHER),
        ((page(OTHER.pack(OWN.check), 7), page(THIRD.pack(OWN.check), 8)), THIRD),
        ((page(OTHER.pack(OWN.check), 9), page(THIRD.pack(OWN.check), 8)), OTHER),
        # The number wraps.
        ((page(OTHER.pack(OWN.check), 2**32 - 2), page(THIRD.pack(OWN.check), 1)), THIRD),
        # The newer one is for another image, damaged, or was not written to its end.
        ((page(OTHER.pack(OWN.check), 1), page(THIRD.pack(0), 2)), OTHER),
        ((page(OTHER.pack(OWN.check), 1), page(THIRD.pack(OWN.check)[:-1] + b"\x01", 2)), OTHER),
        ((page(OTHER.pack(OWN.check), 1), THIRD.pack(OWN.check).ljust(PAGE_BYTES, b"\xff")), OTHER),
        ((page(OWN.pack(), 2), page(OTHER.pack(OWN.check), 1)), OWN),
    ],
)
def test_the_newer_of_two_good_pages_is_in_use(firmware, tmp_path, pages, in_use):
    (tmp_path / "flash").write_bytes(b"".join(pages))
    with running(firmware, "--settings", str(tmp_path / "flash")) as process:
        assert hello(process.console).settings_check == in_use.check


@pytest.mark.parametrize(
    "block",
    [
        b"",
        OTHER.pack(OWN.check)[:-4],
        OTHER.pack(OWN.check) + bytes(4),
        b"SNPT" + OTHER.pack(OWN.check)[4:],
        OTHER.pack(OWN.check)[:-1] + b"\x01",  # its check is wrong
        OTHER.pack(0),
        OTHER.pack(OTHER.check),
        Settings(model_id="0123456789abcdee").pack(OWN.check),
        Settings(layout=1).pack(OWN.check),
        Settings(weight_q16=(65536, 1)).pack(OWN.check),
        Settings(controller=fx.Budget(0, 0, 0, ONE_Q24 + 1)).pack(OWN.check),
    ],
)
def test_settings_for_others_are_refused(console, block):
    start(console)
    assert_refused(console, Type.SETTINGS, block, ErrorCode.WRONG_SETTINGS)
    assert hello(console).settings_check == OWN.check
    assert console.ask(Type.INFER, bytes(INPUT_BYTES)).type == Type.INFER | 0x80


@pytest.mark.parametrize(
    "content",
    [
        OTHER.pack(0),  # of another image
        OTHER.pack(OWN.check)[:-1] + b"\x01",
        Settings(layout=1).pack(OWN.check),
        bytes(PAGE_BYTES),
    ],
)
def test_settings_in_flash_that_are_not_for_this_image_are_not_used(firmware, tmp_path, content):
    (tmp_path / "flash").write_bytes(page(content, 1)[:PAGE_BYTES] * 2)
    with running(firmware, "--settings", str(tmp_path / "flash")) as process:
        assert hello(process.console).settings_check == OWN.check


# ---- Faults, and the client of the other side -----------------------------------------


def test_a_fault_is_told_in_both_languages_before_the_restart(firmware):
    with running(firmware) as process:
        console = process.console
        start(console)
        process.process.send_signal(signal.SIGUSR1)
        told = b""
        while not told.endswith(b"m-ready\r\n"):
            told += console.read(PATIENCE_S)
        frame, _, text = told.partition(b"\r\ne-[")
        assert frame[:4] == b"\xa5\x5a\x7e\x00"
        assert encode(Frame(Type.FAULT, 0, frame[6:-4])) == frame
        assert parse_fault(frame[6:-4]) == Fault(
            3, 0x8200, 0x40000000, 0xDEADBEEC, 0x1234, 0x5678, False
        )
        assert text.startswith(b"fault 3, pc 00001234, lr 00005678, address deadbeec")
        assert b"m-init-done\r\n" in text
        assert_refused(console, Type.INFER, bytes(INPUT_BYTES), ErrorCode.NO_STREAM)


def test_the_client_speaks_to_it(firmware):
    with running(firmware) as process, Client(Link(process.console.path)) as client:
        assert client.hello().own_settings_check == OWN.check
        client.start()
        assert client.infer(bytes(INPUT_BYTES)).predicted == 0
        assert client.stack() == Stack(0, 0)
        assert client.push_settings(OTHER.pack(OWN.check)) == OTHER.check
        client.restart()
        assert client.hello().settings_check == OTHER.check
        assert client.text("name") == ["m-name-dut-[snap host]"]
        with pytest.raises(LinkError) as caught:
            client.push_settings(b"nonsense")
        assert caught.value.reason == Reason.REFUSED
