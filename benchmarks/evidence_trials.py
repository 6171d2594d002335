"""What other ideas add to the map class-gated: "What else was tried" in docs/evidence.md.

    python benchmarks/evidence_trials.py                      # digits, 3 seeds
    python benchmarks/evidence_trials.py --data-dir DIR       # and MNIST, 1 seed, few epochs
    python benchmarks/evidence_trials.py --attached RUN       # and a run of `snap attach`

Prints, for each of them, AUROC of errors (pooled, per cell, clean) and of foreign inputs, and the
area under risk and coverage (AURC): of plain class-gated, and what the others gain on it, with
paired 95 % intervals. Dev data say what wins; test figures stand beside them, and there are no dev
data of foreign inputs.

- Heads: one more column in the logistic map. A head reads the pooled channels of the last tap and
  says how much three other networks would disagree, or how improbable the true class is. The three
  networks themselves are the ceiling of the first.
- Trainings: label smoothing, MixUp, class means in the surprisal heads, joint and post hoc. Each
  has a network of its own with errors of its own, so an AUROC does not tell all: accuracy stands
  beside it, and AURC counts both.

The network and what class-gated reads are in int8; the new heads and the sum of the map are in
float. Maps and heads have not seen the corruption types that they judge. Networks stay in
--runs-dir and are not trained again. On two busy cores digits take about 20 minutes (half of it
training), MNIST 15, an attached model 2.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from snapcli import console
from snapcli.array import Array, Bools
from snapcli.assets import asset_dir
from snapcli.config import CalibrateOptions, Recipe, load_recipe
from snapcli.data import Dataset, load_dataset
from snapcli.data.dataset import Inputs
from snapcli.data.evaluation import Evaluation, Key
from snapcli.graph.reader import read_tflite
from snapcli.heads.head import tapped_blocks
from snapcli.judging.cross_fit import CrossFitted
from snapcli.judging.evidence import Evidence, collect, joined
from snapcli.judging.judge import Judge, Sample, Samples, gain
from snapcli.judging.many_heads import IntegerHeads, ManyHeads, pooled_by
from snapcli.methods.logits import MaxProbability
from snapcli.methods.method import Batch, Dev, Method, softmax
from snapcli.methods.network import surprisal_by
from snapcli.methods.snap import Snap
from snapcli.methods.trained.ensemble import MEMBERS, mutual_information
from snapcli.metrics.bootstrap import Interval
from snapcli.models.activations import pooled_activations
from snapcli.models.convert import convert_int8
from snapcli.monitor.body import Body
from snapcli.monitor.build import RANGE_EXAMPLES, build_body
from snapcli.monitor.monitor import load_body
from snapcli.origin.network import trained, trained_model
from snapcli.origin.origin import origin_of
from snapcli.runs import Run, create_run
from snapcli.score.maps import ClassGatedMap, Features
from snapcli.stages.train import train

PLAIN = "plain"
TRAININGS = {
    PLAIN: [],
    "smoothing": ["train.label_smoothing=0.1"],
    "mixup": ["train.mixup=0.2"],
    "class-mean": ["train.class_mean=true"],
    # One network for both: the heads come after it.
    "posthoc": ["train.mode='posthoc'"],
    "posthoc-class-mean": ["train.mode='posthoc'", "train.class_mean=true"],
}
MEMBER_SEEDS = (101, 102, 103)
MNIST_SEEDS, MNIST_EPOCHS = (13,), 4
# Corrupted copies of training examples that heads learn from: of each condition, and their seed,
# which neither dev nor test data have.
COPIES, COPIES_SEED = 200, 2
SURPRISAL, POOLED = surprisal_by("snap"), pooled_by("snap")
CLASS_GATED = "class-gated"
# As in score/maps/class_gated.py, where answers with few errors count for less.
LOSS_WEIGHT, REACH = 0.1, 0.5
# Nats of disagreement below it are none; a probability is no nearer to 0 or 1.
LEAST = 1e-3
FOREIGN, AURC = "foreign", "selective.all.aurc"
FIGURES = {
    "errors.pooled.auroc": "pooled",
    "errors.per_cell.auroc": "per cell",
    "errors.clean.auroc": "clean",
    AURC: "AURC",
}
ERRORS = tuple(name for name in FIGURES if name != AURC)
# Some networks make next to no error on clean dev data.
OF_TRAININGS = tuple(name for name in FIGURES if name != "errors.clean.auroc")
REPLICATES = 500


# Networks, and what they show


@dataclass(frozen=True, eq=False)
class Subject:
    """A network in int8. evidence: the outputs of ManyHeads for every condition, with the members'
    logits where there are members. copies: corrupted training examples by type, all severities
    together; none where no head is fitted."""

    evidence: Evidence
    copies: Mapping[str, Batch]

    @property
    def accuracy(self) -> tuple[float, float]:
        """On clean and on corrupted test data."""
        cells = joined([self.evidence.conditions[key] for key in self.evidence.cells])
        clean, corrupted = (
            float(np.mean(batch.logits.argmax(axis=-1) == batch.y))
            for batch in (self.evidence.clean, cells)
        )
        return clean, corrupted

    @property
    def on_dev(self) -> Evidence:
        """Dev conditions in the place of those of test."""
        moved = {key: key if key.split == "ood" else _test_key(key) for key in self._dev_keys}
        evidence = self.evidence
        return replace(
            evidence,
            conditions={new: evidence.conditions[key] for key, new in moved.items()},
            rows={new: evidence.rows[key] for key, new in moved.items()},
        )

    @property
    def _dev_keys(self) -> list[Key]:
        return [key for key in self.evidence.conditions if key.split != "test"]


def _test_key(key: Key) -> Key:
    return replace(key, split="test")


def network(runs_dir: Path, name: str, training: str, seed: int, changes: Sequence[str]) -> Run:
    """Trained by the recipe of that name, unless the folder has it."""
    stem = f"{name}-{training}-{seed}"
    root = runs_dir / f"{stem}-001"
    if (root / "train").is_dir():
        return Run(root.resolve())
    run = create_run(runs_dir, stem)
    with console.progress(f"train {stem}") as on_progress:
        recipe = recipe_of(name, [f"train.seed={seed}", *TRAININGS[training], *changes])
        train(run, recipe, on_progress=on_progress)
    return run


def recipe_of(name: str, changes: Sequence[str]) -> Recipe:
    return load_recipe(asset_dir("pipelines") / f"{name}.toml", changes)


def int8_body(run: Run, dataset: Dataset, samples: int) -> Body:
    """As quantize makes it."""
    parts = trained(run, dataset)
    x = dataset.front_end(dataset.train.x[: max(samples, RANGE_EXAMPLES)])
    tflite = convert_int8(parts.model, tapped_blocks(parts.heads), x[:samples])
    return build_body(read_tflite(tflite), parts.heads, x)


def look(
    body: Body,
    dataset: Dataset,
    options: CalibrateOptions,
    members: Sequence[Any] = (),
    with_copies: bool = True,
) -> Subject:
    """members: float models, image -> {"logits": ...}."""
    seen = ManyHeads(body.graph, {"snap": IntegerHeads(body)}, with_distances=True)

    def observe(x: Inputs) -> dict[str, Array]:
        outputs = seen.observe(x)
        if members:
            each = [pooled_activations(model, x, [])["logits"] for model in members]
            outputs[MEMBERS] = np.stack(each, axis=1).astype(np.float64)
        return outputs

    with console.progress("conditions through int8") as on_progress:
        evidence = collect(observe, Evaluation(dataset, options.limit), options, 0, on_progress)
    types = dataset.corruptions if with_copies else ()
    return Subject(evidence, {name: _copies(observe, dataset, name) for name in types})


def _copies(observe: Callable[[Inputs], dict[str, Array]], dataset: Dataset, name: str) -> Batch:
    train = dataset.train.spread(COPIES)
    batches = []
    for severity in dataset.severities("dev", name):
        raw = dataset.corrupted(train.x, name, severity, COPIES_SEED, "dev")
        batches.append(Batch(observe(dataset.front_end(raw)), train.y))
    return joined(batches)


# Heads


def disagreement(batch: Batch) -> Array:
    """ln of the members' mutual information, [n]."""
    return np.log(LEAST + np.maximum(mutual_information(softmax(batch.outputs[MEMBERS])), 0.0))


