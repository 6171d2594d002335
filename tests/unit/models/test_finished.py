"""Finished models of both Keras libraries, in all their forms, on the way to int8."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from snapcli.errors import ArtifactError, ConfigError, ToolchainError, UsageError
from snapcli.graph import read_tflite
from snapcli.graph.blocks import blocks
from snapcli.models.finished import Finished, is_keras, load_finished
from snapcli.models.saved_file import read_saved

from ...conftest import need
from .small_models import CLASSES, SHAPE, answers, classifier, inputs, library, saved

pytestmark = pytest.mark.slow

MODELS = Path(__file__).parents[3].parent / "shared" / "models"
FORMS = [
    *(("3", form) for form in ("keras", "h5", "export", "module")),
    *(("2", form) for form in ("keras", "h5", "export", "module", "folder")),
]


@pytest.fixture(autouse=True)
def _tensorflow() -> None:
    need(tensorflow=True)


@pytest.mark.parametrize(("version", "form"), FORMS)
def test_each_form_keeps_its_answers(version: str, form: str, tmp_path: Path) -> None:
    model = classifier(library(version))
    # What it was trained with must not matter.
    model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    path = saved(model, form, tmp_path)
    assert is_keras(path)
    finished = load_finished(path, allow_code=False)
    assert (finished.input_shape, finished.classes) == (SHAPE, CLASSES)
    x = inputs(64)
    expected = model.predict(x, verbose=0)
    found = answers(finished.convert(x), x)
    assert np.abs(found - expected).max() < 0.1
    sure = np.ptp(np.sort(expected)[:, -2:], axis=1) > 0.1
    assert sure.sum() > 10
    assert (found.argmax(1) == expected.argmax(1))[sure].all()
    assert len(np.unique(expected.argmax(1))) > 1


@pytest.mark.parametrize("form", ["keras", "h5"])
@pytest.mark.parametrize("version", ["3", "2"])
def test_tensors_are_named_like_their_layers(version: str, form: str, tmp_path: Path) -> None:
    path = saved(classifier(library(version)), form, tmp_path)
    graph = read_tflite(load_finished(path, False).convert(inputs(8)))
    convolutions = ["stem_out", "a", "a_1", "joined", "inner_conv"]
    layers = ["scaled", "scaled_2", *convolutions, "pool", "last"]
    assert [layer.name for layer in graph.layers][:-1] == layers
    assert [block.tap for block in blocks(graph)] == ["stem_out", "joined", "inner_conv", None]


def test_the_library_that_wrote_the_file_loads_it(tmp_path: Path) -> None:
    for version in ("3", "2"):
        model = classifier(library(version))
        for form in ("keras", "h5"):
            found = read_saved(saved(model, form, tmp_path))
            assert found.version.startswith(f"{version}.")
            assert type(found.load(False)).__module__.startswith(library(version).__name__ + ".")


def test_a_file_that_names_no_version_is_loaded_by_the_one_that_can(tmp_path: Path) -> None:
    source = saved(classifier(library("3")), "keras", tmp_path)
    path = tmp_path / "bare.keras"
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, b"{}" if name == "metadata.json" else old.read(name))
    assert load_finished(path, False).classes == CLASSES


def built(outputs: int = 1, classes: int = 3, size: int | None = 8, **given: object) -> object:
    keras = library("3")
    first = keras.Input((size, 2), **given)
    x = keras.layers.GlobalAveragePooling1D()(first)
    return keras.Model(first, [keras.layers.Dense(classes)(x) for _ in range(outputs)])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"outputs": 3}, "has 3 outputs"),
        ({"classes": 1}, "a regression or a binary classifier"),
        ({"size": None}, r"takes \(\?, \?, 2\)"),
        ({"batch_size": 4}, r"takes \(4, 8, 2\)"),
        ({"dtype": "int32"}, "takes int32"),
    ],
)
def test_a_model_that_cannot_be_monitored_is_told(
    given: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = saved(built(**given), "keras", tmp_path)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=message) as told:
        load_finished(path, False)
    assert told.value.hint
    assert "\n" not in told.value.message


@pytest.mark.parametrize("version", ["3", "2"])
def test_inputs_and_answers_of_other_shapes_are_told(version: str, tmp_path: Path) -> None:
    keras = library(version)
    first = keras.Input((10, 4))
    for model, message in (
        (keras.Model(first, keras.layers.ReLU()(first)), r"answers \(10, 4\)"),
        (keras.Model([first, keras.Input((3,))], keras.layers.Flatten()(first)), "has 2 inputs"),
        (keras.Sequential([keras.layers.Dense(3)]), "does not say what the model takes"),
    ):
        with pytest.raises(ConfigError, match=message):
            load_finished(saved(model, "keras", tmp_path), False)


def test_an_answer_may_have_a_name(tmp_path: Path) -> None:
    keras = library("3")
    first = keras.Input((4,))
    model = keras.Model(first, {"scores": keras.layers.Dense(3)(first)})
    finished = load_finished(saved(model, "keras", tmp_path), False)
    x = np.random.default_rng(0).normal(size=(32, 4)).astype(np.float32)
    expected = np.asarray(model(x)["scores"])
    np.testing.assert_allclose(answers(finished.convert(x), x), expected, atol=0.1)


def test_a_saved_model_without_signature_is_told(tmp_path: Path) -> None:
    library("2")
    import tensorflow as tf

    tf.saved_model.save(tf.Module(), str(tmp_path / "bare"))
    with pytest.raises(ConfigError, match="no signature"):
        load_finished(tmp_path / "bare", False)


def test_what_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no model"):
        load_finished(tmp_path / "none.keras", False)
    weights = saved(classifier(library("2")), "h5", tmp_path)
    model = classifier(library("3"))
    model.save_weights(str(tmp_path / "only.weights.h5"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "saved_model.pb").write_bytes(b"\xff" * 40)
    files = {
        "empty.keras": b"",
        "text.h5": b"no model",
        "cut.h5": weights.read_bytes()[:3000],
        "zip.keras": b"PK\x05\x06" + bytes(18),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    for name in (*files, "only.weights.h5", "folder"):
        with pytest.raises(ArtifactError) as told:
            load_finished(tmp_path / name, False)
        assert told.value.hint


def test_a_file_that_unpacks_to_very_much_is_left_packed(tmp_path: Path) -> None:
    path = tmp_path / "bomb.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("metadata.json", "{}")
        with archive.open("config.json", "w", force_zip64=True) as member:
            for _ in range(17):
                member.write(bytes(1 << 20))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(ArtifactError, match=r"config\.json has 17 MiB; at most 16 are read"):
        load_finished(path, False)


def test_an_operation_without_int8_is_named(tmp_path: Path) -> None:
    library("3")
    import tensorflow as tf

    finished = Finished(tmp_path / "model", (4,), 4, tf.math.erf)
    with pytest.raises(ConfigError, match="TFLite has no Erf"):
        finished.convert(np.ones((4, 4), np.float32))


@pytest.mark.parametrize("version", ["3", "2"])
def test_a_loop_is_told(version: str, tmp_path: Path) -> None:
    keras = library(version)
    layers = keras.layers
    model = keras.Sequential([keras.Input((5, 2)), layers.LSTM(4), layers.Dense(3)])
    finished = load_finished(saved(model, "keras", tmp_path), False)
    with pytest.raises(ConfigError, match="a loop or a branch"):
        finished.convert(np.ones((4, 5, 2), np.float32))


@pytest.mark.parametrize("version", ["3", "2"])
def test_mixed_precision_is_told(version: str, tmp_path: Path) -> None:
    keras = library(version)
    layers = keras.layers
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3, dtype="mixed_float16")])
    finished = load_finished(saved(model, "keras", tmp_path), False)
    with pytest.raises(ConfigError, match="float16"):
        finished.convert(np.ones((4, 4), np.float32))


@pytest.mark.parametrize("version", ["3", "2"])
def test_a_batch_norm_at_the_end_of_a_layer_keeps_its_name(version: str, tmp_path: Path) -> None:
    keras = library(version)
    layers = keras.layers
    norm = layers.BatchNormalization(name="normed")
    parts = [layers.Conv1D(4, 3, activation="relu", name="conv"), norm, layers.Flatten()]
    model = keras.Sequential([keras.Input((5, 2)), *parts, layers.Dense(3)])
    finished = load_finished(saved(model, "keras", tmp_path), False)
    graph = read_tflite(finished.convert(np.random.default_rng(0).normal(size=(9, 5, 2))))
    assert {"conv", "normed"} <= set(graph.tensors)


def test_keras_3_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(classifier(library("3")), "keras", tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "keras", None)
    with pytest.raises(ToolchainError, match="Keras 3") as told:
        load_finished(path, False)
    assert "pip install keras" in str(told.value.hint)


def test_names_that_are_keras(tmp_path: Path) -> None:
    assert is_keras(Path("a.keras"))
    assert is_keras(Path("a.h5"))
    assert not is_keras(Path("a.tflite"))
    assert not is_keras(tmp_path)


def test_the_reference_model_agrees_with_its_float_version() -> None:
    path = MODELS / "pretrainedResnet.h5"
    if not path.is_file():
        pytest.skip("the reference models are not part of the project")
    finished = load_finished(path, False)
    assert (finished.input_shape, finished.classes) == ((32, 32, 3), 10)
    coarse = np.random.default_rng(1).uniform(0, 255, (100, 4, 4, 3)).astype(np.float32)
    x = coarse.repeat(8, axis=1).repeat(8, axis=2)
    model = library("2").models.load_model(path, compile=False)
    expected = model.predict(x, verbose=0)
    content = finished.convert(x)
    assert (answers(content, x).argmax(1) == expected.argmax(1)).mean() >= 0.9
    taps = [block.tap for block in blocks(read_tflite(content))]
    assert taps == ["activation", "activation_2", "activation_4", "activation_6", None]
