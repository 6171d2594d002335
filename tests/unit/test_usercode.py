"""Functions of a user's own: found from the current folder, and whose mistakes they are."""

import sys
from pathlib import Path

import pytest

from snapcli import usercode
from snapcli.errors import ConfigError, SnapError, UsageError
from snapcli.usercode import allow_code, called, look_in, named_in_file, user_function


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with modules whose names no other test has."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SNAP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(usercode, "_permission", usercode._Permission())
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
        ("has_number:f", "f = 3", "has_number:f is not a function"),
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


# ---- What a file names ---------------------------------------------------------------


def test_what_a_file_names_is_not_even_imported(folder: Path) -> None:
    (folder / "theirs_a.py").write_text("open('ran', 'w')\ndef f(): pass\n")
    named_in_file("config.toml of theirs", "theirs_a:f")
    with pytest.raises(UsageError, match=r"config\.toml of theirs names theirs_a:f") as caught:
        user_function("theirs_a:f")
    assert "--allow-code" in (caught.value.hint or "")
    assert not (folder / "ran").exists()
    allow_code()
    user_function("theirs_a:f")
    assert (folder / "ran").exists()


def test_a_folder_that_a_file_names_does_not_shadow_other_modules(folder: Path) -> None:
    """A module of ours that is imported later must not be found there."""
    theirs = folder / "theirs"
    theirs.mkdir()
    (theirs / "theirs_b.py").write_text("def f(): pass\n")
    named_in_file("config.toml of theirs", "theirs_b:f")
    look_in(str(theirs))
    with pytest.raises(UsageError, match="would run here"):
        user_function("theirs_b:f")
    assert str(theirs) not in sys.path


def test_what_was_typed_here_may_run_later_when_a_file_names_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "mine_c.py").write_text("def f(): pass\ndef g(): pass\n")
    user_function("mine_c:f")
    # A new process, which reads the run.
    monkeypatch.setattr(usercode, "_permission", usercode._Permission())
    named_in_file("config.toml of mine", "mine_c:f", "mine_c:g")
    user_function("mine_c:f")
    with pytest.raises(UsageError, match="mine_c:g"):
        user_function("mine_c:g")
    # From another folder the same name may be other code.
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    with pytest.raises(UsageError, match="mine_c:f"):
        user_function("mine_c:f")


def test_a_name_is_shown_without_what_a_terminal_would_do(folder: Path) -> None:
    named_in_file("config.toml", "a\x1b[31m:f")
    with pytest.raises(UsageError) as caught:
        user_function("a\x1b[31m:f")
    assert "\x1b" not in caught.value.message
