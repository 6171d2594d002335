"""The way to TensorFlow: only when it is needed, and without its chatter."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from snapcli.assets import install_command
from snapcli.errors import ToolchainError


def require_tensorflow() -> None:
    """Imports TensorFlow and tf_keras, or says in one line how to get them."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    try:
        with quiet():
            import tensorflow as tf
            import tf_keras  # noqa: F401
    except ImportError as error:
        raise ToolchainError(
            f"this command needs TensorFlow ({error.name or error})",
            f"Install the extra [train]: {install_command('[train]')}",
        ) from None
    tf.get_logger().setLevel("ERROR")


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps what native code writes to stderr away; Python exceptions still get through."""
    saved = os.dup(2)
    try:
        with open(os.devnull, "w") as null, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            os.dup2(null.fileno(), 2)
            yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
