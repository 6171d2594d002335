"""What a record says of snap itself, of packages and of tools."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from snapcli import toolchain, versions
from snapcli.used import Use, mark, note, uses_since

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "file").write_text("1")
    git(folder, "add", "file")
    git(folder, "commit", "--quiet", "--message", "first")
    git(folder, "tag", "--annotate", "v9", "--message", "v9")
    return folder


@needs_git
def test_the_commit_of_a_checkout_and_whether_files_were_changed(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    assert toolchain.git_commit(checkout) == commit
    (checkout / "new").write_text("not known to git")
    assert toolchain.git_commit(checkout) == commit
    (checkout / "file").write_text("2")
    assert toolchain.git_commit(checkout) == f"{commit}-dirty"


@needs_git
def test_another_worktree_and_another_repository(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(checkout, "worktree", "add", "--quiet", str(tmp_path / "beside"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "nothing"))
    assert toolchain.git_commit(tmp_path / "beside") == toolchain.git_commit(checkout)
    inside = checkout / "inside"
    inside.mkdir()
    assert toolchain.git_commit(inside) is None


def test_no_commit_without_git_or_with_a_broken_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    assert toolchain.git_commit(tmp_path) is None
    monkeypatch.setenv("PATH", "")
    assert toolchain.git_commit(tmp_path) is None


def test_git_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(toolchain, "git_commit", lambda root: asked.append(root) or "abc")
    versions.snap_commit.cache_clear()
    try:
        found = {versions.snap_commit() for _ in range(3)}
    finally:
        versions.snap_commit.cache_clear()
    root = Path(versions.__file__).parents[2]
    assert (found, asked) == (({"abc"}, [root]) if (root / ".git").exists() else ({None}, []))


def test_help_asks_git_nothing(tmp_path: Path) -> None:
    fake = tmp_path / "git"
    fake.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\n")
    fake.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [sys.executable, "-m", "snapcli", "--help"]
    assert subprocess.run(command, env=environment, capture_output=True).returncode == 0
    assert not (tmp_path / "asked").exists()


def test_snap_python_and_the_packages_that_are_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", sys)
    monkeypatch.delitem(sys.modules, "tensorflow_model_optimization", raising=False)
    found = versions.versions()
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    assert (found["snap-uq"], found["scipy"]) == (version("snap-uq"), version("scipy"))
    assert "tensorflow-model-optimization" not in found
    monkeypatch.setitem(sys.modules, "tensorflow_model_optimization", sys)
    assert "tensorflow-model-optimization" in versions.versions()


def test_a_tool_has_its_version_and_every_line_of_flags() -> None:
    then = mark()
    note("kernels", version="snap")
    for flags in (["-O2"], ["-O2", "-g"], ["-O2"]):
        note("a-compiler", flags, "12.2")
    assert versions.tools(uses_since(then)) == {
        "kernels": {"version": "snap", "flags": []},
        "a-compiler": {"version": "12.2", "flags": ["-O2", "-O2 -g"]},
    }


def test_a_package_that_is_a_program_and_what_has_no_version() -> None:
    found = versions.tools([Use("pytest"), Use("drive")])
    assert found == {"pytest": {"version": version("pytest"), "flags": []}}
