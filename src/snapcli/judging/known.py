"""What an ablation must know of a run before it varies it."""

from snapcli.config import MINIMAL, POSTHOC, TrainOptions
from snapcli.judging.ablations import RunFacts, spread_letters
from snapcli.judging.networks import with_head
from snapcli.judging.refit import HeadSpec
from snapcli.models import load_backbone
from snapcli.models.backbone import Backbone, Tap
from snapcli.origin.origin import origin_of
from snapcli.origin.recipe import run_recipe
from snapcli.results.attach import attach_report
from snapcli.results.calibrate import calibrate_record
from snapcli.results.quantize import quantize_report
from snapcli.runs import Run

# Judges where the deployed map does not read the heads at all.
_READS_HEADS = "gated"


def known_of(run: Run) -> RunFacts:
    return _of_trained(run) if origin_of(run).has_float else _of_attached(run)


def _of_trained(run: Run) -> RunFacts:
    trained = run_recipe(run).train
    backbone = load_backbone(trained.backbone)
    taps = backbone.taps(trained.taps, trained.ranks)
    report = quantize_report(run.inputs("quantize"))
    body = origin_of(run).deployed().monitor.body
    names = {tensor: block for block, tensor in body.graph.outputs.items()}
    return RunFacts(
        own=HeadSpec(taps, trained.head, trained.class_mean, trained.statistics),
        as_trained=trained.mode != POSTHOC,
        map=report.map["kind"] if report.heads.read else _READS_HEADS,
        deployed_map=report.map["kind"],
        letters=_letters(backbone, trained),
        widths={names[tensor]: body.pooled_length(tensor) for tensor in body.tapped},
        minimal=_minimal(backbone, trained),
    )


def _letters(backbone: Backbone, trained: TrainOptions) -> dict[str, Tap]:
    candidates = backbone.candidates(trained.taps, trained.ranks)
    if not backbone.letters:
        return spread_letters(candidates)
    at = {tap.after: tap for tap in candidates}
    return {letter: at[block] for letter, block in backbone.letters.items()}


def _minimal(backbone: Backbone, trained: TrainOptions) -> HeadSpec | None:
    if not backbone.letters:
        return None
    options = with_head(trained, MINIMAL)
    return HeadSpec(backbone.taps(options.taps, options.ranks), MINIMAL)


def _of_attached(run: Run) -> RunFacts:
    report = attach_report(run.inputs("attach"))
    calibrated = calibrate_record(run.inputs("calibrate")).report
    candidates = tuple(Tap(c.before, c.tap, c.rank) for c in report.candidates)
    body = origin_of(run).deployed().monitor.body
    chosen = {tap.after for tap in body.taps}
    return RunFacts(
        own=HeadSpec(tuple(t for t in candidates if t.after in chosen), origin_of(run).head),
        as_trained=False,
        map=calibrated.map["kind"] if calibrated.heads.read else _READS_HEADS,
        deployed_map=calibrated.map["kind"],
        letters=spread_letters(candidates),
        widths={name: body.pooled_length(name) for name in body.tapped},
    )
