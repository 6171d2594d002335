"""Risk against coverage, and detection against severity."""

from collections.abc import Callable

from snapcli.metrics.bootstrap import Interval
from snapcli.report.methods import BASE, Looks, drawn, our_name
from snapcli.report.numbers import DASH, bounds, decimal, is_known, percent, spoken
from snapcli.report.plot import Axis, Line, plot
from snapcli.report.scale import around
from snapcli.report.words import UNGRADED
from snapcli.results.eval import DetectionFigures, MethodFigures, SourceFigures

_POINTS = 80


def _share(value: float) -> str:
    return f"{100 * value:.0f} %" if abs(100 * value) >= 1 or value == 0 else f"{100 * value:.1g} %"


def risk_coverage(source: SourceFigures, looks: Looks) -> str:
    """Error rate among the accepted, as more is accepted, the least uncertain first."""
    lines = []
    for method in drawn(source):
        curve = [(c, r) for c, r in method.risk_coverage if is_known(c) and is_known(r)]
        if not curve:
            continue
        kept = curve[:: max(1, len(curve) // _POINTS)]
        points = kept if kept[-1] == curve[-1] else [*kept, curve[-1]]
        lines.append(Line(method.name, looks(method.name), points, _selective_tip(method)))
    # A handful of accepted examples says nothing: the left end must not set the scale.
    high = max((r for line in lines for c, r in line.points if c >= 0.1), default=1.0)
    return plot(
        "Risk against coverage",
        Axis("coverage: share of inputs that is answered", 0.0, 1.0, _share),
        Axis("risk: error rate among them", 0.0, 1.06 * (high or 1.0), _share),
        lines,
    )


def _selective_tip(method: MethodFigures) -> str:
    selective = method.selective.get("all") or next(iter(method.selective.values()), None)
    if selective is None:
        return method.name
    risk, aurc = percent(selective.risk_90.value), spoken(selective.aurc)
    return f"{method.name}\nrisk at 90 % coverage: {risk}\nAURC: {aurc}"


def by_severity(
    source: SourceFigures,
    figure: Callable[[DetectionFigures], Interval],
    title: str,
    looks: Looks,
) -> str:
    """figure: AUROC or AUPR of errors, mean over the types of a severity."""
    lines, severities = [], severities_of(source)
    for method in drawn(source):
        figures = [
            (s, figure(method.by_severity[s]))
            for s in severities
            if s in method.by_severity and is_known(figure(method.by_severity[s]).value)
        ]
        if not figures:
            continue
        name = method.name
        points = [(float(severities.index(s)), f.value) for s, f in figures]
        tip = [name, *(f"{severity_word(s)}: {spoken(f)}" for s, f in figures)]
        band = [
            (float(severities.index(s)), *between)
            for s, f in figures
            if (between := bounds(f)) is not None and name in (our_name(source), BASE)
        ]
        lines.append(Line(name, looks(name), points, "\n".join(tip), band, dots=True))
    heights = [y for line in lines for _, y in line.points]
    heights += [edge for line in lines for _, low, high in line.band for edge in (low, high)]
    low, high = around(heights, least=0.05)
    last = max(len(severities) - 1, 1)
    return plot(
        f"{title} against severity",
        Axis(
            "severity of the corruption",
            -0.15,
            last + 0.15,
            lambda v: severities[int(v)] if 0 <= v < len(severities) else DASH,
            [float(i) for i in range(len(severities))],
        ),
        Axis(title, max(low, 0.0), min(high, 1.02), lambda v: decimal(v, 2)),
        lines,
    )


def severities_of(source: SourceFigures) -> list[str]:
    """Those of types that have a scale, mildest first."""
    severities = dict.fromkeys(s for m in drawn(source) for s in m.by_severity)
    return sorted(s for s in severities if s != UNGRADED)


def severity_word(severity: str) -> str:
    return f"severity {severity}" if severity.isdigit() else severity
