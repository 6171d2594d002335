"""`snap attach`: a finished model becomes a run, from which every later command goes on."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from snapcli.graph import read_tflite
from snapcli.graph.foreign import classifier, logits_of
from tests.conftest import Outcome, Workspace, need, snap
from tests.golden import tflite_op as op
from tests.unit.tiny_foreign import float_ended_tflite, foreign_tflite
from tests.unit.tiny_monitor import random_inputs

# What somebody has who installed snap without the extra [train].
WITHOUT_TENSORFLOW = """
import sys
for name in ("tensorflow", "tf_keras", "keras"):
    sys.modules[name] = None
from snapcli.cli import run_app
sys.exit(run_app(sys.argv[1:]))
"""
COUNT = 400


def write_inputs(path: Path, labelled: bool) -> Path:
    """int8 inputs; of the labels every sixth is not what the model says."""
    x = random_inputs(COUNT, seed=3)
    graph = classifier(read_tflite(foreign_tflite()))
    y = graph.run(x, {logits_of(graph)})[logits_of(graph)].argmax(axis=-1)
    y[::6] = (y[::6] + 1) % 5
    np.savez(path, **({"x": x, "y": y} if labelled else {"x": x}))
    return path


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    need(host=True, compiler=True, emulator=True)
    root = tmp_path_factory.mktemp("attach")
    (root / "tiny.tflite").write_bytes(foreign_tflite())
    write_inputs(root / "inputs.npz", labelled=True)
    write_inputs(root / "unlabelled.npz", labelled=False)
    return Workspace(root / "runs")


@pytest.fixture(scope="module")
def attached(space: Workspace) -> dict:
    """The report of an attach in a process that has no TensorFlow."""
    root = space.runs.parent
    arguments = ("attach", "tiny.tflite", "--data", "inputs.npz", "--taps", "layer_1,layer_2")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TENSORFLOW, *arguments, "--json"],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_model_ships_as_it_came(space: Workspace, attached: dict) -> None:
    assert (space.run / "attach" / "model_int8.tflite").read_bytes() == foreign_tflite()
    assert attached["taps"] == ["layer_1", "layer_2"]
    assert attached["labelled"]
    # Every sixth label was changed.
    assert attached["accuracy"] == pytest.approx(5 / 6, abs=0.1)
    for e in attached["mean_surprisal"].values():
        assert 0.5 < e < 2


@pytest.fixture(scope="module")
def built(space: Workspace, attached: dict) -> dict[str, Outcome]:
    found = {}
    for command in (("export-c",), ("flash",), ("bench", "--inputs", "40")):
        found[command[0]] = space.snap(*command, "--json")
        assert found[command[0]].code == 0, found[command[0]].err
    return found


def test_every_later_command_goes_on_from_it(space: Workspace, built: dict[str, Outcome]) -> None:
    report = built["bench"].json
    assert report["bit_exact"] == report["inputs"] == 40
    shown = space.snap("show", "--json").json
    assert shown["next_command"] is None
    assert [s["stage"] for s in shown["states"]] == [
        "attach",
        "calibrate",
        "export-c/qemu-m4",
        "flash/qemu-m4",
        "bench/qemu-m4",
    ]


def test_the_classifier_answers_as_the_original_model_does(
    space: Workspace, built: dict[str, Outcome], tmp_path: Path
) -> None:
    """TFLite's kernels on the given file, numpy, C here and C in the emulator: every tensor."""
    np.save(tmp_path / "x.npy", random_inputs(12, seed=9))
    outcome = space.snap("verify", "--data", str(tmp_path / "x.npy"), "--json")
    assert outcome.code == 0, outcome.err
    # Six layers up to the softmax; two heads and three pooled tensors beside them.
    assert [link["steps"] for link in outcome.json["links"]] == [6, 11, 11]


