"""ablate: the run with one thing varied, judged and priced -> ablate/<kind>/<kind>.json.

Scores are those of the integer reference: heads of all configurations look at one pass of the int8
network over the data. A row costs what its program costs with the map that was fitted for it.
"""

from dataclasses import asdict, replace
from pathlib import Path

from snapcli import toolchain
from snapcli.config import INT8, MODES, AblateOptions, CalibrateOptions
from snapcli.data import Dataset
from snapcli.data.evaluation import Evaluation
from snapcli.emit.golden import dev_inputs
from snapcli.errors import UsageError
from snapcli.judging import modes
from snapcli.judging.ablations import (
    AS_IN_RUN,
    FLOAT16,
    FLOAT32,
    RAW,
    Configuration,
    RunFacts,
    configurations,
)
from snapcli.judging.calibrated import calibration_of
from snapcli.judging.cross_fit import CrossFitted
from snapcli.judging.evidence import collect
from snapcli.judging.judge import Judge, Sample, Samples, gain
from snapcli.judging.known import known_of
from snapcli.judging.many_heads import FloatHeads, Heads, IntegerHeads, ManyHeads, half, pooled_by
from snapcli.judging.refit import HeadSpec, Refit, refit
from snapcli.methods.forms import monitor_of
from snapcli.methods.method import Method
from snapcli.methods.network import surprisal_by
from snapcli.methods.snap import Snap, Surprise, Unblended
from snapcli.monitor.body import Body
from snapcli.origin.origin import origin_of
from snapcli.origin.recipe import run_recipe
from snapcli.pricing.programs import Counter, Price, counter_of
from snapcli.progress import OnProgress, silent
from snapcli.results.ablate import HEADS_VARY, SCHEMA, AblateReport, AblationFigures, table
from snapcli.runs import Run, write_json
from snapcli.targets import Target, emulated_twin, load_target

_MODE = "mode"
_OF_TRAINED = ("head", _MODE)
_REFITTED = ("taps", "rank", "head")
_COUNTED = 2
_BYTES = {FLOAT32: 4, FLOAT16: 2, INT8: 1}
_TITLES = {
    "taps": "taps: which blocks have heads",
    "rank": "rank of the projector (0: nothing is predicted from the block before)",
    "head": "likelihood of the heads",
    "quant": "precision of the heads, on the same int8 backbone",
    "map": "map from S and confidence to U",
    "blend": "confidence in the map",
    _MODE: "training mode of the heads",
}


Rows = list[Configuration]


def ablate(
    run: Run,
    options: AblateOptions,
    cmsis_nn: Path | None = None,
    on_progress: OnProgress = silent,
) -> AblateReport:
    target = load_target(options.target)
    _check(run, options.kind, target)
    with run.making(f"ablate/{options.kind}"):
        return _ablate(run, options, target, cmsis_nn, on_progress)


def _ablate(
    run: Run,
    options: AblateOptions,
    target: Target,
    cmsis_nn: Path | None,
    on_progress: OnProgress,
) -> AblateReport:
    known, calibration = known_of(run), calibration_of(run, INT8).asked
    rows = _modes(run, known) if options.kind == _MODE else configurations(options.kind, known)
    origin = origin_of(run)
    dataset = origin.dataset(on_progress)
    _check_labels(run, dataset)
    limit = options.limit or calibration.limit
    graph = origin.deployed().monitor.body.graph
    inputs = dev_inputs(graph.tensors[graph.input], dataset, _COUNTED)
    with counter_of(target, options.kernels, inputs, cmsis_nn) as counter:
        evaluation = Evaluation(dataset, limit)
        judging = _Judging(options, calibration, evaluation, counter, known.own, on_progress)
        if options.kind == _MODE:
            for row in sorted(rows, key=_reference_first):
                judging.judge(_in_mode(run, row, known, dataset, on_progress), [row])
        else:
            judging.judge(refit(run, dataset, [row.heads or known.own for row in rows]), rows)
    judged = tuple(judging.figures[row.name] for row in rows)
    columns, cells = table(options.kind, judged)
    report = AblateReport(
        schema=SCHEMA,
        run=run.name,
        kind=options.kind,
        title=f"{run.name}, {_TITLES[options.kind]}",
        reference=next(row.name for row in rows if row.is_reference),
        starred=_starred(options.kind, known),
        note=_note(options.kind, known),
        target=target.name,
        kernels=options.kernels,
        limit=limit,
        replicates=options.replicates,
        streams=options.streams,
        columns=columns,
        rows=cells,
        judged=judged,
    )
    stages = (*origin.float_stages, *origin.deployed().stages)
    with run.write(f"ablate/{options.kind}", after=stages) as out:
        write_json(out / f"{options.kind}.json", asdict(report))
    if options.kind == _MODE:
        modes.forget(run)
    return report


def _starred(kind: str, known: RunFacts) -> str:
    """What the reference is: heads that were trained with the backbone can only be compared with
    others of their kind."""
    if known.as_trained and kind in _REFITTED:
        return "configured as in the run, its heads fitted anew like those of all rows"
    return AS_IN_RUN


def _note(kind: str, known: RunFacts) -> str:
    """Where the row that is called the run's differs from it."""
    if kind == "map" or known.map == known.deployed_map:
        return ""
    return (
        f"The run's own map, {known.deployed_map}, does not use the heads; all rows are "
        f"judged by the map {known.map}."
    )


