"""Reports as tables."""

import math
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from snapcli import console
from snapcli.cli.timeline import peak, step_names, timeline
from snapcli.report.words import UNGRADED

if TYPE_CHECKING:
    from snapcli.emit import Program
    from snapcli.metrics.bootstrap import Interval
    from snapcli.metrics.detection import Detection, ErrorDetection
    from snapcli.results.attach import AttachReport
    from snapcli.results.calibrate import CalibrateReport, ControllerReport, Figures
    from snapcli.results.export_c import ExportReport
    from snapcli.results.flash import FlashReport
    from snapcli.results.quantize import QuantizeReport
    from snapcli.results.taps import TapsReport
    from snapcli.results.train import TrainReport
    from snapcli.score.calibration import DetectionReport
    from snapcli.score.promise import Promise
    from snapcli.stages.data import InfoReport, SourceView, VerifyDataReport
    from snapcli.stages.export_tflm import TflmReport
    from snapcli.stages.inspect import InspectReport, TensorView
    from snapcli.stages.models import ModelView
    from snapcli.stages.push import PushReport
    from snapcli.stages.verify import VerifyReport


PICTURE_MIN, PICTURE_MAX = 12, 48  # columns


def figure(value: float | None) -> str:
    """Three decimals; a dash where there is none, for example no error to detect."""
    return "-" if value is None or math.isnan(value) else f"{value:.3f}"


def percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.1f} %"


def plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def size(count: int) -> str:
    return f"{count:,} B"


def within(count: int, limit: int) -> str:
    """limit 0: not known."""
    return f"{size(count)} of {size(limit)}" if limit else size(count)


def ranged(interval: "Interval") -> str:
    if math.isnan(interval.low):
        return figure(interval.value)
    return f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def signed(interval: "Interval") -> str:
    if math.isnan(interval.low):
        return "-" if math.isnan(interval.value) else _gain(interval.value)
    return f"{_gain(interval.value)} [{_gain(interval.low)}, {_gain(interval.high)}]"


def _gain(value: float) -> str:
    """What rounds to 0 has no sign."""
    said = f"{value:+z.3f}"
    return said if said.strip("+0.") else said[1:]


def train(report: "TrainReport") -> None:
    notes(report.notes)
    time = (
        f"{report.time.seconds:,.0f} s for {plural(report.epochs, 'epoch')}, "
        f"{percent(report.time.waited_share)} of it waiting for inputs"
    )
    if report.time.heads_s:
        time += f"; {report.time.heads_s:,.0f} s for the heads"
    rows = [
        ("data, backbone, seed", f"{report.dataset}, {report.backbone}, {report.seed}"),
        ("accuracy, clean dev", percent(report.dev_accuracy)),
        ("accuracy, clean test", percent(report.test_accuracy)),
    ]
    if report.lambda_ss:
        rows.append(("lambda_ss, last epoch", f"{report.lambda_ss:.3g}"))
    if report.nu is not None:
        rows.append(("nu", f"{report.nu:.2f}"))
    console.pairs(f"train: {report.run}", [*rows, ("time", time)])
    taps = [
        (
            tap,
            figure(report.mean_surprisal[tap]),
            figure(report.expected_surprisal[tap]),
            report.verdict[tap],
            figure(report.doubt_correlation[tap]),
        )
        for tap in report.mean_surprisal
    ]
    columns = ("tap", "E[e]", "expected", "verdict", "corr(e, 1 - max p)")
    console.table("heads on clean dev data", columns, taps)


def trained_seeds(reports: "Sequence[TrainReport]") -> None:
    """A line per seed, and their mean."""
    notes(reports[0].notes)
    dev = sum(r.dev_accuracy for r in reports) / len(reports)
    test = sum(r.test_accuracy for r in reports) / len(reports)
    console.table(
        f"train: {reports[0].dataset}, {reports[0].backbone}",
        ("run", "seed", "clean dev", "clean test", "E[e]", "corr(e, 1 - max p)"),
        [
            *(
                (
                    r.run,
                    str(r.seed),
                    percent(r.dev_accuracy),
                    percent(r.test_accuracy),
                    _per_tap(r.mean_surprisal),
                    _per_tap(r.doubt_correlation),
                )
                for r in reports
            ),
            ("mean", "", percent(dev), percent(test), "", ""),
        ],
    )


