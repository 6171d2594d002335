"""Whether what is stated comes true: mean stated probability against the share that did."""

from snapcli.report.methods import Looks, drawn, pair
from snapcli.report.numbers import is_known, percent
from snapcli.report.plot import Axis, Line, plot
from snapcli.results.eval import SourceFigures


def panels(source: SourceFigures) -> list[str]:
    """What there are diagrams of, in the order of the report."""
    shown = pair(source) or drawn(source)
    return list(dict.fromkeys(key for method in shown for key in method.reliability))


def diagram(source: SourceFigures, key: str, title: str, looks: Looks) -> str:
    """15 bins of equal mass; on the diagonal the statement is true."""
    lines = []
    for method in reversed(pair(source) or drawn(source)):
        bins = [
            b
            for b in method.reliability.get(key, ())
            if is_known(b.stated) and is_known(b.observed)
        ]
        if not bins:
            continue
        points = [(b.stated, b.observed) for b in bins]
        gap = sum(b.mass * abs(b.stated - b.observed) for b in bins)
        tip = f"{method.name}\nmean distance from the diagonal: {percent(gap)}"
        lines.append(Line(method.name, looks(method.name), points, tip, dots=True))
    if not lines:
        return ""
    # Equal-mass bins of a good model crowd into a corner: show that corner.
    values = [v for line in lines for point in line.points for v in point]
    low, high = _round_out(min(values), max(values))
    axis = (low, high, lambda v: percent(v, 0 if high - low >= 0.1 else 1))
    return plot(
        title,
        Axis(f"stated {_what(key)}", *axis),
        Axis("came true", *axis),
        lines,
        behind=[[(low, low), (high, high)]],
    )


def _what(key: str) -> str:
    return "confidence" if key.startswith("posterior") else "probability of an error"


def _round_out(low: float, high: float) -> tuple[float, float]:
    """A tenth to each side, and all of it if most is used."""
    margin = max(0.04 * (high - low), 0.005)
    low, high = max(low - margin, 0.0), min(high + margin, 1.0)
    return (0.0, 1.0) if high - low > 0.7 else (low, high)
