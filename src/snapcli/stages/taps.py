"""taps: which blocks of a trained backbone are worth a head -> taps/taps.json, taps.svg.

Every block gets a head, fitted after the training. What each says is measured on dev data, what
each costs by compiling all of them and counting their instructions on the emulated core.
"""

from dataclasses import asdict
from pathlib import Path

import numpy as np

from snapcli.config import TapsOptions
from snapcli.data import load_dataset
from snapcli.data.evaluation import Evaluation
from snapcli.graph.reader import read_tflite
from snapcli.heads.head import surprisals, tapped_blocks
from snapcli.judging.dev_scores import DevScores
from snapcli.models import load_backbone
from snapcli.models.activations import pooled_activations
from snapcli.models.convert import convert_int8
from snapcli.models.posthoc import heads_for
from snapcli.models.tensorflow import require_tensorflow
from snapcli.monitor.build import build_body
from snapcli.origin.network import trained_model
from snapcli.origin.recipe import run_recipe
from snapcli.pricing.heads import measure
from snapcli.progress import OnProgress, silent
from snapcli.report.taps import draw_taps
from snapcli.results.taps import Candidate, TapsReport
from snapcli.runs import Run, write_json
from snapcli.score.selection import Limits, TapCost, greedy
from snapcli.targets import load_target

# Training examples that set the ranges of an int8 model that is only built to be measured.
_SAMPLES = 200
_COUNTED = 2


def taps(
    run: Run, options: TapsOptions, cmsis_nn: Path | None = None, on_progress: OnProgress = silent
) -> TapsReport:
    run.inputs("train")
    trained = run_recipe(run).train
    target = load_target(options.target)
    require_tensorflow()
    dataset = load_dataset(trained, on_progress)
    candidates = load_backbone(trained.backbone).candidates(trained.taps, trained.ranks)
    blocks = [name for tap in candidates for name in (tap.before, tap.after)]
    model = trained_model(run, dataset, blocks)
    evaluation = Evaluation(dataset, options.limit)
    # The heads and the compiler take about as long as a few conditions.
    total = sum(key.split == "dev" for key in evaluation.keys) + 2
    on_progress(0, total, "heads for every block")
    heads = heads_for(model, candidates, dataset, trained)
    on_progress(1, total, "dev data scored")
    surprisal, logits = {}, {}
    for done, key in enumerate((k for k in evaluation.keys if k.split == "dev"), start=2):
        x = evaluation.inputs(key)
        activations = pooled_activations(model, x, tapped_blocks(heads), trained.statistics)
        surprisal[key] = surprisals(heads, activations)
        logits[key] = activations["logits"].astype(np.float64)
        on_progress(done, total, f"dev data scored, {key.condition}")
    dev = DevScores(evaluation, surprisal, logits)
    clean = dataset.front_end(dataset.train.x[:_SAMPLES])
    graph = read_tflite(convert_int8(model, tapped_blocks(heads), clean))
    body = build_body(graph, heads, clean, trained.statistics)
    inputs = graph.quantize(clean[:_COUNTED])
    prices = measure(body, inputs, target, options.kernels, cmsis_nn)
    on_progress(total, total, "compiled and counted")

    names = [h.after for h in heads]

    def cost(chosen: tuple[str, ...]) -> TapCost:
        return prices.of(body, [names.index(name) for name in chosen])

    auprc = dev.auprc_of(names)
    limits = Limits(1024 * options.max_flash, options.max_overhead / 100 * prices.backbone)
    steps = greedy(names, auprc, cost, options.per, limits)
    recommended = tuple(name for name in names if name in {s.tap for s in steps})
    correlation, with_score = dev.correlations()
    report = TapsReport(
        run=run.name,
        target=target.name,
        kernels=options.kernels,
        candidates=tuple(
            Candidate(
                tap=h.after,
                before=h.before,
                rank=len(h.projector),
                score_correlation=float(r),
                auprc=auprc((h.after,)),
                cost=cost((h.after,)),
            )
            for h, r in zip(heads, with_score, strict=True)
        ),
        correlation=correlation.tolist(),
        auprc_without=auprc(()),
        backbone_instructions=prices.backbone,
        steps=tuple(steps),
        recommended=recommended,
        overhead=cost(recommended).instructions / prices.backbone,
        picture=str(run.path("taps/taps.svg")),
    )
    with run.write("taps", after=("train",)) as out:
        write_json(out / "taps.json", asdict(report))
        title = f"{run.name}: {trained.backbone} on {dataset.name}"
        picture = draw_taps(names, correlation, with_score, auprc(()), steps, title)
        (out / "taps.svg").write_text(picture)
    return report