def _per_tap(values: "Mapping[str, float]") -> str:
    return ", ".join(f"{tap} {value:.2f}" for tap, value in values.items())


def notes(lines: Sequence[str]) -> None:
    """What a data set had to tell; not part of the result."""
    for line in lines:
        console.note(f"note: {line}")


def by_severity(accuracy: Mapping[str, float], labelled: bool = True) -> list[tuple[str, str]]:
    """A row, if there are corruptions; the figures are means over all types. Types that have one
    severity have a row of their own."""
    what = "accuracy" if labelled else "same answers"
    graded = {severity: value for severity, value in accuracy.items() if severity != UNGRADED}
    rows = []
    if graded:
        ends = " - ".join(dict.fromkeys((min(graded), max(graded))))
        values = " / ".join(percent(value) for value in graded.values())
        rows.append((f"{what}, severity {ends}", values))
    if UNGRADED in accuracy:
        rows.append((f"{what}, corrupted (one severity)", percent(accuracy[UNGRADED])))
    return rows


def _parts(by_score: "Mapping[str, ErrorDetection]") -> dict[str, str]:
    """{field: title} of what error detection is told for: without corruptions, clean data alone."""
    if not any(one.cells for one in by_score.values()):
        return {"clean": "clean"}
    return {"pooled": "pooled", "per_cell": "mean over type x severity", "clean": "clean"}


def detection(title: str, report: "DetectionReport", labelled: bool = True) -> None:
    """AUROC / AUPRC; positive = wrong prediction, or foreign input. Without labels an answer that
    a corruption changed stands for a wrong one."""
    what = "errors, AUROC / AUPRC (positive: a wrong prediction)"
    if not labelled:
        what = "changed answers, AUROC / AUPRC (positive: a corruption changed it)"

    def pair(errors: "Detection") -> str:
        return f"{figure(errors.auroc)} / {figure(errors.auprc)}"

    parts = _parts(report.errors)

    def row(name: str, errors: "ErrorDetection") -> tuple[str, ...]:
        return (name, *(pair(getattr(errors, part)) for part in parts))

    # Without labels there may be no error that anybody knows of.
    if any(not math.isnan(errors.pooled.auroc) for errors in report.errors.values()):
        console.table(
            f"{title}: finding {what}",
            ("score", *parts.values()),
            [row(name, errors) for name, errors in report.errors.items()],
        )
    sets = list(report.ood)
    if not sets:
        return
    rows = [(name, *(pair(report.ood[s][name]) for s in sets)) for name in report.errors]
    console.table(
        f"{title}: finding foreign inputs, AUROC / AUPRC (positive: the foreign input)",
        ("score", *sets),
        rows,
    )


def promised(promise: "Promise | None", controller: "ControllerReport | None") -> None:
    """What the threshold promises, in a sentence, and where."""
    if promise is None:
        return
    if promise.rule == "risk":
        what, of, seen = "accepted clean inputs are wrong", "accepted", "wrong"
    else:
        what, of, seen = "correct clean inputs are refused", "correct", "refused"
    console.say(
        f"At most {percent(promise.target)} of {what}, with {100 * promise.confidence:g} % "
        f"confidence (n = {promise.n:,} held out and {of}, {promise.count:,} {seen}, bound "
        f"{percent(promise.bound)}). This holds for data like the clean dev data"
        f"{', and not where the controller moves the threshold' if controller else ''}."
    )


def controlled(report: "ControllerReport | None") -> list[tuple[str, str]]:
    if report is None:
        return []
    return [
        ("controller", f"budget {report.budget:g}, eta {report.eta:g}, kappa {report.kappa:g}"),
        ("refused of clean test, controlled", percent(report.abstained_clean_test)),
    ]


