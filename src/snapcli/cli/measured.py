"""What was measured on a device, as tables: bench and stream."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from snapcli import console
from snapcli.cli.blocks import bar, columns
from snapcli.cli.render import notes, percent, plural, size, within

if TYPE_CHECKING:
    from snapcli.metrics.timing import Timing
    from snapcli.results.bench import BenchReport, BoundedCost, MeasuredCost
    from snapcli.results.stream import SegmentReport, StreamReport

_SHOWN_STEPS = 10
_HISTOGRAM_LINES = 4
_BAR = 20
# Of the frames of a stream: fields of its segments, and what they are called.
_SHARES = ("abstained", "foreign")
_TITLES = {"abstained": "abstained", "foreign": "foreign", "alarmed": "alarm on"}


def bench(report: "BenchReport", profile: bool) -> None:
    """profile: every step and kernel, not only the most expensive steps."""
    notes(report.notes)
    console.pairs(
        f"bench: {report.run} on {report.target} ({report.part})",
        [*_times(report), *_memory(report), ("energy", _energy(report)), *_link(report)],
    )
    _histogram(report.timing, report.counter, report.inputs)
    console.table(
        "stages, with the probe",
        ("stage", report.counter, *_us_column(report), "share", ""),
        [_row(cost, report, cost.name) for cost in report.stages],
    )
    if profile:
        _profile(report)
        return
    steps = sorted(report.steps, key=lambda cost: -cost.mean)
    console.table(
        f"the {_SHOWN_STEPS} most expensive layers (all, and kernels: --profile)",
        ("layer", "stage", report.counter, *_us_column(report), "per MAC", "share", ""),
        [_row(cost, report, cost.name, cost.stage) for cost in steps[:_SHOWN_STEPS]],
    )


def _profile(report: "BenchReport") -> None:
    """Where the counts go, by step and by kernel, and how far each is from its inner loop."""
    columns = ("MAC", report.counter, *_us_column(report), "share", "per MAC", *_bounds(report))
    console.wide_table(
        "layers, in the order of work",
        ("layer", "kernel", "stage", *columns),
        [(c.name, c.kernel, c.stage, *_bounded(c, report)) for c in report.steps],
    )
    console.wide_table(
        "kernels",
        ("kernel", "calls", *columns),
        [(c.name, f"{c.calls}", *_bounded(c, report)) for c in report.kernels],
    )
    if _bounds(report):
        console.say("bound: instructions per MAC of the kernel's inner loop alone.")


def _bounds(report: "BenchReport") -> tuple[str, ...]:
    """The columns of the bound; a bound in instructions says nothing of how far cycles are."""
    if not any(cost.bound for cost in report.kernels):
        return ()
    counted = any(cost.times_bound for cost in report.kernels)
    return ("bound", "x bound") if counted else ("bound, instructions",)


def _bounded(cost: "BoundedCost", report: "BenchReport") -> tuple[str, ...]:
    """The cells from the work on."""
    cells = [f"{cost.macs:,}" if cost.macs else "", f"{cost.mean:,.0f}", *_us(cost, report)]
    cells += [percent(cost.share), _decimals(cost.per_mac)]
    ends = (cost.bound, cost.times_bound)
    return (*cells, *map(_decimals, ends[: len(_bounds(report))]))


def _decimals(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _us(cost: "MeasuredCost", report: "BenchReport") -> tuple[str, ...]:
    if not report.timing_us:
        return ()
    return (f"{cost.mean * report.timing_us.mean / report.timing.mean:,.1f}",)


def _times(report: "BenchReport") -> list[tuple[str, str]]:
    unit, timing, us = report.counter, report.timing, report.timing_us
    ranks = " / ".join(timing.percentiles)
    rows = [
        ("bit-exact", f"{report.bit_exact:,} of {report.inputs:,}"),
        ("abstained", percent(report.abstained / report.inputs)),
        ("called foreign", percent(report.foreign / report.inputs)),
        (f"{unit}, mean", f"{timing.mean:,.0f} (deviation {timing.deviation:,.0f})"),
        (f"{unit}, min - max", f"{timing.minimum:,.0f} - {timing.maximum:,.0f}"),
        (f"percentiles {ranks}", " / ".join(f"{v:,.0f}" for v in timing.percentiles.values())),
        (f"{unit} per MAC", f"{report.count_per_mac:.2f} ({report.macs:,} MAC)"),
    ]
    if us:
        rows += [
            (
                "microseconds, mean",
                f"{us.mean:,.1f} (deviation {us.deviation:,.1f}) at {timing.mean / us.mean:g} MHz",
            ),
            ("microseconds, min - max", f"{us.minimum:,.1f} - {us.maximum:,.1f}"),
        ]
    if report.timing_without_heads and report.heads_overhead is not None:
        plain = report.timing_without_heads.mean
        rows.append((f"{unit} without monitor", f"{plain:,.0f}"))
        rows.append(("overhead of the monitor", f"{100 * report.heads_overhead:.2f} %"))
    return rows


def _memory(report: "BenchReport") -> list[tuple[str, str]]:
    whole, plain, stack = report.size, report.size_without_heads, report.stack
    rows = [
        (
            "flash",
            f"{within(whole.flash_bytes, report.flash_limit_bytes)}, "
            f"monitor {size(whole.flash_bytes - plain.flash_bytes)}",
        ),
        (
            "RAM, reserved stack included",
            f"{within(whole.ram_bytes, report.ram_limit_bytes)}, "
            f"monitor {size(whole.ram_bytes - plain.ram_bytes)}",
        ),
    ]
    if stack.reserved_bytes:
        rows += [
            ("RAM, data and used stack", size(report.ram_used_bytes)),
            (
                "stack, high-water mark",
                f"{size(stack.used_bytes)} of {size(stack.reserved_bytes)}",
            ),
        ]
    return rows


def _energy(report: "BenchReport") -> str:
    energy = report.energy
    if energy is None:
        is_time = report.timing_us is not None
        return "not measured (give --power-trace)" if is_time else "not measured (an emulator)"
    volts = f", at {energy.supply_voltage:g} V" if energy.supply_voltage else ""
    return (
        f"{energy.mean_uj:,.2f} uJ per inference (deviation {energy.deviation_uj:,.2f}, "
        f"{energy.minimum_uj:,.2f} - {energy.maximum_uj:,.2f}), "
        f"{plural(energy.inferences, 'window')}{volts}"
    )


def _link(report: "BenchReport | StreamReport") -> list[tuple[str, str]]:
    """A row where the line or the device was disturbed."""
    if not report.repeats and not report.restarts:
        return []
    sent = f"{plural(report.repeats, 'request')} sent again"
    return [("link", f"{sent}, {plural(report.restarts, 'restart')} of the device")]


def _histogram(timing: "Timing", unit: str, runs: int) -> None:
    edges, counts = timing.histogram.edges, timing.histogram.counts
    if len(counts) < 2:
        console.say(f"All {runs:,} runs took the same {unit}.")
        return
    lines = columns(counts, _HISTOGRAM_LINES)
    low, high = f"{edges[0]:,.0f}", f"{edges[-1]:,.0f}"
    axis = low + high.rjust(max(2 * len(counts) - len(low), len(high) + 1))
    console.say(f"{runs:,} runs by {unit}, {edges[1] - edges[0]:,.0f} to a column:")
    for line in (*lines, axis):
        console.say(f"  {line}")


def _us_column(report: "BenchReport") -> tuple[str, ...]:
    return ("us",) if report.timing_us else ()


def _row(cost: "MeasuredCost", report: "BenchReport", *names: str) -> tuple[str, ...]:
    cells = [*names, f"{cost.mean:,.0f}", *_us(cost, report)]
    if len(names) > 1:
        cells.append(_decimals(cost.per_mac))
    return (*cells, percent(cost.share), bar(cost.share, _BAR))


def stream(report: "StreamReport", stored: Iterable[str]) -> None:
    rows = [
        ("bit-exact", f"{report.bit_exact:,} of {report.frames:,} frames"),
        ("abstained", _abstained(report)),
        ("called foreign", percent(report.foreign / report.frames)),
        *([("alarms", _alarms(report))] if report.watched else []),
        (
            f"{report.counter}, mean",
            f"{report.timing.mean:,.0f} (deviation {report.timing.deviation:,.0f})",
        ),
    ]
    played = report.frames - report.resumed_at
    if report.resumed_at:
        rows.append(("went on from frame", f"{report.resumed_at:,}"))
    if played:
        rows.append(("frames in a second", f"{played / max(report.seconds, 1e-9):,.1f}"))
    rows += _link(report)
    whole = "" if report.frames == report.planned else f", first {report.frames:,} frames"
    console.pairs(
        f"stream: {report.run} on {report.target} ({report.part}), {report.split} data{whole}",
        rows,
    )
    shown = (*_SHARES, "alarmed") if report.watched else _SHARES
    width = _BAR * len(_SHARES) // (2 * len(shown))
    titles = [cell for name in shown for cell in (_TITLES[name], "")]
    console.table(
        "what was refused",
        ("frames", "kind", *titles),
        [
            (
                f"{sum(s.frames for s in segments):,}",
                kind,
                *(cell for name in shown for cell in _drawn(_share(segments, name), width)),
            )
            for kind, segments in _by_kind(report.segments).items()
        ],
    )
    console.say(f"Stored: {', '.join(stored)}")


def _abstained(report: "StreamReport") -> str:
    told = percent(report.abstained / report.frames)
    return f"{told}, budget {percent(report.budget)}" if report.budget is not None else told


def _alarms(report: "StreamReport") -> str:
    if report.first_alarm is None:
        return f"none, on {report.watched}"
    return f"{report.alarms} on {report.watched}, the first at frame {report.first_alarm + 1:,}"


def _drawn(share: float, width: int) -> tuple[str, str]:
    return percent(share), bar(share, width)


def _share(segments: "Iterable[SegmentReport]", name: str) -> float:
    """Of their frames."""
    counts = [(getattr(segment, name), segment.frames) for segment in segments]
    return sum(c for c, _ in counts) / sum(n for _, n in counts)


def _by_kind(segments: "Iterable[SegmentReport]") -> "dict[str, list[SegmentReport]]":
    """All conditions of a kind and severity."""
    kinds: dict[str, list[SegmentReport]] = {}
    for segment in segments:
        kind = f"{segment.kind}, severity {segment.severity}" if segment.severity else segment.kind
        kinds.setdefault(kind, []).append(segment)
    return kinds
