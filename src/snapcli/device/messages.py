"""What frames carry (SPEC.md, 3.2 to 3.5): requests, answers, refusals, faults."""

import struct
from dataclasses import dataclass, replace
from enum import IntEnum

PROTOCOL_VERSION = 4
REPLY = 0x80

_HELLO = struct.Struct("<HHIHHHBBIIIIII16s")
_RESULT = struct.Struct("<iiIIiIQ")
_PAIR = struct.Struct("<II")
_CHECK = struct.Struct("<III")
_BUDGET = struct.Struct("<ii")
_WATCH = struct.Struct("<iiIIIHHBB32s2x")
_STATE_BYTES = _BUDGET.size + _WATCH.size
_KEPT = struct.Struct("<IIIIi")
_ASKED = struct.Struct("<IIQ")
_RECORD_BYTES = 124  # SPEC 4
_FAULT = struct.Struct("<7I")
_WORD = struct.Struct("<I")
_UNITS = ("instructions", "cycles", "nanoseconds")
_EMULATOR, _HEADS, _DAMAGED = 1, 2, 4


class Type(IntEnum):
    """What a frame asks for; an answer has the highest bit set too."""

    HELLO = 0x01
    INFER = 0x02
    PROFILE = 0x03
    STACK = 0x04
    SELFTEST = 0x05
    CHECK = 0x06
    START = 0x07
    SETTINGS = 0x08
    BAUD = 0x09
    RESTART = 0x0A
    ALARM = 0x0B
    EVIDENCE = 0x0C
    TELEMETRY = 0x0D
    FAULT = 0x7E
    ERROR = 0xFF


class ErrorCode(IntEnum):
    """Why the device refused a frame."""

    UNKNOWN_TYPE = 1
    WRONG_LENGTH = 2
    TOO_LONG = 3
    DAMAGED = 4
    NO_STREAM = 5
    IMAGE_DAMAGED = 6
    WRONG_SETTINGS = 7
    FLASH_FAILED = 8
    UNKNOWN_BAUD = 9
    UNKNOWN_ACTION = 10


class AlarmAction(IntEnum):
    """What ALARM does: say where it stands, end it, or take its baseline anew."""

    LOOK = 0
    CLEAR = 1
    LEARN = 2


@dataclass(frozen=True)
class Hello:
    """What runs on the device. Checks and CRCs are CRC-32."""

    protocol_version: int
    model_id: str  # 16 hex digits
    target: str
    input_bytes: int
    classes: int
    taps: int
    steps: int
    arena_bytes: int
    is_emulator: bool
    has_heads: bool
    is_damaged: bool  # the image is not the one that was linked
    counter_unit: str  # "instructions", "cycles" or "nanoseconds"
    counter_step: int  # units between two values the counter can show
    counter_hz: int  # steps in a second
    image_crc: int
    settings_check: int  # of the settings in use
    own_settings_check: int  # of those that the image carries


@dataclass(frozen=True)
class Watch:
    """What an alarm remembers of its stream: struct snapuq_alarm_state of firmware/snapuq.

    right_q24 is the estimated accuracy; baseline_left: frames until the baseline is complete, and
    no alarm before; alarms: how many there were; window: bins, four bits each.
    """

    statistic_q16: int
    offset_q16: int
    frames: int
    right_q24: int
    baseline_sum_q16: int
    baseline_left: int
    alarms: int
    on: bool
    place: int
    window: bytes


@dataclass(frozen=True)
class StreamState:
    """Where a stream stands, rate and threshold Q24 in [0, 2^24]: enough to go on with it."""

    rate_q24: int
    threshold_q24: int
    watch: Watch


@dataclass(frozen=True)
class Inference:
    """The result for one input and what it took; rate, threshold and watch are those after it."""

    predicted: int
    abstain: bool
    score_q16: int
    uncertainty_q16: int
    foreign: bool
    foreign_q16: int
    count: int  # in Hello.counter_unit
    rate_q24: int
    threshold_q24: int
    watch: Watch
    surprisal_q16: tuple[int, ...]  # one per tap
    logits: tuple[int, ...]  # one int8 per class

    @property
    def state(self) -> StreamState:
        return StreamState(self.rate_q24, self.threshold_q24, self.watch)


@dataclass(frozen=True)
class Kept:
    """An input that the device kept, int8, and what it answered; value_q16: by which it is among
    the largest; frame: of its stream, from 1."""

    frame: int
    value_q16: int
    uncertainty_q16: int
    foreign_q16: int
    predicted: int
    data: bytes


@dataclass(frozen=True)
class Evidence:
    """capacity: inputs that a device may keep, 0 if it was built to keep none; kept: the one that
    was asked for, None if there are not so many."""

    capacity: int
    count: int
    kept: Kept | None


@dataclass(frozen=True)
class Profile:
    """An inference whose steps were counted too, which itself takes a little."""

    inference: Inference
    step_counts: tuple[int, ...]  # in Hello.counter_unit, in the order of export.json


@dataclass(frozen=True)
class Stack:
    """Stack use since boot; both 0 where it is not known."""

    used_bytes: int
    reserved_bytes: int


@dataclass(frozen=True)
class Selftest:
    """The golden vectors, run on the device."""

    count: int
    first_mismatch: int | None


@dataclass(frozen=True)
class ImageCheck:
    """The image in the device's flash; a device that does not know its image has 0 bytes."""

    bytes: int
    linked_crc: int
    computed_crc: int


