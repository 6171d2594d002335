"""What training promises: who shapes the backbone, the same result again, and Ctrl-C."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from snapcli.config import TrainOptions
from snapcli.console import OnProgress
from snapcli.data import Dataset, load_dataset
from snapcli.errors import ConfigError
from snapcli.graph.reader import read_tflite
from snapcli.heads.head import Head, load_heads, surprisals, tapped_blocks
from snapcli.heads.student_t import StudentT
from snapcli.models import load_backbone
from snapcli.models.activations import load_model, pooled_activations
from snapcli.models.convert import convert_int8
from snapcli.models.fit import Trainer
from snapcli.models.loop import Progress
from tests.conftest import PROGRAM, Workspace, need

EPOCHS = 4
PATIENCE_S = 600
# One tap: TensorFlow takes most of the time to trace the heads.
TRAIN = ("--epochs", str(EPOCHS), "--seed", "17", "--taps", "P")

Arrays = list[np.ndarray]


@pytest.fixture(scope="module", autouse=True)
def tensorflow() -> None:
    need(tensorflow=True)


def same(a: Arrays, b: Arrays) -> bool:
    """Bit for bit."""
    return [x.tobytes() for x in a] == [x.tobytes() for x in b]


# ---- Who shapes the backbone ------------------------------------------------


@dataclass(frozen=True)
class Trained:
    backbone: Arrays
    head_weights: Arrays
    heads: list[Head]
    model: Any


def begun(data: Dataset, options: TrainOptions) -> Trainer:
    backbone = load_backbone("dscnn-digits")
    return Trainer(backbone, backbone.taps(("P",)), data, options)


@pytest.fixture(scope="module")
def few() -> Dataset:
    """The digits with 256 training images."""
    dataset = load_dataset(TrainOptions())
    return replace(dataset, train=dataset.train.take(np.arange(256)))


@pytest.fixture(scope="module")
def fit(few: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Trained]:
    """Two epochs: in the first one lambda_ss is still 0, in the second it counts in full.

    Small batches give the moving averages of the backbone enough steps to settle.
    """
    brief = TrainOptions(epochs=2, batch_size=16, ramp=1, lambda_ss=1.0, lambda_reg=0.0)

    def trained(**options: Any) -> Trained:
        trainer = begun(few, replace(brief, **options))
        trainer.fit(tmp_path_factory.mktemp("fit") / "checkpoint.npz", lambda progress: None)
        return Trained(
            trainer.model.get_weights(),
            [v.numpy() for v in trainer.heads.variables],
            trainer.heads.fitted(),
            trainer.model,
        )

    return trained


@pytest.fixture(scope="module")
def detached(fit: Callable[..., Trained]) -> Trained:
    return fit(mode="detach")


@pytest.fixture(scope="module")
def posthoc(fit: Callable[..., Trained]) -> Trained:
    return fit(mode="posthoc")


@pytest.fixture(scope="module")
def alone(fit: Callable[..., Trained]) -> Trained:
    """A backbone whose heads have no say."""
    return fit(mode="joint", lambda_ss=0.0)


def test_joint_training_shapes_the_backbone_and_detached_training_does_not(
    fit: Callable[..., Trained], detached: Trained, alone: Trained
) -> None:
    joint = fit(mode="joint")
    assert same(detached.backbone, alone.backbone)
    assert not same(joint.backbone, alone.backbone)
    # Detached heads do learn; they only keep it to themselves.
    assert not same(detached.head_weights, alone.head_weights)


def test_posthoc_heads_leave_the_backbone_alone_and_fit_it(
    few: Dataset, detached: Trained, posthoc: Trained
) -> None:
    assert same(posthoc.backbone, detached.backbone)
    blocks = [name for head in posthoc.heads for name in (head.before, head.after)]
    familiar = pooled_activations(posthoc.model, few.dev.x, blocks)
    foreign = pooled_activations(posthoc.model, few.ood["photos"], blocks)
    for head in posthoc.heads:
        expected = head.surprisal(familiar[head.before], familiar[head.after]).mean()
        # About 1 after a whole training; this backbone has seen next to nothing.
        assert 0.2 < expected < 2.0
        assert head.surprisal(foreign[head.before], foreign[head.after]).mean() > 2 * expected


def test_the_seed_decides_everything(fit: Callable[..., Trained], posthoc: Trained) -> None:
    again, other = fit(mode="posthoc"), fit(mode="posthoc", seed=TrainOptions().seed + 1)
    for part in ("backbone", "head_weights"):
        assert same(getattr(again, part), getattr(posthoc, part))
        assert not same(getattr(other, part), getattr(posthoc, part))


# ---- Heads ------------------------------------------------------------------

HEADS: dict[str, dict[str, Any]] = {
    "gaussian": {},
    "student-t": {"head": "student-t", "learn_nu": True},
    "huber": {"head": "huber", "delta": 1.5},
    "lowrank": {"head": "lowrank"},
    "mixture": {"head": "mixture"},
    "deviations": {"statistics": "mean-deviation"},
}


def nll(trainer: Trainer, training: bool = False) -> float:
    """Of the heads on clean training data, standardized by them if training."""
    import tensorflow as tf

    x = tf.constant(trainer.data.front_end(trainer.data.train.x))
    activations = trainer.heads.activations(trainer.model(x, training=training))
    return float(trainer.heads.loss(activations, training=training)[0])


@pytest.fixture(scope="module")
def finished_backbone(
    fit: Callable[..., Trained], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path: Path = tmp_path_factory.mktemp("finished") / "model.keras"
    fit(mode="posthoc", epochs=10).model.save(path)
    return path


def on_finished(path: Path, tap: str, data: Dataset, **options: Any) -> Trainer:
    """Heads on a backbone that stays as it is."""
    backbone = load_backbone(str(path))
    chosen = TrainOptions(mode="posthoc", backbone=str(path), epochs=0, **options)
    return Trainer(backbone, backbone.taps((tap,)), data, chosen)


@pytest.mark.parametrize("kind", HEADS)
def test_every_head_fits_a_finished_backbone(
    few: Dataset, finished_backbone: Path, tmp_path: Path, kind: str
) -> None:
    trainer = on_finished(finished_backbone, "block3:block4", few, **HEADS[kind])
    weights, before = trainer.model.get_weights(), nll(trainer)
    trainer.fit(tmp_path / "checkpoint.npz", lambda progress: None)
    assert nll(trainer) < before - 0.1
    assert same(trainer.model.get_weights(), weights)
    (head,) = trainer.heads.fitted()
    assert len(head.after_mean) == (128 if kind == "deviations" else 64)
    if isinstance(head.likelihood, StudentT):
        assert 3.0 <= head.likelihood.nu <= 30.0
        assert head.likelihood.nu != pytest.approx(5.0, abs=0.1)


def test_a_mean_that_knows_the_class_predicts_better(
    few: Dataset, finished_backbone: Path, tmp_path: Path
) -> None:
    found = []
    for class_mean in (False, True):
        trainer = on_finished(finished_backbone, "block3:block4", few, class_mean=class_mean)
        trainer.fit(tmp_path / "checkpoint.npz", lambda progress: None)
        found.append(nll(trainer))
    assert found[1] < found[0]


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("mode", ["joint", "detach"])
def test_every_head_learns_beside_its_backbone(few: Dataset, kind: str, mode: str) -> None:
    options = TrainOptions(
        epochs=1, batch_size=16, ramp=0, lambda_ss=1.0, mode=mode, frozen=0.0, **HEADS[kind]
    )
    trainer = begun(few, options)
    before = nll(trainer, training=True)
    trainer.run_epoch()
    assert nll(trainer, training=True) < before - 0.05


def test_from_an_epoch_on_the_heads_let_go_of_the_backbone(
    fit: Callable[..., Trained], alone: Trained
) -> None:
    """With the ramp the first epoch is free of them anyway."""
    assert same(fit(mode="joint", detach_from=2).backbone, alone.backbone)


def test_adaptive_lambda_follows_the_gradients(few: Dataset) -> None:
    """One so small that the heads hardly pull at the backbone grows."""
    options = TrainOptions(epochs=2, batch_size=16, ramp=0, adaptive=True, lambda_ss=1e-4)
    trainer = begun(few, options)
    first, second = trainer.run_epoch(), trainer.run_epoch()
    assert 1e-4 < first.lambda_ss < second.lambda_ss


def test_scaling_channels_leaves_the_score_as_it_is(few: Dataset, tmp_path: Path) -> None:
    """Paper, proposition 2.3: the network's function stays, its activations change their units."""
    from tf_keras import Input, Model, layers

    rng = np.random.default_rng(1)
    image = Input(few.input_shape)
    a = layers.Conv2D(8, 3, 2, activation="relu", name="a")(image)
    b = layers.Conv2D(16, 3, activation="relu", name="b")(a)
    logits = layers.Dense(10, name="out")(layers.GlobalAveragePooling2D()(b))
    model = Model(image, logits)
    scores = []
    for _ in range(2):
        for layer, reader in (("a", "b"), ("b", "out")):
            kernel, bias = model.get_layer(layer).get_weights()
            scale = rng.uniform(2, 10, bias.shape).astype(np.float32)
            model.get_layer(layer).set_weights([kernel * scale, bias * scale])
            kernel, bias = model.get_layer(reader).get_weights()
            model.get_layer(reader).set_weights([kernel / scale[:, None], bias])
        model.save(tmp_path / "model.keras")
        trainer = on_finished(tmp_path / "model.keras", "a:b", few)
        trainer.fit(tmp_path / "checkpoint.npz", lambda progress: None)
        x = few.front_end(np.concatenate([few.dev.x, few.ood["photos"][:100]]))
        found = pooled_activations(trainer.model, x, trainer.heads.blocks)
        scores.append((surprisals(trainer.heads.fitted(), found)[:, 0], found))
    (plain, before), (other, after) = scores
    np.testing.assert_allclose(before["logits"], after["logits"], atol=1e-3)
    assert not np.allclose(before["b"], after["b"], rtol=0.5)
    assert spearmanr(plain, other).statistic >= 0.99


