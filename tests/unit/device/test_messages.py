"""Payloads: whatever arrives is an answer of exactly its form, or an error that is expected."""

import struct
from dataclasses import astuple, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.device import Evidence, Inference, Kept, StreamState, Watch, messages
from snapcli.device.messages import Hello

from .fake_device import FIRST, packed, watching

EXPECTED = (struct.error, ValueError, IndexError)
u16, u32 = st.integers(0, 0xFFFF), st.integers(0, 0xFFFFFFFF)
i32 = st.integers(-(2**31), 2**31 - 1)
u8 = st.integers(0, 255)
watches = st.builds(
    Watch,
    statistic_q16=i32,
    offset_q16=i32,
    frames=u32,
    right_q24=u32,
    baseline_sum_q16=u32,
    baseline_left=u16,
    alarms=u16,
    on=st.booleans(),
    place=u8,
    window=st.binary(min_size=32, max_size=32),
)
small = st.integers(0, 5)
hex_digits = st.text("0123456789abcdef", min_size=16, max_size=16)


@st.composite
def hellos(draw: st.DrawFn) -> tuple[Hello, bytes]:
    """What a device means and the bytes that SPEC.md, 3.2, makes of it."""
    unit = draw(st.integers(0, 2))
    flags = draw(st.integers(0, 7))
    input_bytes, step, hz, arena, image, settings_check, own = (draw(u32) for _ in range(7))
    classes, taps, steps = draw(small), draw(small), draw(small)
    model_id, target = draw(hex_digits), draw(st.text("abc-0123", max_size=12))
    written = b"".join(
        (
            struct.pack("<HHI", 3, flags, input_bytes),
            struct.pack("<HHHBB", classes, taps, steps, unit, 0),
            struct.pack("<IIIIII", step, hz, arena, image, settings_check, own),
            model_id.encode() + target.encode(),
        )
    )
    meant = Hello(
        protocol_version=3,
        model_id=model_id,
        target=target,
        input_bytes=input_bytes,
        classes=classes,
        taps=taps,
        steps=steps,
        arena_bytes=arena,
        is_emulator=bool(flags & 1),
        has_heads=bool(flags & 2),
        is_damaged=bool(flags & 4),
        counter_unit=("instructions", "cycles", "nanoseconds")[unit],
        counter_step=step,
        counter_hz=hz,
        image_crc=image,
        settings_check=settings_check,
        own_settings_check=own,
    )
    return meant, written


@given(hellos())
def test_hello(pair: tuple[Hello, bytes]) -> None:
    meant, packed = pair
    assert messages.parse_hello(packed) == meant
    with pytest.raises(EXPECTED):
        messages.parse_hello(packed[:55])


@given(hellos(), st.data())
def test_results_have_the_shape_that_hello_tells(
    pair: tuple[Hello, bytes], data: st.DataObject
) -> None:
    hello, _ = pair
    meant = Inference(
        predicted=data.draw(i32),
        abstain=data.draw(st.booleans()),
        score_q16=data.draw(u32),
        uncertainty_q16=data.draw(u32),
        foreign=data.draw(st.booleans()),
        foreign_q16=data.draw(u32),
        count=data.draw(st.integers(0, 2**64 - 1)),
        rate_q24=data.draw(i32),
        threshold_q24=data.draw(i32),
        watch=data.draw(watches),
        surprisal_q16=tuple(data.draw(u32) for _ in range(hello.taps)),
        logits=tuple(data.draw(st.integers(-128, 127)) for _ in range(hello.classes)),
    )
    counts = tuple(data.draw(u32) for _ in range(hello.steps))
    fixed = astuple(meant)[:9]
    result = struct.pack("<iiIIiIQii", *fixed) + packed(meant.watch)
    result += b"".join(value.to_bytes(4, "little") for value in meant.surprisal_q16)
    result += b"".join(value.to_bytes(1, "little", signed=True) for value in meant.logits)
    assert messages.parse_inference(result, hello) == meant
    profile = messages.parse_profile(result + struct.pack(f"<{len(counts)}I", *counts), hello)
    assert (profile.inference, profile.step_counts) == (meant, counts)
    for wrong in (result[:-1], result + b"\0"):
        with pytest.raises(EXPECTED):
            messages.parse_inference(wrong, hello)


@given(st.binary(max_size=200), hellos())
def test_anything_else_is_an_expected_error(payload: bytes, pair: tuple[Hello, bytes]) -> None:
    hello, _ = pair
    parsers = (
        *(messages.parse_hello, messages.parse_stack, messages.parse_selftest),
        *(messages.parse_check, messages.parse_fault, messages.parse_word),
        *(messages.parse_nothing, messages.parse_version),
        lambda data: messages.parse_inference(data, hello),
        lambda data: messages.parse_profile(data, hello),
        lambda data: messages.parse_evidence(data, hello),
        messages.parse_state,
    )
    understood = 0
    for parse in parsers:
        try:
            parse(payload)
            understood += 1
        except EXPECTED:
            pass
    assert understood >= 1  # the version can always be told


def test_the_state_of_a_stream() -> None:
    assert messages.pack_state(None) == b""
    state = StreamState(1, -2, watching(FIRST, 5))
    written = b"\x01\0\0\0\xfe\xff\xff\xff" + packed(state.watch)
    assert messages.pack_state(state) == written
    assert messages.parse_state(written) == state


@given(st.binary(max_size=130))
def test_a_telemetry_record_is_whole_or_not_there(payload: bytes) -> None:
    if len(payload) in (0, 124):
        assert messages.parse_record(payload) == payload
    else:
        with pytest.raises(EXPECTED):
            messages.parse_record(payload)


def test_a_whole_telemetry_record() -> None:
    assert messages.parse_record(bytes(124)) == bytes(124)


@given(hellos(), u32, u32, st.data())
def test_an_input_that_was_kept(
    pair: tuple[Hello, bytes], capacity: int, count: int, data: st.DataObject
) -> None:
    hello = replace(pair[0], input_bytes=data.draw(st.integers(1, 40)))
    content = data.draw(st.binary(min_size=hello.input_bytes, max_size=hello.input_bytes))
    numbers = (*(data.draw(u32) for _ in range(4)), data.draw(i32))
    head = struct.pack("<II", capacity, count)
    written = head + struct.pack("<IIIIi", *numbers) + content
    meant = Evidence(capacity, count, Kept(*numbers, content))
    assert messages.parse_evidence(written, hello) == meant
    assert messages.parse_evidence(head, hello) == Evidence(capacity, count, None)
    for wrong in (written[:-1], written + b"\0", head[:-1]):
        with pytest.raises(EXPECTED):
            messages.parse_evidence(wrong, hello)
