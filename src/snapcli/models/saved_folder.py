"""The folder of a SavedModel, and how it is loaded. Nothing else in snap loads one.

Without permission TensorFlow gets to see a copy: the graph that was checked, without what its
loader does not need, and the variables. Assets, other spellings of the graph and debug files
stay behind.
"""

import shutil
import stat
import tempfile
from pathlib import Path
from typing import Any

from snapcli.errors import ArtifactError, UsageError, first_line
from snapcli.limits import check_held, read_bytes
from snapcli.models.saved_graph import harmless
from snapcli.models.tensorflow import quiet

SAVED_MODEL = "saved_model.pb"
_VARIABLES = "variables"
_FILES_MAX = 1000


def load_folder(path: Path, allow_code: bool) -> Any:
    """What tf.saved_model.load gives."""
    import tensorflow as tf
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    try:
        saved = SavedModel.FromString(read_bytes(path / SAVED_MODEL))
        if allow_code:
            with quiet():
                return tf.saved_model.load(str(path.absolute()))
        saved = harmless(saved, path.name)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / SAVED_MODEL).write_bytes(saved.SerializeToString())
            _copy_variables(path / _VARIABLES, Path(folder) / _VARIABLES)
            with quiet():
                return tf.saved_model.load(folder)
    except UsageError:
        raise
    except Exception as error:  # of the file system, of protobuf, of TensorFlow's loader
        raise ArtifactError(
            f"{path} cannot be loaded ({type(error).__name__}: {first_line(error)})",
            "Save it again: model.export('folder').",
        ) from None


def _copy_variables(source: Path, to: Path) -> None:
    if not source.is_dir():
        return
    to.mkdir()
    files = sorted(source.iterdir())
    check_held(sum(path.stat().st_size for path in files), "variables/")
    if len(files) > _FILES_MAX:
        raise ValueError(f"variables/ has {len(files):,} files")
    for path in files:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ValueError(f"variables/{path.name} is not a file")
        shutil.copyfile(path, to / path.name)