def maps(
    title: str, dev: "Mapping[str, ErrorDetection]", taken: str, labelled: bool = True
) -> None:
    """AUROC of every map that was tried, each judged on types that it was not fitted on."""
    if not dev:
        return
    parts = _parts(dev)
    rows = [
        (
            f"{name} (taken)" if name == taken else name,
            *(figure(getattr(errors, part).auroc) for part in parts),
        )
        for name, errors in dev.items()
    ]
    what = "errors" if labelled else "changed answers"
    console.table(f"{title}: maps on dev data, AUROC of {what}", ("map", *parts.values()), rows)


def _threshold(value: float) -> str:
    return f"{value:.4f}" if value <= 1.0 else "above 1: nothing is refused"


def _map(fitted: "Mapping[str, Any]") -> str:
    """Its kind, and what the gates of a gated map read."""
    gates = [gate["input"] for gate in fitted.get("gates", ())]
    return f"{fitted['kind']} (gates: {', '.join(gates)})" if gates else str(fitted["kind"])


def _silent(report: "Figures") -> list[tuple[str, str]]:
    return [] if report.reads_surprise else [("heads", "idle: U does not depend on S")]


def calibrate(report: "CalibrateReport", numbers: str = "float") -> None:
    """numbers: what the figures are of, the float model or int8."""
    labelled = not math.isnan(report.test_accuracy)
    rows = [
        ("accuracy", percent(report.test_accuracy)),
        *by_severity(report.accuracy_by_severity, labelled),
        ("temperature", figure(report.temperature)),
        ("tap weights", _per_tap(report.tap_weights)),
        ("map", f"{_map(report.map)}. {report.map_reason}"),
        *_silent(report),
        ("threshold", f"{_threshold(report.threshold)} (by {report.threshold_rule})"),
        ("accepted of clean test", percent(report.coverage_clean_test)),
        *controlled(report.controller),
    ]
    console.pairs(f"calibrate: {report.run}", rows)
    promised(report.promise, report.controller)
    maps(numbers, report.dev, report.map["kind"], labelled)
    detection(numbers, report.detection, labelled)


def _shipped(report: "AttachReport") -> str:
    if not report.converted:
        return "byte for byte as it is"
    return f"converted to int8, {percent(report.float_agreement)} of dev answers as in float"


def attach(report: "AttachReport") -> None:
    notes(report.notes)
    calibrated = report.calibrate
    labelled = report.labelled
    split = report.examples
    counted = "instructions" if report.cost_is_measured else "operations (estimated)"
    rows = [
        ("model", f"{report.model}, {size(report.model_bytes)}, {report.macs:,} MAC"),
        (
            "ships",
            f"{_shipped(report)}, sha256 {report.model_sha256[:16]}",
        ),
        (
            "data",
            f"{report.data}, {'with' if report.labelled else 'without'} labels: "
            f"{split['train']:,} for the heads, {split['dev']:,} for the map, "
            f"{split['test']:,} to judge",
        ),
        ("accuracy, clean test", percent(report.accuracy)),
        *by_severity(calibrated.accuracy_by_severity, labelled),
        ("taps", f"{', '.join(report.taps)}: {report.taps_reason}"),
        (
            "heads add about",
            f"{size(report.flash_bytes)} flash, {percent(report.overhead)} {counted}",
        ),
        ("E[e] on clean dev, 1 fits", _per_tap(report.mean_surprisal)),
        ("map", f"{_map(calibrated.map)}. {calibrated.map_reason}"),
        *_silent(calibrated),
        ("threshold", f"{_threshold(calibrated.threshold)} (by {calibrated.threshold_rule})"),
        ("accepted of clean test", percent(calibrated.coverage_clean_test)),
    ]
    console.pairs(f"attach: {report.run}", rows)
    console.table(
        "candidates, each alone",
        ("tap", "from", "rank", "r with S", "AUPRC, dev", "flash"),
        [
            (
                f"{c.tap} (taken)" if c.tap in report.taps else c.tap,
                c.before,
                str(c.rank),
                f"{c.score_correlation:.2f}",
                figure(c.auprc),
                size(c.cost.flash_bytes),
            )
            for c in report.candidates
        ],
    )
    maps("int8", calibrated.dev, calibrated.map["kind"], labelled)
    detection("int8", calibrated.detection, labelled)
    for line in report.means:
        console.say(line)


