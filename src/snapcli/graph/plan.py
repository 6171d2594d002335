"""Where each buffer lies in the arena.

Two buffers that are alive together lie apart, with one exception: a target may run into a
source that dies with the step that computes it, if it starts `slack` bytes before it. The kernel
then has read every byte of the source before it writes there.

Worked example: step 0 computes y of x, step 1 computes z of y. Apart, x and y take 32 bytes; z
then lies where x was. If y may run into x from 8 bytes before it on, 24 are enough:

>>> x, y, z = Buffer("x", 16, 0, 0), Buffer("y", 16, 0, 1), Buffer("z", 8, 1, 1)
>>> plan_arena([x, y, z]).arena_bytes
32
>>> plan = plan_arena([x, y, z], slack={("y", "x"): 8})
>>> plan.arena_bytes, plan.offsets["x"] - plan.offsets["y"]
(24, 8)
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

ALIGNMENT = 8
# A plan depends on the order in which buffers are placed; these many rotations of each order
# are tried (more found nothing better on any model of the tests), fewer of a large network,
# where each takes long.
_ROTATIONS = 12
_ROTATED_BUFFERS = 1200


@dataclass(frozen=True)
class Buffer:
    """Alive from step first to step last, both included; size in bytes."""

    name: str
    size_bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Plan:
    """Offsets in bytes by the name of the buffer."""

    buffers: tuple[Buffer, ...]
    offsets: dict[str, int]
    arena_bytes: int

    def timeline(self) -> list[int]:
        """Bytes of all buffers alive at each step."""
        steps = range(1 + max((b.last for b in self.buffers), default=-1))
        return [sum(b.size_bytes for b in self.alive(step)) for step in steps]

    def alive(self, step: int) -> list[Buffer]:
        """By offset."""
        present = [b for b in self.buffers if b.first <= step <= b.last]
        return sorted(present, key=lambda b: (self.offsets[b.name], b.name))

    def span(self, step: int) -> int:
        """Bytes from the first to the last in use at a step."""
        alive = self.alive(step)
        end = max((self.offsets[b.name] + b.size_bytes for b in alive), default=0)
        return end - min((self.offsets[b.name] for b in alive), default=0)

    @property
    def peak(self) -> int:
        """The first of the steps that take most of the arena."""
        last = max((b.last for b in self.buffers), default=-1)
        return max(range(1 + last), key=self.span, default=0)


# {(target, source): slack in bytes}
Slack = Mapping[tuple[str, str], int]


def plan_arena(*groups: list[Buffer], slack: Slack | None = None) -> Plan:
    """The smallest plan found. A later group never moves an earlier one: it fills what that
    leaves free."""
    permitted = slack or {}
    offsets: dict[str, int] = {}
    placed: list[Buffer] = []
    for group in groups:
        offsets = _smallest(group, placed, offsets, permitted)
        placed += group
    arena = max((_aligned(offsets[b.name] + b.size_bytes) for b in placed), default=0)
    return Plan(tuple(placed), offsets, arena)


def _smallest(
    group: list[Buffer], placed: list[Buffer], offsets: dict[str, int], slack: Slack
) -> dict[str, int]:
    """The offsets of the best order of placing, those of earlier groups included."""
    everything = [*placed, *group]

    def end(placement: dict[str, int]) -> int:
        return max((placement[b.name] + b.size_bytes for b in everything), default=0)

    found = _best_order(group, placed, offsets, slack, end)
    if slack and end(found) > _bound(everything, slack):
        # Room that may overlap tempts a greedy search: now and then it does better without.
        apart = _best_order(group, placed, offsets, {}, end)
        return apart if end(apart) < end(found) else found
    return found


def _best_order(
    group: list[Buffer],
    placed: list[Buffer],
    offsets: dict[str, int],
    slack: Slack,
    end: Callable[[dict[str, int]], int],
) -> dict[str, int]:
    by_size = sorted(group, key=lambda b: (-b.size_bytes, b.first, b.name))
    by_time = sorted(group, key=lambda b: (b.first, -b.size_bytes, b.name))
    best: tuple[int, dict[str, int]] | None = None
    bound = _bound([*placed, *group], slack)
    rotations = max(1, min(_ROTATIONS, _ROTATED_BUFFERS // max(len(group), 1)))
    for base in (by_size, by_time, by_time[::-1]):
        step = max(1, len(base) // rotations)
        for start in range(0, max(len(base), 1), step):
            order = base[start:] + base[:start]
            for lowest in (False, True):
                placement = _place(order, placed, offsets, slack, lowest)
                if best is None or end(placement) < best[0]:
                    best = (end(placement), placement)
            if best and best[0] == bound:
                return best[1]
    assert best is not None
    return best[1]


def _bound(buffers: list[Buffer], slack: Slack) -> int:
    """Bytes that no placing can go below: what is alive at once, or, where some of that may
    overlap, the largest buffer."""
    if slack:
        return max((_aligned(b.size_bytes) for b in buffers), default=0)
    steps = {b.first for b in buffers}
    return max(
        (sum(_aligned(b.size_bytes) for b in buffers if b.first <= s <= b.last) for s in steps),
        default=0,
    )


def _place(
    order: Iterable[Buffer],
    placed: list[Buffer],
    offsets: dict[str, int],
    slack: Slack,
    lowest: bool,
) -> dict[str, int]:
    """Each buffer where the arena grows least, or at the lowest free offset.

    Without earlier groups the arena may grow downwards: only at the end does it start at 0.
    """
    placement, done = dict(offsets), list(placed)
    low = min((placement[b.name] for b in done), default=0)
    high = max((placement[b.name] + b.size_bytes for b in done), default=0)
    for buffer in order:
        taken = [
            (
                placement[o.name] - _reach(buffer, o, slack),
                placement[o.name] + _reach(o, buffer, slack),
            )
            for o in done
            if buffer.first <= o.last and o.first <= buffer.last
        ]
        floor = 0 if placed or lowest else low - _aligned(buffer.size_bytes)
        candidates = {max(floor, 0), *(edge for pair in taken for edge in pair)}
        free = [
            c for c in candidates if c >= floor and not any(start < c < end for start, end in taken)
        ]
        # (bytes the arena would span, distance, offset): the last two only settle ties.
        ranked = [
            (0 if lowest else max(high, c + buffer.size_bytes) - min(low, c), abs(c), c)
            for c in free
        ]
        best = min(ranked)[2]
        low, high = min(low, best), max(high, best + buffer.size_bytes)
        placement[buffer.name] = best
        done.append(buffer)
    return {name: offset - low for name, offset in placement.items()}


def _reach(first: Buffer, second: Buffer, slack: Slack) -> int:
    """Bytes that first must start before second, if it is the one that starts first."""
    permitted = slack.get((first.name, second.name))
    if permitted is not None and second.last == first.first:
        return min(_aligned(permitted), _aligned(first.size_bytes))
    return _aligned(first.size_bytes)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
