"""Several processes on one run: nothing that one of them has recorded is lost."""

import fcntl
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from snapcli.errors import ArtifactError
from snapcli.runs import Run, create_run
from snapcli.runs.lock import Lock
from snapcli.stored import read_json

pytestmark = pytest.mark.slow

# Each process makes its own stage again and again; what it has recorded has to stay.
WRITES = """
import sys
from pathlib import Path
from snapcli.runs import Run, sha256
root, stage, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for i in range(count):
    with Run(root).write(stage, ("train",)) as folder:
        for name in "ab":
            (folder / name).write_text(f"{stage} {i}")
    found = Run(root)
    assert found.state(stage).status == "done", found.state(stage).detail
    assert (root / stage / "a").read_text() == f"{stage} {i}"
"""
ADDS = """
import sys
from pathlib import Path
from snapcli.runs import Run
root, stage, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
names = set()
for i in range(count):
    path = Run(root).add_json(stage, ("train",), {"by": i})
    assert path.name not in names
    names.add(path.name)
    assert Run(root).record(stage)["outputs"]
print(*sorted(names))
"""
OPENS = """
import sys
from pathlib import Path
from snapcli.runs import Run
root, count = Path(sys.argv[1]), int(sys.argv[2])
for i in range(count):
    run = Run(root)
    wrong = [s.detail for s in map(run.state, run.records()) if s.status == "damaged"]
    assert not wrong, wrong
    run.inputs("calibrate")
"""


def start(script: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: "subprocess.Popen[str]") -> str:
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return out


@pytest.fixture
def run(tmp_path: Path) -> Run:
    made = create_run(tmp_path, "digits")
    for stage, after in (("train", ()), ("calibrate", ("train",)), ("eval", ("train",))):
        with made.write(stage, after) as folder:
            (folder / "a").write_text("first")
    return made


def test_writers_of_two_stages_and_a_reader(run: Run) -> None:
    processes = [
        start(WRITES, run.root, "calibrate", 80),
        start(WRITES, run.root, "eval", 80),
        start(OPENS, run.root, 250),
    ]
    for process in processes:
        ended(process)
    last = Run(run.root)
    assert [last.state(stage).status for stage in ("train", "calibrate", "eval")] == ["done"] * 3
    assert {(run.root / s / "b").read_text() for s in ("calibrate", "eval")} == {
        "calibrate 79",
        "eval 79",
    }


def test_two_writers_of_the_same_stage_take_turns(run: Run) -> None:
    script = WRITES.replace("assert (root", "continue; assert (root")
    for process in [start(script, run.root, "calibrate", 60) for _ in range(2)]:
        ended(process)
    assert Run(run.root).state("calibrate").status == "done"
    assert {p.name for p in run.root.glob(".*")} == {".locks"}


def test_no_two_reports_get_the_same_number(run: Run) -> None:
    processes = [start(ADDS, run.root, "bench/qemu-m4", 40) for _ in range(2)]
    first, second = (set(ended(process).split()) for process in processes)
    assert len(first | second) == 80
    assert {p.name for p in (run.root / "bench").iterdir()} == first | second


def test_two_runs_never_get_the_same_number(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from snapcli.runs import create_run\n"
        "for i in range(40):\n"
        "    run = create_run(Path(sys.argv[1]), 'digits'); run.make_latest(); print(run.name)\n"
    )
    processes = [start(script, tmp_path / "runs") for _ in range(2)]
    names = [name for process in processes for name in ended(process).split()]
    assert len(set(names)) == 80


def test_what_was_read_counts_not_what_others_made_of_it_meanwhile(run: Run) -> None:
    """A stage that was made from the old input is stale, whoever records first."""
    mine, theirs = Run(run.root), Run(run.root)
    mine.inputs("train")
    with theirs.write("train", ()) as folder:
        (folder / "a").write_text("another training")
    with mine.write("calibrate", ("train",)) as folder:
        (folder / "a").write_text("from the first training")
    state = Run(run.root).state("calibrate")
    assert (state.status, state.detail) == ("stale", "stale: train has changed since")


# ---- The lock --------------------------------------------------------------------

HOLDS = """
import sys
from pathlib import Path
from snapcli.runs.lock import Lock
from snapcli.stored import read_json
path, sys.argv = Path(sys.argv[1]), ["/usr/bin/snap", "bench", "--limit"]
with Lock(path).held():
    print("held", flush=True)
    sys.stdin.read()
"""


def holder_of(path: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    return process


def test_a_wait_is_told_with_who_is_waited_for_and_then_goes_on(run: Run) -> None:
    process = holder_of(run.root / ".locks" / "run")
    told: list[str] = []

    def on_wait(line: str) -> None:
        told.append(line)
        process.communicate("")

    with Run(run.root, on_wait).write("calibrate", ("train",)) as folder:
        (folder / "a").write_text("after the wait")
    assert told == [f"waiting for snap bench, process {process.pid}"]
    assert (run.root / "calibrate" / "a").read_text() == "after the wait"


def test_a_run_at_which_somebody_works_is_busy(run: Run) -> None:
    assert run.busy() is None
    process = holder_of(run.root / ".locks" / "eval")
    assert run.busy() == f"snap bench, process {process.pid}"
    # Another stage can be made meanwhile.
    with run.write("calibrate", ("train",)) as folder:
        (folder / "a").write_text("x")
    process.kill()
    process.communicate()
    # The kernel has ended the lock of a killed process; its name in the file says nothing.
    assert json.loads((run.root / ".locks" / "eval").read_text())["pid"] == process.pid
    assert run.busy() is None


def test_nobody_waits_for_himself(run: Run) -> None:
    with run.making("calibrate"), run.write("calibrate", ("train",)) as folder:
        (folder / "a").write_text("x")
        assert run.busy() is not None  # for others, which a second lock file is
    assert run.busy() is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "another process"),
        ('{"pid": 1', "another process"),
        ('{"pid": [1], "host": "a", "command": "b"}', "another process"),
        ('{"pid": 7, "host": "far\\u001b[31m", "command": "snap bench"}', "snap bench, process 7"),
    ],
)
def test_what_stands_in_a_lock_is_data(run: Run, text: str, told: str) -> None:
    path = run.root / ".locks" / "run"
    path.write_text(text)
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = Lock(path).holder()
    assert found
    assert found.startswith(told)
    assert "\x1b" not in found


def test_a_lock_that_outlives_its_process_is_recognised(run: Run) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    path = run.root / ".locks" / "run"
    path.write_text(
        json.dumps({"pid": child.pid, "host": socket.gethostname(), "command": "snap bench"})
    )
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "which has ended" in (Lock(path).holder() or "")
    assert Lock(path).holder() is None


@pytest.mark.parametrize("link", [".locks", ".locks/run"])
def test_a_lock_that_is_a_link_is_refused(run: Run, tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    place = run.root / link
    if place.is_dir():
        for path in place.iterdir():
            path.unlink()
        place.rmdir()
    else:
        place.unlink()
    place.symlink_to(outside)
    with pytest.raises(ArtifactError), Run(run.root).write("calibrate", ("train",)):
        pass
    assert not outside.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_run_that_may_only_be_read_is_read(run: Run) -> None:
    run.root.chmod(0o500)
    try:
        assert read_json(Run(run.root).inputs("train").parent / "run.json")["schema"] == 1
    finally:
        run.root.chmod(0o700)
