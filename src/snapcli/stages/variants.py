"""variants: the networks of methods that train one of their own -> variants/<name>/weights.npz,
history.json.

They learn by the recipe of the run, without its heads.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from snapcli.config import TrainOptions
from snapcli.data import Dataset
from snapcli.data.dataset import Inputs
from snapcli.errors import UsageError, suggestion
from snapcli.graph import read_tflite
from snapcli.models import load_backbone
from snapcli.models.activations import load_model
from snapcli.models.backbone import Backbone
from snapcli.models.convert import convert_int8
from snapcli.models.fit import Progress
from snapcli.models.tensorflow import require_tensorflow
from snapcli.models.variant_fit import VariantTrainer, seed_everything
from snapcli.models.variants import (
    deep_ensemble,
    early_exit,
    evidential,
    g_odin,
    hydra,
    mc_dropout,
    qute,
    tiny_deep_ensemble,
)
from snapcli.models.variants.evidential import Evidence
from snapcli.models.variants.g_odin import Decomposed
from snapcli.models.variants.hydra import Imitation
from snapcli.models.variants.lesson import Lesson
from snapcli.models.variants.observe import (
    MEMBERS_OUTPUT,
    Observe,
    Outputs,
    logits,
    members,
    passes,
    perturbed,
)
from snapcli.models.variants.qute import Assisted
from snapcli.models.variants.replay import MEMBERS, classifier
from snapcli.progress import OnProgress, silent
from snapcli.runs import Run, disk_errors, write_json
from snapcli.stages.dataset import run_dataset
from snapcli.stages.recipe import run_recipe

DEEP_ENSEMBLE, HYDRA, MC_DROPOUT, G_ODIN = "deep-ensemble", "hydra", "mc-dropout", "g-odin"
EVIDENTIAL, EARLY_EXIT, QUTE = "evidential", "early-exit", "qute"
TINY_DEEP_ENSEMBLE = "tiny-deep-ensemble"
MakeLesson = Callable[[], Lesson]
_BUILD: dict[str, Callable[[Backbone, tuple[int, int, int], int], Any]] = {
    EVIDENTIAL: evidential.build,
    MC_DROPOUT: mc_dropout.build,
    DEEP_ENSEMBLE: deep_ensemble.build,
    EARLY_EXIT: early_exit.build,
    HYDRA: hydra.build,
    QUTE: qute.build,
    TINY_DEEP_ENSEMBLE: tiny_deep_ensemble.build,
    G_ODIN: g_odin.build,
}
# Those whose int8 form is a graph with several classifiers.
_INT8 = (DEEP_ENSEMBLE, EARLY_EXIT, HYDRA, QUTE)
_WEIGHTS, _HISTORY = "weights.npz", "history.json"
# Training inputs whose deviation scales the steps of G-ODIN.
_MEASURED = 1000


@dataclass(frozen=True, eq=False)
class Variant:
    """model: a tf_keras model, image -> outputs. observe: inputs [n, h, w, c] -> {name: [n, ...]},
    float64: "members" [n, members, classes] logits; "logits" of evidential; "h", "g" and
    "perturbed" of g-odin."""

    name: str
    model: Any
    observe: Observe

    def int8(self, samples: Inputs) -> Observe:
        """As observe, of the network as full int8; samples [n, h, w, c] set the ranges."""
        if self.name not in _INT8:
            raise UsageError(
                f"{self.name} has no int8 form", f"These have one: {', '.join(_INT8)}."
            )
        names = sorted(self.model.output)
        graph = read_tflite(convert_int8(self.model, names, samples))
        tensors = {name: graph.outputs[name] for name in names}
        taken = graph.tensors[graph.input]

        def observe(x: Inputs) -> Outputs:
            found = graph.run(taken.quantize(x), set(tensors.values()))
            real = [graph.tensors[t].real(found[t]) for t in tensors.values()]
            return {
                MEMBERS_OUTPUT: np.stack([r.reshape(len(x), -1) for r in real], axis=1).astype(
                    np.float64
                )
            }

        return observe


def names() -> tuple[str, ...]:
    return tuple(_BUILD)


def variant(run: Run, name: str, on_progress: OnProgress = silent) -> Variant:
    """Trained if it is missing or older than the run's own training; an interrupted training goes
    on where it was."""
    if name not in _BUILD:
        raise UsageError(f"no method '{name}' trains a network", suggestion(name, _BUILD))
    if run.is_attached:
        raise UsageError(
            f"{run.name} holds a finished model: {name} would have to be trained",
            "Use a run of snap train.",
        )
    run.inputs("train")
    require_tensorflow()
    options, data = run_recipe(run).train, run_dataset(run)
    backbone = load_backbone(options.backbone)
    model = _BUILD[name](backbone, data.input_shape, len(data.class_names))
    stage = f"variants/{name}"
    if run.state(stage).status != "done":
        _Training(run, name, backbone, data, options, on_progress).write()
    with np.load(run.inputs(stage) / _WEIGHTS) as saved:
        model.set_weights([saved[f"w{i}"] for i in range(len(saved.files))])
    return Variant(name, model, _observer(name, model, data))


def _observer(name: str, model: Any, data: Dataset) -> Observe:
    if name == EVIDENTIAL:
        return logits(model)
    if name == MC_DROPOUT:
        return passes(model)
    if name == G_ODIN:
        return perturbed(model, float(data.front_end(data.train.x[:_MEASURED]).std()))
    return members(model)


@dataclass(frozen=True)
class _Training:
    run: Run
    name: str
    backbone: Backbone
    data: Dataset
    options: TrainOptions
    on_progress: OnProgress

    def write(self) -> None:
        """Trains what is missing and leaves it as a stage of the run."""
        folder = self.run.path("variants")
        with disk_errors(self.run.root):
            folder.mkdir(exist_ok=True)
            if self.name == DEEP_ENSEMBLE:
                model, histories = self._ensemble()
            else:
                model, history = self._fitted(self._lesson(), self.options, 1, 1)
                histories = [history]
        stage = f"variants/{self.name}"
        with self.run.write(stage, after=("train",), seed=self.options.seed) as out:
            np.savez(out / _WEIGHTS, **{f"w{i}": w for i, w in enumerate(model.get_weights())})
            kept = [[{"loss": p.loss, "accuracy": p.accuracy} for p in h] for h in histories]
            write_json(out / _HISTORY, {"trainings": kept})
        for path in folder.glob(f"{self.name}.*.npz"):
            path.unlink()

    def _lesson(self) -> MakeLesson:
        """Makes the lesson once the seed is set: weights are drawn then."""
        shape, classes, options = self.data.input_shape, len(self.data.class_names), self.options
        if self.name == HYDRA:
            teachers = variant(self.run, DEEP_ENSEMBLE, self.on_progress).model
            return lambda: Imitation(self._built(), teachers, options)
        if self.name == QUTE:
            return lambda: Assisted(qute.build_training(self.backbone, shape, classes), options)
        kinds = {EVIDENTIAL: Evidence, G_ODIN: Decomposed}
        return lambda: kinds.get(self.name, Lesson)(self._built(), options)

    def _built(self) -> Any:
        return _BUILD[self.name](self.backbone, self.data.input_shape, len(self.data.class_names))

    def _ensemble(self) -> tuple[Any, list[list[Progress]]]:
        """The run's own network, and others that know nothing of it."""
        shape, classes = self.data.input_shape, len(self.data.class_names)
        models = [load_model(self.run.inputs("train") / "model.keras")]
        histories = []
        for i in range(1, MEMBERS):
            options = replace(self.options, seed=(self.options.seed + i) % 2**32)

            def lesson(options: TrainOptions = options) -> Lesson:
                return Lesson(classifier(self.backbone, shape, classes), options)

            model, history = self._fitted(lesson, options, i, MEMBERS - 1)
            models.append(model)
            histories.append(history)
        return deep_ensemble.assembled(models), histories

    def _fitted(
        self, lesson: MakeLesson, options: TrainOptions, number: int, count: int
    ) -> tuple[Any, list[Progress]]:
        """number: of this training, from 1 to count. Its checkpoint is of no use to a network that
        is compared with another training, and named after that."""
        seed_everything(options.seed)
        trainer = VariantTrainer(lesson(), self.data, options)
        done, total = (number - 1) * options.epochs, count * options.epochs

        def on_epoch(progress: Progress) -> None:
            detail = f"{self.name}: loss {progress.loss:.3f} accuracy {progress.accuracy:.3f}"
            self.on_progress(done + progress.epoch, total, detail)

        digest = self.run.digest("train")[:12]
        path = self.run.path(f"variants/{self.name}.{digest}.{number}.npz")
        return trainer.fit(path, on_epoch), trainer.history
