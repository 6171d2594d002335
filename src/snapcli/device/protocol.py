"""The wire protocol of SPEC.md, section 3, from the host's side."""

import struct
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from types import TracebackType
from typing import Self, TypeVar

import serial

from snapcli.errors import DeviceError

PROTOCOL_VERSION = 1
MAGIC = b"\xa5\x5a"
HEADER_BYTES = 6
CRC_BYTES = 4
PAYLOAD_LIMIT = 32768
STAGES = ("backbone", "heads", "classifier", "map")

T = TypeVar("T")

_REPLY = 0x80
_RETRIES = 2
_HELLO = struct.Struct("<HHIHHIBI16s")
_RESULT = struct.Struct("<iiIIQ")
_PAIR = struct.Struct("<II")
_UNITS = ("instructions", "cycles")
_FLAG_EMULATOR = 1
_FLAG_HEADS = 2


class Type(IntEnum):
    """What a frame asks for; an answer has the highest bit set too."""

    HELLO = 0x01
    INFER = 0x02
    PROFILE = 0x03
    STACK = 0x04
    SELFTEST = 0x05
    ERROR = 0xFF


class ErrorCode(IntEnum):
    """Why the device refused a frame."""

    UNKNOWN_TYPE = 1
    WRONG_LENGTH = 2
    TOO_LONG = 3
    DAMAGED = 4


# What a disturbed line does to a frame; everything else is a mistake that repeats.
_DAMAGE = (ErrorCode.TOO_LONG, ErrorCode.DAMAGED)


class _DisturbedError(DeviceError):
    """A frame was lost or damaged: asking again may help."""


@dataclass(frozen=True)
class Frame:
    """One frame of either direction."""

    type: int
    sequence: int  # 0 in what a device sends unasked
    payload: bytes


@dataclass(frozen=True)
class Hello:
    """What runs on the device."""

    protocol_version: int
    model_id: str  # 16 hex digits
    target: str
    input_bytes: int
    classes: int
    taps: int
    arena_bytes: int
    is_emulator: bool
    has_heads: bool
    counter_unit: str  # "instructions" or "cycles"
    counter_step: int  # units between two values the counter can show


@dataclass(frozen=True)
class Inference:
    """The result for one input and what it took."""

    predicted: int
    abstain: bool
    score_q16: int
    uncertainty_q16: int
    surprisal_q16: tuple[int, ...]  # one per tap
    logits: tuple[int, ...]  # one int8 per class
    count: int  # in Hello.counter_unit


@dataclass(frozen=True)
class Profile:
    """An inference whose parts were counted too, which itself takes a little."""

    inference: Inference
    stage_counts: dict[str, int]  # keys are STAGES


@dataclass(frozen=True)
class Stack:
    """Stack use since boot."""

    used_bytes: int
    reserved_bytes: int


@dataclass(frozen=True)
class Selftest:
    """The golden vectors, run on the device."""

    count: int
    first_mismatch: int | None


def encode(frame: Frame) -> bytes:
    """The bytes of a frame."""
    body = struct.pack("<BBH", frame.type, frame.sequence, len(frame.payload)) + frame.payload
    return MAGIC + body + struct.pack("<I", zlib.crc32(body))


