"""Functions in a user's own modules, `module:function`: how they are found and called."""

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from snapcli.errors import ConfigError, SnapError, UsageError


def user_function(name: str) -> Callable[..., Any]:
    """What `module:function` names; the module is found as Python would find it from the current
    folder, or from one made known before. Raises UsageError."""
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise UsageError(f"'{name}' names no function", "Write module:function.")
    import_from(os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and f"{error.name}."
        if missing and f"{module_name}.".startswith(missing):
            raise UsageError(
                f"there is no module {module_name}", "Run snap where Python can import it."
            ) from None
        raise UsageError(
            f"module {module_name} cannot be imported ({_told(error)})", "Mend it first."
        ) from None
    function = getattr(module, attribute, None)
    if function is None:
        raise UsageError(
            f"module {module_name} has no '{attribute}'", "Name a function: module:function"
        )
    if not callable(function):
        raise UsageError(f"{name} is no function", "Name a function: module:function")
    return function


def import_from(folder: str) -> None:
    """Modules of this folder can be imported from now on."""
    if folder not in sys.path:
        sys.path.insert(0, folder)


def called(
    function: Callable[..., Any], name: str, *arguments: Any, hint: str = "Mend it first."
) -> Any:
    """What the function makes of the arguments; whatever goes wrong in it is the user's to mend.
    hint: what it has to take and return."""
    try:
        return function(*arguments)
    except SnapError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{name} failed with {_told(error)}", hint) from None


def _told(error: BaseException) -> str:
    """The kind of an error and its first line."""
    return f"{type(error).__name__}: {(str(error).splitlines() or ['no message'])[0]}"
