"""An image on the model of a board, and a host that talks to it."""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snapcli import toolchain
from snapcli.emit import Reference, build_program, emit_model
from snapcli.targets import load_target

from ..unit.tiny_monitor import CLASSES, TAPS, random_inputs, tiny_monitor
from .f767 import F767
from .l432 import L432
from .machine import PartError

PROGRAM_C = Path(__file__).with_name("program.c")
MODELS = {"small-mcu": L432, "big-mcu": F767, "big-mcu-tcm": F767}
GREETING = b"ready\n"


def build(name: str, folder: Path, defines: dict[str, str] | None = None) -> toolchain.Build:
    """program.c with a tiny model for that target."""
    monitor = tiny_monitor()
    program = build_program(monitor.body.graph, monitor.body, Reference())
    for file, text in emit_model(program, monitor, random_inputs(2, seed=9)).files.items():
        (folder / file).write_text(text)
    library = toolchain.firmware_dir() / "snapuq"
    sources = [PROGRAM_C, *sorted(folder.glob("*.c")), *sorted((library / "src").glob("*.c"))]
    includes = [folder, library / "include"]
    return toolchain.build(load_target(name), sources, includes, defines or {}, folder / "out")


@dataclass(frozen=True)
class Inference:
    predicted: int
    abstain: int
    score_q16: int
    uncertainty_q16: int
    surprisal_q16: tuple[int, ...]
    logits: tuple[int, ...]
    count: int


class Board:
    """The model with a program in it. Commands are those of program.c."""

    def __init__(self, name: str, elf: Path) -> None:
        self.part = MODELS[name]()
        self.part.machine.load(elf)
        self.part.cache.take()

    def boot(self) -> bytes:
        """Run until it waits for a command; what it said."""
        self.part.machine.run()
        return self._taken()

    def ask(self, request: bytes, answer_bytes: int) -> bytes:
        self.part.usart.incoming += request
        self.part.machine.run()
        answer = self._taken()
        if len(answer) != answer_bytes:
            raise PartError(f"{len(answer)} bytes instead of {answer_bytes}: {answer!r}")
        return answer

    def _taken(self) -> bytes:
        taken = bytes(self.part.usart.outgoing)
        self.part.usart.outgoing.clear()
        return taken

    def infer(self, image: np.ndarray) -> Inference:
        layout = f"<iIIi{len(TAPS)}I{CLASSES}b3xI"
        answer = self.ask(b"i" + image.tobytes(), struct.calcsize(layout))
        predicted, score, uncertainty, abstain, *rest = struct.unpack(layout, answer)
        taps = len(TAPS)
        surprisal, logits, count = tuple(rest[:taps]), tuple(rest[taps:-1]), rest[-1]
        return Inference(predicted, abstain, score, uncertainty, surprisal, logits, count)

    def replace_settings(self, data: bytes) -> bool:
        return self.ask(b"w" + struct.pack("<H", len(data)) + data, 1) == b"\x01"

    def settings(self, count: int) -> bytes:
        return self.ask(b"r" + struct.pack("<H", count), count)

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
