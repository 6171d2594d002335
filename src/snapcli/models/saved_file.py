"""A Keras model in a file: which Keras wrote it, what is in it, and how it is loaded.

Nothing else in snap loads a Keras file. Its bytes are read once; what a library then loads is a
copy that holds the configuration that was checked, the weights and nothing else.
"""

import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snapcli.errors import ArtifactError, ConfigError, ToolchainError, first_line
from snapcli.limits import HELD_MAX, TEXT_MAX, check_held, read_bytes
from snapcli.models.saved_code import import_code, refuse_code
from snapcli.models.saved_weights import refuse_reaching
from snapcli.models.tensorflow import quiet, require_tensorflow
from snapcli.stored import DAMAGE, open_zip
from snapcli.trusted import is_trusted
from snapcli.usercode import code_is_allowed

_CONFIG, _METADATA, _WEIGHTS = "config.json", "metadata.json", "model.weights.h5"
Library = Callable[[], Any]


@dataclass(frozen=True)
class KerasFile:
    """config: the model as JSON says it. version: of the Keras that wrote it, "" if unknown.
    content: the file's bytes; weights: the HDF5 file inside of a zip, else None."""

    path: Path
    config: dict[str, Any]
    version: str
    content: bytes = field(repr=False)
    weights: bytes | None = field(repr=False)

    def load(self, allow_code: bool) -> Any:
        """The model, as an object of the library that wrote it, if that one can."""
        libraries = (_keras3, keras2) if self.version.startswith("3.") else (keras2, _keras3)
        return self.load_with(libraries, allow_code)

    def load_with(self, libraries: Sequence[Library], allow_code: bool) -> Any:
        """By the first of these that can."""
        custom_objects: dict[str, Any] = {}
        if allow_code:
            custom_objects = import_code(self.config, self.path.name)
        else:
            refuse_code(self.config, self.path.name)
        failed = []
        with tempfile.TemporaryDirectory() as folder:
            copy = self._copied(Path(folder), whole=allow_code)
            for library in libraries:
                keras = library()
                try:
                    with quiet():
                        return keras.models.load_model(
                            str(copy),
                            custom_objects=custom_objects,
                            compile=False,
                            safe_mode=not allow_code,
                        )
                except Exception as error:  # the code of a model raises what it likes
                    failed.append(f"{type(error).__name__}: {first_line(error)}")
        hint = "Save it again with Keras 3: model.save('model.keras')."
        if allow_code:
            hint = "Make its own parts classes in a module, and save it as .keras, which names it."
        raise ConfigError(f"{self.path} cannot be loaded ({failed[0]})", hint)

    def _copied(self, folder: Path, whole: bool) -> Path:
        """What the library gets to see; whole: all that the file holds, files for its code too."""
        path = folder / ("model.h5" if self.weights is None else "model.keras")
        if self.weights is None or whole:
            path.write_bytes(self.content)
            return path
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(_CONFIG, json.dumps(self.config))
            archive.writestr(_METADATA, json.dumps({"keras_version": self.version}))
            archive.writestr(_WEIGHTS, self.weights)
        return path


def load_ours(path: Path) -> Any:
    """A tf_keras model, as snap trains them. Its code may run if it is allowed here, or was when
    this user made or gave the same bytes."""
    saved = read_saved(path)
    require_tensorflow()
    digest = hashlib.sha256(saved.content).hexdigest()
    return saved.load_with((keras2,), code_is_allowed() or is_trusted(digest))


def read_saved(path: Path) -> KerasFile:
    """Without making anything of it; a .keras file may be HDF5 inside."""
    import h5py

    try:
        content = read_bytes(path)
        # As both libraries choose.
        if path.suffix == ".keras" and zipfile.is_zipfile(io.BytesIO(content)):
            config, version, weights = _from_zip(content)
        else:
            with h5py.File(io.BytesIO(content), "r") as file:
                config, version = _from_hdf5(file)
            weights = None
        refuse_reaching(content if weights is None else weights)
        if not isinstance(config, dict):
            raise ValueError("its configuration is not an object")
    except DAMAGE as error:
        raise ArtifactError(
            f"{path} is not a saved Keras model ({first_line(error)})",
            "Give what model.save() wrote: a .keras or .h5 file.",
        ) from None
    return KerasFile(path, config, version, content, weights)


def _from_zip(content: bytes) -> tuple[Any, str, bytes]:
    with open_zip(io.BytesIO(content)) as archive:
        # The one of two members of a name that is checked might not be the one that is loaded.
        names = archive.namelist()
        if len(set(names)) < len(names):
            raise ValueError("it has two members of one name")
        config = _member(archive, _CONFIG, TEXT_MAX)
        metadata = _member(archive, _METADATA, TEXT_MAX)
        weights = _member(archive, _WEIGHTS, HELD_MAX)
    config, metadata = json.loads(config), json.loads(metadata)
    if isinstance(config, dict):
        # The model is loaded without what it was trained with.
        config.pop("compile_config", None)
    version = metadata.get("keras_version", "") if isinstance(metadata, dict) else ""
    return config, str(version), weights


def _member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    check_held(archive.getinfo(name).file_size, f"its {name}", limit)
    return archive.read(name)


def _from_hdf5(file: Any) -> tuple[Any, str]:
    if "model_config" not in file.attrs:
        raise ValueError("it holds weights, but no model")
    config = file.attrs["model_config"]
    check_held(len(config), "its configuration", TEXT_MAX)
    return json.loads(config), _text(file.attrs.get("keras_version", ""))


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def keras2() -> Any:
    import tf_keras

    return tf_keras


def _keras3() -> Any:
    # Whatever else is installed, the converter takes TensorFlow's graphs.
    os.environ["KERAS_BACKEND"] = "tensorflow"
    try:
        with quiet():
            import keras
    except ImportError as error:
        raise ToolchainError(
            f"the model needs Keras 3 ({error.name or error})", "Install it: pip install keras"
        ) from None
    return keras
