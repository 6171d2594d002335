"""The firmware as a process, and a plain hand on its console."""

import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from snapcli.device.frame import Decoder, Frame, encode

PATIENCE_S = 60.0  # of a busy machine
READY = b"m-ready\r\n"


class Console:
    """The far end of the firmware's pty, byte for byte: nothing is repeated or repaired."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_NOCTTY)
        self._sequence = 0
        self._pending = b""  # text that came along with a frame

    def close(self) -> None:
        os.close(self._file)

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._file, data) :]

    def read(self, timeout_s: float) -> bytes:
        """What comes within the time, or nothing."""
        if self._pending:
            data, self._pending = self._pending, b""
            return data
        ready, _, _ = select.select([self._file], [], [], timeout_s)
        return os.read(self._file, 65536) if ready else b""

    def read_until(self, end: bytes) -> bytes:
        """All up to these bytes; they have to be the last that come."""
        data = b""
        until = time.monotonic() + PATIENCE_S
        while not data.endswith(end):
            assert time.monotonic() < until, f"silence after {data!r}"
            data += self.read(0.1)
        return data

    def read_until_any(self, ends: tuple[bytes, ...]) -> bytes:
        """All up to where one of these came, and maybe more."""
        data = b""
        until = time.monotonic() + PATIENCE_S
        while not any(end in data for end in ends):
            assert time.monotonic() < until, f"silence after {data!r}"
            data += self.read(0.1)
        return data

    def lines(self) -> list[str]:
        """The lines up to m-ready, which is left out."""
        data = self.read_until(READY)
        *lines, _ready, end = data.decode("ascii").split("\r\n")
        assert end == ""
        return lines

    def say(self, command: str) -> list[str]:
        """The answer to a text command."""
        self.write(command.encode() + b"%")
        return self.lines()

    def frames(self, count: int) -> list[Frame]:
        decoder = Decoder()
        found: list[Frame] = []
        until = time.monotonic() + PATIENCE_S
        while len(found) < count:
            assert time.monotonic() < until, f"silence after {found}"
            found += decoder.feed(self.read(0.1))
        assert len(found) == count, found
        self._pending = bytes(decoder.text)
        return found

    def frame(self, kind: int, payload: bytes = b"") -> Frame:
        """A request with the next sequence number."""
        self._sequence = self._sequence % 255 + 1
        return Frame(kind, self._sequence, payload)

    def ask(self, kind: int, payload: bytes = b"") -> Frame:
        """The answer to one request; its sequence is checked."""
        request = self.frame(kind, payload)
        return self.ask_again(request)

    def ask_again(self, request: Frame) -> Frame:
        self.write(encode(request))
        (answer,) = self.frames(1)
        assert answer.sequence == request.sequence
        return answer


class Process:
    """A running firmware."""

    def __init__(self, process: "subprocess.Popen[bytes]", console: Console) -> None:
        self.process = process
        self.console = console


@contextmanager
def running(program: Path, *arguments: str) -> Iterator[Process]:
    """Starts the firmware, reads what it says when it boots, and ends it."""
    process = subprocess.Popen(
        [str(program), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    path = process.stdout.readline().decode().strip()
    assert path, process.communicate()[1].decode()
    console = Console(path)
    try:
        booted = console.lines()
        assert booted[0] == "m-timestamp-mode-performance"
        assert booted[-1] == "m-init-done"
        yield Process(process, console)
        assert process.poll() is None, process.communicate()[1].decode()
    finally:
        console.close()
        process.kill()
        process.communicate()
