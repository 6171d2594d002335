"""Small pictures made of block characters."""

from collections.abc import Sequence

_HEIGHTS = " ▁▂▃▄▅▆▇█"
_WIDTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float, width: int) -> str:
    """share in [0, 1] of the width, to an eighth of a character, without what follows."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (_WIDTHS[rest] if rest else "")


def spark(values: Sequence[float]) -> str:
    """A character for each value in [0, 1]; the lowest is not empty."""
    return "".join(_HEIGHTS[1 + min(int(min(max(v, 0.0), 1.0) * 8), 7)] for v in values)


def columns(counts: Sequence[int], height: int, width: int = 2) -> list[str]:
    """Lines from the top down: a column of `width` characters for each count, the largest as high
    as all lines. A count above 0 is never invisible."""
    most = max(counts)
    eighths = [max(round(8 * height * c / most), 1) if c else 0 for c in counts]
    return [
        "".join(_HEIGHTS[min(max(e - 8 * row, 0), 8)] * width for e in eighths).rstrip()
        for row in reversed(range(height))
    ]
