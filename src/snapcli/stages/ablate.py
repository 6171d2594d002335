"""ablate: the run with one thing varied, judged and priced -> ablate/<kind>/<kind>.json.

Scores are those of the integer reference: heads of all configurations look at one pass of the int8
network over the data. A row costs what its program costs with the map that was fitted for it.
"""

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from snapcli import fixedpoint as fx
from snapcli import toolchain
from snapcli.baselines.method import Method
from snapcli.baselines.snap import Snap, Surprise, Unblended
from snapcli.config import INT8, MODES, AblateOptions
from snapcli.data import Dataset
from snapcli.data.evaluation import Evaluation
from snapcli.errors import UsageError
from snapcli.graph.body import Body
from snapcli.graph.decision import Decision, plain_decision, quantize_map
from snapcli.graph.monitor import Monitor
from snapcli.progress import OnProgress, silent
from snapcli.runs import Run, write_json
from snapcli.stages import modes
from snapcli.stages.ablate_report import HEADS_VARY, SCHEMA, AblateReport, Judged, table
from snapcli.stages.ablations import FLOAT16, FLOAT32, RAW, Configuration, Known, configurations
from snapcli.stages.cross_fit import CrossFitted
from snapcli.stages.dataset import run_dataset
from snapcli.stages.deployed import deployed
from snapcli.stages.evidence import collect
from snapcli.stages.export_c import dev_inputs
from snapcli.stages.judge import Judge, Sample, Samples, gain
from snapcli.stages.known import known_of
from snapcli.stages.many_heads import FloatHeads, Heads, IntegerHeads, ManyHeads, half
from snapcli.stages.methods import Make
from snapcli.stages.observe import surprisal_by
from snapcli.stages.pricing import Counter, Price, counter_of
from snapcli.stages.recipe import run_recipe
from snapcli.stages.refit import HeadSpec, Refit, refit
from snapcli.targets import Target, emulated_twin, load_target

_MODE = "mode"
_OF_TRAINED = ("head", _MODE)
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
    known = known_of(run)
    rows = _modes(run, known) if options.kind == _MODE else configurations(options.kind, known)
    dataset = run_dataset(run, on_progress)
    _check_labels(run, dataset)
    limit = options.limit or run_recipe(run).calibrate.limit
    graph = deployed(run).monitor.body.graph
    inputs = dev_inputs(graph.tensors[graph.input], dataset, _COUNTED)
    with counter_of(target, options.kernels, inputs, cmsis_nn) as counter:
        judging = _Judging(options, Evaluation(dataset, limit), counter, known.own, on_progress)
        if options.kind == _MODE:
            for row in sorted(rows, key=_reference_first):
                judging.judge(_in_mode(run, row, known, dataset, on_progress), [row])
        else:
            judging.judge(refit(run, dataset, [row.heads or known.own for row in rows]), rows)
    found = tuple(judging.found[row.name] for row in rows)
    columns, cells = table(options.kind, found)
    report = AblateReport(
        schema=SCHEMA,
        run=run.name,
        kind=options.kind,
        title=f"{run.name}, {_TITLES[options.kind]}",
        reference=next(row.name for row in rows if row.is_reference),
        target=target.name,
        kernels=options.kernels,
        limit=limit,
        replicates=options.replicates,
        streams=options.streams,
        columns=columns,
        rows=cells,
        judged=found,
    )
    stages = deployed(run).stages if run.is_attached else ("train", *deployed(run).stages)
    with run.write(f"ablate/{options.kind}", after=stages) as out:
        write_json(out / f"{options.kind}.json", asdict(report))
    if options.kind == _MODE:
        modes.forget(run)
    return report


def _check(run: Run, kind: str, target: Target) -> None:
    """What the run or this machine cannot have, before anything long begins."""
    if run.is_attached and kind in _OF_TRAINED:
        raise UsageError(
            f"{run.name} holds a finished model: its heads are Gaussian, fitted after it",
            f"Take one of {', '.join(k for k in _TITLES if k not in _OF_TRAINED)}.",
        )
    emulated_twin(target)
    for tool in (toolchain.GCC, toolchain.QEMU):
        toolchain.find_tool(tool)


def _check_labels(run: Run, dataset: Dataset) -> None:
    if not dataset.labelled:
        raise UsageError(
            f"the data of {run.name} have no labels, so nobody knows what is wrong",
            "Attach with --labels.",
        )


def _modes(run: Run, known: Known) -> Rows:
    own = run_recipe(run).train.mode
    return [Configuration(mode, None, known.map, is_reference=mode == own) for mode in MODES]


