"""Frames (SPEC.md, 3.1), and how to find them in a stream of bytes."""

import struct
import zlib
from dataclasses import dataclass

MAGIC = b"\xa5\x5a"
HEADER_BYTES = 6
CRC_BYTES = 4
PAYLOAD_LIMIT = 32768


@dataclass(frozen=True)
class Frame:
    """One frame of either direction."""

    type: int
    sequence: int  # 1..255; 0 in what a device sends unasked
    payload: bytes


def encode(frame: Frame) -> bytes:
    """The bytes of a frame."""
    body = struct.pack("<BBH", frame.type, frame.sequence, len(frame.payload)) + frame.payload
    return MAGIC + body + struct.pack("<I", zlib.crc32(body))


class Decoder:
    """Finds frames in a stream of bytes, and keeps what lies between them."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.damaged = 0  # starts of a frame that no frame followed
        self.text = bytearray()  # bytes outside of any frame

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

    def abandon(self) -> list[Frame]:
        """No more bytes come: give up the frame that waits for them. What looked like its
        start may have been noise in front of whole frames, which are found now."""
        frames = []
        while self.inside_frame:
            del self._buffer[: len(MAGIC)]
            self.damaged += 1
            frames += self.feed(b"")
        return frames

    def _next(self) -> Frame | None:
        buffer = self._buffer
        while True:
            start = buffer.find(MAGIC)
            if start < 0:
                # The last byte may be the first half of a magic.
                start = len(buffer) - buffer.endswith(MAGIC[:1])
            self.text += buffer[:start]
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
            # No frame starts here, but one may start inside of what looked like it.
            self.damaged += 1
            del buffer[: len(MAGIC)]