_EXCEPTIONS = {2: "NMI", 3: "hard fault", 4: "memory fault", 5: "bus fault", 6: "usage fault"}
# Bits of the CFSR that say what the code did (Armv7-M and Armv8-M architecture manuals).
_CAUSES = {
    0: "code fetched from where none may be",
    1: "data touched where none may be",
    8: "code fetched from no memory",
    9: "data touched where no memory is",
    10: "data written, some instructions ago, where no memory is",
    16: "undefined instruction",
    17: "jump to an even address",
    18: "broken return from an exception",
    19: "floating point while it is off",
    20: "stack limit reached",
    24: "unaligned access",
    25: "division by zero",
}


@dataclass(frozen=True)
class Fault:
    """What the core knew when the firmware faulted; an address of 0 is not known."""

    exception: int
    cfsr: int
    hfsr: int
    address: int
    pc: int
    lr: int
    stack_overflow: bool

    @property
    def kind(self) -> str:
        """In words: the exception and, if the core knows, what the code did."""
        if self.stack_overflow:
            return "stack overflow"
        name = _EXCEPTIONS.get(self.exception, f"exception {self.exception}")
        causes = [text for bit, text in _CAUSES.items() if self.cfsr >> bit & 1]
        return f"{name} ({', '.join(causes)})" if causes else name


# ---- Bytes <-> objects. What does not fit raises struct.error, ValueError or IndexError. ----


def parse_version(payload: bytes) -> int:
    """The version comes first in every version, so that it can always be read."""
    return int.from_bytes(payload[:2], "little")


def parse_hello(payload: bytes) -> Hello:
    fields = _HELLO.unpack_from(payload)
    version, flags, input_bytes, classes, taps, steps, unit, _zero, *rest = fields
    counter_step, counter_hz, arena_bytes, image_crc, settings, own_settings, model_id = rest
    return Hello(
        protocol_version=version,
        model_id=model_id.decode("ascii"),
        target=payload[_HELLO.size :].decode("ascii"),
        input_bytes=input_bytes,
        classes=classes,
        taps=taps,
        steps=steps,
        arena_bytes=arena_bytes,
        is_emulator=bool(flags & _EMULATOR),
        has_heads=bool(flags & _HEADS),
        is_damaged=bool(flags & _DAMAGED),
        counter_unit=_UNITS[unit],
        counter_step=counter_step,
        counter_hz=counter_hz,
        image_crc=image_crc,
        settings_check=settings,
        own_settings_check=own_settings,
    )


def parse_inference(payload: bytes, hello: Hello) -> Inference:
    fields = _RESULT.unpack_from(payload)
    predicted, abstain, score, uncertainty, foreign, foreign_q16, count = fields
    behind = _RESULT.size + _STATE_BYTES
    state = parse_state(payload[_RESULT.size : behind])
    rest = struct.unpack(f"<{hello.taps}I{hello.classes}b", payload[behind:])
    return Inference(
        predicted=predicted,
        abstain=bool(abstain),
        score_q16=score,
        uncertainty_q16=uncertainty,
        foreign=bool(foreign),
        foreign_q16=foreign_q16,
        count=count,
        rate_q24=state.rate_q24,
        threshold_q24=state.threshold_q24,
        watch=state.watch,
        surprisal_q16=rest[: hello.taps],
        logits=rest[hello.taps :],
    )


def parse_profile(payload: bytes, hello: Hello) -> Profile:
    split = len(payload) - 4 * hello.steps
    if split < 0:
        raise ValueError("too short for its steps")
    counts = struct.unpack(f"<{hello.steps}I", payload[split:])
    return Profile(parse_inference(payload[:split], hello), counts)


def parse_stack(payload: bytes) -> Stack:
    return Stack(*_PAIR.unpack(payload))


def parse_selftest(payload: bytes) -> Selftest:
    count, first = _PAIR.unpack(payload)
    return Selftest(count, first if first < count else None)


def parse_check(payload: bytes) -> ImageCheck:
    return ImageCheck(*_CHECK.unpack(payload))


def parse_fault(payload: bytes) -> Fault:
    exception, cfsr, hfsr, address, pc, lr, overflow = _FAULT.unpack(payload)
    return Fault(exception, cfsr, hfsr, address, pc, lr, bool(overflow))


def parse_word(payload: bytes) -> int:
    return int(_WORD.unpack(payload)[0])


def parse_evidence(payload: bytes, hello: Hello) -> Evidence:
    capacity, count = _PAIR.unpack_from(payload)
    rest = payload[_PAIR.size :]
    if not rest:
        return Evidence(capacity, count, None)
    data = rest[_KEPT.size :]
    if len(data) != hello.input_bytes:
        raise ValueError("not as long as an input")
    frame, value, uncertainty, foreign, predicted = _KEPT.unpack_from(rest)
    return Evidence(capacity, count, Kept(frame, value, uncertainty, foreign, predicted, data))


def parse_record(payload: bytes) -> bytes:
    if len(payload) not in (0, _RECORD_BYTES):
        raise ValueError("not as long as a telemetry record")
    return payload


def parse_nothing(payload: bytes) -> None:
    if payload:
        raise ValueError("an answer that should be empty")


def pack_word(value: int) -> bytes:
    return _WORD.pack(value)


def parse_state(payload: bytes) -> StreamState:
    if len(payload) != _STATE_BYTES:
        raise ValueError("not the state of a stream")
    rate, threshold = _BUDGET.unpack_from(payload)
    watch = Watch(*_WATCH.unpack_from(payload, _BUDGET.size))
    return StreamState(rate, threshold, replace(watch, on=bool(watch.on)))


def pack_telemetry(take: bool, now_s: int, device: int) -> bytes:
    return _ASKED.pack(take, now_s, device)


def pack_state(state: StreamState | None) -> bytes:
    if state is None:
        return b""
    budget = _BUDGET.pack(state.rate_q24, state.threshold_q24)
    return budget + _WATCH.pack(*vars(state.watch).values())
