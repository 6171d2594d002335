"""A user's own images from their folder to a calibrated run, without foreign examples."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.conftest import Outcome, Workspace, need

CLASSES = ("bars", "dots", "plain")
SEEDS = (1, 2)


@pytest.fixture(scope="module", autouse=True)
def tensorflow() -> None:
    need(tensorflow=True)


@pytest.fixture(scope="module")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve grey images of 16x16 of each class, and one file that is none."""
    root = tmp_path_factory.mktemp("own") / "my shapes"
    rng = np.random.default_rng(0)
    for name in CLASSES:
        (root / name).mkdir(parents=True)
        for i in range(12):
            image = rng.integers(0, 60, (16, 16)).astype(np.uint8)
            row, column = rng.integers(2, 14, 2)
            if name == "bars":
                image[:, column] += 150
            if name == "dots":
                image[row, column] += 150
            Image.fromarray(image).save(root / name / f"{i}.png")
    (root / "bars" / "broken.png").write_bytes(b"no image")
    return root


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("own-runs") / "runs")


@pytest.fixture(scope="module")
def trained(space: Workspace, shapes: Path) -> Outcome:
    seeds = ",".join(map(str, SEEDS))
    # One tap: TensorFlow takes most of the time to trace the heads.
    options = ("--epochs", "1", "--taps", "P", "--seeds", seeds)
    return space.snap("train", "--dataset", str(shapes), *options)


@pytest.fixture(scope="module")
def calibrated(space: Workspace, trained: Outcome) -> Outcome:
    return space.snap("calibrate", "--map", "gated")


@pytest.fixture(scope="module")
def quantized(space: Workspace, calibrated: Outcome) -> Outcome:
    return space.snap("quantize")


def test_every_seed_has_a_run_and_all_of_them_one_table(
    space: Workspace, trained: Outcome, shapes: Path
) -> None:
    assert trained.code == 0, trained.err
    names = [f"my-shapes-{i:03d}" for i in range(1, len(SEEDS) + 1)]
    assert sorted(p.name for p in space.runs.iterdir() if not p.is_symlink()) == names
    assert space.run.name == names[-1]
    lines = trained.out.splitlines()
    assert sum(line.startswith("╭") for line in lines) == 1
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    cells = {row[0]: row[1:] for row in rows if len(row) == 6}
    assert [cells[name][0] for name in names] == [str(seed) for seed in SEEDS]
    shares = [float(cells[name][2].rstrip(" %")) for name in names]
    assert float(cells["mean"][2].rstrip(" %")) == pytest.approx(np.mean(shares), abs=0.06)
    # Both of the paper's diagnostics.
    assert all(re.fullmatch(r"block4 -?[\d.]+", v) for n in names for v in cells[n][3:])
    config = (space.run / "config.toml").read_text()
    assert f'dataset = "{shapes}"' in config
    assert 'backbone = "dscnn-digits"' in config


def test_what_was_skipped_is_told_once(trained: Outcome, shapes: Path) -> None:
    notes = [line for line in trained.err.splitlines() if line.startswith("note: ")]
    assert len(notes) == 2
    assert str(shapes / "bars" / "broken.png") in notes[0]
    assert notes[1] == "note: 1 broken file was skipped"


def test_calibrate_judges_errors_and_has_no_foreign_inputs(calibrated: Outcome) -> None:
    assert calibrated.code == 0, calibrated.err
    assert "finding errors" in calibrated.out
    # F has its threshold, but there is nothing to show it on.
    assert "finding foreign inputs" not in calibrated.out


def test_quantize_and_show_do_without_foreign_inputs_too(
    space: Workspace, quantized: Outcome
) -> None:
    assert (quantized.code, quantized.err) == (0, "")
    assert "finding errors" in quantized.out
    assert "finding foreign inputs" not in quantized.out
    shown = space.snap("show")
    assert shown.code == 0, shown.err
    assert "int8 AUROC of errors, pooled, SNAP" in shown.out
    assert "OOD" not in shown.out
    assert "Next: snap export-c" in shown.out


def test_later_commands_tell_when_the_images_are_gone(
    space: Workspace, calibrated: Outcome, shapes: Path
) -> None:
    moved = shapes.rename(shapes.with_name("elsewhere"))
    try:
        outcome = space.snap("calibrate")
    finally:
        moved.rename(shapes)
    assert outcome.code == 2
    assert str(shapes) in outcome.error()[0]


NET = """
from tf_keras import Sequential, layers


def build(input_shape, classes):
    return Sequential([
        layers.Input(input_shape),
        layers.Conv2D(6, 3, 2, activation="relu", name="conv1"),
        layers.Conv2D(8, 3, activation="relu", name="conv2"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(classes, activation="softmax"),
    ])
"""


def test_a_backbone_of_the_users_own_reaches_the_board(
    shapes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a softmax at its end, and layers that are not named as ours are."""
    need(compiler=True, emulator=True)
    (tmp_path / "own_net.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    space = Workspace(tmp_path / "runs")
    options = ("--backbone", "own_net:build", "--taps", "conv1:conv2", "--epochs", "1")
    steps = {
        "train": ("--dataset", str(shapes), *options),
        "calibrate": ("--map", "gated"),
        "quantize": (),
        "export-c": (),
        "flash": (),
        "bench": ("--inputs", "5", "--json"),
    }
    for command, arguments in steps.items():
        outcome = space.snap(command, *arguments)
        assert outcome.code == 0, outcome.err
    assert outcome.json["bit_exact"] == 5
