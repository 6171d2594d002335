"""A device as SPEC.md, section 3, has it: a thread behind a pty, with a model of a few lines.

It shares no code with the client but the dataclasses of what it means to say.
"""

import os
import select
import struct
import termios
import threading
import time
import tty
import zlib
from collections.abc import Sequence

from snapcli.device import Inference, StreamState, Watch
from snapcli.fixedpoint import Budget, BudgetState, budget_of, budget_start, budget_step

MAGIC = b"\xa5\x5a"
INPUT_BYTES, CLASSES, TAPS, STEPS, ARENA_BYTES = 16, 3, 2, 4, 2048
MODEL_ID, TARGET = "0123456789abcdef", "fake"
IMAGE = (4096, 0xCAFE0001, 0xCAFE0001)
SETTINGS_CHECK = 0x5E771465
FOREIGN = 50000  # threshold of F
BUDGET = budget_of(0.3, 0.2, 0.1, 30000)
BANNER = b"m-timestamp-mode-performance\r\nm-lap-us-12\r\nm-init-done\r\nm-ready\r\n"
RATE_HOLDS_S = 3.0


def forward(data: bytes) -> tuple[int, int, int, int, tuple[int, ...], tuple[int, ...]]:
    """Class, S, U, F, surprisals and logits of an input."""
    total = sum(data)
    logits = tuple((total >> i) % 256 - 128 for i in range(CLASSES))
    uncertainty, foreign = total * 41 % 65536, total * 43 % 65536
    return total % CLASSES, total, uncertainty, foreign, (total, total + 1), logits


def watching(before: Watch, score: int) -> Watch:
    """An alarm of a kind: it adds up scores, and remembers what it counts in every member."""
    frames = before.frames + 1
    return Watch(
        statistic_q16=before.statistic_q16 + score,
        offset_q16=-frames,
        frames=frames,
        right_q24=2 * frames,
        baseline_sum_q16=3 * frames,
        baseline_left=65535 - frames,
        alarms=4 * frames,
        on=frames % 2 == 0,
        place=frames % 128,
        window=bytes([frames % 256]) * 32,
    )


def packed(watch: Watch) -> bytes:
    numbers = list(vars(watch).values())
    return struct.pack("<iiIIIHHBB", *numbers[:-1]) + watch.window + bytes(2)


def unpacked(data: bytes) -> Watch:
    *numbers, on, place = struct.unpack("<iiIIIHHBB", data[:26])
    return Watch(*numbers, on == 1, place, data[26:58])


FIRST = Watch(0, 0, 0, 0, 0, 0, 0, False, 0, bytes(32))


def expected(inputs: Sequence[bytes], budget: Budget = BUDGET) -> list[Inference]:
    """What a stream of these inputs answers."""
    state, watch, answers = budget_start(budget), FIRST, []
    for data in inputs:
        predicted, score, uncertainty, foreign, surprisal, logits = forward(data)
        abstain, state = budget_step(budget, state, uncertainty)
        watch = watching(watch, score)
        answers.append(
            Inference(
                predicted=predicted,
                abstain=abstain,
                score_q16=score,
                uncertainty_q16=uncertainty,
                foreign=foreign >= FOREIGN,
                foreign_q16=foreign,
                count=1000 + score,
                rate_q24=state.rate_q24,
                threshold_q24=state.threshold_q24,
                watch=watch,
                surprisal_q16=surprisal,
                logits=logits,
            )
        )
    return answers


def framed(kind: int, sequence: int, payload: bytes = b"") -> bytes:
    body = struct.pack("<BBH", kind, sequence, len(payload)) + payload
    return MAGIC + body + struct.pack("<I", zlib.crc32(body))


