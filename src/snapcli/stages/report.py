"""report: everything that a run holds, on one page -> report/index.html.

Only what is up to date is shown; of the rest the page says which command makes it.
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from snapcli.emit import build_program
from snapcli.measuring.frame_log import read_log
from snapcli.metrics.thinning import thinned
from snapcli.origin.origin import origin_of
from snapcli.origin.recipe import CONFIG, run_recipe
from snapcli.pricing.kernel_set import kernels_named
from snapcli.report.contents import (
    Arena,
    BufferPlace,
    Contents,
    DeviceStream,
    PlayedAlarm,
    StageRecord,
    ToolRecord,
)
from snapcli.report.page import page
from snapcli.results import alarm, bench, cost, export_c, stream
from snapcli.results import eval as evaluated
from snapcli.results.ablate import AblateTable, ablate_table
from snapcli.results.alarm import AlarmReport
from snapcli.results.bench import BenchReport
from snapcli.results.calibrate import Figures
from snapcli.results.cost import CostReport
from snapcli.results.eval import EvalReport
from snapcli.results.export_c import StoredExport
from snapcli.results.flash import FlashReport, flash_report
from snapcli.results.integers import integer_figures
from snapcli.results.stream import StreamReport
from snapcli.results.taps import TapsReport, taps_report
from snapcli.runs import Run, disk_errors, folder_of, whole_file
from snapcli.stored import read_as, read_json
from snapcli.targets import load_target

STAGE, FILE = "report", "index.html"
_Q16, _Q24 = 2**16, 2**24
T = TypeVar("T")


@dataclass(frozen=True)
class PageReport:
    """shown: the stages whose results are on the page; missing: {piece: the command for it}."""

    run: str
    page: str
    size_bytes: int
    shown: tuple[str, ...]
    missing: dict[str, str]


def report(run: Run, output: Path | None = None) -> PageReport:
    """output: a file to write instead of the one in the run."""
    reader = _Reader(run)
    with run.still():
        contents = reader.contents()
    text = page(contents)
    if output is None:
        with run.write(STAGE, after=tuple(reader.shown)) as out:
            (out / FILE).write_text(text, "utf-8")
        place = run.path(f"{STAGE}/{FILE}")
    else:
        place = output
        with disk_errors(output, "--output"), whole_file(output) as partial:
            partial.write_text(text, "utf-8")
    return PageReport(
        run=run.name,
        page=str(place),
        size_bytes=len(text.encode()),
        shown=tuple(reader.shown),
        missing=reader.missing,
    )


@dataclass
class _Reader:
    """Reads what is up to date, and remembers what it read and what was not there."""

    run: Run
    shown: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)

    def contents(self) -> Contents:
        run = self.run
        origin = origin_of(run)
        evaluation = self._report("eval", evaluated.FILE, EvalReport, evaluated.SCHEMA)
        shown = Contents(
            run=run.name,
            model=origin.model if origin.has_float else Path(origin.model).name,
            dataset=origin.data,
            missing=self.missing,
            evaluation=evaluation,
            cost=self._report("cost", cost.COST_FILE, CostReport, cost.SCHEMA),
            alarm=self._report("alarm", alarm.REPORT_FILE, AlarmReport, alarm.SCHEMA),
            taps=self._taps() if origin.has_float else None,
            figures=self._figures(),
            without_heads=origin.without_heads,
            sizes=self._of_targets("flash", self._size),
            benches=self._of_targets("bench", self._bench),
            arenas=self._of_targets("export-c", self._arena),
            streams=self._of_targets("stream", self._stream),
            ablations=self._ablations(),
            made=[self._made(s, record) for s, record in run.records().items() if s != STAGE],
            recipe=run.path(CONFIG).read_text("utf-8"),
        )
        scored = evaluation.sources if evaluation else origin.sources
        for source in origin.sources:
            if source not in scored:
                command = f"{run.remedy('eval')} --on {shlex.quote(source)}"
                self.missing[f"eval {source}"] = f"eval has no scores of {source}. Run: {command}"
        return shown

    def _is_there(self, stage: str) -> bool:
        """Whether a stage is up to date; if not, that is noted."""
        state = self.run.state(stage)
        if state.status == "done":
            self.shown.append(stage)
            return True
        detail = "not there yet" if state.status == "missing" else state.detail
        self._lack(stage, f"is {detail}", state.origin)
        return False

    def _lack(self, stage: str, why: str, origin: str | None = None) -> None:
        self.missing[stage] = f"{stage} {why}. Run: {self.run.remedy(origin or stage)}"

    def _report(self, stage: str, file: str, kind: type[T], schema: int) -> T | None:
        """Of a stage that leaves one; None unless it is up to date and of that schema."""
        if not self._is_there(stage):
            return None
        return self._read(stage, self.run.path(stage) / file, kind, schema)

    def _read(self, stage: str, path: Path, kind: type[T], schema: int) -> T | None:
        """None, which is noted, if it is of another schema."""
        if read_json(path, dict[str, Any]).get("schema") == schema:
            return read_as(path, kind)
        self.shown.remove(stage)
        self._lack(stage, "was stored by another version of snap")
        return None

    def _taps(self) -> TapsReport | None:
        return taps_report(self.run.path("taps")) if self._is_there("taps") else None

    def _figures(self) -> Figures | None:
        """Of the integers that a device computes."""
        is_there = self._is_there(origin_of(self.run).integer_stage)
        return integer_figures(self.run) if is_there else None

    def _of_targets(self, kind: str, read: Callable[[str], T | None]) -> dict[str, T]:
        """{target: what was read}, of all that are up to date and can be read."""
        default = f"{kind}/{run_recipe(self.run).export_c.target}"
        stages = [stage for stage in self._made_of(kind) or [default] if self._is_there(stage)]
        by_target = {stage.partition("/")[2]: read(stage) for stage in stages}
        return {target: value for target, value in by_target.items() if value is not None}

    def _made_of(self, kind: str) -> list[str]:
        return [stage for stage in self.run.records() if stage.partition("/")[0] == kind]

    def _outputs(self, stage: str, suffix: str) -> list[Path]:
        record = self.run.record(stage)
        assert record is not None
        return [self.run.path(name) for name in record["outputs"] if name.endswith(suffix)]

    def _size(self, stage: str) -> FlashReport:
        return flash_report(self.run.path(folder_of(stage)))

    def _bench(self, stage: str) -> BenchReport | None:
        return self._read(stage, self._outputs(stage, ".json")[0], BenchReport, bench.SCHEMA)

    def _arena(self, stage: str) -> Arena | None:
        """Planned again as export-c did: its files hold offsets, not lifetimes."""
        path = self.run.path(stage) / export_c.REPORT
        exported = self._read(stage, path, StoredExport, export_c.SCHEMA)
        if exported is None:
            return None
        body = origin_of(self.run).deployed().monitor.body
        kernels = kernels_named(exported.kernels, load_target(exported.target).has_dsp)
        program = build_program(body.graph, body, kernels)
        plan = program.full
        if plan.arena_bytes != exported.arena_bytes:
            self._lack(stage, "was stored by another version of snap")
            return None
        return Arena(
            kernels=exported.kernels,
            arena_bytes=plan.arena_bytes,
            steps=("(input)", *(step.label for step in program.steps), "(output)"),
            buffers=tuple(
                BufferPlace(b.name, b.size_bytes, plan.offsets[b.name], b.first, b.last)
                for b in plan.buffers
            ),
        )

    def _stream(self, stage: str) -> DeviceStream | None:
        path = self._outputs(stage, ".npz")[0]
        played = self._read(stage, path.with_suffix(".json"), StreamReport, stream.SCHEMA)
        if played is None:
            return None
        log = read_log(path, f"Run: {self.run.remedy(stage)}")
        return DeviceStream(
            report=played,
            score=tuple(thinned(log["uncertainty_q16"] / _Q16).tolist()),
            threshold=tuple(thinned(log["threshold_q24"] / _Q24).tolist()),
            abstained=tuple(thinned(log["abstain"]).tolist()),
            alarm=PlayedAlarm(
                statistic=tuple(thinned(log["alarm_statistic_q16"] / _Q16).tolist()),
                threshold=played.alarm_threshold,
                on=tuple(thinned(log["alarm_on"]).tolist()),
            )
            if played.alarm_threshold is not None
            else None,
        )

    def _ablations(self) -> list[AblateTable]:
        stages = [stage for stage in self._made_of("ablate") or ["ablate"] if self._is_there(stage)]
        return [ablate_table(path) for stage in stages for path in self._outputs(stage, ".json")]

    def _made(self, stage: str, record: Mapping[str, Any]) -> StageRecord:
        state = self.run.state(stage)
        return StageRecord(
            stage=stage,
            state="done" if state.status == "done" else state.detail,
            command=shlex.join(record["argv"]),
            seed=record["seed"],
            versions=record["versions"],
            outputs=record["outputs"],
            tools={
                name: ToolRecord(tool["version"], tool["flags"])
                for name, tool in record.get("tools", {}).items()
            },
        )