class Decoder:
    """Finds frames in a stream of bytes. Keeps count of what was wrong with the rest."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.damaged = 0  # frames with a wrong CRC
        self.skipped = 0  # bytes outside of any frame

    @property
    def inside_frame(self) -> bool:
        """Whether the bytes so far end in the middle of a frame."""
        return len(self._buffer) >= len(MAGIC)

    def feed(self, data: bytes) -> list[Frame]:
        """Take bytes; the frames that they complete."""
        self._buffer += data
        frames = []
        while (frame := self._next()) is not None:
            frames.append(frame)
        return frames

    def _next(self) -> Frame | None:
        buffer = self._buffer
        while True:
            start = buffer.find(MAGIC)
            if start < 0:
                # The last byte may be the first half of a magic.
                start = len(buffer) - buffer.endswith(MAGIC[:1])
            self.skipped += start
            del buffer[:start]
            if len(buffer) < HEADER_BYTES:
                return None
            kind, sequence, length = struct.unpack_from("<BBH", buffer, len(MAGIC))
            end = HEADER_BYTES + length
            if length <= PAYLOAD_LIMIT:
                if len(buffer) < end + CRC_BYTES:
                    return None
                (crc,) = struct.unpack_from("<I", buffer, end)
                if zlib.crc32(buffer[len(MAGIC) : end]) == crc:
                    frame = Frame(kind, sequence, bytes(buffer[HEADER_BYTES:end]))
                    del buffer[: end + CRC_BYTES]
                    return frame
                self.damaged += 1
            # No frame starts here, but one may start inside of what looked like it.
            del buffer[: len(MAGIC)]


class Client:
    """Asks one question at a time and waits for its answer.

    timeout_s is the longest silence of a device that has nothing to compute or is in
    the middle of an answer; work_timeout_s is the time that an inference, or the
    whole self-test, may take. Use as a context manager to close the port.
    """

    def __init__(
        self, port: serial.Serial, timeout_s: float = 2.0, work_timeout_s: float = 60.0
    ) -> None:
        self._port = port
        self._timeout_s = timeout_s
        self._work_timeout_s = work_timeout_s
        self._sequence = 0
        self._hello: Hello | None = None
        self.repeats = 0  # requests sent again; the device may have worked for both

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._port.close()

    def hello(self) -> Hello:
        """Who is there. Called before anything else by itself."""
        payload = self.request(Type.HELLO)
        # The version comes first and stays there, so that it can be told at all.
        version = int.from_bytes(payload[:2], "little")
        if version != PROTOCOL_VERSION:
            raise DeviceError(
                f"The device at {self._port.port} speaks protocol {version},"
                f" this snap speaks {PROTOCOL_VERSION}.",
                "Build and flash the firmware again.",
            )
        self._hello = self._unpack(_parse_hello, payload)
        return self._hello

    def infer(self, data: bytes) -> Inference:
        """Run the model on int8 input bytes, Hello.input_bytes of them."""
        shape = self._checked(data)
        payload = self.request(Type.INFER, data, self._work_timeout_s)
        return self._unpack(lambda p: _parse_inference(p, shape), payload)

    def profile(self, data: bytes) -> Profile:
        """As infer, with the count of every stage."""
        shape = self._checked(data)
        payload = self.request(Type.PROFILE, data, self._work_timeout_s)
        return self._unpack(lambda p: _parse_profile(p, shape), payload)

    def stack(self) -> Stack:
        """Stack use since boot."""
        return Stack(*self._unpack(_PAIR.unpack, self.request(Type.STACK)))

    def selftest(self) -> Selftest:
        """Run the golden vectors that the firmware carries."""
        payload = self.request(Type.SELFTEST, timeout_s=self._work_timeout_s)
        count, first = self._unpack(_PAIR.unpack, payload)
        return Selftest(count, first if first < count else None)

    def request(self, kind: int, payload: bytes = b"", timeout_s: float | None = None) -> bytes:
        """The payload of the answer to one request.

        A lost or damaged frame is asked for again, at most twice; after that, and for
        a request the device refuses, a DeviceError says what happened.
        """
        for attempt in range(1 + _RETRIES):
            if attempt:
                self.repeats += 1
                self._resynchronize()
            # A number of its own, so that no late answer to an earlier attempt counts.
            # Never 0: that is what a device says unasked when it boots.
            self._sequence = self._sequence % 255 + 1
            request = Frame(kind, self._sequence, payload)
            self._write(encode(request))
            try:
                return self._answer(request, timeout_s or self._timeout_s)
            except _DisturbedError as error:
                problem = error
        raise problem

    def _answer(self, request: Frame, timeout_s: float) -> bytes:
        """The payload of the answer to a request that has just been sent."""
        decoder = Decoder()
        port = self._port.port
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0:
            data = self._read(min(left, self._timeout_s) if decoder.inside_frame else left)
            for frame in decoder.feed(data):
                if frame.sequence != request.sequence:
                    continue  # the answer to a request we have given up, or a boot
                if frame.type == request.type | _REPLY:
                    return frame.payload
                if frame.type == Type.ERROR and len(frame.payload) == 2:
                    raise self._refusal(request, frame.payload[0])
            if decoder.damaged or (decoder.inside_frame and not data):
                break
        if decoder.damaged:
            raise _DisturbedError(
                f"Answers of the device at {port} arrive damaged.",
                "Check the cable, or use another USB port.",
            )
        if decoder.inside_frame:
            raise _DisturbedError(
                f"The device at {port} stopped in the middle of an answer.",
                "Reset the board and try again.",
            )
        if decoder.skipped:
            raise _DisturbedError(
                f"The device at {port} answers, but not in snap's protocol.",
                "Is it the right port? If so, build and flash the firmware again.",
            )
        raise _DisturbedError(
            f"The device at {port} does not answer.",
            "Reset the board; if that does not help, flash the firmware or name another port.",
        )

    def _refusal(self, request: Frame, code: int) -> DeviceError:
        name = next((known.name for known in ErrorCode if known == code), f"code {code}")
        kind = _DisturbedError if code in _DAMAGE else DeviceError
        return kind(
            f"The device at {self._port.port} refused request"
            f" 0x{request.type:02x}: {name.lower().replace('_', ' ')}.",
            "Build and flash the firmware of this run again.",
        )

    def _resynchronize(self) -> None:
        """Bring both sides back to the start of a frame.

        Zeros complete whatever half frame the device is waiting for, and are skipped
        otherwise. Then everything it says is dropped until it has been quiet.
        """
        longest = self._hello.input_bytes if self._hello else PAYLOAD_LIMIT
        self._write(bytes(longest + HEADER_BYTES + CRC_BYTES))
        until = time.monotonic() + self._timeout_s
        while time.monotonic() < until and self._read(0.05):
            pass

    def _checked(self, data: bytes) -> Hello:
        shape = self._hello or self.hello()
        if len(data) != shape.input_bytes:
            raise DeviceError(
                f"The device wants inputs of {shape.input_bytes} bytes, not {len(data)}.",
                "Build and flash the firmware of this run.",
            )
        return shape

    def _unpack(self, parse: Callable[[bytes], T], payload: bytes) -> T:
        try:
            return parse(payload)
        except (struct.error, ValueError, IndexError) as error:
            raise DeviceError(
                f"The device at {self._port.port} sent an answer of the wrong form.",
                "Build and flash the firmware again.",
            ) from error

    def _read(self, timeout_s: float) -> bytes:
        """The bytes that are there, or those that come within the time."""
        try:
            self._port.timeout = timeout_s
            data: bytes = self._port.read(max(1, self._port.in_waiting))
        except (OSError, serial.SerialException) as error:
            raise self._gone() from error
        return data

    def _write(self, data: bytes) -> None:
        try:
            self._port.write(data)
        except serial.SerialTimeoutException as error:
            raise DeviceError(
                f"The device at {self._port.port} does not read what it is sent.",
                "Reset the board and try again.",
            ) from error
        except (OSError, serial.SerialException) as error:
            raise self._gone() from error

    def _gone(self) -> DeviceError:
        return DeviceError(
            f"The port {self._port.port} went away.", "Plug the board in again and try again."
        )


def _parse_hello(payload: bytes) -> Hello:
    fields = _HELLO.unpack_from(payload)
    version, flags, input_bytes, classes, taps, arena_bytes, unit, step, model_id = fields
    return Hello(
        protocol_version=version,
        model_id=model_id.decode("ascii"),
        target=payload[_HELLO.size :].decode("ascii"),
        input_bytes=input_bytes,
        classes=classes,
        taps=taps,
        arena_bytes=arena_bytes,
        is_emulator=bool(flags & _FLAG_EMULATOR),
        has_heads=bool(flags & _FLAG_HEADS),
        counter_unit=_UNITS[unit],
        counter_step=step,
    )


def _parse_inference(payload: bytes, shape: Hello) -> Inference:
    predicted, abstain, score, uncertainty, count = _RESULT.unpack_from(payload)
    rest = struct.unpack(f"<{shape.taps}I{shape.classes}b", payload[_RESULT.size :])
    return Inference(
        predicted=predicted,
        abstain=bool(abstain),
        score_q16=score,
        uncertainty_q16=uncertainty,
        surprisal_q16=rest[: shape.taps],
        logits=rest[shape.taps :],
        count=count,
    )


def _parse_profile(payload: bytes, shape: Hello) -> Profile:
    stages = struct.Struct(f"<{len(STAGES)}Q")
    split = len(payload) - stages.size
    counts = stages.unpack(payload[split:])
    return Profile(
        inference=_parse_inference(payload[:split], shape),
        stage_counts=dict(zip(STAGES, counts, strict=True)),
    )