def push(report: "PushReport") -> None:
    if report.before == report.settings:
        console.say(f"{report.target} at {report.port} has had settings {report.settings} already.")
        return
    console.say(
        f"{report.target} at {report.port} now uses settings {report.settings} "
        f"(before: {report.before}); its image has not changed."
    )


def quantize(report: "QuantizeReport") -> None:
    drift = report.drift
    rows = [
        ("model", f"{size(report.model_bytes)}, {report.macs:,} MAC"),
        (
            "accuracy float / int8",
            f"{percent(drift.float_accuracy)} / {percent(drift.int8_accuracy)}",
        ),
        *by_severity(report.accuracy_by_severity),
        ("same class, clean + corrupted", percent(drift.agreement)),
        ("Spearman of S, clean + corrupted", figure(drift.spearman_all)),
        ("Spearman of S, clean", figure(drift.spearman_clean)),
        ("map, refitted", f"{_map(report.map)}. {report.map_reason}"),
        *_silent(report),
        ("threshold, refitted", _threshold(report.threshold)),
        ("accepted of clean test", percent(report.coverage_clean_test)),
        *controlled(report.controller),
    ]
    console.pairs(f"quantize: {report.run}", rows)
    promised(report.promise, report.controller)
    maps("int8", report.dev, report.map["kind"])
    detection("int8", report.detection)


def taps(report: "TapsReport") -> None:
    console.table(
        f"taps: {report.run}, costs on {report.target} with {report.kernels} kernels",
        ("block", "from", "rank", "r with S", "AUPRC alone", "flash", "instructions"),
        [
            (
                c.tap,
                c.before,
                str(c.rank),
                f"{c.score_correlation:.2f}",
                figure(c.auprc),
                size(c.cost.flash_bytes),
                f"+{percent(c.cost.instructions / report.backbone_instructions)}",
            )
            for c in report.candidates
        ],
    )
    names = [c.tap for c in report.candidates]
    console.table(
        "correlation of the surprisals, dev data",
        ("", *names),
        [
            (name, *(f"{r:.2f}" for r in row))
            for name, row in zip(names, report.correlation, strict=True)
        ],
    )
    console.table(
        "greedy search",
        ("taps", "AUPRC", "gain", "flash", "instructions"),
        [
            ("none (confidence alone)", figure(report.auprc_without), "", "", ""),
            *(
                (
                    f"+ {step.tap}",
                    figure(step.auprc),
                    f"{step.gain:+.3f}",
                    size(step.cost.flash_bytes),
                    f"+{percent(step.cost.instructions / report.backbone_instructions)}",
                )
                for step in report.steps
            ),
        ],
    )
    if report.recommended:
        taps = shlex.quote(",".join(report.recommended))
        added = f"{size(report.steps[-1].cost.flash_bytes)} flash, "
        rows = [
            ("recommended", f"snap train --taps {taps}, else as here"),
            ("adds", f"{added}{percent(report.overhead)} instructions"),
        ]
    else:
        rows = [("recommended", "none: no tap within the limits finds more errors")]
    console.pairs("result", [*rows, ("picture", report.picture)])


def export_c(report: "ExportReport") -> None:
    how = "measured" if report.flash_measured else "estimated"
    rows = [
        ("model id", report.model_id),
        ("multiply-accumulates", f"{report.macs:,}"),
        ("kernels", report.kernels),
        (f"flash, {how}", f"{size(report.flash_bytes)}, constants {size(report.constant_bytes)}"),
        ("arena, input to output", size(report.arena_bytes)),
        ("largest live set", f"{size(report.live_bytes)}, arena {_share(report)} of it"),
        ("files", report.folder),
    ]
    console.pairs(f"export-c: {report.source} for {report.target}", rows)


def export_tflm(report: "TflmReport") -> None:
    how = "measured" if report.flash_measured else "estimated"
    grows = report.live_bytes - report.plain_live_bytes
    rows = [
        ("model id", report.model_id),
        ("flatbuffer", size(report.flatbuffer_bytes)),
        (f"monitor's flash, {how}", size(report.flash_bytes)),
        ("monitor's scratch", size(report.scratch_bytes)),
        ("interpreter's arena grows by", f"{size(grows)} to {size(report.kept_bytes)}"),
        ("operators", ", ".join(report.operators)),
        ("files", report.folder),
    ]
    console.pairs(f"export-c: {report.source} for {report.target}, TFLite-Micro", rows)


