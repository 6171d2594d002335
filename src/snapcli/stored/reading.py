"""Whatever goes wrong while a file is read, as one kind of error."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from snapcli.errors import ArtifactError, ConfigError, SnapError, UsageError, first_line

AGAIN = "Run the stage that wrote it again."
# What damaged or hostile files raise, in zip, zlib, numpy, json and in what is made of them.
DAMAGE = (
    *(OSError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError),
    *(ArithmeticError, RecursionError, MemoryError, RuntimeError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error),
)


@contextmanager
def reading(path: Path, hint: str = AGAIN) -> Iterator[None]:
    """Whatever goes wrong in the block is an ArtifactError that names the file."""
    try:
        yield
    except (ConfigError, UsageError) as error:
        raise ArtifactError(f"{path} cannot be read: {error.message}", hint) from None
    except SnapError:
        raise
    except DAMAGE as error:
        raise ArtifactError(f"{path} cannot be read: {reason(error)}", hint) from None


def reason(error: BaseException) -> str:
    """In one line that a terminal can show."""
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]}" if error.args else "a part is missing"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return first_line(error) if str(error) else "it is damaged"
