"""cost: what each method takes of a microcontroller, measured -> cost/cost.json.

All methods have the same backbone, compiler and kernels. Flash and RAM are those of a program
that answers and scores an input; a target holds it beside our firmware.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from snapcli.config import INT8, CostOptions
from snapcli.data import Dataset
from snapcli.data.evaluation import Evaluation
from snapcli.emit.ends import answer_end
from snapcli.emit.golden import dev_inputs, golden_count
from snapcli.errors import SnapError
from snapcli.judging.calibrated import calibration_of
from snapcli.judging.evidence import collect_dev
from snapcli.judging.networks import further_heads, integer_network
from snapcli.judging.variants import int8_graph
from snapcli.methods.forms import FormInputs, Scorer
from snapcli.methods.table import ROWS, TABLE, Row, chosen, head_kinds
from snapcli.monitor.monitor import Monitor
from snapcli.origin.origin import origin_of
from snapcli.pricing.memory import Surroundings, excess, our_firmware
from snapcli.pricing.programs import Price, counter_of
from snapcli.progress import OnProgress, silent
from snapcli.results.cost import (
    COST_FILE,
    FITS,
    NOT_BUILT,
    SCHEMA,
    TOO_LARGE,
    CostReport,
    CostRow,
    TargetCost,
)
from snapcli.runs import Run, write_json
from snapcli.targets import Target, load_target

BACKBONE = "backbone"
# All but `snap` with one thing changed.
_USUAL = tuple(row.name for row in ROWS if not row.variant)
# Inputs whose instructions are counted.
_COUNTED = 4


def cost(
    run: Run, options: CostOptions, cmsis_nn: Path | None = None, on_progress: OnProgress = silent
) -> CostReport:
    targets = [load_target(name) for name in dict.fromkeys(options.targets)]
    names = chosen(options.methods) if options.methods else _USUAL
    origin = origin_of(run)
    deployment = origin.deployed()
    monitor = deployment.monitor
    dataset = origin.dataset(on_progress)
    tensor = monitor.body.graph.tensors[monitor.body.graph.input]
    inputs = dev_inputs(tensor, dataset, _COUNTED)
    around = our_firmware(tensor.size_bytes, golden_count(tensor) * tensor.size_bytes)
    contenders = _contenders(run, names, dataset, on_progress)
    total = len(targets) * len(contenders)
    costs = []
    for i, target in enumerate(targets):
        with counter_of(target, options.kernels, inputs, cmsis_nn) as counter:
            rows: list[CostRow] = []
            for j, method in enumerate(contenders):
                on_progress(i * len(contenders) + j, total, f"{method.name} on {target.name}")
                price = counter.of(method.form) if method.form else None
                plain = rows[0].instructions if rows else None
                rows.append(_row(method, price, plain, target, around))
        costs.append(_target_cost(target, counter.twin.name, around, tuple(rows)))
    report = CostReport(SCHEMA, run.name, options.kernels, len(inputs), tuple(costs))
    stages = (*origin.float_stages, *deployment.stages)
    with run.write("cost", after=stages) as out:
        write_json(out / COST_FILE, asdict(report))
    on_progress(total, total, "compiled and counted")
    return report


@dataclass(frozen=True, eq=False)
class _Contender:
    """form: None where it cannot be built, and why."""

    name: str
    computes: str
    form: Scorer | Monitor | None
    why: str = ""


def _contenders(
    run: Run, names: Sequence[str], dataset: Dataset, on_progress: OnProgress
) -> list[_Contender]:
    """The backbone alone, then the methods, each as it is fitted to the run's int8 network."""
    calibration = calibration_of(run, INT8)
    further = further_heads(run, dataset, head_kinds(names, origin_of(run).head))
    network = integer_network(run, dataset, further)
    given = FormInputs(network.monitor, dict(network.further))
    evaluation = Evaluation(dataset, calibration.asked.limit)
    fitting = collect_dev(network.observe, evaluation, calibration.asked, on_progress)

    def form(row: Row) -> Scorer | Monitor | str:
        if row.form is None:
            return row.no_form
        if row.trains:
            plain = given.graph, given.logits.name
            return row.form(
                None, replace(given, trained=int8_graph(run, row.name, dataset, *plain))
            )
        method = row.make(network, calibration)
        if isinstance(method, str):
            return method
        method.fit(*fitting)
        return row.form(method, given)

    contenders = [_Contender(BACKBONE, "the class", (given.graph, answer_end(given.logits)))]
    for i, name in enumerate(names):
        on_progress(i, len(names), f"methods fitted: {name}")
        row = TABLE[name]
        try:
            built = form(row)
        except SnapError as error:
            built = error.message
        why = built if isinstance(built, str) else ""
        contenders.append(
            _Contender(name, row.score, None if isinstance(built, str) else built, why)
        )
    return contenders


def _row(
    method: _Contender,
    price: Price | None,
    plain: int | None,
    target: Target,
    around: Surroundings,
) -> CostRow:
    """plain: instructions of the backbone, None for itself."""
    if price is None:
        return CostRow(method.name, method.computes, NOT_BUILT, method.why)
    assert plain is not None or method.name == BACKBONE
    over = excess(target, price.flash_bytes, price.arena_bytes, around)
    return CostRow(
        method.name,
        method.computes,
        TOO_LARGE if over else FITS,
        " and ".join(f"by {more:,} B of {kind}" for kind, more in over.items()),
        price.flash_bytes,
        price.ram_bytes,
        price.instructions,
        price.instructions / (plain or price.instructions) - 1,
    )


def _target_cost(
    target: Target, twin: str, around: Surroundings, rows: tuple[CostRow, ...]
) -> TargetCost:
    return TargetCost(
        target=target.name,
        part=target.part,
        counted_on=twin,
        flash_limit_bytes=target.flash_bytes,
        ram_limit_bytes=target.ram_bytes,
        firmware_flash_bytes=around.flash_bytes,
        firmware_ram_bytes=around.ram_bytes + target.stack_bytes,
        rows=rows,
    )