def _check(run: Run, kind: str, target: Target) -> None:
    """What the run or this machine cannot have, before anything long begins."""
    if kind in _OF_TRAINED and not origin_of(run).has_float:
        raise UsageError(
            f"{run.name} holds a finished model: its heads are Gaussian, fitted after it",
            f"Take one of {', '.join(k for k in _TITLES if k not in _OF_TRAINED)}.",
        )
    if not origin_of(run).deployed().monitor.body.heads:
        raise UsageError(
            f"an ablation varies heads, and the monitor of {run.name} has no heads",
            "Compare maps with: snap eval --methods snap-class-gated,snap-evidence",
        )
    emulated_twin(target)
    for tool in (toolchain.GCC, toolchain.QEMU):
        toolchain.find_tool(tool)


def _check_labels(run: Run, dataset: Dataset) -> None:
    if not dataset.labelled:
        raise UsageError(
            f"the data of {run.name} have no labels, so errors cannot be told",
            "Attach with --labels.",
        )


def _modes(run: Run, known: RunFacts) -> Rows:
    own = run_recipe(run).train.mode
    return [Configuration(mode, None, known.map, is_reference=mode == own) for mode in MODES]


def _in_mode(
    run: Run, row: Configuration, known: RunFacts, dataset: Dataset, on_progress: OnProgress
) -> Refit:
    if row.is_reference:
        return refit(run, dataset, [known.own])
    return modes.trained_in(run, row.name, dataset, on_progress)


def _reference_first(row: Configuration) -> bool:
    """Gains are counted from it."""
    return not row.is_reference


class _Judging:
    """figures: {configuration: what it reached}."""

    def __init__(
        self,
        options: AblateOptions,
        calibration: CalibrateOptions,
        evaluation: Evaluation,
        counter: Counter,
        own: HeadSpec,
        on_progress: OnProgress,
    ) -> None:
        self._options, self._evaluation, self._counter = options, evaluation, counter
        self._calibration, self._own, self._on_progress = calibration, own, on_progress
        self.figures: dict[str, AblationFigures] = {}
        self._reference: tuple[Samples, Sample | None] | None = None

    def judge(self, fitter: Refit, rows: Rows) -> None:
        """The first rows that are judged must hold the reference."""
        with_distances = self._calibration.wants_distances
        network = ManyHeads(fitter.graph, self._heads(fitter, rows), with_distances)
        seen = collect(
            network.observe,
            self._evaluation,
            self._calibration,
            self._options.streams,
            self._on_progress,
        )
        judge = Judge(seen, self._options.replicates)
        for i, row in enumerate(sorted(rows, key=_reference_first)):
            self._on_progress(i, len(rows), f"configurations judged: {row.name}")
            self.figures[row.name] = self._judged(row, judge, network.alone(_set_of(row)))

    def _heads(self, fitter: Refit, rows: Rows) -> dict[str, Heads]:
        sets: dict[str, Heads] = {}
        for i, row in enumerate(rows):
            self._on_progress(i, len(rows), f"heads fitted: {row.name}")
            if _set_of(row) not in sets:
                sets[_set_of(row)] = self._fitted(fitter, row)
        return sets

    def _fitted(self, fitter: Refit, row: Configuration) -> Heads:
        spec = row.heads or self._own
        heads = fitter.heads(spec) if row.heads else fitter.own(spec)
        body = fitter.integer(heads, spec.statistics)
        if row.precision == INT8:
            return IntegerHeads(body)
        return FloatHeads(body, half(heads) if row.precision == FLOAT16 else heads)

    def _judged(self, row: Configuration, judge: Judge, body: Body) -> AblationFigures:
        fitted = CrossFitted(self._method(row), judge.evidence)
        reference = self._reference
        figures, samples = judge.figures(fitted, INT8, reference[0] if reference else None)
        surprise = None
        if self._options.kind in HEADS_VARY:
            alone = Surprise(row.name, self._calibration, surprisal_by(_set_of(row)))
            surprise = judge.pooled_auroc(CrossFitted(alone, judge.evidence))
        if row.is_reference:
            self._reference = samples, surprise
        compared = surprise and reference and reference[1]
        flash, price = self._price(row, fitted.whole, body)
        return AblationFigures(
            name=row.name,
            taps={t.after: t.rank for t in (row.heads or self._own).taps},
            map=row.map,
            figures=replace(figures, risk_coverage=(), reliability={}, stream=()),
            surprise=surprise.interval if surprise else None,
            surprise_gain=gain(surprise, compared) if surprise and compared else None,
            flash_bytes=flash,
            price=price,
        )

    def _method(self, row: Configuration) -> Method:
        """But for what the row varies, as the run was calibrated."""
        surprisal = surprisal_by(_set_of(row))
        if row.map == RAW:
            return Surprise(row.name, self._calibration, surprisal)
        make = Snap if row.blended else Unblended
        options = self._calibration.with_map(row.map)
        return make(row.name, options, surprisal, tap=pooled_by(_set_of(row)))

    def _price(
        self, row: Configuration, fitted: Method, body: Body
    ) -> tuple[int | None, Price | None]:
        """(flash, the price as a whole). No firmware sends S alone, nor has heads in float: of
        these only the flash that their weights take in place of int8 ones is known."""
        if not isinstance(fitted, Snap):
            return None, None
        price = self._counter.of_monitor(monitor_of(fitted, body))
        if row.precision == INT8:
            return price.flash_bytes, price
        return price.flash_bytes + (_BYTES[row.precision] - 1) * _weights(body), None


def _set_of(row: Configuration) -> str:
    """Rows that differ in their map alone share a set of heads."""
    return row.name if row.heads else row.precision


def _weights(body: Body) -> int:
    """Numbers that the device holds as int8."""
    parts = (head.residual for head in body.heads)
    return sum(
        p.projector.size + p.mean_weights.size + p.xi_weights.size + p.class_mean.size
        for p in parts
    )
