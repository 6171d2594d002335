"""An image on the model of a board, and a host that talks to it."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snapcli import toolchain
from snapcli.config import SNAP
from snapcli.emit import build_program, emit_model
from snapcli.emit.profiled import image_files
from snapcli.measuring.sources import exported_sources
from snapcli.pricing.kernel_set import kernel_files, kernel_set
from snapcli.targets import load_target

from ..unit.tiny_monitor import CLASSES, TAPS, random_inputs, tiny_monitor
from .f767 import F767
from .l432 import L432
from .machine import PartError

MODELS = {"small-mcu": L432, "big-mcu": F767, "big-mcu-tcm": F767}
GREETING = b"ready\n"


def build(name: str, folder: Path, sources: Sequence[Path]) -> toolchain.Build:
    """The sources with a tiny model for that target."""
    monitor = tiny_monitor()
    kernels, library = kernel_set(SNAP, None)
    program = build_program(monitor.body.graph, monitor.body, kernels)
    emitted = emit_model(program, monitor, random_inputs(2, seed=9))
    files = image_files(program, monitor, emitted)
    for file, text in {**files, **kernel_files(library, files)}.items():
        path = folder / "model" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    generated, includes = exported_sources(folder / "model")
    return toolchain.build(load_target(name), [*sources, *generated], includes, {}, folder / "out")


@dataclass(frozen=True)
class Inference:
    predicted: int
    abstain: int
    score_q16: int
    uncertainty_q16: int
    foreign: int
    foreign_q16: int
    surprisal_q16: tuple[int, ...]
    logits: tuple[int, ...]
    count: int


class Board:
    """The model with an image in it."""

    def __init__(self, name: str, elf: Path) -> None:
        self.part = MODELS[name]()
        self.part.machine.load(elf)
        self.part.cache.take()

    def exchange(self, data: bytes = b"") -> bytes:
        """Send bytes, run until the program waits for more; what it said."""
        usart = self.part.usart
        usart.incoming += data
        self.part.machine.run()
        said = bytes(usart.outgoing)
        usart.outgoing.clear()
        return said

    def wait(self, seconds: float) -> None:
        """Nothing is sent for so long. The cycle counter must not pass more than one wrap."""
        self.part.machine.cycles += round(seconds * self.part.clock.core_hz)


class SerialPort:
    """The board's console, as far as our client knows serial ports."""

    port, out_waiting, timeout = "the model", 0, None

    def __init__(self, board: Board) -> None:
        self._board = board
        self._said = bytearray()

    @property
    def baudrate(self) -> int:
        return self._board.part.usart.host_baud

    @baudrate.setter
    def baudrate(self, rate: int) -> None:
        self._board.part.usart.host_baud = rate

    @property
    def in_waiting(self) -> int:
        return len(self._said)

    def write(self, data: bytes) -> None:
        self._said += self._board.exchange(data)

    def read(self, count: int) -> bytes:
        taken = bytes(self._said[:count])
        del self._said[:count]
        return taken

    def close(self) -> None:
        pass


class Commands(Board):
    """Those of program.c."""

    def ask(self, request: bytes, answer_bytes: int) -> bytes:
        answer = self.exchange(request)
        if len(answer) != answer_bytes:
            raise PartError(f"{len(answer)} bytes instead of {answer_bytes}: {answer!r}")
        return answer

    def infer(self, image: np.ndarray) -> Inference:
        layout = f"<iIIiIi{len(TAPS)}I{CLASSES}b3xI"
        answer = self.ask(b"i" + image.tobytes(), struct.calcsize(layout))
        predicted, score, uncertainty, abstain, *rest = struct.unpack(layout, answer)
        foreign_q16, foreign, *rest = rest
        taps = len(TAPS)
        surprisal, logits, count = tuple(rest[:taps]), tuple(rest[taps:-1]), rest[-1]
        decided = (predicted, abstain, score, uncertainty, foreign, foreign_q16)
        return Inference(*decided, surprisal, logits, count)

    def replace_settings(self, data: bytes, page: int = 0) -> bool:
        return self.ask(b"w" + struct.pack("<BH", page, len(data)) + data, 1) == b"\x01"

    def settings(self, count: int, page: int = 0) -> bytes:
        return self.ask(b"r" + struct.pack("<BH", page, count), count)

    def set_baud(self, baud: int) -> bool:
        """The host follows."""
        known = self.ask(b"b" + struct.pack("<I", baud), 1) == b"\x01"
        if known:
            self.part.usart.host_baud = baud
        return known

    def stack(self) -> tuple[int, int]:
        """(used, reserved) bytes."""
        used, reserved = struct.unpack("<II", self.ask(b"t", 8))
        return used, reserved