def true_class(batch: Batch) -> Array:
    """Log odds against the true class, [n]."""
    p = softmax(batch.logits)[np.arange(len(batch)), batch.y]
    return -logit(np.clip(p, LEAST, 1.0 - LEAST))


def linear() -> Any:
    return make_pipeline(StandardScaler(), Ridge(1.0))


def hidden() -> Any:
    net = MLPRegressor(
        hidden_layer_sizes=(16,), alpha=1e-2, max_iter=1000, early_stopping=True, random_state=0
    )
    return make_pipeline(StandardScaler(), net)


@dataclass(frozen=True)
class Column:
    """One more input of the map. regressor: what learns the target from the pooled channels; None:
    the target itself, at the price of the members' passes. with_copies: whether it sees corrupted
    training examples beside the clean ones."""

    name: str
    target: Callable[[Batch], Array]
    regressor: Callable[[], Any] | None
    with_copies: bool = True

    def fitted(self, train: Batch, copies: Sequence[Batch]) -> Callable[[Batch], Array]:
        if self.regressor is None:
            return self.target
        seen = joined([train, *(copies if self.with_copies else ())])
        model = self.regressor().fit(seen.outputs[POOLED], self.target(seen))
        return lambda batch: np.asarray(model.predict(batch.outputs[POOLED]))