class FakeDevice:
    """Context manager; `path` is its port.

    known_rates: those that BAUD accepts; garbled_rates: those of them at which it hears and
    says nonsense. answers_lost: how many answers get lost from now on. `seen` lists the type of
    every request that it carried out, `starts` the states that START gave, `text_rates` the rate
    of every line of text.
    """

    def __init__(self, known_rates=(921600, 460800, 230400, 115200), garbled_rates=()):
        self.known_rates, self.garbled_rates = known_rates, garbled_rates
        self.answers_lost = 0
        self.delay_s = 0.0
        self.target = TARGET
        self.seen: list[int] = []
        self.starts: list[StreamState | None] = []
        self.text_rates: list[int] = []
        self.restarts = 0
        self._orders: list[bytes | None] = []  # to say unasked; None: to start anew
        self._stop = threading.Event()
        self._at_work = threading.Lock()  # held by the thread while it takes bytes in
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.path = os.ttyname(self.slave)
        self._boot()
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        os.close(self.master)
        os.close(self.slave)

    def restart(self) -> None:
        """As with its reset button; back when it is done."""
        count = self.restarts
        self._orders.append(None)
        while self.restarts == count:
            time.sleep(0.001)

    def say(self, data: bytes) -> None:
        """Unasked."""
        self._orders.append(data)

    @property
    def baud(self) -> int:
        """After what it last answered: it changes its rate when the answer is out."""
        with self._at_work:
            return self._baud

    # ---- The thread ---------------------------------------------------------

    def _boot(self) -> None:
        self.stream: BudgetState | None = None
        self.watch = FIRST
        self._last: tuple[int, bytes] | None = None
        self._frame = bytearray()
        self._line = bytearray()
        self._heard_at = self._good_at = time.monotonic()
        self._set_baud(115200)

    def _set_baud(self, rate: int) -> None:
        self._baud = rate
        self._speed = getattr(termios, f"B{rate}")

    def _serve(self) -> None:
        while not self._stop.is_set():
            while self._orders:
                order = self._orders.pop(0)
                if order is None:
                    self._boot()
                    self._write(BANNER)
                    self.restarts += 1
                else:
                    self._write(order)
            readable = select.select([self.master], [], [], 0.005)[0]
            # Behind the wait: what has lapsed did so before the bytes that come, however late
            # we look.
            now = time.monotonic()
            if now - self._heard_at > 1:
                self._frame.clear()
                self._line.clear()
            if self._baud != 115200 and now - self._good_at > RATE_HOLDS_S:
                self._set_baud(115200)
            if readable:
                with self._at_work:
                    data = os.read(self.master, 65536)
                    self._heard_at = time.monotonic()
                    for byte in data if self._hears() else garbled(data):
                        self._take(byte)

    def _hears(self) -> bool:
        """Whether the host has set the port to our rate, and it works."""
        host = termios.tcgetattr(self.master)[5]
        return host == self._speed and self._baud not in self.garbled_rates

    def _write(self, data: bytes) -> None:
        time.sleep(self.delay_s)
        os.write(self.master, data if self._hears() else garbled(data))

    def _take(self, byte: int) -> None:
        frame = self._frame
        if not frame and byte != MAGIC[0]:
            self._take_text(byte)
            return
        if len(frame) == 1 and byte != MAGIC[1]:
            frame.clear()
            if byte == MAGIC[0]:
                frame.append(byte)
            return
        frame.append(byte)
        if len(frame) < 6:
            return
        kind, sequence, length = struct.unpack_from("<BBH", frame, 2)
        if length > ARENA_BYTES:
            frame.clear()
            self._write(framed(0xFF, sequence, bytes([3, kind])))
        elif len(frame) == length + 10:
            body, (crc,) = bytes(frame[2:-4]), struct.unpack("<I", frame[-4:])
            frame.clear()
            if zlib.crc32(body) == crc:
                self._good_at = time.monotonic()
                self._answer(kind, sequence, body[4:], crc)
            else:
                self._write(framed(0xFF, sequence, bytes([4, kind])))

    def _take_text(self, byte: int) -> None:
        if byte == 0:
            self._line.clear()
        elif byte != ord("%"):
            self._line.append(byte)
        else:
            command = self._line.decode("ascii", "replace")
            self._line.clear()
            self.text_rates.append(self._baud)
            known = {"name": "m-name-dut-[snap fake]", "timestamp": "m-lap-us-99"}
            self._write(f"{known.get(command, 'e-[unknown]')}\r\nm-ready\r\n".encode())

    def _answer(self, kind: int, sequence: int, payload: bytes, crc: int) -> None:
        if self._last is None or self._last[0] != crc:
            self.seen.append(kind)
            answer = self._carried_out(kind, payload)
            code = answer if isinstance(answer, int) else None
            body = bytes([code, kind]) if code is not None else answer
            self._last = crc, framed(0xFF if code is not None else kind | 0x80, sequence, body)
        if self.answers_lost:
            self.answers_lost -= 1
        else:
            self._write(self._last[1])
        if kind == 0x09 and self._last[1][2] == 0x89:
            self._set_baud(struct.unpack("<I", payload)[0])
        if kind == 0x0A:
            self._orders.append(None)

    def _carried_out(self, kind: int, payload: bytes) -> bytes | int:
        """The payload of an answer, or the code of an error."""
        if kind == 0x01:
            fixed = (4, 1 | 2, INPUT_BYTES, CLASSES, TAPS, STEPS, 1, 0, 1, 80_000_000, ARENA_BYTES)
            checks = (IMAGE[1], SETTINGS_CHECK, SETTINGS_CHECK, MODEL_ID.encode())
            return struct.pack("<HHIHHHBBIIIIII16s", *fixed, *checks) + self.target.encode()
        if kind in (0x02, 0x03):
            if len(payload) != INPUT_BYTES:
                return 2
            if kind == 0x02 and self.stream is None:
                return 5
            return self._result(kind, payload)
        if kind == 0x07:
            self.stream, self.watch = budget_start(BUDGET), FIRST
            if payload:
                self.stream = BudgetState(*struct.unpack("<ii", payload[:8]))
                self.watch = unpacked(payload[8:])
            budget = (self.stream.rate_q24, self.stream.threshold_q24)
            self.starts.append(StreamState(*budget, self.watch) if payload else None)
            return b""
        if kind == 0x09:
            return payload if struct.unpack("<I", payload)[0] in self.known_rates else 9
        simple = {
            0x04: struct.pack("<II", 320, 4096),
            0x05: struct.pack("<II", 3, 3),
            0x06: struct.pack("<III", *IMAGE),
            0x08: struct.pack("<I", zlib.crc32(payload[16:])),
            0x0A: b"",
        }
        return simple.get(kind, 1)

    def _result(self, kind: int, data: bytes) -> bytes:
        predicted, score, uncertainty, foreign, surprisal, logits = forward(data)
        if kind == 0x02:
            abstain, self.stream = budget_step(BUDGET, self.stream, uncertainty)
            self.watch = watching(self.watch, score)
            state, watch = self.stream, self.watch
        else:
            state, watch = self.stream or budget_start(BUDGET), self.watch
            abstain = uncertainty << 8 >= BUDGET.threshold_q24
        fixed = (predicted, abstain, score, uncertainty, foreign >= FOREIGN, foreign, 1000 + score)
        state_q24 = (state.rate_q24, state.threshold_q24)
        found = struct.pack("<iiIIiIQii", *fixed, *state_q24) + packed(watch)
        found += struct.pack(f"<{TAPS}I{CLASSES}b", *surprisal, *logits)
        return found + (struct.pack("<4I", 1, 2, 3, 4) if kind == 0x03 else b"")


def garbled(data: bytes) -> bytes:
    """What bytes sent at one rate look like at another, more or less."""
    return bytes((byte * 7 + 0x55) % 256 for byte in data[::2])
