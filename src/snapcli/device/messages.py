"""What frames carry (SPEC.md, 3.2 to 3.5): requests, answers, refusals, faults."""

import struct
from dataclasses import dataclass
from enum import IntEnum

PROTOCOL_VERSION = 3
REPLY = 0x80

_HELLO = struct.Struct("<HHIHHHBBIIIIII16s")
_RESULT = struct.Struct("<iiIIiIQii")
_PAIR = struct.Struct("<II")
_CHECK = struct.Struct("<III")
_STATE = struct.Struct("<ii")
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
class StreamState:
    """Where a stream stands, Q24 in [0, 2^24]: enough to go on with it."""

    rate_q24: int
    threshold_q24: int


@dataclass(frozen=True)
class Inference:
    """The result for one input and what it took; rate and threshold are those after it."""

    predicted: int
    abstain: bool
    score_q16: int
    uncertainty_q16: int
    foreign: bool
    foreign_q16: int
    count: int  # in Hello.counter_unit
    rate_q24: int
    threshold_q24: int
    surprisal_q16: tuple[int, ...]  # one per tap
    logits: tuple[int, ...]  # one int8 per class


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
    predicted, abstain, score, uncertainty, foreign, foreign_q16, count, rate, threshold = fields
    rest = struct.unpack(f"<{hello.taps}I{hello.classes}b", payload[_RESULT.size :])
    return Inference(
        predicted=predicted,
        abstain=bool(abstain),
        score_q16=score,
        uncertainty_q16=uncertainty,
        foreign=bool(foreign),
        foreign_q16=foreign_q16,
        count=count,
        rate_q24=rate,
        threshold_q24=threshold,
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


def parse_nothing(payload: bytes) -> None:
    if payload:
        raise ValueError("an answer that should be empty")


def pack_word(value: int) -> bytes:
    return _WORD.pack(value)


def pack_state(state: StreamState | None) -> bytes:
    return _STATE.pack(state.rate_q24, state.threshold_q24) if state else b""