def _share(report: "ExportReport") -> str:
    return f"{report.arena_bytes / max(report.live_bytes, 1):.2f}"


def arena(program: "Program") -> None:
    """The arena over time: a line per step, a column per part of the arena."""
    # What the other columns and the frame leave free.
    others = max(map(len, step_names(program))) + 31
    columns = min(PICTURE_MAX, max(PICTURE_MIN, console.width() - others))
    rows = [
        (row.step, f"{row.live_bytes:,}", f"{row.span_bytes:,}", row.picture)
        for row in timeline(program, columns)
    ]
    console.say(
        f"The arena of {size(program.full.arena_bytes)} from left to right: "
        "# written, - read for the last time, = waits."
    )
    console.table("arena", ("step", "alive, B", "span, B", "0" + " " * (columns - 1)), rows)
    at = peak(program)
    console.say(f"Peak at {at.step}: " + ", ".join(at.holders))


def inspect(report: "InspectReport") -> None:
    """Blocks are branches, layers their leaves; columns line up over the whole tree."""
    rows = [layer for block in report.blocks for layer in block]
    before: dict[str, str] = {}
    previous = report.inputs[0].name if report.inputs else ""
    for layer in rows:
        # Only what does not simply follow the layer above says where it comes from.
        before[layer.name] = "" if layer.sources == (previous,) else ", ".join(layer.sources)
        previous = layer.name
    cells = [
        (
            f"{layer.number}",
            layer.name,
            layer.operator,
            _shape(layer.shape),
            f"{layer.macs:,} MAC",
            size(layer.constant_bytes),
            f"-> {size(layer.output_bytes)}",
            f"alive {layer.alive[0]}-{layer.alive[1]}",
            f"from {before[layer.name]}" if before[layer.name] else "",
        )
        for layer in rows
    ]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))] if cells else []
    right = {0, 4, 5}
    lines = {
        layer.name: "  ".join(
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for layer, row in zip(rows, cells, strict=True)
    }
    branches: list[tuple[str, list[str]]] = [
        (f"input {_tensor(tensor)}", []) for tensor in report.inputs
    ]
    for number, block in enumerate(report.blocks, start=1):
        tap = next((layer.name for layer in block if layer.tap), None)
        title = f"block {number}, tap candidate: {tap}" if tap else "classifier"
        branches.append((title, [lines[layer.name] for layer in block]))
    branches += [(f"output {_tensor(tensor)}", []) for tensor in report.outputs]
    title = (
        f"{report.source}: {report.macs:,} MAC, constants {size(report.constant_bytes)}, "
        f"arena {size(report.arena_bytes)} (largest live set {size(report.live_bytes)})"
    )
    console.tree(title, branches)
    console.say(
        "MAC: additions count where nothing is multiplied. B: constants -> output. alive: from the "
        "layer that writes the output to the last that reads it."
    )


def _shape(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _tensor(view: "TensorView") -> str:
    real = f", {view.scale:.6g} * (q - ({view.zero_point}))" if view.dtype == "int8" else ""
    return f"{view.name} {_shape(view.shape)} {view.dtype}{real}"


def verify(report: "VerifyReport") -> None:
    rows = []
    for link in report.links:
        d = link.difference
        verdict = f"differs from layer {d.layer} on" if d else "equal"
        rows.append((link.expected, link.found, f"{link.steps}", f"{link.values:,}", verdict))
    console.table(
        f"verify: {report.source}, kernels {report.kernels}, {report.inputs} inputs",
        ("expected", "found", "steps", "values", ""),
        rows,
    )


def flash(report: "FlashReport") -> None:
    rows = [
        (
            "flash",
            size(report.size.flash_bytes),
            size(report.size_without_heads.flash_bytes),
            size(report.flash_limit_bytes),
        ),
        (
            "RAM, stack included",
            size(report.size.ram_bytes),
            size(report.size_without_heads.ram_bytes),
            size(report.ram_limit_bytes),
        ),
        (
            "stack, at most",
            size(report.size.stack_bytes),
            size(report.size_without_heads.stack_bytes),
            size(report.stack_limit_bytes),
        ),
    ]
    console.table(
        f"flash: {report.run} for {report.target} ({report.part})",
        ("", "with heads", "without", "limit"),
        rows,
    )
    if report.flasher:
        console.pairs(
            f"written to {report.probe} with {report.flasher}",
            [
                ("part", report.part_found or ""),
                ("image", f"{size(report.written_bytes or 0)}, CRC-32 {report.image_crc:08x}"),
                ("verified", ", ".join(report.verified)),
            ],
        )
        notes(report.notes)
        if report.booted:
            console.say(f"The board answers at {report.port} and passed its self-test.")
    elif report.booted:
        console.say("Booted in the emulator and passed its self-test.")
    else:
        console.say(f"Built {report.image}; written to no board.")


def library(report: "FlashReport") -> None:
    with_, without = report.size, report.size_without_heads
    console.table(
        f"library: {report.run} for {report.target}, linked without a port",
        ("", "with heads", "without"),
        [
            ("flash", size(with_.flash_bytes), size(without.flash_bytes)),
            ("RAM without stack", size(with_.ram_bytes), size(without.ram_bytes)),
        ],
    )
    console.say(f"Built {report.image}; its headers are in include/ beside it.")
    console.say(
        "Write port_board, port_uart_poll(), port_uart_write() and port_counter() of port.h, call"
        " app_run(), and link it: docs/porting.md."
    )


def sources(views: "Sequence[SourceView]") -> None:
    rows = [("digits", "1,797 handwritten digits, 8x8", "inside scikit-learn")]
    for source in views:
        if source.place:
            where = source.place
        else:
            where = f"fetch {source.size_bytes / 1e6:,.0f} MB" if source.size_bytes else "by hand"
        rows.append((source.name, source.title, where))
    console.table("data sets", ("name", "what", "where"), rows)


def verified_data(report: "VerifyDataReport") -> None:
    told = {
        "published": "as published",
        "differs": "not the publisher's bytes",
        "unpacked": "unpacked: no archive to compare",
        "missing": "not here, but needed to read the others",
    }
    rows = [(check.source, check.file, told[check.status]) for check in report.files]
    console.table("files", ("data set", "file", "sha256"), rows)
    readable = ", ".join(report.loaded) or "none"
    console.say(f"Read without an error: {readable}")


def data_info(report: "InfoReport") -> None:
    notes(report.notes)
    height, width, channels = report.input_shape
    splits = ", ".join(f"{name} {sum(c.values()):,}" for name, c in report.counts.items())
    rows = [
        ("input", f"{height} x {width} x {channels}"),
        ("examples", splits),
        ("foreign", ", ".join(f"{name} {n:,}" for name, n in report.ood.items()) or "none"),
        ("corruptions", ", ".join(report.corruptions)),
    ]
    if report.published_corruptions:
        rows.append(("of them as published", ", ".join(report.published_corruptions)))
    if single := [name for name, count in report.severities.items() if count == 1]:
        rows.append(("of one severity on test", ", ".join(single)))
    console.pairs(f"data: {report.name}", rows)
    classes = [
        (name, *(f"{report.counts[split][name]:,}" for split in report.counts))
        for name in report.counts["train"]
    ]
    console.table("classes", ("class", *report.counts), classes)


def models(views: "Sequence[ModelView]") -> None:
    rows = []
    for model in views:
        flash = [
            f"{size(cost.flash_bytes)}{'' if cost.fits else ' (too large)'}"
            for cost in model.targets.values()
        ]
        rows.append(
            (
                model.name,
                f"{' x '.join(map(str, model.input_shape))} -> {model.classes}",
                f"{model.macs / 1e6:.2f} M",
                f"{model.parameters:,}",
                size(model.arena_bytes),
                *flash,
                ", ".join(f"{letter} {block}" for letter, block in model.letters.items()),
            )
        )
    names = [f"flash, {name}" for name in views[0].targets]
    columns = ("backbone", "input -> classes", "MAC", "parameters", "arena", *names, "taps")
    console.table("backbones, int8, without heads", columns, rows)