def test_the_exported_folder_hands_out_the_models_own_output(
    space: Workspace, built: dict[str, Outcome], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(space.run / "export-c" / "qemu-m4", tmp_path / "c"))
    flags = "-O2 -Wall -Wextra -Werror -g -fsanitize=address,undefined"
    done = subprocess.run(
        ["make", "--no-print-directory", f"CFLAGS={flags}"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed = next(line for line in done.stdout.splitlines() if line.startswith("output:"))
    values = np.array(printed.split()[1:], np.int8)
    # The made-up input of every exported example, through TFLite's kernels on the given file.
    state, made_up = 1, []
    for _ in range(9 * 8 * 3):
        state = (state * 1664525 + 1013904223) % 2**32
        made_up.append(state >> 24)
    x = np.array(made_up, np.uint8).view(np.int8).reshape(1, 9, 8, 3)
    (expected,) = op.run_reference(foreign_tflite(), x)
    np.testing.assert_array_equal(values, expected.ravel())


def test_another_calibration_needs_no_new_attach(space: Workspace, tmp_path: Path) -> None:
    copied = space.copy(tmp_path / "runs")
    outcome = copied.snap("calibrate", "--threshold", "risk", "--target", "0.4", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["promise"]["bound"] <= 0.4
    # What was built before does not decide by it.
    states = {s["stage"]: s["status"] for s in copied.snap("show", "--json").json["states"]}
    assert states["attach"] == "done"
    assert states["export-c/qemu-m4"] == "stale"
    assert copied.snap("export-c").code == 0


@pytest.mark.parametrize("change", ["labels", "examples"])
def test_scores_are_not_paired_with_other_data(
    space: Workspace, attached: dict, tmp_path: Path, change: str
) -> None:
    """As many examples, but not the same: nothing kept belongs to them."""
    data = space.runs.parent / "inputs.npz"
    saved = data.read_bytes()
    with np.load(data) as arrays:
        x, y = arrays["x"], arrays["y"]
    if change == "labels":
        y[:40] = (y[:40] + 1) % 5
    else:
        x, y = np.roll(x, 1, axis=0), np.roll(y, 1)
    copied = space.copy(tmp_path / "runs")
    try:
        np.savez(data, x=x, y=y)
        error, hint = copied.snap("calibrate").error()
    finally:
        data.write_bytes(saved)
    assert "have changed since it was made" in error
    assert "snap attach tiny.tflite --data inputs.npz" in hint
    assert copied.snap("calibrate").code == 0


def test_scores_of_other_conditions_ask_for_another_attach(
    space: Workspace, attached: dict, tmp_path: Path
) -> None:
    """As those that an older snap kept of a data set whose severities it counted otherwise."""
    copied = space.copy(tmp_path / "runs")
    path = copied.run / "attach" / "scores.npz"
    with np.load(path) as found:
        arrays = dict(found)
    name = next(iter(arrays))
    arrays[f"other/{name}"] = arrays.pop(name)
    np.savez(path, **arrays)
    copied.rehash()
    before = copied.content()
    refused = copied.snap("calibrate")
    assert refused.code == 4
    message, hint = refused.error()
    assert "scores.npz" in message
    assert "snap attach" in hint
    assert copied.content() == before


def test_methods_are_priced_but_for_those_that_would_have_to_be_trained(
    space: Workspace, attached: dict
) -> None:
    outcome = space.snap("cost", "--target", "qemu-m4", "--json")
    assert outcome.code == 0, outcome.err
    (found,) = outcome.json["targets"]
    status = {row["method"]: row["status"] for row in found["rows"]}
    assert {n for n in ("snap", "hybrid", "deep-ensemble", "entropy") if status[n] == "fits"} == {
        *("snap", "hybrid", "deep-ensemble", "entropy")
    }
    for name in ("early-exit", "hydra", "qute", "mahalanobis-diagonal"):
        assert status[name] == "not built", name


@pytest.mark.parametrize("command", ["quantize", "taps"])
def test_what_attach_has_done_is_not_done_again(
    space: Workspace, attached: dict, command: str
) -> None:
    error, hint = space.snap(command).error()
    assert "holds a finished model" in error
    assert "snap attach" in hint


def test_without_labels_the_threshold_is_a_percentile(space: Workspace, tmp_path: Path) -> None:
    runs = Workspace(tmp_path / "runs")
    root = space.runs.parent
    given = (str(root / "tiny.tflite"), "--data", str(root / "unlabelled.npz"))
    outcome = runs.snap("attach", *given, "--coverage", "0.8", "--json")
    assert outcome.code == 0, outcome.err
    report = outcome.json
    assert not report["labelled"]
    assert report["accuracy"] is None
    assert report["calibrate"]["map"]["kind"] == "percentile"
    assert report["calibrate"]["threshold"] == pytest.approx(0.8, abs=2**-16)
    assert report["calibrate"]["coverage_clean_test"] == pytest.approx(0.8, abs=0.15)
    assert "not a probability of error" in report["means"][0]
    # What needs to know right from wrong is refused.
    for option in (("--map", "gated"), ("--threshold", "risk")):
        error, hint = runs.snap("calibrate", *option).error()
        assert "no labels" in error
        assert "--labels" in hint


def test_real_numbers_at_the_ends_are_cut_off(space: Workspace, tmp_path: Path) -> None:
    runs = Workspace(tmp_path / "runs")
    (tmp_path / "float.tflite").write_bytes(float_ended_tflite())
    data = str(space.runs.parent / "inputs.npz")
    outcome = runs.snap("attach", str(tmp_path / "float.tflite"), "--data", data, "--json")
    assert outcome.code == 0, outcome.err
    assert (runs.run / "attach" / "model_int8.tflite").read_bytes() == float_ended_tflite()
    assert runs.snap("verify").code == 0
    # TFLite-Micro still takes real numbers.
    assert runs.snap("export-c", "--runtime", "tflm").code == 0
    example = (runs.run / "export-tflm" / "qemu-m4" / "example.cc").read_text()
    assert "/* 9x8x3 float32 */" in example


IMAGES = '''
import numpy as np

def load():
    """Images, and none of their labels."""
    rng = np.random.default_rng(0)
    base = rng.integers(40, 200, (240, 1, 1, 3))
    return np.clip(base + rng.integers(-40, 40, (240, 9, 8, 3)), 0, 255).astype(np.uint8)

def features(images):
    return images.astype(np.float32) / 60 - 2
'''


def test_a_function_gives_data_and_corruptions_stand_in_for_a_shift(
    space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_images.py").write_text(IMAGES)
    runs = Workspace(tmp_path / "runs")
    model = str(space.runs.parent / "tiny.tflite")
    given = ("--data", "my_images:load", "--front-end", "my_images:features")
    outcome = runs.snap("attach", model, *given, "--augment-dev", "--limit", "10", "--json")
    assert outcome.code == 0, outcome.err
    report = outcome.json
    assert not report["labelled"]
    assert "a corruption changed it" in report["means"][0]
    # Answers that corruptions changed, in many of the 75 conditions.
    assert report["calibrate"]["detection"]["errors"]["U"]["cells"] > 10
    # Later commands find the functions from wherever they are typed.
    monkeypatch.chdir(tmp_path.parent)
    assert runs.snap("calibrate", "--target", "0.7").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.tflite", "--data", "inputs.npz"), "cannot read"),
        (("tiny.tflite", "--data", "nothing.npz"), "there is no"),
        (("inputs.npz", "--data", "inputs.npz"), "not a .tflite"),
        (("tiny.tflite", "--data", ""), "unknown data"),
        (("tiny.tflite", "--data", "inputs.npz", "--taps", ",,"), "no tap given"),
        (("tiny.tflite", "--data", "inputs.npz", "--taps", "nothing"), "no tensor 'nothing'"),
        (("tiny.tflite", "--data", "inputs.npz", "--ranks", "4,4"), "2 ranks for 1 taps"),
        (("tiny.tflite", "--data", "inputs.npz", "--augment-dev"), "--augment-dev needs images"),
        (("tiny.tflite", "--data", "inputs.npz", "--coverage", "2"), "--coverage is 2"),
        (("tiny.tflite", "--data", "inputs.npz", "--target", "toaster"), "unknown target"),
    ],
)
def test_a_mistake_is_told_and_leaves_nothing(
    space: Workspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(space.runs.parent)
    outcome = snap("attach", *arguments, "--runs-dir", str(tmp_path / "runs"))
    assert outcome.code in (2, 3, 4)
    assert message in outcome.error()[0]
    assert not (tmp_path / "runs").exists()


@pytest.fixture(scope="module")
def digits_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small tf_keras classifier of the digits that can do a little."""
    need(tensorflow=True)
    from snapcli.models.tensorflow import require_tensorflow

    require_tensorflow()
    import tf_keras
    from tf_keras import layers

    from snapcli.config import TrainOptions
    from snapcli.data import load_dataset
    from snapcli.data.dataset import as_real

    tf_keras.utils.set_random_seed(0)
    data = load_dataset(TrainOptions(augment=("none",)))
    model = tf_keras.Sequential(
        [
            layers.Input(data.train.x.shape[1:]),
            layers.Conv2D(8, 3, activation="relu", name="one"),
            layers.Conv2D(12, 3, activation="relu", name="two"),
            layers.Conv2D(16, 3, activation="relu", name="three"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(tf_keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy")
    model.fit(as_real(data.train.x), data.train.y, epochs=12, verbose=0)
    path = tmp_path_factory.mktemp("keras") / "digits.keras"
    model.save(path)
    return path


def test_a_keras_model_is_quantized_and_attached(digits_model: Path, tmp_path: Path) -> None:
    runs = Workspace(tmp_path / "runs")
    given = (str(digits_model), "--data", "digits", "--front-end", "unit")
    outcome = runs.snap("attach", *given, "--augment-dev", "--limit", "10", "--json")
    assert outcome.code == 0, outcome.err
    report = outcome.json
    assert {c["tap"] for c in report["candidates"]} == {"two", "three"}
    assert report["accuracy"] > 0.5
    assert report["converted"]
    assert report["float_agreement"] > 0.9
    errors = report["calibrate"]["detection"]["errors"]
    assert set(errors) == {"U", "S", "max-probability", "energy", "mahalanobis-full"}
    assert errors["U"]["pooled"]["auroc"] > errors["max-probability"]["pooled"]["auroc"] - 0.05
    assert set(report["calibrate"]["detection"]["ood"]) == {"photos", "photos-matched", "letters"}
    assert runs.snap("verify").code == 0


def test_images_for_a_keras_model_need_a_range(digits_model: Path, tmp_path: Path) -> None:
    runs = str(tmp_path / "runs")
    error, hint = snap("attach", str(digits_model), "--data", "digits", "--runs-dir", runs).error()
    assert "does not say which numbers it takes" in error
    assert "--front-end" in hint


def test_code_in_a_model_runs_only_if_it_may(tmp_path: Path) -> None:
    need(tensorflow=True)
    from snapcli.models.tensorflow import require_tensorflow

    require_tensorflow()
    import tf_keras
    from tf_keras import layers

    model = tf_keras.Sequential(
        [
            layers.Input((16, 16, 1)),
            layers.Conv2D(6, 3, name="one"),
            layers.Conv2D(6, 3, name="two"),
            layers.GlobalAveragePooling2D(),
            layers.Lambda(lambda x: 2 * x, name="twice"),
            layers.Dense(10),
        ]
    )
    model.save(tmp_path / "own.keras")
    given = ("attach", str(tmp_path / "own.keras"), "--data", "digits", "--front-end", "unit")
    runs = ("--runs-dir", str(tmp_path / "runs"))
    error, hint = snap(*given, *runs).error()
    assert "twice" in error
    assert "--allow-code" in hint
    outcome = snap(*given, *runs, "--allow-code", "--json")
    assert outcome.code == 0, outcome.err
    # Untrained: the accuracy is that of guessing, and that is told.
    assert any("as if it guessed" in note for note in outcome.json["notes"])
