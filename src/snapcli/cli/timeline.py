"""The arena of a program over time, as text."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snapcli.emit import Program
    from snapcli.graph.plan import Buffer


@dataclass(frozen=True)
class Row:
    """A step, the bytes alive in it, what they span of the arena, and a picture of them."""

    step: str
    live_bytes: int
    span_bytes: int
    picture: str


@dataclass(frozen=True)
class Peak:
    step: str
    holders: tuple[str, ...]


def timeline(program: "Program", columns: int) -> list[Row]:
    """columns: of the picture."""
    plan = program.full
    return [
        Row(name, live, plan.span(i), _picture(program, i, columns))
        for i, (name, live) in enumerate(zip(step_names(program), plan.timeline(), strict=True))
    ]


def peak(program: "Program") -> Peak:
    """The first of the steps that take most of the arena, and what lies there."""
    plan = program.full
    holders = tuple(
        f"{b.name} {b.size_bytes:,} B at {plan.offsets[b.name]:,} ({_role(b, plan.peak)})"
        for b in plan.alive(plan.peak)
    )
    return Peak(step_names(program)[plan.peak], holders)


def step_names(program: "Program") -> list[str]:
    return ["(input)", *(step.label for step in program.steps), "(output)"]


def _role(buffer: "Buffer", step: int) -> str:
    if buffer.first == step:
        return "written"
    return "read for the last time" if buffer.last == step else "waits"


_MARKS = {"waits": "=", "read for the last time": "-", "written": "#"}


def _picture(program: "Program", step: int, columns: int) -> str:
    """What is written hides what it overwrites."""
    plan = program.full
    scale = columns / max(plan.arena_bytes, 1)
    cells = [" "] * columns
    for role, mark in _MARKS.items():
        for buffer in plan.alive(step):
            if _role(buffer, step) == role:
                start = int(plan.offsets[buffer.name] * scale)
                end = (plan.offsets[buffer.name] + buffer.size_bytes) * scale
                for column in range(start, min(columns, max(start + 1, round(end)))):
                    cells[column] = mark
    return "".join(cells)
