"""A serial line between a host and a device's pty that damages what passes, as it is told."""

import contextlib
import os
import random
import select
import termios
import threading
import time
import tty
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

TO_DEVICE, TO_HOST = 0, 1
_CHANGE_S = 0.1
KINDS = ("drop", "double", "flip", "delay", "cut")


@dataclass(frozen=True)
class Damage:
    """Happens to the byte at position `at` of its direction.

    size: bytes to drop or to double, the bit to flip, milliseconds to hold everything back
    (delay) or to lose everything (cut).
    """

    direction: int
    at: int
    kind: str
    size: int


def random_damage(seed: int, bytes_to_device: int, bytes_to_host: int, ms: int) -> list[Damage]:
    """One to four damages somewhere in that many bytes; delays and cuts last up to ms."""
    rng = random.Random(seed)
    sizes = {"drop": 12, "double": 12, "flip": 7, "delay": ms, "cut": ms}
    damages = []
    for _ in range(rng.choice((1, 1, 2, 4))):
        direction = rng.choice((TO_DEVICE, TO_HOST))
        at = rng.randrange((bytes_to_device, bytes_to_host)[direction])
        kind = rng.choice(KINDS)
        least = 0 if kind == "flip" else 1
        damages.append(Damage(direction, at, kind, rng.randint(least, sizes[kind])))
    return damages


class _Direction:
    """The bytes on their way; they leave in the order in which they came."""

    def __init__(self, damages: Sequence[Damage]) -> None:
        self._damages = deque(sorted(damages, key=lambda damage: damage.at))
        self._position = 0
        self._to_drop = 0
        self._held_until = self._cut_until = 0.0
        self._queue: deque[tuple[float, bytes]] = deque()

    def put(self, data: bytes, now: float) -> None:
        while data:
            if lost := len(data) if now < self._cut_until else min(self._to_drop, len(data)):
                self._to_drop = max(0, self._to_drop - lost)
                self._position += lost
                data = data[lost:]
                continue
            ahead = self._damages[0].at - self._position if self._damages else len(data)
            if ahead > 0:
                self._pass(data[:ahead], now)
                self._position += min(ahead, len(data))
                data = data[ahead:]
                continue
            data = self._harm(self._damages.popleft(), data, now)

    def _harm(self, damage: Damage, data: bytes, now: float) -> bytes:
        if damage.kind == "drop":
            self._to_drop = damage.size
        elif damage.kind == "double":
            self._pass(data[: damage.size], now)
        elif damage.kind == "flip":
            return bytes([data[0] ^ 1 << damage.size]) + data[1:]
        elif damage.kind == "delay":
            self._held_until = now + damage.size / 1000
        else:
            self._cut_until = now + damage.size / 1000
        return data

    def _pass(self, data: bytes, now: float) -> None:
        self._queue.append((max(now, self._held_until), data))

    def due(self, now: float) -> bytes:
        """What may leave now; `taken` says how much of it did."""
        return self._queue[0][1] if self._queue and self._queue[0][0] <= now else b""

    def taken(self, count: int) -> None:
        time_, data = self._queue.popleft()
        if count < len(data):
            self._queue.appendleft((time_, data[count:]))


class Line:
    """Context manager; `path` is the host's end. With a baud_limit, bytes turn to nonsense where
    the two ends are set to different rates, or to a higher one."""

    def __init__(
        self, device_path: str, damages: Sequence[Damage] = (), baud_limit: int | None = None
    ) -> None:
        self._device_path = device_path
        self._baud_limit = baud_limit
        self._in_step_at = 0.0
        self._was_in_step = False
        self._ways = [
            _Direction([damage for damage in damages if damage.direction == direction])
            for direction in (TO_DEVICE, TO_HOST)
        ]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._host, self._host_end = os.openpty()
        tty.setraw(self._host_end)
        self.path = os.ttyname(self._host_end)
        self._device = os.open(self._device_path, os.O_RDWR | os.O_NOCTTY)
        for fd in (self._host, self._device):
            os.set_blocking(fd, False)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        for fd in (self._host, self._host_end, self._device):
            os.close(fd)

    def _serve(self) -> None:
        ends = (self._host, self._device)
        while not self._stop.is_set():
            now = time.monotonic()
            blocked = [ends[1 - way] for way in (0, 1) if self._ways[way].due(now)]
            carries = self._carries()
            readable, _, _ = select.select(ends, blocked, [], 0.002)
            carries = self._carries() or carries
            now = time.monotonic()
            for way in (TO_DEVICE, TO_HOST):
                with contextlib.suppress(OSError):  # an end that is gone
                    if ends[way] in readable:
                        data = os.read(ends[way], 65536)
                        self._ways[way].put(data if carries else data[::2], now)
                    if data := self._ways[way].due(now):
                        self._ways[way].taken(os.write(ends[1 - way], data))

    def _carries(self) -> bool:
        """Whether bytes arrive as they are. One that was sent right before its end changed the
        rate is read after it: so both ends may be out of step for a moment, or since we last
        looked, however long ago that was."""
        if self._baud_limit is None:
            return True
        now = time.monotonic()
        ours, theirs = (termios.tcgetattr(fd)[5] for fd in (self._host, self._device))
        was_in_step, self._was_in_step = self._was_in_step, ours == theirs
        if self._was_in_step:
            self._in_step_at = now
        # Linux numbers the speeds in their order.
        limit = getattr(termios, f"B{self._baud_limit}")
        is_change = was_in_step or now - self._in_step_at < _CHANGE_S
        return is_change and min(ours, theirs) <= limit
