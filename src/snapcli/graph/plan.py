"""Where each buffer lies in the arena: no two that are alive together overlap."""

from dataclasses import dataclass

ALIGNMENT = 8


@dataclass(frozen=True)
class Buffer:
    """Alive from step first to step last, both included; size in bytes."""

    name: str
    size_bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Plan:
    offsets: dict[str, int]
    arena_bytes: int


def plan_arena(*groups: list[Buffer]) -> Plan:
    """Largest first, each at the lowest offset free for its whole life.

    A later group never moves an earlier one: it fills what that leaves free.
    """
    placed: list[tuple[Buffer, int]] = []
    for group in groups:
        for buffer in sorted(group, key=lambda b: (-b.size_bytes, b.first, b.name)):
            placed.append((buffer, _lowest(buffer, placed)))
    return Plan(
        {b.name: offset for b, offset in placed},
        max((_aligned(offset + b.size_bytes) for b, offset in placed), default=0),
    )


def _lowest(buffer: Buffer, placed: list[tuple[Buffer, int]]) -> int:
    offset = 0
    for other, start in sorted(placed, key=lambda p: p[1]):
        together = buffer.first <= other.last and other.first <= buffer.last
        if together and offset + buffer.size_bytes > start:
            offset = max(offset, _aligned(start + other.size_bytes))
    return offset


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
