"""variants: the networks of methods that train one of their own -> variants/<name>/weights.npz,
history.json.

They learn by the recipe of the run, without its heads.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snapcli.config import TrainOptions
from snapcli.data import Dataset
from snapcli.data.dataset import Inputs
from snapcli.errors import UsageError, suggestion
from snapcli.graph import read_tflite
from snapcli.graph.chunks import in_chunks
from snapcli.graph.ensemble import copies
from snapcli.graph.graph import Graph
from snapcli.methods.table import GROUPS, TABLE, TRAINED
from snapcli.methods.trained.deep_ensemble import DeepEnsemble, assembled
from snapcli.methods.trained.design import Design
from snapcli.methods.trained.ensemble import MEMBERS as MEMBERS_OUTPUT
from snapcli.methods.trained.fit import VariantTrainer
from snapcli.methods.trained.hydra import Hydra
from snapcli.methods.trained.lesson import Lesson
from snapcli.methods.trained.observe import Observe, Outputs
from snapcli.methods.trained.replay import MEMBERS, classifier
from snapcli.models import load_backbone
from snapcli.models.backbone import Backbone
from snapcli.models.convert import convert_int8
from snapcli.models.loop import Progress, seed_everything
from snapcli.models.tensorflow import require_tensorflow
from snapcli.origin.network import trained_model
from snapcli.origin.origin import origin_of
from snapcli.origin.recipe import run_recipe
from snapcli.progress import OnProgress, silent
from snapcli.runs import Run, disk_errors, write_json
from snapcli.stored import stored_arrays

# Its members are trained one by one; the other learns from it.
_ENSEMBLE, _IMITATION = DeepEnsemble.name, Hydra.name
_WEIGHTS, _HISTORY = "weights.npz", "history.json"
# Training examples that set the int8 ranges of a network that is only built to be priced.
_SAMPLES = 200


@dataclass(frozen=True, eq=False)
class Variant:
    """observe shows of inputs [n, h, w, c] what the method judges by: {name: [n, ...]}, float64:
    "members" [n, members, classes], their logits; "logits" of evidential; "h", "g" and "perturbed"
    of g-odin. model: a tf_keras model, image -> outputs."""

    name: str
    model: Any
    observe: Observe

    def graph(self, samples: Inputs) -> Graph:
        """The network as full int8; samples [n, h, w, c] set the ranges. Only for methods that
        have a form in integers."""
        return read_tflite(convert_int8(self.model, sorted(self.model.output), samples))

    def int8(self, samples: Inputs) -> Observe:
        """As observe, of the network as full int8."""
        graph = self.graph(samples)
        tensors = [graph.outputs[name] for name in sorted(graph.outputs)]

        def members(q: NDArray[np.int8]) -> NDArray[np.float32]:
            tensor_values = graph.run(q, set(tensors))
            logits = [graph.tensors[t].real(tensor_values[t]).reshape(len(q), -1) for t in tensors]
            return np.stack(logits, axis=1)

        def observe(x: Inputs) -> Outputs:
            parts = in_chunks(members, graph.quantize(x))
            return {MEMBERS_OUTPUT: np.concatenate([p for _, p in parts]).astype(np.float64)}

        return observe


def variant(run: Run, name: str, on_progress: OnProgress = silent) -> Variant:
    """Trained if it is missing or older than the run's own training; an interrupted training goes
    on where it was."""
    if name not in GROUPS[TRAINED]:
        raise UsageError(f"no method '{name}' trains a network", suggestion(name, GROUPS[TRAINED]))
    _check_trainable(run, name)
    run.inputs("train")
    require_tensorflow()
    options, data = run_recipe(run).train, origin_of(run).dataset()
    backbone = load_backbone(options.backbone)
    kind, stage = _kind(name), f"variants/{name}"
    model = kind.build(backbone, data.input_shape, len(data.class_names))
    with run.making(stage):
        if run.state(stage).status != "done":
            _Training(run, name, backbone, data, options, on_progress).write()
    with stored_arrays(run.inputs(stage) / _WEIGHTS, f"Run: {run.remedy(stage)}") as saved:
        shapes = [w.shape for w in model.get_weights()]
        model.set_weights([saved.array(f"w{i}", np.float32, s) for i, s in enumerate(shapes)])
    return Variant(name, model, kind.observe(model))


def _kind(name: str) -> Design:
    kind = TABLE[name].trains
    assert kind is not None
    return kind


def _check_trainable(run: Run, name: str) -> None:
    if not origin_of(run).has_float:
        raise UsageError(
            f"{run.name} holds a finished model: {name} would have to be trained",
            "Use a run of snap train.",
        )


def int8_graph(run: Run, name: str, dataset: Dataset, plain: Graph, logits: str) -> Graph:
    """The int8 network of a method that trains one: as it was trained for the run or, if it was
    not yet, of the same layers, which cost the same. plain: the run's own network."""
    samples = dataset.front_end(dataset.train.x[:_SAMPLES])
    if origin_of(run).has_float and run.state(f"variants/{name}").status == "done":
        return variant(run, name).graph(samples)
    if name == _ENSEMBLE:
        return copies(plain, logits, MEMBERS)
    return _untrained(run, name, dataset, samples)


