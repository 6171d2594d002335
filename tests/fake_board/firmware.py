"""Firmware on a pty that says who it is and nothing else."""

import os
import struct
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager

from snapcli.device.frame import Decoder, Frame, encode
from snapcli.device.messages import PROTOCOL_VERSION, Type

REPLY = 0x80


@contextmanager
def firmware(
    model_id: str, linked_crc: int, computed_crc: int | None = None, mismatch: int | None = None
) -> Iterator[str]:
    """Gives the path of its port. mismatch: the golden vector at which its self-test fails."""
    computed = linked_crc if computed_crc is None else computed_crc
    hello = struct.pack(
        "<HHIHHHBBIIIIII",
        *(PROTOCOL_VERSION, 2, 64, 10, 2, 9, 1, 0, 1, 80_000_000, 4096, linked_crc, 0, 0),
    )
    answers = {
        Type.HELLO: hello + model_id.encode() + b"small-mcu",
        Type.CHECK: struct.pack("<III", 5000, linked_crc, computed),
        Type.SELFTEST: struct.pack("<II", 4, 4 if mismatch is None else mismatch),
    }
    ours, theirs = os.openpty()
    tty.setraw(theirs)

    def answer() -> None:
        decoder = Decoder()
        while True:
            try:
                data = os.read(ours, 4096)
            except OSError:
                return
            for frame in decoder.feed(data):
                reply = Frame(frame.type | REPLY, frame.sequence, answers[Type(frame.type)])
                os.write(ours, encode(reply))

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    try:
        yield os.ttyname(theirs)
    finally:
        os.close(theirs)
        thread.join(2)
        os.close(ours)
