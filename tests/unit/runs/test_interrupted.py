"""Ctrl-C and errors of the disk at every point of writing: a stage is the old or the new one."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from snapcli.errors import ArtifactError
from snapcli.runs import MANIFEST, Run, create_run, json_writer
from snapcli.runs.files import removed
from snapcli.stored import read_json

pytestmark = pytest.mark.slow

ROOM = str(Path(sys.modules["snapcli.runs"].__path__[0]))
# What Python tells of before it asks the kernel.
DISK = (
    *("open", "os.chmod", "os.listdir", "os.mkdir", "os.remove", "os.rename", "os.rmdir"),
    *("os.scandir", "shutil.rmtree", "tempfile.mkdtemp", "fcntl.flock", "os.symlink"),
)


class Hook:
    """Python's audit hooks stay for ever: there is one, which does nothing unless told."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.error: BaseException = OSError()
        self.root = ""
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.left is None or event not in DISK or not self._is_here(event, arguments):
            return
        self.left -= 1
        if self.left < 0:
            self.left = None
            raise self.error

    def _is_here(self, event: str, arguments: tuple[Any, ...]) -> bool:
        """Only what touches the run: Python opens files of its own, too."""
        return event == "fcntl.flock" or any(
            str(value).startswith(self.root) for value in arguments[:2]
        )


HOOK = Hook()


@contextmanager
def fails_at_call(number: int, root: Path, error: BaseException) -> Iterator[None]:
    HOOK.root, HOOK.error, HOOK.left = str(root), error, number
    try:
        yield
    finally:
        HOOK.left = None


@contextmanager
def interrupted_at_line(number: int) -> Iterator[None]:
    """Ctrl-C in front of the n-th line that is executed in the package of runs."""
    left = number

    def on_line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if event == "line":
            left -= 1
            if left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return on_line

    def on_call(frame: FrameType, event: str, argument: Any) -> Any:
        return on_line if frame.f_code.co_filename.startswith(ROOM) else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        yield
    finally:
        sys.settrace(before)


def written(run: Run) -> None:
    with run.write("calibrate", ("train",)) as folder:
        (folder / "a.txt").write_text("new")
        (folder / "b.txt").write_text("new")


def added(run: Run) -> None:
    files = {".txt": lambda p: p.write_text("new") and None, ".json": json_writer({"text": "new"})}
    run.add_files("bench/qemu-m4", "bench/qemu-m4", (), files)


def tools_added(run: Run) -> None:
    run.add_tools("train")


ACTIONS: dict[str, Callable[[Run], None]] = {
    "write": written,
    "add_files": added,
    "add_tools": tools_added,
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = create_run(tmp_path_factory.mktemp("runs"), "digits")
    for stage, after in (("train", ()), ("calibrate", ("train",))):
        with run.write(stage, after) as folder:
            (folder / "a.txt").write_text("old")
            (folder / "b.txt").write_text("old")
    run.add_json("bench/qemu-m4", (), {"text": "old"})
    return run.root


def check(root: Path, ended: bool, action: str) -> None:
    """What is left is whole, and the next command works and leaves nothing behind."""
    run = Run(root)
    states = {state.stage: state for state in run.states() if state.stage in run.records()}
    assert {stage: s.detail for stage, s in states.items() if s.status != "done"} == {}
    assert set(states) == {"train", "calibrate", "bench/qemu-m4"}
    folder = run.inputs("calibrate")
    held = {(folder / name).read_text() for name in ("a.txt", "b.txt")}
    assert held in ({"old"}, {"new"})
    record = run.record("bench/qemu-m4")
    assert record
    reports = [read_json(root / name) for name in record["outputs"] if name.endswith(".json")]
    assert reports in ([{"text": "old"}], [{"text": "new"}])
    if ended:
        assert held == {"new" if action == "write" else "old"}
        assert reports == [{"text": "new" if action == "add_files" else "old"}]
    for again in ACTIONS.values():
        again(run)
    assert [s.status for s in Run(root).states() if s.stage in states] == ["done"] * 3
    hidden = {str(p.relative_to(root)) for p in root.rglob(".*")}
    assert hidden == {".locks"}


def tried(action: str, template: Path, tmp_path: Path, fault: Callable[[Path], Any]) -> bool:
    """Whether the action came to its end in spite of the fault."""
    root = tmp_path / "run"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(template, root)
    run = Run(root)
    try:
        with fault(root):
            ACTIONS[action](run)
        ended = True
    except (KeyboardInterrupt, ArtifactError, OSError):
        ended = False
    del run
    check(root, ended, action)
    return ended


def count_until_nothing_fails(attempt: Callable[[int], bool]) -> int:
    number = 0
    while not attempt(number):
        number += 1
        assert number < 3000
    return number


@pytest.mark.parametrize("action", ACTIONS)
def test_ctrl_c_at_every_line(action: str, template: Path, tmp_path: Path) -> None:
    points = count_until_nothing_fails(
        lambda n: tried(action, template, tmp_path, lambda root: interrupted_at_line(n))
    )
    assert points > 40


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
@pytest.mark.parametrize("action", ACTIONS)
def test_every_call_of_the_disk_may_fail(
    action: str, error: BaseException, template: Path, tmp_path: Path
) -> None:
    # An error of the disk while it tidies up does not fail the command: all points are tried.
    root = tmp_path / "run"
    shutil.copytree(template, root)
    with fails_at_call(1 << 20, root, error):
        ACTIONS[action](Run(root))
        calls = (1 << 20) - (HOOK.left or 0)
    assert calls > 8
    ended = [
        tried(action, template, tmp_path, lambda root, n=n: fails_at_call(n, root, error))
        for n in range(calls)
    ]
    assert not all(ended)


@pytest.mark.parametrize("inside", ["a.txt", "sub"])
def test_a_leftover_that_cannot_be_removed_costs_nothing(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: str
) -> None:
    """As of another user, or on a disk that keeps files which somebody has open."""
    root = tmp_path / "run"
    shutil.copytree(template, root)
    (root / ".calibrate.old").mkdir()
    (root / ".calibrate.old" / inside).write_text("left over")
    monkeypatch.setattr("snapcli.runs.swap.removed", keeping(root / ".calibrate.old"))
    monkeypatch.setattr("snapcli.runs.run.removed", keeping(root / ".calibrate.old"))
    with pytest.raises(ArtifactError, match=r"\.calibrate\.old"):
        written(Run(root))
    assert (Run(root).inputs("calibrate") / "a.txt").read_text() == "old"


def keeping(kept: Path) -> Callable[[Path], None]:
    return lambda path: None if path == kept else removed(path)


def test_the_first_folder_of_a_stage_may_fail_too(template: Path, tmp_path: Path) -> None:
    """Without one before there is nothing to bring back, and nothing may stay."""

    def attempt(number: int) -> bool:
        root = tmp_path / "run"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(template, root)
        manifest = json.loads((root / MANIFEST).read_text())
        del manifest["stages"]["calibrate"]
        (root / MANIFEST).write_text(json.dumps(manifest))
        shutil.rmtree(root / "calibrate")
        run = Run(root)
        try:
            with interrupted_at_line(number):
                written(run)
            ended = True
        except KeyboardInterrupt:
            ended = False
        status = Run(root).state("calibrate").status
        assert status in (("done",) if ended else ("done", "missing"))
        written(Run(root))
        assert Run(root).state("calibrate").status == "done"
        return ended

    assert count_until_nothing_fails(attempt) > 40