# ---- What is kept -----------------------------------------------------------


def test_the_average_is_what_is_kept(few: Dataset, tmp_path: Path) -> None:
    plain, averaged = (
        begun(few, TrainOptions(epochs=1, batch_size=32, ema=ema)) for ema in (0.0, 0.9)
    )
    for trainer in (plain, averaged):
        trainer.fit(tmp_path / "checkpoint.npz", lambda progress: None)
    # The training itself is the same, only what is left of it differs.
    assert plain.history == averaged.history
    for part in ("model", "heads"):
        a, b = ([v.numpy() for v in getattr(t, part).variables] for t in (plain, averaged))
        assert not same(a, b)


@dataclass(frozen=True)
class Stopped:
    """A whole training, and its checkpoint before the last epoch."""

    options: TrainOptions
    whole: Trainer
    checkpoint: Path


def stopped(data: Dataset, options: TrainOptions, folder: Path) -> Stopped:
    whole, checkpoint = begun(data, options), folder / "checkpoint.npz"

    def keep(progress: Progress) -> None:
        if progress.epoch == options.epochs - 1:
            shutil.copy(checkpoint, folder / "stopped.npz")

    whole.fit(checkpoint, keep)
    return Stopped(options, whole, folder / "stopped.npz")


def assert_same_bytes(data: Dataset, found: Stopped) -> None:
    again = begun(data, found.options)
    again.restore(found.checkpoint)
    assert again.epoch == found.options.epochs - 1
    again.fit(found.checkpoint, lambda progress: None)
    assert again.history == found.whole.history
    for part in ("model", "heads"):
        a, b = ([v.numpy() for v in getattr(t, part).variables] for t in (again, found.whole))
        assert same(a, b)


