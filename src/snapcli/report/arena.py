"""The arena over time: every buffer a box, as wide as it lives, as high as it is large."""

from dataclasses import dataclass

from snapcli.report.contents import Arena, BufferPlace
from snapcli.report.markup import label, svg, tag
from snapcli.report.numbers import kilobytes
from snapcli.report.scale import Scale

_WIDTH, _LEFT, _RIGHT, _TOP, _HEIGHT = 1080, 66, 10, 12, 260
_LETTER, _LINE = 6.4, 12.0


def draw_arena(arena: Arena) -> str:
    """Boxes that overlap: an output that runs into an input which was read."""
    across = Scale(0, len(arena.steps), _LEFT, _WIDTH - _RIGHT)
    up = Scale(0, arena.arena_bytes or 1, _TOP + _HEIGHT, _TOP)
    parts = []
    for tick in up.ticks(5):
        ends = f"M{_LEFT},{up(tick):.1f}H{_WIDTH - _RIGHT}"
        parts.append(tag("path", d=ends, class_="grid"))
        parts.append(label(_LEFT - 8, up(tick) + 4, f"{tick:,.0f} B", "end"))
    # Small ones above large ones, which they may overlap.
    buffers = sorted(arena.buffers, key=lambda b: -b.size_bytes)
    boxes = [_Box.of(buffer, across, up) for buffer in buffers]
    for number, (buffer, box) in enumerate(zip(buffers, boxes, strict=True)):
        look = f"buffer b-{number % 4}"
        rectangle = {"x": box.x + 1, "y": box.y, "width": box.width - 2, "height": box.height}
        drawn = tag("rect", **rectangle, rx=2, class_=look)
        words = _Box.around_words(box, buffer.name)
        if box.holds(words) and not any(above.meets(words) for above in boxes[number + 1 :]):
            middle = box.x + box.width / 2
            drawn += label(middle, box.y + box.height / 2 + 4, buffer.name, "middle", "inside")
        tip = (
            f"{buffer.name}: {buffer.size_bytes:,} B at {buffer.offset:,}\n"
            f"{arena.steps[buffer.first]} to {arena.steps[buffer.last]}"
        )
        parts.append(tag("g", drawn, data_tip=tip))
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


@dataclass(frozen=True)
class _Box:
    x: float
    y: float
    width: float
    height: float

    @classmethod
    def of(cls, buffer: BufferPlace, across: Scale, up: Scale) -> "_Box":
        x, y = across(buffer.first), up(buffer.offset + buffer.size_bytes)
        return cls(x, y, across(buffer.last + 1) - x, max(up(buffer.offset) - y, 1.5))

    @classmethod
    def around_words(cls, box: "_Box", words: str) -> "_Box":
        """Of words in the middle of a box."""
        width = _LETTER * len(words)
        x, y = box.x + (box.width - width) / 2, box.y + (box.height - _LINE) / 2
        return cls(x, y, width, _LINE)

    def holds(self, other: "_Box") -> bool:
        return other.width < self.width - 6 and other.height < self.height

    def meets(self, other: "_Box") -> bool:
        return (
            self.x < other.x + other.width
            and other.x < self.x + self.width
            and self.y < other.y + other.height
            and other.y < self.y + self.height
        )


def _cut(step: str) -> str:
    return step if len(step) <= 24 else f"{step[:23]}\N{HORIZONTAL ELLIPSIS}"
