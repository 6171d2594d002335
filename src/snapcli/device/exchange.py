"""One request and its answer, over a line that may disturb both (SPEC.md, 3.1 to 3.4)."""

import random
import struct
import time

from snapcli.device.failure import DISTURBED, LinkError, Reason
from snapcli.device.frame import CRC_BYTES, HEADER_BYTES, PAYLOAD_LIMIT, Decoder, Frame, encode
from snapcli.device.messages import REPLY, ErrorCode, Type, parse_fault
from snapcli.device.transport import Link

BOOTED = b"m-init-done"
READY = "m-ready"

_REPEATS = 2
_QUIET_S = 0.05
# The device drops a half frame after a second of silence.
_FORGOTTEN_S = 1.1
_BITS_PER_BYTE = 10  # on the line: with start and stop
_FLASH_AGAIN = "Build and flash the firmware of this run again."
_REFUSALS: dict[int, tuple[Reason, str, str]] = {
    ErrorCode.UNKNOWN_TYPE: (Reason.REFUSED, "unknown type", _FLASH_AGAIN),
    ErrorCode.WRONG_LENGTH: (Reason.REFUSED, "wrong length", _FLASH_AGAIN),
    ErrorCode.TOO_LONG: (Reason.DAMAGED, "longer than it has room for", _FLASH_AGAIN),
    ErrorCode.DAMAGED: (
        Reason.DAMAGED,
        "it arrived damaged",
        "Check the cable, or use another USB port.",
    ),
    ErrorCode.NO_STREAM: (Reason.NO_STREAM, "no stream was started", "Start one first."),
    ErrorCode.IMAGE_DAMAGED: (
        Reason.REFUSED,
        "its flash does not hold what was written to it",
        "Flash it again: snap flash",
    ),
    ErrorCode.WRONG_SETTINGS: (
        Reason.REFUSED,
        "these settings are not for its image",
        "Push the settings of the run that was flashed, or flash this one.",
    ),
    ErrorCode.FLASH_FAILED: (
        Reason.REFUSED,
        "its flash could not be written",
        "Try again; if it stays so, the board's flash is worn out or locked.",
    ),
    ErrorCode.UNKNOWN_BAUD: (Reason.REFUSED, "unknown baud rate", "Choose another rate."),
}