def test_averages_and_adaptive_weights_resume(few: Dataset, tmp_path: Path) -> None:
    options = TrainOptions(
        epochs=3,
        batch_size=32,
        ramp=0,
        ema=0.9,
        adaptive=True,
        loss_weights="inverse-variance",
    )
    assert_same_bytes(few, stopped(few, options, tmp_path))


@pytest.fixture(scope="module")
def simulated(few: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    """The last two of three epochs with int8 simulated."""
    options = TrainOptions(epochs=3, batch_size=32, qat=0.6)
    return stopped(few, options, tmp_path_factory.mktemp("simulated"))


def test_simulated_int8_resumes(few: Dataset, simulated: Stopped) -> None:
    assert_same_bytes(few, simulated)


def test_simulated_int8_leaves_a_plain_model_on_the_grid(
    few: Dataset, simulated: Stopped, tmp_path: Path
) -> None:
    simulated.whole.model.save(tmp_path / "model.keras")
    model = load_model(tmp_path / "model.keras")
    kernel = model.get_layer("block4_pointwise").kernel.numpy()
    steps = kernel / (np.abs(kernel).max(axis=(0, 1, 2)) / 127)
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-3)
    (head,) = simulated.whole.heads.fitted()
    tflite = convert_int8(model, tapped_blocks([head]), few.front_end(few.train.x[:50]))
    assert {head.before, head.after, "logits"} <= set(read_tflite(tflite).outputs)


