"""The tables of "By how much" in docs/evidence.md, from what `snap eval --on int8` and `snap bench`
left in runs.

    python benchmarks/evidence.py RUN...

Runs of the same data set and model are seeds of one experiment: figures and the ends of their
intervals are means over them.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from snapcli.config import INT8
from snapcli.metrics.bootstrap import Interval
from snapcli.results.bench import BenchReport, bench_report
from snapcli.results.eval import FILE, EvalReport, MethodFigures
from snapcli.results.integers import integer_figures
from snapcli.runs import Run, open_run
from snapcli.stored import read_as

PARTS = {"errors.per_cell.auroc": "per cell", "errors.pooled.auroc": "pooled"}
PARTS |= {"errors.clean.auroc": "clean"}
BASE, SNAP, GATED, FOREIGN = "max-probability", "snap", "snap-gated", "snap-foreign"


def main() -> None:
    groups: dict[tuple[str, str], list[Run]] = {}
    for name in sys.argv[1:]:
        run = open_run(Path(name), Path(name).parent)
        judged = _judged(run)
        groups.setdefault((judged.dataset, Path(judged.model).stem), []).append(run)
    if not groups:
        sys.exit("usage: python benchmarks/evidence.py RUN...")
    _errors(groups)
    _foreign(groups)
    _costs(groups)


Groups = Mapping[tuple[str, str], Sequence[Run]]


def _judged(run: Run) -> EvalReport:
    return read_as(run.path("eval") / FILE, EvalReport)


def _methods(runs: Sequence[Run], name: str) -> list[MethodFigures]:
    """That method in every run; none where it is missing in one."""
    by_run = [{m.name: m for m in _judged(run).sources[INT8].methods} for run in runs]
    found = [methods[name] for methods in by_run]
    return found if all(m.errors is not None for m in found) else []


def _errors(groups: Groups) -> None:
    print("\nAUROC of errors: U; its gain on max-probability; its gain on the map gated\n")
    titles = [f"{part}: {what}" for part in PARTS.values() for what in ("U", "gain", "on gated")]
    print(f"| | map | {' | '.join(titles)} |\n|{'---|' * (2 + len(titles))}")
    for (dataset, model), runs in groups.items():
        ours, gated = _methods(runs, SNAP), _methods(runs, GATED)
        kinds = dict.fromkeys(str(integer_figures(run).map["kind"]) for run in runs)
        cells = []
        for key in PARTS:
            _, part, _ = key.split(".")
            errors = [m.errors for m in ours if m.errors is not None]
            cells.append(_mean([getattr(e, part).auroc for e in errors], "{:.3f}"))
            cells.append(_mean([m.gains[key] for m in ours if key in m.gains], "{:+.3f}"))
            cells.append(
                _mean([m.snap_gains[key] for m in gated if key in m.snap_gains], "{:+.3f}")
            )
        print(f"| {dataset}, {model} | {', '.join(kinds)} | {' | '.join(cells)} |")


def _foreign(groups: Groups) -> None:
    names = {FOREIGN: "F", SNAP: "U", GATED: "U by gated", "snap-s": "S", BASE: BASE}
    print("\nAUROC of foreign inputs\n")
    print(f"| | set | {' | '.join(names.values())} |\n|{'---|' * (2 + len(names))}")
    for (dataset, model), runs in groups.items():
        by_name = {name: _methods(runs, name) for name in names}
        for foreign in by_name[BASE][0].ood:
            cells = [
                _mean([m.ood[foreign].auroc for m in methods], "{:.3f}")
                for methods in by_name.values()
            ]
            print(f"| {dataset}, {model} | {foreign} | {' | '.join(cells)} |")


def _costs(groups: Groups) -> None:
    print("\nWhat the monitor adds on the first target of each run\n")
    parts = ("heads", "distance", "map")
    print(f"| | target | flash, B | RAM, B | instructions | {' | '.join(parts)} |")
    print(f"|{'---|' * (5 + len(parts))}")
    for (dataset, model), runs in groups.items():
        benches = [bench_report(run, s) for run in runs for s in _benches(run)[:1]]
        if not benches:
            continue
        added = [f"{np.mean([by(b) for b in benches]):,.0f}" for by in (_flash, _ram)]
        overhead = np.mean([100 * (b.heads_overhead or 0.0) for b in benches])
        by_part = [np.mean([_stage(b, part) for b in benches]) for part in parts]
        cells = [*added, f"+{overhead:.2f} %", *(f"{n:,.0f}" for n in by_part)]
        print(f"| {dataset}, {model} | {benches[0].target} | {' | '.join(cells)} |")


def _benches(run: Run) -> list[str]:
    return [stage for stage in run.records() if stage.startswith("bench/")]


def _flash(bench: BenchReport) -> int:
    return bench.size.flash_bytes - bench.size_without_heads.flash_bytes


def _ram(bench: BenchReport) -> int:
    return bench.size.ram_bytes - bench.size_without_heads.ram_bytes


def _stage(bench: BenchReport, name: str) -> float:
    return sum(stage.mean for stage in bench.stages if stage.name == name)


def _mean(values: Sequence[Interval], form: str) -> str:
    known = [v for v in values if not np.isnan(v.value)]
    if not known:
        return "-"
    value, low, high = (
        form.format(np.mean([getattr(v, end) for v in known])) for end in ("value", "low", "high")
    )
    return value if "nan" in low else f"{value} [{low}, {high}]"


if __name__ == "__main__":
    main()
