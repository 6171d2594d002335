"""Hostile model files: refused by every way in, and nothing of them runs."""

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from snapcli.errors import ArtifactError, SnapError, UsageError
from snapcli.models import load_backbone
from snapcli.models.activations import load_model
from snapcli.models.finished import load_finished
from snapcli.models.own import built

from ...conftest import need
from .hostile import (
    CHANGES,
    CLASSES,
    LAMBDA,
    MODULE,
    REACHING,
    SHAPE,
    TRACE,
    changed_h5,
    changed_keras,
    in_place_of_pool,
    odd_files,
    plain_model,
)

ODD = (
    "HDF5 that is called .keras",
    "two configurations, the second evil",
    "two configurations, the first evil",
    "an evil HDF5 with a zip behind it",
    "pickled weights",
    "a folder that is called .keras",
    *REACHING,
)


def as_backbone(path: Path) -> Any:
    """As `snap train --backbone` does."""
    return built(load_backbone(str(path)).build, SHAPE, CLASSES, path.name)


def of_a_run(path: Path) -> Any:
    """As calibrate, quantize, taps and eval do with train/model.keras."""
    return load_model(path)


def attached(path: Path) -> Any:
    """As `snap attach` does."""
    return load_finished(path, allow_code=False)


WAYS: dict[str, Callable[[Path], Any]] = {
    "backbone": as_backbone,
    "run": of_a_run,
    "attach": attached,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two honest files, and those whose form deceives."""
    need(tensorflow=True)
    folder = tmp_path_factory.mktemp("hostile")
    model = plain_model()
    keras, h5 = folder / "good.keras", folder / "good.h5"
    model.save(keras)
    model.save(h5)
    return {"keras": keras, "h5": h5, **odd_files(keras, h5, folder)}


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder in which code leaves a file, with modules that do when they are imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for name in ("their_code", "keras_their_code"):
        Path(f"{name}.py").write_text(MODULE)
    yield
    for name in ("their_code", "keras_their_code"):
        sys.modules.pop(name, None)


def assert_refused(path: Path) -> None:
    for way in WAYS.values():
        with pytest.raises(SnapError) as told:
            way(path)
        assert told.value.hint
        assert told.value.message.isprintable()
        assert not TRACE.exists()
    with pytest.raises(ArtifactError):
        of_a_run(path)


@pytest.mark.parametrize("form", ["keras", "h5"])
@pytest.mark.parametrize("name", CHANGES)
def test_code_in_the_configuration(
    name: str, form: str, files: dict[str, Path], tmp_path: Path
) -> None:
    write = changed_keras if form == "keras" else changed_h5
    path = write(files[form], tmp_path / f"evil.{form}", CHANGES[name])
    assert_refused(path)
    # By what the configuration says, before any library has seen it.
    with pytest.raises(UsageError) as told:
        attached(path)
    assert "--allow-code" in str(told.value.hint)


@pytest.mark.parametrize("name", ODD)
def test_a_form_that_deceives(name: str, files: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / files[name].name
    if files[name].is_dir():
        shutil.copytree(files[name], path)
        with pytest.raises(SnapError):
            attached(path)
        with pytest.raises(SnapError):
            of_a_run(path)
        return
    shutil.copyfile(files[name], path)
    assert_refused(path)


@pytest.mark.parametrize("form", ["keras", "h5"])
@pytest.mark.parametrize("version", ["2", "3"])
def test_the_lambda_would_run(version: str, form: str, tmp_path: Path) -> None:
    """What is refused above is not an invention: Keras itself runs it."""
    from .small_models import library

    need(tensorflow=True)
    keras = library(version)
    plain_model(version).save(tmp_path / f"good.{form}")
    write = changed_keras if form == "keras" else changed_h5
    path = write(tmp_path / f"good.{form}", tmp_path / f"evil.{form}", in_place_of_pool(LAMBDA))
    with suppress(Exception):  # its output has another shape; by then it has run
        keras.models.load_model(path, compile=False, safe_mode=False)
    ran = TRACE.exists()
    TRACE.unlink(missing_ok=True)
    if version == "2" and form == "h5":
        assert ran
    assert_refused(path)


def test_honest_files_are_loaded_by_every_way(files: dict[str, Path], tmp_path: Path) -> None:
    for form in ("keras", "h5"):
        assert attached(files[form]).classes == CLASSES
        model = as_backbone(files[form])
        assert type(model).__module__.startswith("tf_keras.")
    # A run holds what is tapped beside the logits.
    with pytest.raises(ArtifactError, match="not a model that snap trained"):
        of_a_run(files["keras"])


def test_the_file_may_change_once_it_was_read(files: dict[str, Path], tmp_path: Path) -> None:
    """What is loaded is what was checked."""
    from snapcli.models.saved_file import read_saved

    path = tmp_path / "model.keras"
    shutil.copyfile(files["keras"], path)
    saved = read_saved(path)
    changed_keras(files["keras"], path, CHANGES["lambda"])
    assert saved.load(allow_code=False).count_params() > 0
    assert not TRACE.exists()


def test_what_was_allowed_once_is_known_by_its_bytes(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from snapcli.models.saved_file import load_ours
    from snapcli.runs import sha256
    from snapcli.trusted import trust

    monkeypatch.setenv("SNAP_CACHE_DIR", str(tmp_path / "cache"))
    keras = __import__("tf_keras")
    path = tmp_path / "sly.keras"
    plain_model("2", keras.layers.Lambda(lambda x: 2.0 * x, name="sly")).save(path)
    with pytest.raises(SnapError, match="sly"):
        load_ours(path)
    trust(sha256(path))
    assert load_ours(path).get_layer("sly")
    changed_keras(path, path, lambda config: config.update(name="another"))
    with pytest.raises(SnapError, match="sly"):
        load_ours(path)
