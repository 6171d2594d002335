"""Functions in a user's own modules, `module:function`: whether they may run, how they are found
and called.

What is typed may run. What a file names, a recipe or the run of somebody else, may run if it was
typed here before, from the same folder, or with --allow-code: files are data.
"""

import hashlib
import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from snapcli.errors import ConfigError, SnapError, UsageError, first_line, shown
from snapcli.trusted import is_trusted, trust

ALLOW_CODE = "If you trust where it comes from: --allow-code (its code then runs here)."


@dataclass
class _Permission:
    """Of this process. everything: --allow-code was given. named_by: {name: file that it stands
    in}; folder: the one besides the current folder that modules are imported from."""

    everything: bool = False
    named_by: dict[str, str] = field(default_factory=dict)
    folder: str = ""


_permission = _Permission()


def allow_code(allowed: bool = True) -> None:
    """Code that a file names or holds may run, or may not."""
    _permission.everything = allowed


def code_is_allowed() -> bool:
    return _permission.everything


def named_in_file(file: str, *names: str) -> None:
    """These were not typed, but stand in a file."""
    _permission.named_by |= dict.fromkeys(names, file)


def look_in(folder: str) -> None:
    """Where functions are looked for, besides the current folder; empty: nowhere else."""
    _permission.folder = folder


def user_function(name: str) -> Callable[..., Any]:
    """What `module:function` names; the module is found as Python would find it from the current
    folder, or from that of look_in(). Raises UsageError."""
    module_name, _, attribute = name.partition(":")
    if not module_name or not attribute:
        raise UsageError(f"'{name}' names no function", "Write module:function.")
    _check_permission(name)
    import_from(os.getcwd())
    if _permission.folder:
        import_from(_permission.folder)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and f"{error.name}."
        if missing and f"{module_name}.".startswith(missing):
            raise UsageError(
                f"there is no module {module_name}", "Run snap where Python can import it."
            ) from None
        raise UsageError(
            f"module {module_name} cannot be imported ({_told(error)})", "Fix it first."
        ) from None
    function = getattr(module, attribute, None)
    if function is None:
        raise UsageError(
            f"module {module_name} has no '{attribute}'", "Name a function: module:function"
        )
    if not callable(function):
        raise UsageError(f"{name} is not a function", "Name a function: module:function")
    trust(_digest(name))
    return function


def _check_permission(name: str) -> None:
    file = _permission.named_by.get(name)
    if file and not _permission.everything and not is_trusted(_digest(name)):
        raise UsageError(f"{file} names {shown(name)}, Python code that would run here", ALLOW_CODE)


def _digest(name: str) -> str:
    """Of the name and the folder: from another one it may be other code."""
    text = f"{_permission.folder or os.getcwd()}\0{name}"
    return hashlib.sha256(text.encode()).hexdigest()


def import_from(folder: str) -> None:
    """Modules of this folder can be imported from now on."""
    if folder not in sys.path:
        sys.path.insert(0, folder)


def called(
    function: Callable[..., Any], name: str, *arguments: Any, hint: str = "Fix it first."
) -> Any:
    """What the function makes of the arguments; whatever goes wrong in it is the user's to fix.
    hint: what it has to take and return."""
    try:
        return function(*arguments)
    except SnapError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{name} failed with {_told(error)}", hint) from None


def _told(error: BaseException) -> str:
    """The kind of an error and its first line."""
    return f"{type(error).__name__}: {first_line(error)}"