def _in_mode(
    run: Run, row: Configuration, known: Known, dataset: Dataset, on_progress: OnProgress
) -> Refit:
    if row.is_reference:
        return refit(run, dataset, [known.own])
    return modes.trained_in(run, row.name, dataset, on_progress)


def _reference_first(row: Configuration) -> bool:
    """Gains are counted from it."""
    return not row.is_reference


class _Judging:
    """found: {configuration: what was found of it}."""

    def __init__(
        self,
        options: AblateOptions,
        evaluation: Evaluation,
        counter: Counter,
        own: HeadSpec,
        on_progress: OnProgress,
    ) -> None:
        self._options, self._evaluation, self._counter = options, evaluation, counter
        self._own, self._on_progress = own, on_progress
        self.found: dict[str, Judged] = {}
        self._reference: tuple[Samples, Sample | None] | None = None

    def judge(self, fitter: Refit, rows: Rows) -> None:
        """The first rows that are judged must hold the reference."""
        network = ManyHeads(fitter.graph, self._heads(fitter, rows))
        seen = collect(network.observe, self._evaluation, self._options.streams, self._on_progress)
        judge = Judge(seen, self._options.replicates)
        for i, row in enumerate(sorted(rows, key=_reference_first)):
            self._on_progress(i, len(rows), f"configurations judged: {row.name}")
            self.found[row.name] = self._judged(row, judge, network.alone(_set_of(row)))

    def _heads(self, fitter: Refit, rows: Rows) -> dict[str, Heads]:
        found: dict[str, Heads] = {}
        for i, row in enumerate(rows):
            self._on_progress(i, len(rows), f"heads fitted: {row.name}")
            if _set_of(row) not in found:
                found[_set_of(row)] = self._fitted(fitter, row)
        return found

    def _fitted(self, fitter: Refit, row: Configuration) -> Heads:
        spec = row.heads or self._own
        heads = fitter.heads(spec) if row.heads else fitter.own(spec)
        body = fitter.integer(heads, spec.statistics)
        if row.precision == INT8:
            return IntegerHeads(body)
        return FloatHeads(body, half(heads) if row.precision == FLOAT16 else heads)

    def _judged(self, row: Configuration, judge: Judge, body: Body) -> Judged:
        fitted = CrossFitted(_method(row), judge.evidence)
        reference = self._reference
        figures, samples = judge.figures(fitted, INT8, reference[0] if reference else None)
        surprise = None
        if self._options.kind in HEADS_VARY:
            by_surprise = partial(Surprise, row.name, surprisal_by(_set_of(row)))
            surprise = judge.pooled_auroc(CrossFitted(by_surprise, judge.evidence))
        if row.is_reference:
            self._reference = samples, surprise
        compared = surprise and reference and reference[1]
        flash, price = self._price(row, fitted.whole, body)
        return Judged(
            name=row.name,
            taps={t.after: t.rank for t in (row.heads or self._own).taps},
            map=row.map,
            figures=replace(figures, risk_coverage=(), reliability={}, stream=()),
            surprise=surprise.interval if surprise else None,
            surprise_gain=gain(surprise, compared) if surprise and compared else None,
            flash_bytes=flash,
            price=price,
        )

    def _price(
        self, row: Configuration, fitted: Method, body: Body
    ) -> tuple[int | None, Price | None]:
        """(flash, the price as a whole). No firmware sends S alone, nor has heads in float: of
        these only the flash that their weights take in place of int8 ones is known."""
        if not isinstance(fitted, Snap):
            return None, None
        price = self._counter.of_monitor(Monitor(body, _decision(fitted)))
        if row.precision == INT8:
            return price.flash_bytes, price
        return price.flash_bytes + (_BYTES[row.precision] - 1) * _weights(body), None


def _set_of(row: Configuration) -> str:
    """Rows that differ in their map alone share a set of heads."""
    return row.name if row.heads else row.precision


def _method(row: Configuration) -> Make:
    surprisal = surprisal_by(_set_of(row))
    if row.map == RAW:
        return partial(Surprise, row.name, surprisal)
    return partial(Snap if row.blended else Unblended, row.name, row.map, surprisal)


def _decision(fitted: Snap) -> Decision:
    weights = fx.quantize_weights_q16(fitted.weights_)
    return replace(
        plain_decision(len(weights)),
        weight_q16=tuple(int(w) for w in weights),
        temperature=fitted.temperature_,
        map=quantize_map(fitted.map_),
    )


def _weights(body: Body) -> int:
    """Numbers that the device holds as int8."""
    parts = (head.residual for head in body.heads)
    return sum(
        p.projector.size + p.mean_weights.size + p.xi_weights.size + p.class_mean.size
        for p in parts
    )