def heads_for(name: str, target: Callable[[Batch], Array]) -> list[Column]:
    return [
        Column(f"{name}, linear, of clean data", target, linear, with_copies=False),
        Column(f"{name}, linear", target, linear),
        Column(f"{name}, 16 hidden, of clean data", target, hidden, with_copies=False),
        Column(f"{name}, 16 hidden", target, hidden),
    ]


TRUE_CLASS = heads_for("true class", true_class)
DISAGREEMENT = [
    *heads_for("disagreement", disagreement),
    Column("disagreement itself, 4 passes", disagreement, None),
]


# The map with one more column


class Extended(Snap):
    """class-gated, fitted anew with a column more, whose slope may have either sign. Without a
    column it must equal the map of the product."""

    def __init__(
        self,
        name: str,
        options: CalibrateOptions,
        column: Column | None,
        copies: Mapping[str, Batch],
    ) -> None:
        super().__init__(name, options, SURPRISAL)
        self._column, self._copies = column, copies

    def fit(self, train: Batch, dev: Dev) -> None:
        super().fit(train, dev)
        # The whole may see the copies of all types, a turn those that it is not judged on.
        copies = [self._copies[name] for name in dev.types()] if self._column else []
        self._extra = self._column.fitted(train, copies) if self._column else None
        batches = dev.batches()
        x = np.concatenate([self._inputs(batch) for batch in batches])
        wrong = np.concatenate([self.answers(batch) != batch.y for batch in batches])
        clean = np.arange(len(wrong)) < len(dev.clean)
        weight = weights(wrong, clean, self.options.balanced)
        taps = len(self._class_gated.taps)
        self._slopes = ridge(x, 2 + taps, x.shape[1] - self._tables, wrong, weight)
        self._keep_monotone(taps)

    def score(self, batch: Batch) -> Array:
        return np.asarray(self._inputs(batch) @ self._slopes)

    def uncertainty(self, batch: Batch) -> Array | None:
        return None

    @property
    def _class_gated(self) -> ClassGatedMap:
        assert isinstance(self.map_, ClassGatedMap)
        return self.map_

    @property
    def _tables(self) -> int:
        return 2 * len(self._class_gated.offset)

    def _inputs(self, batch: Batch) -> Array:
        """[n, 2 + taps + columns + both tables]."""
        features = self._features(batch)
        extra = [] if self._extra is None else [self._extra(batch)]
        return design(self._class_gated, features, extra)

    def _keep_monotone(self, taps: int) -> None:
        cap = np.array([tap.cap for tap in self._class_gated.taps])
        strange = self._slopes[-self._tables // 2 :]
        np.maximum(strange, -np.min(self._slopes[2 : 2 + taps] * cap) / REACH, out=strange)


def design(fitted: ClassGatedMap, features: Features, extra: Sequence[Array]) -> Array:
    """The columns of class-gated with theta and cap as they are fitted, the further ones, and its
    two tables as one column for each answer."""
    _, theta, cap = np.array([astuple(tap) for tap in fitted.taps]).T
    excess = np.maximum(0.0, features.log_surprisal() - theta)
    strange = np.minimum(1.0, np.max(excess / cap, axis=-1))
    familiar = np.minimum(0.0, features.error_logit) * (1.0 - strange)
    answered = REACH * np.eye(features.classes)[features.answer]
    return np.column_stack(
        [features.error_logit, familiar, excess, *extra, answered, answered * strange[:, None]]
    )


def weights(wrong: Bools, clean: Bools, balanced: bool) -> Array:
    """Clean data count at most as much as corrupted, errors as much as right answers."""
    weight = np.ones(len(wrong))
    if not clean.all():
        weight[clean] = min(1.0, (~clean).sum() / clean.sum())
    if balanced and 0 < wrong.sum() < len(wrong):
        half = weight.sum() / 2
        for part in (wrong, ~wrong):
            weight[part] *= half / weight[part].sum()
    return weight


def ridge(x: Array, bounded: int, scaled: int, wrong: Bools, weight: Array) -> Array:
    """Slopes of a logistic regression, [columns]; the first `bounded` are at least 0, the first
    `scaled` columns are held in standard deviations."""
    scale = np.ones(x.shape[1])
    scale[:scaled] = np.where(np.ptp(x, axis=0) > 0, x.std(axis=0), np.inf)[:scaled]
    middle = np.where(np.arange(x.shape[1]) < scaled, x.mean(axis=0), 0.0)
    z = (x - middle) / scale

    def loss(parameters: Array) -> tuple[float, Array]:
        b0, slopes = parameters[0], parameters[1:]
        t = b0 + z @ slopes
        residual = LOSS_WEIGHT * weight * (expit(t) - wrong)
        value = LOSS_WEIGHT * weight @ (np.logaddexp(0.0, t) - wrong * t) + slopes @ slopes / 2
        return value, np.concatenate([[residual.sum()], residual @ z + slopes])

    free = (None, None)
    bounds = [free, *[(0.0, None)] * bounded, *[free] * (x.shape[1] - bounded)]
    fitted = minimize(loss, np.zeros(len(bounds)), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(fitted.x[1:] / scale)


# Figures


@dataclass(frozen=True)
class Row:
    """samples: of dev and of test, accuracy: on clean and on corrupted test data, means over the
    seeds; pooled: AUROC on dev of each seed."""

    name: str
    samples: dict[str, Samples]
    accuracy: tuple[float, float]
    pooled: tuple[float, ...]

    def gains(self, split: str, reference: "Row") -> dict[str, Interval]:
        """Better is positive."""
        mine, other = self.samples[split], reference.samples[split]
        return {name: gain(mine[name], other[name], -1.0 if name == AURC else 1.0) for name in mine}

    def better_seeds(self, reference: "Row") -> str:
        pairs = list(zip(self.pooled, reference.pooled, strict=True))
        return f"{sum(mine > other for mine, other in pairs)} of {len(pairs)}"

    def wins(self, reference: "Row") -> bool:
        """On dev: better pooled or per cell beyond the interval, and nowhere worse beyond it."""
        gains = self.gains("dev", reference)
        better = any(gains[name].low > 0 for name in ERRORS[:2])
        return better and not any(gains[name].high < 0 for name in ERRORS)


def judged(name: str, make: Callable[[Subject], Method], subjects: Sequence[Subject]) -> Row:
    """subjects: one for each seed. Examples are drawn alike for all of them."""
    by_split: dict[str, list[Samples]] = {"dev": [], "test": []}
    for subject in subjects:
        fitted = CrossFitted(make(subject), subject.evidence)
        for split, evidence in (("dev", subject.on_dev), ("test", subject.evidence)):
            _, samples = Judge(evidence, REPLICATES).figures(fitted, "", None)
            by_split[split].append(_with_foreign(samples))
    clean, corrupted = np.mean([subject.accuracy for subject in subjects], axis=0).tolist()
    means = {split: averaged(every) for split, every in by_split.items()}
    pooled = tuple(samples["errors.pooled.auroc"].point for samples in by_split["dev"])
    return Row(name, means, (clean, corrupted), pooled)


def _with_foreign(samples: Samples) -> Samples:
    """With the mean over the foreign sets."""
    sets = [s for name, s in samples.items() if name.startswith("ood.") and name.endswith(".auroc")]
    return {**samples, FOREIGN: _mean(sets)}


def averaged(samples: Sequence[Samples]) -> Samples:
    return {name: _mean([each[name] for each in samples]) for name in (*FIGURES, FOREIGN)}


def _mean(samples: Sequence[Sample]) -> Sample:
    """Of those that are defined: a network may make no error on clean data."""
    known = [sample for sample in samples if not np.isnan(sample.point)] or list(samples)
    point = float(np.mean([sample.point for sample in known]))
    return Sample(point, np.mean([sample.replicates for sample in known], axis=0))


def plain_rows(subjects: Sequence[Subject], options: CalibrateOptions) -> list[Row]:
    def snap(kind: str) -> Callable[[Subject], Method]:
        return lambda subject: Snap(kind, options.with_map(kind), SURPRISAL)

    return [
        judged(MaxProbability.name, lambda subject: MaxProbability(), subjects),
        judged("gated", snap("gated"), subjects),
        judged(CLASS_GATED, snap(CLASS_GATED), subjects),
    ]


def column_rows(
    subjects: Sequence[Subject], options: CalibrateOptions, columns: Sequence[Column | None]
) -> list[Row]:
    asked = options.with_map(CLASS_GATED)
    rows = []
    for column in columns:
        name = f"+ {column.name}" if column else "class-gated, fitted by this script"

        def make(subject: Subject, column: Column | None = column, name: str = name) -> Method:
            return Extended(name, asked, column, subject.copies)

        rows.append(judged(name, make, subjects))
    return rows


def show(title: str, figures: Sequence[str], rows: Sequence[Row], reference: Row) -> None:
    """As Markdown: the figures of the reference, and what the others gain on it."""
    shown = [(split, name) for split in ("dev", "test") for name in figures]
    head = [f"{FIGURES[name]}, {split}" for split, name in shown]
    head += ["foreign", "accuracy, clean / corrupted", "seeds better on dev", "wins on dev"]
    print(f"\n{title}\n\n| | {' | '.join(head)} |\n|{'---|' * (len(head) + 1)}")
    for row in [reference, *(row for row in rows if row is not reference)]:
        cells = [_cell(row, reference, *each) for each in [*shown, ("test", FOREIGN)]]
        cells.append(" / ".join(f"{100 * accuracy:.1f}" for accuracy in row.accuracy))
        cells.append("" if row is reference else row.better_seeds(reference))
        cells.append("yes" if row.wins(reference) else "")
        print(f"| {row.name} | {' | '.join(cells)} |", flush=True)


def _cell(row: Row, reference: Row, split: str, name: str) -> str:
    if row is reference:
        return _short(row.samples[split][name].point, "")
    value, low, high = (_short(v, "+") for v in astuple(row.gains(split, reference)[name]))
    return f"{value} [{low}, {high}]"


def _short(value: float, sign: str) -> str:
    # No -.000: what rounds to nothing has no sign.
    return "-" if np.isnan(value) else f"{round(value, 3) + 0.0:{sign}.3f}".replace("0.", ".", 1)


# Data sets


def trained_trials(
    title: str, runs_dir: Path, name: str, seeds: Sequence[int], changes: Sequence[str]
) -> None:
    """Heads and trainings, on the data of a recipe."""
    recipe = recipe_of(name, changes)
    options, dataset = recipe.calibrate, load_dataset(recipe.train)
    runs = {t: [network(runs_dir, name, t, s, changes) for s in seeds] for t in TRAININGS}
    others = [network(runs_dir, name, PLAIN, seed, changes) for seed in MEMBER_SEEDS]
    members = [trained_model(run, dataset) for run in others]

    def subjects(training: str) -> list[Subject]:
        bodies = [int8_body(run, dataset, recipe.quantize.samples) for run in runs[training]]
        if training == PLAIN:
            return [look(body, dataset, options, members) for body in bodies]
        return [look(body, dataset, options, with_copies=False) for body in bodies]

    plain = subjects(PLAIN)
    rows = plain_rows(plain, options)
    reference = rows[-1]
    rows += column_rows(plain, options, (None, *TRUE_CLASS, *DISAGREEMENT))
    show(f"{title}, heads", ERRORS, rows, reference)
    rows = []
    for training in TRAININGS:
        if training != PLAIN:
            of_training = plain_rows(subjects(training), options)
            rows += [replace(row, name=f"{training}: {row.name}") for row in of_training]
    show(f"{title}, trainings", OF_TRAININGS, rows, reference)


def attached_trials(run: Run) -> None:
    """Heads alone: there is one network, and nothing is trained."""
    origin = origin_of(run)
    limit = origin.limit(CalibrateOptions())
    options = replace(origin.recipe.calibrate, limit=limit)
    subject = look(load_body(run.inputs("attach")), origin.dataset(), options)
    rows = plain_rows([subject], options)
    reference = rows[-1]
    rows += column_rows([subject], options, (None, *TRUE_CLASS))
    show(Path(origin.model).stem, ERRORS, rows, reference)


def main(
    runs_dir: Annotated[Path, typer.Option(help="Where networks stay.")] = Path("runs/trials"),
    data_dir: Annotated[Path | None, typer.Option(help="A folder with MNIST.")] = None,
    attached: Annotated[Path | None, typer.Option(help="A run of snap attach.")] = None,
    seeds: Annotated[str, typer.Option(help="Of the digits networks, with commas.")] = "13,17,23",
) -> None:
    trained_trials("digits", runs_dir, "digits", [int(seed) for seed in seeds.split(",")], [])
    if data_dir:
        changes = [f"train.data_dir='{data_dir}'", f"train.epochs={MNIST_EPOCHS}"]
        trained_trials("MNIST", runs_dir, "mnist-quick", MNIST_SEEDS, changes)
    if attached:
        attached_trials(Run(attached.resolve()))


if __name__ == "__main__":
    typer.run(main)
