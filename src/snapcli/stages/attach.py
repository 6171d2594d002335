"""attach: heads, map and threshold for a finished model -> attach/ and calibrate/ of a new run.

The model itself is never changed: the .tflite that was given is the backbone that ships.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from snapcli.config import (
    MAX_TAPS,
    MEAN,
    AttachOptions,
    Recipe,
    dump_recipe,
)
from snapcli.data import Dataset
from snapcli.data.evaluation import Evaluation, Key
from snapcli.data.loading import data_dir_of
from snapcli.data.user.finished import load_given
from snapcli.data.wanted import Wanted
from snapcli.errors import UsageError
from snapcli.graph.chunks import in_chunks
from snapcli.graph.foreign import classifier, logits_of, named_pairs, tap_pairs
from snapcli.graph.graph import Graph
from snapcli.graph.reader import model_bytes, read_tflite
from snapcli.heads.fit import fit_head
from snapcli.heads.quantize import quantize_head
from snapcli.judging.attach_words import (
    doubts,
    float_ends,
    meaning,
    unfit_heads,
    without_heads,
)
from snapcli.judging.calibrate_attached import decide, write_decision
from snapcli.judging.decision import check_without_heads
from snapcli.judging.dev_scores import DevScores
from snapcli.judging.raw_scores import SCORES_FILE, Scores, save_scores
from snapcli.judging.tap_choice import TapChoice, choose_taps
from snapcli.models.finished import Finished, is_keras, load_finished
from snapcli.monitor.body import Body, TapTensors, save_body
from snapcli.monitor.candidates import Candidates, CandidateScores
from snapcli.monitor.decision import ONE_Q16, Decision
from snapcli.monitor.distance import quantize_mahalanobis
from snapcli.monitor.monitor import Monitor, trimmed
from snapcli.monitor.pooled import Pooled, pooled
from snapcli.origin.answers import (
    ANSWERS_FILE,
    IDENTITY,
    SPLITS,
    fingerprint,
    wanted_of,
    with_answers,
)
from snapcli.origin.recipe import CONFIG
from snapcli.pricing.heads import Prices, measure_or_estimate, price_or_estimate
from snapcli.progress import OnProgress, silent
from snapcli.results.attach import AttachReport
from snapcli.results.calibrate import CalibrateReport
from snapcli.results.taps import Candidate
from snapcli.runs import Run, disk_errors, whole_file, write_json
from snapcli.score.mahalanobis import fit_mahalanobis
from snapcli.targets import load_target
from snapcli.usercode import code_is_allowed

AUTO, NONE = ("auto",), ("none",)
RANK = 32
# Examples that heads are fitted on, from all over the split; more hardly change them.
_EXAMPLES = 10_000
# Examples that set the ranges of a Keras model's int8 twin.
_SAMPLES = 500
_COUNTED = 2
# Fitting a head takes about as long as so many examples.
_HEAD = 400
# Dev examples that a Keras model and its int8 twin are compared on.
_COMPARED = 200
# Counting instructions, choosing taps and fitting maps takes about as long as so many examples.
_ENDING = 2_000


def attach(
    run: Run,
    recipe: Recipe,
    cmsis_nn: Path | None = None,
    on_progress: OnProgress = silent,
) -> AttachReport:
    target = load_target(recipe.export_c.target)
    place = data_dir_of(recipe.attach.data, recipe.attach.data_dir)
    options = replace(recipe.attach, data_dir=place)
    recipe = replace(recipe, attach=options)
    model = _opened(options, on_progress)
    if options.taps == NONE:
        check_without_heads(model.dataset, recipe.calibrate)
    content, graph, dataset = model.content, model.graph, model.dataset
    pairs = _pairs(graph, options)
    train = replace(dataset, train=dataset.train.spread(_EXAMPLES))
    evaluation = Evaluation(train, recipe.calibrate.limit)
    fitting = _HEAD * len(pairs) + _ENDING
    watched = _Watched(on_progress, len(train.train) + evaluation.examples + fitting)

    seen = _pooled(graph, pairs, train, watched)
    candidates = _fitted(graph, pairs, train, seen, options, watched)
    scores = _scored(candidates, evaluation, watched)
    answers = {s: scores[_clean(s)].of_body(()).predicted.astype(np.int64) for s in SPLITS}
    if not dataset.labelled:
        evaluation = replace(evaluation, dataset=with_answers(train, answers))
    every = candidates.body(range(len(pairs)))
    dev = _dev_scores(every, scores, evaluation)
    watched.at(0, "instructions counted")
    inputs = graph.quantize(train.front_end(train.dev.x[:_COUNTED]))
    built = (inputs, target, recipe.export_c.kernels, cmsis_nn)
    prices = measure_or_estimate(every, *built)
    watched.at(_ENDING // 2, "taps and map fitted")

    def decided(chosen: Sequence[int]) -> tuple[Body, Scores, Decision, CalibrateReport]:
        body = candidates.body(chosen)
        kept = {key: scored.of_body(chosen) for key, scored in scores.items()}
        return body, kept, *decide(run.name, body, kept, evaluation, recipe.calibrate)

    choice = TapChoice(tuple(range(len(pairs))), "as asked for")
    if options.taps == AUTO:
        choice = choose_taps(every, dev, prices, options.max_overhead)
    elif options.taps == NONE:
        choice = TapChoice((), "as asked for")
    body, kept, decision, calibrated = decided(choice.chosen)
    if options.taps == AUTO and calibrated.heads.idle:
        choice = TapChoice((), without_heads(choice, body, calibrated.heads.gain))
        body, kept, decision, calibrated = decided(choice.chosen)
    price = price_or_estimate(Monitor(trimmed(body, decision), decision), *built)
    means = kept[_clean("dev")].surprisal_q16.mean(axis=0) / ONE_Q16
    surprisal = {tap.after: float(e) for tap, e in zip(body.taps, means, strict=True)}
    report = AttachReport(
        run=run.name,
        model=Path(options.model).name,
        converted=model.finished is not None,
        float_agreement=_agreement(model, answers["dev"]),
        model_bytes=len(content),
        model_sha256=hashlib.sha256(content).hexdigest(),
        macs=graph.macs,
        data=dataset.name,
        labelled=dataset.labelled,
        examples={
            "train": len(train.train),
            **{key.split: len(evaluation.rows(key)) for key in map(_clean, SPLITS)},
        },
        accuracy=calibrated.test_accuracy,
        candidates=_candidates(every, _ranks(options, len(pairs)), dev, prices),
        taps=tuple(tap.after for tap in body.taps),
        taps_reason=choice.reason,
        flash_bytes=price.flash_bytes,
        overhead=price.overhead,
        cost_is_measured=price.is_measured,
        mean_surprisal=surprisal,
        means=meaning(dataset, calibrated, recipe.calibrate.share, len(dataset.dev)),
        notes=(
            *dataset.notes,
            *model.notes,
            *unfit_heads(surprisal, len(train.train)),
            *doubts(evaluation.dataset.test.y, answers["test"], body.classes),
        ),
        calibrate=calibrated,
    )
    with disk_errors(run.root), whole_file(run.path(CONFIG)) as partial:
        partial.write_text(dump_recipe(recipe))
    with run.write("attach", after=(), seed=options.seed, beside=(CONFIG,)) as out:
        save_body(body, content, out)
        save_scores(out / SCORES_FILE, kept)
        identity = {IDENTITY: np.array(fingerprint(dataset))}
        np.savez(out / ANSWERS_FILE, **answers, **identity)  # type: ignore[arg-type]
        write_json(out / "report.json", asdict(report))
    write_decision(run, decision, calibrated, recipe.calibrate)
    run.make_latest()
    return report


class _Watched:
    """Progress over several passes, counted in examples."""

    def __init__(self, on_progress: OnProgress, total: int) -> None:
        self._on_progress, self._total, self._before = on_progress, total, 0

    def at(self, done: int, what: str) -> None:
        self._on_progress(min(self._before + done, self._total), self._total, what)

    def passed(self, examples: int) -> None:
        self._before += examples


def _clean(split: str) -> Key:
    return Key(split, "clean")


@dataclass(frozen=True, eq=False)
class _Model:
    """The .tflite that ships, its network between int8 ends, and data that fit it. finished: the
    Keras model that it was converted from."""

    content: bytes
    graph: Graph
    dataset: Dataset
    finished: Finished | None = None
    notes: tuple[str, ...] = ()


def _opened(options: AttachOptions, on_progress: OnProgress) -> _Model:
    path = Path(options.model)
    if not is_keras(path):
        content = model_bytes(path)
        whole = read_tflite(content)
        graph = classifier(whole)
        dataset = load_given(options, wanted_of(graph), on_progress)
        return _Model(content, graph, dataset, notes=float_ends(whole))
    finished = load_finished(path, code_is_allowed())
    wanted = Wanted(finished.input_shape, finished.classes)
    dataset = load_given(options, wanted, on_progress)
    on_progress(0, 1, "converted to int8")
    content = finished.convert(dataset.front_end(dataset.train.x[:_SAMPLES]))
    return _Model(content, classifier(read_tflite(content)), dataset, finished)


def _agreement(model: _Model, answers: NDArray[np.int64]) -> float:
    """answers: of the int8 model to dev examples."""
    if model.finished is None:
        return float("nan")
    real = model.finished.answers(model.dataset.front_end(model.dataset.dev.x[:_COMPARED]))
    return float(np.mean(real == answers[:_COMPARED]))


def _pairs(graph: Graph, options: AttachOptions) -> list[tuple[str, str]]:
    if options.taps == NONE:
        return tap_pairs(graph)[-1:]  # where the distances are measured
    pairs = tap_pairs(graph) if options.taps == AUTO else named_pairs(graph, options.taps)
    if not pairs:
        raise UsageError(
            "the model has no two blocks where one could be predicted from the other",
            "Name two of its tensors (--taps before:after), or go without heads (--taps none).",
        )
    if options.taps != AUTO and len(pairs) > MAX_TAPS:
        raise UsageError(f"{len(pairs)} taps", f"A monitor has at most {MAX_TAPS}.")
    if len(options.ranks) not in (0, 1, len(pairs)):
        raise UsageError(
            f"{len(options.ranks)} ranks for {len(pairs)} taps",
            "Give one for all, or one for each tap that you name.",
        )
    return pairs


def _ranks(options: AttachOptions, count: int) -> tuple[int, ...]:
    ranks = options.ranks or (RANK,)
    return ranks if len(ranks) == count else ranks * count


def _pooled(
    graph: Graph, pairs: list[tuple[str, str]], dataset: Dataset, watched: _Watched
) -> Pooled:
    """What the tapped tensors show of the training examples."""
    tensors = sorted({name for pair in pairs for name in pair})
    parts = []
    x = graph.quantize(dataset.front_end(dataset.train.x))
    for done, part in in_chunks(lambda chunk: pooled(graph, tensors, MEAN, chunk), x):
        parts.append(part)
        watched.at(done, "examples for the heads")
    watched.passed(len(x))
    return Pooled.concatenate(parts)


def _fitted(
    graph: Graph,
    pairs: list[tuple[str, str]],
    dataset: Dataset,
    seen: Pooled,
    options: AttachOptions,
    watched: _Watched,
) -> Candidates:
    labels = dataset.train.y if dataset.labelled else seen.logits.argmax(axis=-1)
    classes = seen.logits.shape[1]
    real = seen.channel_means(graph)
    heads, distances = [], []
    for (before, after), rank in zip(pairs, _ranks(options, len(pairs)), strict=True):
        head = fit_head(before, after, real[before], real[after], rank, options.seed)
        ends = graph.tensors[before], graph.tensors[after]
        heads.append(quantize_head(head, *ends, seen.sums[before]))
        measure = fit_mahalanobis(real[after], labels, classes)
        distances.append(quantize_mahalanobis(measure, ends[1]))
        watched.passed(_HEAD)
        watched.at(0, f"heads fitted, {after}")
    taps = tuple(TapTensors(*pair) for pair in pairs)
    return Candidates(graph, taps, tuple(heads), tuple(distances), MEAN)


def _scored(
    candidates: Candidates, evaluation: Evaluation, watched: _Watched
) -> dict[Key, CandidateScores]:
    scores = {}
    for key, x in evaluation.each():
        parts = []
        for done, part in in_chunks(candidates.score, candidates.graph.quantize(x)):
            parts.append(part)
            watched.at(done, f"examples scored, {key.condition}")
        watched.passed(len(x))
        scores[key] = CandidateScores.concatenate(parts)
    return scores


def _dev_scores(
    body: Body, scores: Mapping[Key, CandidateScores], evaluation: Evaluation
) -> DevScores:
    scale = np.float64(body.graph.tensors[logits_of(body.graph)].scale)
    dev = {key: scored for key, scored in scores.items() if key.split == "dev"}
    return DevScores(
        evaluation,
        {key: scored.surprisal_q16 / ONE_Q16 for key, scored in dev.items()},
        {key: scored.logits * scale for key, scored in dev.items()},
    )


def _candidates(
    body: Body, ranks: tuple[int, ...], dev: DevScores, prices: Prices
) -> tuple[Candidate, ...]:
    _, with_score = dev.correlations()
    return tuple(
        Candidate(
            tap=tap.after,
            before=tap.before,
            rank=min(rank, head.residual.in_channels, head.residual.channels),
            score_correlation=float(with_score[i]),
            auprc=dev.auprc([i]),
            cost=prices.of(body, [i]),
        )
        for i, (tap, head, rank) in enumerate(zip(body.taps, body.heads, ranks, strict=True))
    )