def test_what_cannot_be_simulated_is_named(
    few: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nets_of_mine.py").write_text(
        "from tf_keras import Input, Model, layers\n"
        "class Twice(layers.Layer):\n"
        "    def call(self, x):\n"
        "        return 2 * x\n"
        "def build(shape, classes):\n"
        "    image = Input(shape)\n"
        "    a = layers.Conv2D(4, 3, name='a')(image)\n"
        "    b = Twice(name='b')(a)\n"
        "    pooled = layers.GlobalAveragePooling2D()(b)\n"
        "    return Model(image, layers.Dense(classes)(pooled))\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    backbone = load_backbone("nets_of_mine:build")
    trainer = Trainer(backbone, backbone.taps(("a:b",)), few, TrainOptions(epochs=1, qat=1.0))
    with pytest.raises(ConfigError, match="int8 cannot be simulated in nets_of_mine:build"):
        trainer.run_epoch()


def test_the_record_names_what_simulates_int8(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "runs")
    outcome = workspace.snap("train", "--epochs", "1", "--taps", "P", "--qat")
    assert outcome.code == 0, outcome.err
    record = json.loads((workspace.run / "run.json").read_text())["stages"]["train"]
    names = ("tensorflow", "tf_keras", "tensorflow-model-optimization", "scikit-learn", "numpy")
    assert {name: record["versions"][name] for name in names} == {n: version(n) for n in names}


# ---- Ctrl-C -----------------------------------------------------------------


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    workspace = Workspace(tmp_path_factory.mktemp("uninterrupted") / "runs")
    outcome = workspace.snap("train", *TRAIN)
    assert outcome.code == 0, outcome.err
    return workspace


def results(workspace: Workspace) -> tuple[dict[str, bytes], list[bytes], bytes]:
    """Everything that training left, but for the time stamps inside of model.keras."""
    folder = workspace.run / "train"
    with np.load(folder / "heads.npz") as heads:
        arrays = {name: heads[name].tobytes() for name in heads.files}
    weights = [w.tobytes() for w in load_model(folder / "model.keras").get_weights()]
    return arrays, weights, (folder / "history.json").read_bytes()


def assert_resumes(workspace: Workspace, uninterrupted: Workspace) -> None:
    stopped = {path.name for path in workspace.run.iterdir()}
    assert {"run.json", "config.toml", "checkpoint.npz"} <= stopped
    assert "train" not in stopped
    shown = workspace.snap("show", "--json").json
    assert shown["next_command"] == "snap train --resume"
    assert workspace.snap("calibrate").code == 4  # not taken for a trained model
    assert workspace.snap("train", "--resume").code == 0
    assert results(workspace) == results(uninterrupted)
    assert not list(workspace.run.glob("checkpoint*"))


def test_an_interrupted_training_resumes_to_the_same_result(
    uninterrupted: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    epochs = []

    @contextmanager
    def impatient(title: str) -> Iterator[OnProgress]:
        def advance(done: int, total: int, detail: str) -> None:
            epochs.append((done, total))
            if done == 2:
                raise KeyboardInterrupt

        yield advance

    monkeypatch.chdir(tmp_path)
    workspace = Workspace(tmp_path / "runs")
    with monkeypatch.context() as patch:
        patch.setattr("snapcli.console.progress", impatient)
        outcome = workspace.snap("train", *TRAIN)
    assert outcome.code == 130
    assert "snap train --resume" in outcome.error()[1]
    assert epochs == [(1, EPOCHS), (2, EPOCHS)]
    assert_resumes(workspace, uninterrupted)


def test_ctrl_c_in_a_process_of_its_own(
    uninterrupted: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    workspace = Workspace(tmp_path / "runs")
    command = [sys.executable, "-c", PROGRAM, "train", *TRAIN, "--runs-dir", str(workspace.runs)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        checkpoint = workspace.runs / "latest" / "checkpoint.npz"
        until = time.monotonic() + PATIENCE_S
        while not checkpoint.is_file():
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert out == ""
    first, second = err.splitlines()
    assert first.startswith("error: ")
    assert second == "hint: Go on with: snap train --resume"
    assert_resumes(workspace, uninterrupted)


def test_heads_for_a_backbone_that_is_trained_already(
    uninterrupted: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    workspace, model = Workspace(tmp_path / "runs"), uninterrupted.run / "train" / "model.keras"
    taps = ("--taps", "block1:block2,block3:block4", "--ranks", "8,16", "--head", "student-t")
    finished = ("--mode", "posthoc", "--backbone", str(model), "--epochs", "0")
    outcome = workspace.snap("train", *finished, *taps, "--json")
    assert outcome.code == 0, outcome.err
    report = outcome.json
    assert set(report["mean_surprisal"]) == {"block2", "block4"}
    assert report["nu"] == 5.0
    assert same(
        load_model(workspace.run / "train" / "model.keras").get_weights(),
        load_model(model).get_weights(),
    )
    ranks = [len(head.projector) for head in load_heads(workspace.run / "train" / "heads.npz")]
    assert ranks == [8, 16]


# ---- Resuming what cannot be resumed ----------------------------------------


def interrupted(uninterrupted: Workspace, to: Path) -> Workspace:
    """A run as Ctrl-C leaves it, with a checkpoint that is not one."""
    workspace = uninterrupted.copy(to / "runs")
    (workspace.run / "checkpoint.npz").write_bytes(b"PK\x03\x04 not an archive")
    return workspace


def test_a_damaged_checkpoint_is_refused(uninterrupted: Workspace, tmp_path: Path) -> None:
    workspace = interrupted(uninterrupted, tmp_path)
    before = workspace.content()
    outcome = workspace.snap("train", "--resume")
    assert outcome.code == 4
    message, hint = outcome.error()
    assert "checkpoint.npz cannot be read" in message
    assert "snap train" in hint
    assert workspace.content() == before


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("--resume",), 4, "no checkpoint"),
        (("--resume", "--epochs", "9"), 2, "--resume keeps the options"),
        (("--run", "digits-001"), 2, "always starts a new run"),
    ],
)
def test_what_resume_and_run_do_not_mean(
    uninterrupted: Workspace, arguments: tuple[str, ...], code: int, text: str
) -> None:
    before = uninterrupted.content()
    outcome = uninterrupted.snap("train", *arguments)
    assert outcome.code == code
    assert text in outcome.error()[0]
    assert uninterrupted.content() == before
