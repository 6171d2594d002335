"""Commands that a message shows can be typed as they stand, whatever is in a path or a name."""

import ast
import re
import shlex
from pathlib import Path

import pytest

from snapcli.errors import SnapError
from snapcli.measuring.energy import PowerTrace, with_energy
from snapcli.targets import load_target

from .stages.tiny_run import tiny_run
from .test_imports import MODULES, parsed

ODD = "a b'c\"$(touch x)"
# In front of a value: a program with its arguments, or an option.
_TYPED = re.compile(r"(--[a-z-]+[ =]|\b(ls|cd|rm|cp|mv|cat|tar|unzip|pip install|Run:|then:) )$")
_QUOTED = re.compile(
    r"^(shlex\.(quote|join)\(|.*\b(shlex\.quote|remedy|next_command|_command|install_command)\b)"
)
# Names and numbers of ours, and words that were quoted above.
_PLAIN = {
    *("head", "max_overhead", "name", "fitting", "', '.join(_IMAGE)", "target.name"),
    *("place", "source", "taps", "command", "later", "value"),
}
# What starts programs.
_ELSEWHERE = {"toolchain.py"}


def unquoted(tree: ast.AST) -> list[str]:
    """Values that stand as they are behind what is typed."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        before = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                before += str(part.value)
            elif isinstance(part, ast.FormattedValue):
                value = ast.unparse(part.value)
                if _TYPED.search(before) and not _QUOTED.match(value) and value not in _PLAIN:
                    found.append(value)
                before += "x"
    return found


@pytest.mark.parametrize("module", sorted(set(MODULES) - _ELSEWHERE))
def test_what_is_typed_is_quoted(module: str) -> None:
    assert unquoted(parsed(module)) == []


def test_the_check_sees_what_it_should() -> None:
    assert unquoted(ast.parse('f"Run: snap show --run {path}"')) == ["path"]
    assert unquoted(ast.parse('f"List them: ls {folder}"')) == ["folder"]
    assert unquoted(ast.parse('f"Run: snap show --run {shlex.quote(path)}"')) == []


def test_a_trace_of_an_odd_name(tmp_path: Path) -> None:
    run = tiny_run(tmp_path)
    trace = PowerTrace(tmp_path / ODD, None)
    with pytest.raises(SnapError) as told:
        with_energy(run, load_target("small-mcu"), trace)
    _, _, command = str(told.value.hint).partition(": ")
    assert shlex.split(command)[-2:] == ["--power-trace", str(tmp_path / ODD)]
