"""The arena over time: every buffer a box, as wide as it lives, as high as it is large."""

from snapcli.report.contents import Arena
from snapcli.report.markup import label, svg, tag
from snapcli.report.numbers import kilobytes
from snapcli.report.scale import Scale

_WIDTH, _LEFT, _RIGHT, _TOP, _HEIGHT = 1080, 66, 10, 12, 260
_LETTER = 6.4


def draw_arena(arena: Arena) -> str:
    """Boxes that overlap: an output that runs into an input which was read."""
    across = Scale(0, len(arena.steps), _LEFT, _WIDTH - _RIGHT)
    up = Scale(0, arena.arena_bytes or 1, _TOP + _HEIGHT, _TOP)
    parts = []
    for tick in up.ticks(5):
        ends = f"M{_LEFT},{up(tick):.1f}H{_WIDTH - _RIGHT}"
        parts.append(tag("path", d=ends, class_="grid"))
        parts.append(label(_LEFT - 8, up(tick) + 4, f"{tick:,.0f} B", "end"))
    for number, buffer in enumerate(sorted(arena.buffers, key=lambda b: -b.size_bytes)):
        x, y = across(buffer.first), up(buffer.offset + buffer.size_bytes)
        width = across(buffer.last + 1) - x
        height = max(up(buffer.offset) - y, 1.5)
        look = f"buffer b-{number % 4}"
        box = tag("rect", x=x + 1, y=y, width=width - 2, height=height, rx=2, class_=look)
        name = buffer.name
        if _LETTER * len(name) < width - 8 and height > 13:
            box += label(x + width / 2, y + height / 2 + 4, name, "middle", "inside")
        tip = (
            f"{name}: {buffer.size_bytes:,} B at {buffer.offset:,}\n"
            f"{arena.steps[buffer.first]} to {arena.steps[buffer.last]}"
        )
        parts.append(tag("g", box, data_tip=tip))
    bottom = _TOP + _HEIGHT
    for i, step in enumerate(arena.steps):
        x = across(i + 0.5)
        turned = label(x, bottom + 12, _cut(step), "end")
        turn = f'<text transform="rotate(-40 {x:.1f} {bottom + 12})" '
        parts.append(turned.replace("<text ", turn, 1))
    parts.append(tag("path", d=f"M{_LEFT},{bottom}H{_WIDTH - _RIGHT}", class_="axis"))
    longest = max(map(len, map(_cut, arena.steps)), default=0)
    height = bottom + 24 + 4.4 * longest
    return svg(_WIDTH, height, f"Arena of {kilobytes(arena.arena_bytes)} over time", *parts)


def _cut(step: str) -> str:
    return step if len(step) <= 24 else f"{step[:23]}\N{HORIZONTAL ELLIPSIS}"
