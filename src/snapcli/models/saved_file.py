"""A Keras model in a file: which Keras wrote it, what is in it, and how it is loaded."""

import json
import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snapcli.errors import ArtifactError, ConfigError, ToolchainError
from snapcli.models.saved_code import import_code, refuse_code
from snapcli.models.tensorflow import quiet

_CONFIG_BYTES_MAX = 16 << 20
_FILE_BYTES_MAX = 1 << 30  # far above what a microcontroller holds, its optimizer included
# What a damaged file raises.
_DAMAGE = (
    *(OSError, EOFError, KeyError, TypeError, ValueError, RuntimeError),
    *(zipfile.BadZipFile, zlib.error),
)


@dataclass(frozen=True)
class Saved:
    """config: the model as JSON says it. version: of the Keras that wrote it, "" if unknown."""

    path: Path
    config: dict[str, Any]
    version: str

    def load(self, allow_code: bool) -> Any:
        """The model, as an object of the library that wrote it, if that one can."""
        custom_objects: dict[str, Any] = {}
        if allow_code:
            custom_objects = import_code(self.config, self.path.name)
        else:
            refuse_code(self.config, self.path.name)
        libraries = (_keras3, _keras2) if self.version.startswith("3.") else (_keras2, _keras3)
        failed = []
        for library in libraries:
            keras = library()
            try:
                with quiet():
                    # An absolute path is never taken for an address.
                    return keras.models.load_model(
                        str(self.path.absolute()),
                        custom_objects=custom_objects,
                        compile=False,
                        safe_mode=not allow_code,
                    )
            except Exception as error:  # the code of a model raises what it likes
                failed.append(f"{type(error).__name__}: {_first_line(error)}")
        hint = "Save it again with Keras 3: model.save('model.keras')."
        if allow_code:
            hint = "Make its own parts classes in a module, and save it as .keras, which names it."
        raise ConfigError(f"{self.path} cannot be loaded ({failed[0]})", hint)


def read_saved(path: Path) -> Saved:
    """Without making anything of it; a .keras file may be HDF5 inside."""
    import h5py

    try:
        # As both libraries choose.
        if path.suffix == ".keras" and zipfile.is_zipfile(path):
            config, version = _from_zip(path)
        elif h5py.is_hdf5(path):
            config, version = _from_hdf5(path)
        else:
            raise ValueError("neither a zip file nor HDF5")
        if not isinstance(config, dict):
            raise ValueError("its configuration is no object")
    except _DAMAGE as error:
        raise ArtifactError(
            f"{path} is no saved Keras model ({_first_line(error)})",
            "Give what model.save() wrote: a .keras or .h5 file.",
        ) from None
    return Saved(path, config, version)


def _from_zip(path: Path) -> tuple[Any, str]:
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > _FILE_BYTES_MAX:
            raise ValueError(f"it unpacks to more than {_FILE_BYTES_MAX >> 20} MiB")
        names = ("config.json", "metadata.json")
        if any(archive.getinfo(name).file_size > _CONFIG_BYTES_MAX for name in names):
            raise ValueError(f"its configuration has more than {_CONFIG_BYTES_MAX >> 20} MiB")
        config, metadata = (json.loads(archive.read(name)) for name in names)
    if isinstance(config, dict):
        # The model is loaded without what it was trained with.
        config.pop("compile_config", None)
    return config, str(metadata.get("keras_version", "")) if isinstance(metadata, dict) else ""


def _from_hdf5(path: Path) -> tuple[Any, str]:
    import h5py

    with h5py.File(path, "r") as file:
        if "model_config" not in file.attrs:
            raise ValueError("it holds weights, but no model")
        return json.loads(file.attrs["model_config"]), _text(file.attrs.get("keras_version", ""))


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _keras2() -> Any:
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


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else "no message"
