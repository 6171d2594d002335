"""A run from somebody else is data: its names stay inside of it, whatever they are."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.errors import ArtifactError
from snapcli.runs import MANIFEST, Run, create_run, sha256, write_json
from snapcli.runs.manifest import is_path, read_manifest

HASH = "0" * 64
NAMES = (
    *("..", "../x", "a/../../x", "/etc", "/", ".", "", "a//b", ".hidden", "a/.hidden/b", "a\\b"),
    *("a\x00b", "a\nb", "a b", "~", "~root", "$(id)", "`id`", "a;b", "-rf", "a/-rf", "ä", "a/"),
)
PARTS = (*(n for n in NAMES if "/" not in n), "a/b", "../../outside", "x/../../..")


def record(**changes: Any) -> dict[str, Any]:
    return {"inputs": {}, "outputs": {}, "seed": None, "argv": [], **changes}


HOSTILE: dict[str, dict[str, Any]] = {
    **{f"output {name!r}": {"train": record(outputs={name: HASH})} for name in NAMES},
    **{f"target {part!r}": {f"flash/{part}": record()} for part in PARTS},
    **{f"variant {part!r}": {f"variants/{part}": record()} for part in PARTS},
    **{f"stage {name!r}": {name: record()} for name in (*NAMES, "train/x", "nonsense", "flash")},
    **{f"input {name!r}": {"quantize": record(inputs={name: HASH})} for name in NAMES},
    "reads itself": {"calibrate": record(inputs={"calibrate": HASH})},
    "reads a later one": {"calibrate": record(inputs={"quantize": HASH})},
    "reads another target": {"flash/a": record(inputs={"export-c/b": HASH})},
    "digest is not a hash": {"train": record(outputs={"train/a": "../x"})},
    "digest is no text": {"train": record(outputs={"train/a": 7})},
    "argv is not a list": {"train": record(argv="snap train")},
    "argv holds no text": {"train": record(argv=["snap", {"a": 1}])},
    "seed is not a number": {"train": record(seed="1")},
    "tools are not names": {"train": record(tools=["gcc"])},
    "a tool is a number": {"train": record(tools={"gcc": 5})},
    "a version is a number": {"train": record(tools={"gcc": {"version": 5, "flags": []}})},
    "a flag is a list": {"train": record(tools={"gcc": {"version": "5", "flags": [["-O2"]]}})},
    "versions are lists": {"train": record(versions={"numpy": [1]})},
    "inputs are a list": {"train": record(inputs=["train"])},
    "a record is a text": {"train": "record"},
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    made = create_run(tmp_path / "runs", "digits")
    with made.write("train", ()) as folder:
        (folder / "a.txt").write_text("a")
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "precious").write_text("precious")
    return made


def snapshot(root: Path) -> dict[str, str]:
    return {
        str(p): os.readlink(p) if p.is_symlink() else p.read_text()
        for p in root.rglob("*")
        if p.is_file() or p.is_symlink()
    }


@pytest.mark.parametrize("stages", HOSTILE.values(), ids=HOSTILE)
def test_a_name_that_leads_elsewhere_is_refused(
    run: Run, tmp_path: Path, stages: dict[str, Any]
) -> None:
    (run.root / MANIFEST).write_text(json.dumps({"schema": 1, "stages": stages}))
    before = snapshot(tmp_path)
    with pytest.raises(ArtifactError, match="cannot be read"):
        Run(run.root)
    assert snapshot(tmp_path) == before


def test_the_name_that_is_wrong_is_told(run: Run) -> None:
    stages = {"train": record(outputs={"../\x1bx": HASH})}
    (run.root / MANIFEST).write_text(json.dumps({"schema": 1, "stages": stages}))
    with pytest.raises(ArtifactError, match=r"cannot be read: train names the file '\.\./\?x'"):
        Run(run.root)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"schema": [[[]]], "stages": {}}', '{"schema": "1\\u001b", "stages": {}}'],
)
def test_a_manifest_that_is_no_manifest(run: Run, text: str) -> None:
    (run.root / MANIFEST).write_text(text)
    with pytest.raises(ArtifactError, match="cannot be read"):
        Run(run.root)


def test_a_manifest_larger_than_any_of_ours_is_not_read(run: Run) -> None:
    with (run.root / MANIFEST).open("wb") as file:
        file.truncate(10 << 30)
    with pytest.raises(ArtifactError, match="cannot be read"):
        Run(run.root)


@given(st.text("ab./\\\0 ~", max_size=8) | st.text(max_size=8))
def test_whatever_is_let_through_stays_inside(name: str) -> None:
    assert not is_path(name) or os.path.normpath(f"/run/{name}") == f"/run/{name}"


# ---- Links ---------------------------------------------------------------------------


def relinked(run: Run, link: Path, to: Path) -> None:
    """The link in its place, and a manifest that knows what it leads to."""
    manifest = read_manifest(run.root)
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(to)
    if to.is_file() and not link.name.startswith("."):
        outputs = manifest["stages"]["train"]["outputs"]
        outputs[str(link.relative_to(run.root))] = sha256(to)
    write_json(run.root / MANIFEST, manifest)


def test_a_file_that_is_a_link_out_of_the_run_is_damage(run: Run, tmp_path: Path) -> None:
    relinked(run, run.root / "train" / "b.txt", tmp_path / "x" / "precious")
    with pytest.raises(ArtifactError, match="leads out of the run"):
        Run(run.root).inputs("train")


def test_a_link_inside_of_the_run_is_none_out_of_it(run: Run) -> None:
    relinked(run, run.root / "train" / "b.txt", run.root / "train" / "a.txt")
    assert Run(run.root).inputs("train") == run.root / "train"


WRITES: dict[str, Callable[[Run], Any]] = {
    "calibrate": lambda run: run.write("calibrate", ("train",)).__enter__(),
    "build": lambda run: run.write("flash/qemu-m4", ("train",)).__enter__(),
    "bench": lambda run: run.add_json("bench/qemu-m4", (), {}),
    "checkpoint.npz": lambda run: run.path("checkpoint.npz"),
}


@pytest.mark.parametrize("name", WRITES)
def test_nothing_is_written_through_a_link(run: Run, tmp_path: Path, name: str) -> None:
    relinked(run, run.root / name, tmp_path / "x")
    before = snapshot(tmp_path / "x")
    with pytest.raises(ArtifactError, match="leads out of the run"):
        WRITES[name](Run(run.root))
    assert snapshot(tmp_path / "x") == before


@pytest.mark.parametrize("name", [".run.json.new", ".calibrate.old", "bench/.qemu-m4-001.json.new"])
def test_names_of_our_own_that_are_links_lead_nowhere(run: Run, tmp_path: Path, name: str) -> None:
    """A handed-over run may hold what a killed command leaves, as links."""
    outside = tmp_path / "x" / ("precious" if name.endswith("new") else "")
    relinked(run, run.root / name, outside)
    before = snapshot(tmp_path / "x")
    with Run(run.root).write("calibrate", ("train",)) as folder:
        (folder / "a.txt").write_text("a")
    Run(run.root).add_json("bench/qemu-m4", (), {})
    Run(run.root).inputs("calibrate")
    assert snapshot(tmp_path / "x") == before
    assert not (run.root / "calibrate").is_symlink()


@pytest.mark.parametrize("name", [MANIFEST, ".locks/run", ".locks/other", "train/a.txt"])
def test_nobody_waits_for_a_pipe(run: Run, name: str) -> None:
    path = run.root / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    if name == MANIFEST:
        with pytest.raises(ArtifactError, match="cannot be read"):
            Run(run.root)
        return
    found = Run(run.root)
    assert found.busy() is None
    assert found.state("train").status == ("damaged" if name == "train/a.txt" else "done")


def test_a_run_whose_manifest_is_a_link_is_refused(run: Run, tmp_path: Path) -> None:
    (run.root / MANIFEST).rename(tmp_path / "manifest")
    (run.root / MANIFEST).symlink_to(tmp_path / "manifest")
    with pytest.raises(ArtifactError, match="cannot be read"):
        Run(run.root)