def _untrained(run: Run, name: str, dataset: Dataset, samples: Inputs) -> Graph:
    """With the run's weights where it has the run's layers: scales decide which kernel a layer
    gets, so that they should be those of a trained one."""
    _check_trainable(run, name)
    require_tensorflow()
    trained = trained_model(run, dataset)
    backbone = load_backbone(run_recipe(run).train.backbone)
    model = _kind(name).build(backbone, dataset.input_shape, len(dataset.class_names))
    known = {layer.name: layer for layer in trained.layers}
    for layer in model.layers:
        if layer.name in known:
            layer.set_weights(known[layer.name].get_weights())
    return Variant(name, model, _kind(name).observe(model)).graph(samples)


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
            model, histories = self._ensemble() if self.name == _ENSEMBLE else self._single()
        stage = f"variants/{self.name}"
        with self.run.write(stage, after=("train",), seed=self.options.seed) as out:
            np.savez(out / _WEIGHTS, **{f"w{i}": w for i, w in enumerate(model.get_weights())})
            kept = [[{"loss": p.loss, "accuracy": p.accuracy} for p in h] for h in histories]
            write_json(out / _HISTORY, {"trainings": kept})
        for path in folder.glob(f"{self.name}.*.npz"):
            path.unlink()

    def _single(self) -> tuple[Any, list[list[Progress]]]:
        kind, further = _kind(self.name), {}
        if self.name == _IMITATION:
            further["teachers"] = variant(self.run, _ENSEMBLE, self.on_progress).model

        def lesson() -> Lesson:
            model = (kind.learner or kind.build)(self.backbone, *self._sizes)
            return kind.lesson(model, self.options, **further)

        model, history = self._fitted(lesson, self.options, 1, 1)
        return model, [history]

    def _ensemble(self) -> tuple[Any, list[list[Progress]]]:
        """The run's own network, and others that know nothing of it."""
        models = [trained_model(self.run, self.data)]
        histories = []
        for i in range(1, MEMBERS):
            options = replace(self.options, seed=(self.options.seed + i) % 2**32)

            def lesson(options: TrainOptions = options) -> Lesson:
                return Lesson(classifier(self.backbone, *self._sizes), options)

            model, history = self._fitted(lesson, options, i, MEMBERS - 1)
            models.append(model)
            histories.append(history)
        return assembled(models), histories

    @property
    def _sizes(self) -> tuple[tuple[int, int, int], int]:
        return self.data.input_shape, len(self.data.class_names)

    def _fitted(
        self, lesson: Callable[[], Lesson], options: TrainOptions, number: int, count: int
    ) -> tuple[Any, list[Progress]]:
        """number: of this training, from 1 to count."""
        # The lesson is made after this: weights are drawn then.
        seed_everything(options.seed)
        trainer = VariantTrainer(lesson(), self.data, options)
        done, total = (number - 1) * options.epochs, count * options.epochs

        def on_epoch(progress: Progress) -> None:
            detail = f"{self.name}: loss {progress.loss:.3f} accuracy {progress.accuracy:.3f}"
            self.on_progress(done + progress.epoch, total, detail)

        # A checkpoint is of no use to a run that was trained anew.
        digest = self.run.digest("train")[:12]
        path = self.run.path(f"variants/{self.name}.{digest}.{number}.npz")
        if path.is_file():
            trainer.restore(path)
        trainer.fit(path, on_epoch)
        return trainer.lesson.deployed, trainer.history
