"""eval: every method side by side -> eval/eval.json.

What an earlier eval of the same artifacts, with the same options, has found stays in the table.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np

from snapcli.array import Bools
from snapcli.config import DEVICE, FLOAT, INT8, SOURCES, CalibrateOptions, EvalOptions
from snapcli.data.evaluation import Evaluation, Key
from snapcli.errors import ArtifactError, UsageError
from snapcli.heads.head import Head
from snapcli.judging import variants
from snapcli.judging.calibrated import calibration_of
from snapcli.judging.cross_fit import CrossFitted
from snapcli.judging.device_evidence import DeviceNetwork, device_evidence, played_stream
from snapcli.judging.evidence import Evidence, Observe, collect
from snapcli.judging.judge import Judge, Samples, gains
from snapcli.judging.networks import float_network, further_heads, integer_network
from snapcli.judging.observe import IntegerNetwork
from snapcli.methods.method import SURPRISAL, Batch, Method
from snapcli.methods.network import ObservedNetwork
from snapcli.methods.table import (
    GROUPS,
    REFERENCE,
    SINGLE,
    SNAP,
    TABLE,
    TRAINED,
    Row,
    WhyNot,
    chosen,
    head_kinds,
)
from snapcli.metrics.events import find_events, normal_band
from snapcli.origin.origin import origin_of
from snapcli.origin.recipe import run_recipe
from snapcli.progress import OnProgress, silent
from snapcli.results.eval import (
    FILE,
    NOT_ASKED,
    NOT_RUN,
    SCHEMA,
    EvalReport,
    MethodFigures,
    SourceFigures,
    StreamSegment,
    StreamView,
    report_from_dict,
)
from snapcli.runs import Run, write_json
from snapcli.score.weights import tap_weights
from snapcli.stored import read_json, reading

STAGE = "eval"
_NO_IMAGE = "no firmware of it answers over the link"


def evaluate(run: Run, options: EvalOptions, on_progress: OnProgress = silent) -> EvalReport:
    names = chosen(options.methods)
    _check(run, options)
    origin = origin_of(run)
    dataset = origin.dataset(on_progress)
    if not dataset.labelled:
        raise UsageError(
            f"the data of {run.name} have no labels, so errors cannot be told",
            "Attach with --labels.",
        )
    before = None if options.anew else _before(run)
    settings = _settings(run, options, before)
    table = _Table(run, Evaluation(dataset, settings["limit"]), settings, names, on_progress)
    report = EvalReport(
        schema=SCHEMA,
        run=run.name,
        dataset=dataset.name,
        model=origin.model,
        seed=origin.recipe.train.seed,
        sources=before.sources if before else {},
        **settings,
    )
    # Written as it grows: an interrupted eval keeps what it has found.
    for source in _sources(run, options.on):
        earlier = report.sources.get(source)
        for now in table.source(source):
            sources = {**report.sources, source: _merged(now, earlier)}
            kept = {name: sources[name] for name in SOURCES if name in sources}
            report = replace(report, sources=kept)
            with run.write(STAGE, after=_after(run, report.sources)) as out:
                write_json(out / FILE, asdict(report))
    return report


def _settings(run: Run, options: EvalOptions, before: EvalReport | None) -> dict[str, int]:
    """What was asked for, else what the table has; rows that were made otherwise may not stand in
    one table."""
    own = {"limit": calibration_of(run, FLOAT).asked.limit, "replicates": 1000, "streams": 3}
    there = {name: getattr(before, name) for name in own} if before else own
    asked = {name: getattr(options, name) for name in own if getattr(options, name) is not None}
    settings = there | asked
    if before and settings != there:
        made = " ".join(f"--{name} {value}" for name, value in there.items())
        raise UsageError(
            f"the table of {run.name} was made with {made}",
            "Leave these out to add rows, or throw the table away with --anew.",
        )
    return settings


def _check(run: Run, options: EvalOptions) -> None:
    """What the run cannot have, before anything long begins."""
    origin = origin_of(run)
    for stage in (*origin.float_stages, "calibrate"):
        run.inputs(stage)
    if not origin.has_float and {TRAINED, "all", *GROUPS[TRAINED]} & set(options.methods):
        raise UsageError(
            f"{run.name} holds a finished model: no variant of it can be trained",
            "Take --methods single-pass.",
        )
    if FLOAT in options.on and not origin.has_float:
        raise UsageError(f"{run.name} holds an int8 model alone", "Take --on int8.")
    if DEVICE in options.on and not played_stream(run):
        target = origin.recipe.export_c.target
        raise ArtifactError(
            f"{run.name} has no test stream that a device answered",
            f"Run: {run.remedy(f'stream/{target}')}",
        )
    if options.on and {INT8, DEVICE} & set(options.on):
        origin.deployed()


def _sources(run: Run, wanted: tuple[str, ...]) -> list[str]:
    """Those asked for, or all that the run has."""
    origin = origin_of(run)
    has_int8 = run.state(origin.integer_stage).status == "done"
    there = {
        FLOAT: origin.has_float,
        INT8: has_int8,
        DEVICE: has_int8 and played_stream(run) is not None,
    }
    return [source for source in SOURCES if (source in wanted if wanted else there[source])]


def _after(run: Run, sources: Mapping[str, SourceFigures]) -> tuple[str, ...]:
    """The stages whose artifacts the table speaks of."""
    origin = origin_of(run)
    stages = [*origin.float_stages]
    if INT8 in sources or DEVICE in sources:
        stages += origin.deployed().stages
    stream = played_stream(run)
    stages += [stream] if DEVICE in sources and stream else []
    methods = (m for figures in sources.values() for m in figures.methods)
    stages += [f"variants/{m.name}" for m in methods if m.kind == TRAINED and m.status == "done"]
    return tuple(dict.fromkeys(stages))


def _before(run: Run) -> EvalReport | None:
    """What the last eval said, if it was of the same artifacts."""
    if run.record(STAGE) is None or run.state(STAGE).status != "done":
        return None
    path = run.path(STAGE) / FILE
    values = read_json(path, dict[str, Any])
    if values.get("schema") != SCHEMA:
        raise UsageError(
            f"the table of {run.name} was made by another version of snap, which judged otherwise",
            "Throw it away with --anew.",
        )
    with reading(path):
        return report_from_dict(values)


def _merged(now: SourceFigures, before: SourceFigures | None) -> SourceFigures:
    if before is None:
        return now
    earlier = {m.name: m for m in before.methods if m.status == "done"}
    methods = tuple(m if m.status == "done" else earlier.get(m.name, m) for m in now.methods)
    return replace(now, methods=methods)


class _Table:
    """Judges source by source; what several sources need is made once."""

    def __init__(
        self,
        run: Run,
        evaluation: Evaluation,
        settings: Mapping[str, int],
        names: tuple[str, ...],
        on_progress: OnProgress,
    ) -> None:
        self._run, self._evaluation, self._settings = run, evaluation, settings
        self._names, self._on_progress = names, on_progress
        self._calibration = cache(partial(calibration_of, run))

    def source(self, source: str) -> Iterator[SourceFigures]:
        """With all single-pass methods, then again with every variant that is done."""
        network, evidence = self._seen(source)
        judge = Judge(evidence, self._settings["replicates"])
        judged: list[tuple[MethodFigures, Samples]] = []
        reference: Samples | None = None
        for i, name in enumerate(GROUPS[SINGLE]):
            self._on_progress(i, len(GROUPS[SINGLE]), f"methods judged, {source}: {name}")
            judged.append(self._judged(TABLE[name], network, source, judge, reference))
            reference = judged[-1][1] if name == REFERENCE else reference
        snap = next(samples for figures, samples in judged if figures.name == SNAP)
        shown = SourceFigures(
            source=source,
            examples={
                "clean": len(evidence.clean),
                "corrupted": sum(len(evidence.conditions[k]) for k in evidence.cells),
                **{k.condition: len(evidence.conditions[k]) for k in evidence.foreign},
            },
            accuracy=_accuracy(evidence),
            taps=self._taps,
            tap_correlation=_correlation(evidence, self._calibration(source).asked),
            stream=_stream(evidence),
            methods=(),
        )
        done = [_with_snap(figures, snap, samples) for figures, samples in judged]
        trained = {n: MethodFigures(n, TRAINED, NOT_RUN, NOT_ASKED) for n in GROUPS[TRAINED]}
        yield replace(shown, methods=(*done, *trained.values()))
        for name in (n for n in trained if n in self._names):
            figures, samples = self._variant(name, network, source, reference)
            trained[name] = _with_snap(figures, snap, samples)
            yield replace(shown, methods=(*done, *trained.values()))

    def _seen(self, source: str) -> tuple[ObservedNetwork, Evidence]:
        if source == FLOAT:
            network = float_network(self._run, self._evaluation.dataset, self._further)
            return network, self._collected(network.observe, source)
        integer, evidence = self._integer
        if source == INT8:
            return integer, evidence
        stage = played_stream(self._run)
        assert stage is not None
        scale = float(integer.body.graph.tensors[integer.body.logits_tensor].scale)
        dataset = self._evaluation.dataset
        seen = device_evidence(self._run, stage, dataset, scale, evidence)
        return DeviceNetwork(integer.own_head, integer.has_heads), seen

    @cached_property
    def _further(self) -> dict[str, list[Head]]:
        kinds = head_kinds(self._names, origin_of(self._run).head)
        self._on_progress(0, 1, "heads of other kinds")
        return further_heads(self._run, self._evaluation.dataset, kinds)

    @cached_property
    def _integer(self) -> tuple[IntegerNetwork, Evidence]:
        network = integer_network(self._run, self._evaluation.dataset, self._further)
        return network, self._collected(network.observe, INT8)

    @cached_property
    def _taps(self) -> tuple[str, ...]:
        origin = origin_of(self._run)
        if self._run.state(origin.integer_stage).status == "done":
            return tuple(tap.after for tap in origin.deployed().monitor.body.taps)
        return float_network(self._run, self._evaluation.dataset, {}).taps

    def _collected(self, observe: Observe, source: str) -> Evidence:
        def on_progress(done: int, total: int, detail: str) -> None:
            self._on_progress(done, total, f"{detail} ({source})")

        options = self._calibration(FLOAT).asked
        streams = self._settings["streams"]
        return collect(observe, self._evaluation, options, streams, on_progress)

    def _judged(
        self,
        row: Row,
        network: ObservedNetwork,
        source: str,
        judge: Judge,
        reference: Samples | None,
    ) -> tuple[MethodFigures, Samples]:
        if row.name not in self._names:
            return MethodFigures(row.name, SINGLE, NOT_RUN, NOT_ASKED), {}
        method = self._made(row, network, source)
        if isinstance(method, str):
            return MethodFigures(row.name, SINGLE, NOT_RUN, method), {}
        return judge.figures(CrossFitted(method, judge.evidence), SINGLE, reference)

    def _variant(
        self, name: str, network: ObservedNetwork, source: str, reference: Samples | None
    ) -> tuple[MethodFigures, Samples]:
        row = TABLE[name]
        if source == DEVICE or (source == INT8 and not row.form):
            why = row.no_form if source == INT8 else _NO_IMAGE
            return MethodFigures(name, TRAINED, NOT_RUN, why), {}
        variant = variants.variant(self._run, name, self._on_progress)
        evidence = self._collected(self._observer(variant, source), f"{name}, {source}")
        judge = Judge(evidence, self._settings["replicates"])
        method = self._made(row, network, source)
        assert not isinstance(method, str)
        return judge.figures(CrossFitted(method, evidence), TRAINED, reference)

    def _made(self, row: Row, network: ObservedNetwork, source: str) -> Method | WhyNot:
        return row.make(network, self._calibration(source))

    def _observer(self, variant: variants.Variant, source: str) -> Observe:
        if source == FLOAT:
            return variant.observe
        count = run_recipe(self._run).quantize.samples
        dataset = self._evaluation.dataset
        return variant.int8(dataset.front_end(dataset.train.x[:count]))


def _with_snap(figures: MethodFigures, snap: Samples, samples: Samples) -> MethodFigures:
    return replace(figures, snap_gains=gains(snap, samples))


def _accuracy(evidence: Evidence) -> dict[str, float]:
    """Of the base model: clean, then by severity, means over the types."""

    def right(key: Key) -> float:
        batch = evidence.conditions[key]
        return float(np.mean(batch.logits.argmax(axis=-1) == batch.y))

    accuracy = {"clean": right(Key("test", "clean"))}
    for severity in sorted({key.severity for key in evidence.cells}):
        cells = [right(key) for key in evidence.cells if key.severity == severity]
        accuracy[str(severity)] = float(np.mean(cells))
    return accuracy


def _correlation(evidence: Evidence, options: CalibrateOptions) -> tuple[tuple[float, ...], ...]:
    """Between the taps' surprisals and S, over all test data; nothing without heads."""
    if not evidence.clean.outputs[SURPRISAL].shape[1]:
        return ()
    weights = tap_weights(evidence.dev.clean.outputs[SURPRISAL], options.weights)
    keys = [Key("test", "clean"), *evidence.cells]
    surprisal = np.concatenate([evidence.conditions[key].outputs[SURPRISAL] for key in keys])
    together = np.column_stack([surprisal, surprisal @ weights])
    return tuple(tuple(row) for row in np.corrcoef(together, rowvar=False).tolist())


def _stream(evidence: Evidence) -> StreamView | None:
    """The first test stream, its events by the base model's answers."""
    if not evidence.test_streams:
        return None
    stream = evidence.test_streams[0]
    band = normal_band(_right(stream.normal))
    events = find_events(np.concatenate([_right(part) for part in stream.parts]), band)
    return StreamView(
        frames=len(stream),
        lower=band.lower,
        events=tuple((event.onset, event.offset) for event in events),
        segments=tuple(
            StreamSegment(s.kind, s.condition, s.severity, s.first, len(s)) for s in stream.segments
        ),
    )


def _right(batch: Batch) -> Bools:
    return batch.logits.argmax(axis=-1) == batch.y
