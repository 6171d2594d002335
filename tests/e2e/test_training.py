"""What training promises: who shapes the backbone, the same result again, and Ctrl-C."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snapcli.config import TrainOptions
from snapcli.console import OnProgress
from snapcli.data import Dataset, load_dataset
from snapcli.heads.head import Head
from snapcli.models import load_backbone
from snapcli.models.fit import Trainer, load_model, pooled_activations
from tests.conftest import Workspace, need

EPOCHS = 4
# One tap: TensorFlow takes most of the time to trace the heads.
TRAIN = ("--epochs", str(EPOCHS), "--seed", "17", "--taps", "P")
# As in a terminal: a shell that starts jobs in the background has them ignore Ctrl-C.
PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "from snapcli.__main__ import main; main()"
)

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
        schedule = replace(brief, **options)
        backbone = load_backbone("dscnn-digits")
        trainer = Trainer(backbone, backbone.taps(("P",)), few, schedule)
        trainer.fit(tmp_path_factory.mktemp("fit") / "checkpoint.npz", lambda progress: None)
        return Trained(
            trainer.model.get_weights(),
            [w for head in trainer.heads for w in head.get_weights()],
            trainer.fitted_heads(),
            trainer.model,
        )

    return trained


@pytest.fixture(scope="module")
def detached(fit: Callable[..., Trained]) -> Trained:
    return fit(mode="detach")


@pytest.fixture(scope="module")
def posthoc(fit: Callable[..., Trained]) -> Trained:
    return fit(mode="posthoc")


def test_joint_training_shapes_the_backbone_and_detached_training_does_not(
    fit: Callable[..., Trained], detached: Trained
) -> None:
    joint, alone = fit(mode="joint"), fit(mode="joint", lambda_ss=0.0)
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
        deadline = time.monotonic() + 60
        while not checkpoint.is_file() and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    first, second = err.splitlines()
    assert first.startswith("error: ")
    assert second == "hint: Go on with: snap train --resume"
    assert_resumes(workspace, uninterrupted)


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
    assert "checkpoint.npz is damaged" in message
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