class Exchange:
    """Asks one question at a time and waits for its answer.

    timeout_s is the longest silence of a device that has nothing to compute or is in the
    middle of an answer. longest_payload is the most that the device stores of a frame.
    """

    def __init__(self, link: Link, timeout_s: float) -> None:
        self.link = link
        self.timeout_s = timeout_s
        self.longest_payload = PAYLOAD_LIMIT
        self.repeats = 0  # requests that were sent again
        self.answered_at = time.monotonic()  # the last answer, on the monotonic clock
        # Not that of the program before us, whose last request the device remembers.
        self._sequence = random.randrange(1, 256)

    def request(self, kind: int, payload: bytes = b"") -> Frame:
        """A frame with the next sequence number; never 0, which is what comes unasked."""
        self._sequence = self._sequence % 255 + 1
        return Frame(kind, self._sequence, payload)

    def ask(self, request: Frame, timeout_s: float | None = None, repeats: int = _REPEATS) -> bytes:
        """The payload of the answer.

        A request whose answer is lost or damaged is sent again, the same bytes: the device
        carries it out once. After that, and for one that it refuses, a LinkError says what
        happened.
        """
        for attempt in range(1 + repeats):
            if attempt:
                self.repeats += 1
                self._resynchronize()
            self.link.write(encode(request))
            try:
                answer = self._answer(request, timeout_s or self.timeout_s)
            except LinkError as error:
                if error.reason not in DISTURBED:
                    raise
                problem = error
            else:
                self.answered_at = time.monotonic()
                return answer
        raise problem

    def lines(self, timeout_s: float) -> list[str]:
        """Lines of text up to the one that says ready, which is left out."""
        decoder = Decoder()
        until = time.monotonic() + timeout_s
        while (left := until - time.monotonic()) > 0:
            for frame in decoder.feed(self.link.read(left)):
                self._raise_fault(frame)
            lines = decoder.text.decode("ascii", "replace").split("\r\n")
            if READY in lines[:-1]:
                return lines[: lines.index(READY)]
        raise self._silent()

    def _answer(self, request: Frame, timeout_s: float) -> bytes:
        """The payload of the answer to a request that has just been sent."""
        decoder = Decoder()
        deadline = time.monotonic() + timeout_s
        while (left := deadline - time.monotonic()) > 0 and not decoder.damaged:
            data = self.link.read(min(left, self.timeout_s) if decoder.inside_frame else left)
            for frame in decoder.feed(data) if data else decoder.abandon():
                self._raise_fault(frame)
                self._raise_refusal(request, frame)
                if (frame.type, frame.sequence) == (request.type | REPLY, request.sequence):
                    return frame.payload
                # Others answer a request we have given up.
            if BOOTED in decoder.text[-len(data) - len(BOOTED) :]:
                # It has just started: no work of ours keeps it from answering.
                deadline = min(deadline, time.monotonic() + self.timeout_s)
        if decoder.inside_frame or (decoder.damaged and not data):
            raise LinkError(
                Reason.CUT_OFF,
                f"The device at {self.link.path} stopped in the middle of an answer.",
                "Reset the board and try again.",
            )
        if decoder.damaged:
            raise LinkError(
                Reason.DAMAGED,
                f"Answers of the device at {self.link.path} arrive damaged.",
                "Check the cable, or use another USB port.",
            )
        if decoder.text and BOOTED not in decoder.text:
            raise LinkError(
                Reason.FOREIGN,
                f"The device at {self.link.path} answers, but not in snap's protocol.",
                "Is it the right port? If so, build and flash the firmware again.",
            )
        raise self._silent()

    def _raise_fault(self, frame: Frame) -> None:
        if frame.type != Type.FAULT or frame.sequence != 0:
            return
        try:
            fault = parse_fault(frame.payload)
        except struct.error:
            return  # not one of ours
        where = f" at address 0x{fault.address:08x}" if fault.address else ""
        raise LinkError(
            Reason.FAULT,
            f"The firmware at {self.link.path} faulted: {fault.kind}{where},"
            f" pc 0x{fault.pc:08x}, lr 0x{fault.lr:08x}. The device has started anew.",
            "Find the line: arm-none-eabi-addr2line -fie firmware.elf"
            f" 0x{fault.pc:08x} 0x{fault.lr:08x}",
        )

    def _raise_refusal(self, request: Frame, frame: Frame) -> None:
        if frame.type != Type.ERROR or len(frame.payload) != 2:
            return
        code, refused = frame.payload
        # A damaged frame may have lost its number, too; asking again does no harm.
        if frame.sequence != request.sequence and code not in (
            ErrorCode.DAMAGED,
            ErrorCode.TOO_LONG,
        ):
            return
        unknown = (Reason.REFUSED, f"error {code}", _FLASH_AGAIN)
        reason, text, hint = _REFUSALS.get(code, unknown)
        raise LinkError(
            reason,
            f"The device at {self.link.path} refused request 0x{refused:02x}: {text}.",
            hint,
        )

    def _resynchronize(self) -> None:
        """Bring both sides back to the start of a frame.

        Zeros complete whatever half frame the device is waiting for, and are skipped
        otherwise. Where so many would take longer than the device remembers a half frame, we
        are silent instead. What it says meanwhile is dropped.
        """
        zeros = HEADER_BYTES + self.longest_payload + CRC_BYTES
        if zeros * _BITS_PER_BYTE < _FORGOTTEN_S * self.link.baud:
            self.link.write(bytes(zeros))
            self.link.drop_input(min(_QUIET_S, self.timeout_s), self.timeout_s)
        else:
            self.link.drop_input(_FORGOTTEN_S, _FORGOTTEN_S)

    def _silent(self) -> LinkError:
        return LinkError(
            Reason.SILENT,
            f"The device at {self.link.path} does not answer.",
            "Reset the board; if that does not help, flash the firmware or name another port.",
        )
