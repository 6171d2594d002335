"""Functions of a user's own: found from the current folder, and whose mistakes they are."""

from pathlib import Path

import pytest

from snapcli.errors import ConfigError, SnapError, UsageError
from snapcli.usercode import called, user_function


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with modules whose names no other test has."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_a_function_is_found_from_the_current_folder(folder: Path) -> None:
    (folder / "found_here.py").write_text("def double(x):\n    return 2 * x\n")
    assert called(user_function("found_here:double"), "found_here:double", 21) == 42


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("not_there_at_all:f", None, "there is no module not_there_at_all"),
        ("lacks_package.part:f", None, r"there is no module lacks_package\.part"),
        ("broken_syntax:f", "def f(:", r"broken_syntax cannot be imported \(SyntaxError: "),
        ("broken_import:f", "import no_such_thing", r"\(ModuleNotFoundError: .*no_such_thing"),
        ("broken_silent_part:f", "import broken_silent", r"\(ModuleNotFoundError: "),
        ("broken_mute:f", "raise RuntimeError", r"\(RuntimeError: no message\)"),
        ("has_none:f", "g = 3", "module has_none has no 'f'"),
        ("has_number:f", "f = 3", "has_number:f is no function"),
        ("nothing:", "", "'nothing:' names no function"),
        (":f", None, "':f' names no function"),
    ],
)
def test_what_cannot_be_found_is_told(
    folder: Path, name: str, content: str | None, message: str
) -> None:
    if content is not None:
        (folder / f"{name.partition(':')[0]}.py").write_text(content)
    with pytest.raises(UsageError, match=message) as caught:
        user_function(name)
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_a_failure_is_told_in_one_line() -> None:
    def fails(x: int) -> int:
        raise ValueError(f"no {x}\nand more")

    with pytest.raises(ConfigError, match=r"^mine:fails failed with ValueError: no 3$") as caught:
        called(fails, "mine:fails", 3, hint="It must take a number.")
    assert caught.value.hint == "It must take a number."


def test_our_own_errors_pass(folder: Path) -> None:
    def refuses() -> None:
        raise SnapError("said", "why")

    with pytest.raises(SnapError, match=r"^said$"):
        called(refuses, "mine:refuses")
