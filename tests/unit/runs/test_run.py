"""The run directory: numbering, freshness, and what a failure leaves behind."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from snapcli.errors import ArtifactError, CheckError
from snapcli.runs import (
    CHECKPOINT,
    MANIFEST,
    Run,
    create_run,
    disk_errors,
    folder_of,
    json_writer,
    new_run,
    open_run,
    sha256,
    write_json,
)
from snapcli.stored import read_json
from snapcli.used import note


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The latest run of the folder that a user is in."""
    monkeypatch.chdir(tmp_path)
    made = create_run(tmp_path / "runs", "digits")
    made.make_latest()
    return made


def put(run: Run, stage: str, after: tuple[str, ...] = (), text: str = "1") -> None:
    with run.write(stage, after) as folder:
        (folder / "result.txt").write_text(text)
        (folder / "deep").mkdir()
        (folder / "deep" / "more.txt").write_text("more")


def chain(run: Run) -> None:
    put(run, "train")
    put(run, "calibrate", ("train",))
    put(run, "quantize", ("train", "calibrate"))
    put(run, "export-c/qemu-m4", ("quantize",))
    put(run, "flash/qemu-m4", ("export-c/qemu-m4",))


def tree(root: Path) -> dict[str, bytes]:
    """Every file, hidden ones too, but for the locks, which stay."""
    found = {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    return {name: content for name, content in found.items() if not name.startswith(".locks/")}


def refusal(run: Run, stage: str) -> tuple[str, str | None]:
    with pytest.raises(ArtifactError) as caught:
        run.inputs(stage)
    return caught.value.message, caught.value.hint


# ---- Numbers and names


def test_runs_are_numbered_per_prefix_and_latest_is_the_newest(tmp_path: Path) -> None:
    runs = [create_run(tmp_path, prefix) for prefix in ("digits", "mnist", "digits")]
    assert [run.name for run in runs] == ["digits-001", "mnist-001", "digits-002"]
    for run in runs:
        run.make_latest()
        assert os.readlink(tmp_path / "latest") == run.name
        assert open_run(None, tmp_path).name == run.name


def test_a_run_that_never_began_leaves_no_trace(tmp_path: Path) -> None:
    create_run(tmp_path, "digits").make_latest()
    with pytest.raises(KeyboardInterrupt), new_run(tmp_path, "digits") as run:
        raise KeyboardInterrupt
    assert not run.root.exists()
    assert open_run(None, tmp_path).name == "digits-001"


def test_a_run_with_an_epoch_is_kept(tmp_path: Path) -> None:
    def interrupted(run: Run) -> None:
        run.path(CHECKPOINT).touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), new_run(tmp_path, "digits") as run:
        interrupted(run)
    assert run.path(CHECKPOINT).is_file()


def test_a_stage_that_reads_itself_or_a_later_one_is_no_run_of_ours(tmp_path: Path) -> None:
    run = create_run(tmp_path, "digits")
    for before in ("calibrate", "quantize", "nonsense"):
        record = {"inputs": {before: "0"}, "outputs": {}}
        manifest = {"schema": 1, "stages": {"calibrate": record}}
        run.path(MANIFEST).write_text(json.dumps(manifest))
        with pytest.raises(ArtifactError, match="cannot be read"):
            Run(run.root)


def test_a_number_is_never_used_again(tmp_path: Path) -> None:
    for _ in range(3):
        create_run(tmp_path, "digits")
    (tmp_path / "digits-002" / MANIFEST).unlink()
    (tmp_path / "digits-002").rmdir()
    (tmp_path / "digits-extra-999").mkdir()
    (tmp_path / "digits-1000").mkdir()
    assert create_run(tmp_path, "digits").name == "digits-1001"


def test_a_run_is_found_by_path_by_name_and_as_the_latest(tmp_path: Path) -> None:
    first, second = create_run(tmp_path, "digits"), create_run(tmp_path, "digits")
    second.make_latest()
    assert open_run(first.root, tmp_path).root == first.root
    assert open_run(Path("digits-001"), tmp_path).root == first.root
    assert open_run(None, tmp_path).root == second.root
    first.make_latest()
    assert open_run(None, tmp_path).root == first.root


def test_a_run_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"no run in .* yet") as caught:
        open_run(None, tmp_path)
    assert caught.value.hint == "Start one: snap train"
    with pytest.raises(ArtifactError, match="no run directory") as caught:
        open_run(Path("digits-009"), tmp_path)
    assert caught.value.hint == f"List them: ls {tmp_path}"


def test_latest_that_points_to_nothing_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to("digits-404")
    with pytest.raises(ArtifactError, match="no run in"):
        open_run(None, tmp_path)


def test_reports_are_numbered_and_stay(run: Run) -> None:
    chain(run)
    paths = [run.add_json("bench/qemu-m4", ("flash/qemu-m4",), {"n": n}) for n in range(2)]
    assert [p.name for p in paths] == ["qemu-m4-001.json", "qemu-m4-002.json"]
    assert [read_json(p) for p in paths] == [{"n": 0}, {"n": 1}]
    assert run.state("bench/qemu-m4").status == "done"
    assert run.add_json("bench/qemu-m7", (), {}).name == "qemu-m7-001.json"
    paths[1].write_text("{}")
    assert run.state("bench/qemu-m4").status == "damaged"


def test_files_that_belong_together_share_a_number(run: Run) -> None:
    chain(run)

    def arrays(path: Path) -> None:
        path.write_bytes(b"arrays")

    def add() -> Path:
        files = {".npz": arrays, ".json": json_writer({})}
        return run.add_files("stream/qemu-m4", "bench/qemu-m4-stream", ("flash/qemu-m4",), files)

    assert add().name == "qemu-m4-stream-001.json"
    # What a kill left without its report is overwritten by the next.
    (run.path("bench") / "qemu-m4-stream-002.npz").write_bytes(b"half")
    assert add().name == "qemu-m4-stream-002.json"
    assert run.path("bench/qemu-m4-stream-002.npz").read_bytes() == b"arrays"
    record = run.record("stream/qemu-m4")
    assert record
    assert {Path(name).suffix for name in record["outputs"]} == {".npz", ".json"}
    # A stream is not a bench, and its command is not called like it.
    assert run.add_json("bench/qemu-m4", (), {}).name == "qemu-m4-001.json"
    assert run.remedy("stream/qemu-m4") == "snap bench --stream --target qemu-m4"


# ---- Killed while a folder takes the place of another ------------------------


def killed(run: Run, stage: str, steps: int) -> None:
    """What is left of writing a stage anew, if it is killed after so many of its steps."""
    final = run.path(folder_of(stage))
    old, new = final.with_name(f".{final.name}.old"), final.with_name(f".{final.name}.999999999.ab")
    new.mkdir()
    (new / "result.txt").write_text("half")
    if steps > 0:
        final.rename(old)
    if steps > 1:
        new.rename(final)


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_killed_stage_leaves_the_one_before(run: Run, steps: int) -> None:
    chain(run)
    before = tree(run.root)
    killed(run, "flash/qemu-m4", steps)
    left = tree(run.root)
    again = Run(run.root)
    assert again.state("flash/qemu-m4").status == "done"
    # A reader finds the one before where it lies, and changes nothing; for whoever makes
    # something of it, it is put back.
    assert again.path("build/qemu-m4/result.txt").read_text() == "1"
    assert tree(run.root) == left
    assert again.inputs("flash/qemu-m4") == run.root / "build" / "qemu-m4"
    assert (again.inputs("flash/qemu-m4") / "result.txt").read_text() == "1"
    put(again, "flash/qemu-m4", ("export-c/qemu-m4",))
    assert set(tree(run.root)) == set(before)


@pytest.mark.parametrize("steps", [1, 2])
def test_a_killed_stage_is_made_again_in_its_place(run: Run, steps: int) -> None:
    chain(run)
    killed(run, "flash/qemu-m4", steps)
    again = Run(run.root)
    assert again.state("flash/qemu-m4").status == "done"
    put(again, "flash/qemu-m4", ("export-c/qemu-m4",), "2")
    assert again.path("build/qemu-m4/result.txt").read_text() == "2"
    assert [p.name for p in run.path("build").iterdir()] == ["qemu-m4"]


def test_a_stage_killed_when_all_was_done_is_done(run: Run) -> None:
    chain(run)
    final = run.path("build/qemu-m4")
    (final.with_name(".qemu-m4.old")).mkdir()
    again = Run(run.root)
    assert again.state("flash/qemu-m4").status == "done"
    assert again.inputs("flash/qemu-m4") == final
    assert [p.name for p in final.parent.iterdir()] == ["qemu-m4"]


def test_folders_follow_the_stage() -> None:
    assert folder_of("flash/qemu-m4") == "build/qemu-m4"
    assert folder_of("export-c/qemu-m4") == "export-c/qemu-m4"


def test_a_remedy_is_a_command_that_works_as_it_stands(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run.remedy("flash/qemu-m4") == "snap flash --target qemu-m4"
    assert run.remedy("ablate") == "snap ablate taps"
    assert run.remedy("ablate/rank") == "snap ablate rank"
    assert run.remedy("train") == "snap train"
    create_run(run.root.parent, "digits").make_latest()
    # It is no longer the latest run: the command has to name it. A new training is a new run.
    assert run.remedy("flash/qemu-m4") == "snap flash --target qemu-m4 --run digits-001"
    assert run.remedy("train") == "snap train"
    run.path(CHECKPOINT).write_bytes(b"")
    assert run.remedy("train") == "snap train --resume --run digits-001"
    # From another folder its name would not lead to it.
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert run.remedy("quantize") == f"snap quantize --run {run.root}"


# ---- Freshness


def test_a_finished_stage_is_done_and_recorded(run: Run) -> None:
    chain(run)
    again = Run(run.root)
    for stage in again.records():
        assert again.state(stage).status == "done"
        assert again.inputs(stage) == run.root / folder_of(stage)
    record = again.record("quantize")
    assert record is not None
    assert record["outputs"] == {
        f"quantize/{name}": sha256(run.root / "quantize" / name)
        for name in ("deep/more.txt", "result.txt")
    }
    assert set(record["inputs"]) == {"train", "calibrate"}
    assert {"python", "snap-uq"} <= set(record["versions"])


def tools_of(run: Run, stage: str) -> dict[str, Any]:
    return {name: tool["version"] for name, tool in (run.record(stage) or {})["tools"].items()}


def test_a_record_names_the_tools_that_ran_since_the_run_was_opened(run: Run) -> None:
    note("an-older-tool", version="1")
    again = Run(run.root)
    put(again, "train")
    note("a-compiler", ["-O2"], "12")
    put(again, "calibrate", ("train",))
    assert tools_of(again, "train") == {}
    assert (again.record("calibrate") or {})["tools"] == {
        "a-compiler": {"version": "12", "flags": ["-O2"]}
    }


def test_tools_behind_what_a_stage_read_are_named_too_the_nearest_first(run: Run) -> None:
    def made(stage: str, after: tuple[str, ...], *tools: tuple[str, str]) -> None:
        again = Run(run.root)  # as another process would
        for name, version in tools:
            note(name, version=version)
        put(again, stage, after)

    made("train", ())
    made("export-c/qemu-m4", ("train",), ("a-compiler", "12"), ("kernels", "snap"))
    made("flash/qemu-m4", ("export-c/qemu-m4",), ("a-compiler", "13"))
    made("bench/qemu-m4", ("flash/qemu-m4", "export-c/qemu-m4", "train"), ("an-emulator", "7"))
    found = tools_of(Run(run.root), "bench/qemu-m4")
    assert found == {"a-compiler": "13", "kernels": "snap", "an-emulator": "7"}
    assert tools_of(Run(run.root), "train") == {}


def test_a_tool_that_comes_after_the_record_changes_nothing_else(run: Run) -> None:
    chain(run)
    before = run.record("export-c/qemu-m4")
    note("a-flasher", version="2")
    run.add_tools("export-c/qemu-m4")
    again = Run(run.root)
    assert again.record("export-c/qemu-m4") == {
        **(before or {}),
        "tools": {"a-flasher": {"version": "2", "flags": []}},
    }
    assert again.state("flash/qemu-m4").status == "done"


def test_versions_and_tools_are_no_reason_to_be_stale(run: Run) -> None:
    """Neither others than today's, nor none at all, as in runs of older versions."""
    chain(run)
    manifest = read_json(run.path(MANIFEST))
    for record in manifest["stages"].values():
        record["versions"] = {"python": "2.7"}
        del record["tools"]
    write_json(run.path(MANIFEST), manifest)
    again = Run(run.root)
    assert {state.status for state in again.states() if state.stage != "bench"} == {"done"}
    again.add_tools("flash/qemu-m4")
    put(again, "bench/qemu-m4", ("flash/qemu-m4",))
    assert tools_of(again, "bench/qemu-m4") == {}


def test_a_stage_that_never_ran_is_missing(run: Run) -> None:
    put(run, "train")
    assert refusal(run, "calibrate") == (
        "calibrate of digits-001 is missing",
        "Run: snap calibrate",
    )
    assert run.record("calibrate") is None


def test_of_several_missing_stages_the_first_is_named(run: Run) -> None:
    put(run, "train")
    put(run, "calibrate", ("train",))
    assert refusal(run, "flash/qemu-m7")[1] == "Run: snap quantize"
    put(run, "quantize", ("calibrate",))
    assert refusal(run, "flash/qemu-m7")[1] == "Run: snap export-c --target qemu-m7"
    assert run.next_command() == "snap export-c"


def test_a_changed_file_is_damage(run: Run) -> None:
    chain(run)
    path = run.path("calibrate/result.txt")
    path.write_text("2")
    message, hint = refusal(run, "calibrate")
    assert "damaged: calibrate/result.txt was changed or cut short" in message
    assert hint == "Run: snap calibrate"
    path.unlink()
    message, hint = refusal(run, "calibrate")
    assert "damaged: calibrate/result.txt is gone" in message
    assert hint == "Run: snap calibrate"


def test_damage_is_mended_where_it_happened(run: Run) -> None:
    """What depends on a damaged stage is stale; its hint names the damaged one."""
    chain(run)
    run.path("train/result.txt").write_text("")
    message, hint = refusal(run, "flash/qemu-m4")
    assert "stale" in message
    assert "train/result.txt" in message
    assert hint == "Run: snap train"
    assert run.state("flash/qemu-m4").origin == "train"


def test_a_stage_is_stale_when_its_input_was_made_again(run: Run) -> None:
    chain(run)
    put(run, "calibrate", ("train",), "another result")
    message, hint = refusal(run, "flash/qemu-m4")
    assert "stale" in message
    assert "calibrate has changed since" in message
    # The first stage that does not know the new result has to run again.
    assert hint == "Run: snap quantize"
    assert run.state("train").status == run.state("calibrate").status == "done"


def test_what_was_exported_before_there_was_an_alarm_is_stale(run: Run) -> None:
    chain(run)
    assert run.state("alarm").status == "missing"
    put(run, "alarm", ("quantize",))
    message, hint = refusal(run, "flash/qemu-m4")
    assert "alarm has been made since" in message
    assert hint == "Run: snap export-c --target qemu-m4"
    put(run, "export-c/qemu-m4", ("quantize", "alarm"))
    put(run, "flash/qemu-m4", ("export-c/qemu-m4",))
    assert run.state("flash/qemu-m4").status == "done"
    put(run, "alarm", ("quantize",), "another alarm")
    assert "alarm has changed since" in refusal(run, "flash/qemu-m4")[0]


def test_the_same_result_again_keeps_what_follows(run: Run) -> None:
    chain(run)
    put(run, "calibrate", ("train",))
    assert run.state("flash/qemu-m4").status == "done"


def test_one_output_may_be_judged_later(run: Run) -> None:
    chain(run)
    run.path("build/qemu-m4/result.txt").write_text("patched")
    assert run.inputs("flash/qemu-m4", judged_later="result.txt").name == "qemu-m4"
    run.path("build/qemu-m4/deep/more.txt").write_text("patched")
    with pytest.raises(ArtifactError, match=r"more\.txt was changed"):
        run.inputs("flash/qemu-m4", judged_later="result.txt")


# ---- Failures


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, CheckError("no", "hint")])
def test_a_stage_that_fails_leaves_what_was_there(run: Run, error: Any) -> None:
    chain(run)
    before = tree(run.root)
    kind = error if isinstance(error, type) else type(error)

    def half_written() -> None:
        with run.write("calibrate", ("train",)) as folder:
            (folder / "result.txt").write_text("half")
            raise error

    with pytest.raises(kind):
        half_written()
    assert tree(run.root) == before
    assert Run(run.root).state("flash/qemu-m4").status == "done"


def test_a_killed_stage_leaves_what_was_there(run: Run) -> None:
    """The process ends without any clean-up, as by SIGKILL or a power cut."""
    chain(run)
    before = tree(run.root)
    script = (
        "import os, sys; from pathlib import Path; from snapcli.runs import Run\n"
        "with Run(Path(sys.argv[1])).write('calibrate', ('train',)) as folder:\n"
        "    (folder / 'result.txt').write_text('half')\n"
        "    os._exit(9)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(run.root)], check=False, timeout=600)
    assert done.returncode == 9
    after = tree(run.root)
    # A hidden folder may stay; nothing that has a name of ours has changed.
    assert {k: v for k, v in after.items() if not k.startswith(".")} == before
    again = Run(run.root)
    assert again.state("flash/qemu-m4").status == "done"
    put(again, "calibrate", ("train",))
    assert again.state("calibrate").status == "done"


def refuse(code: int) -> Any:
    def fail(self: Path, *arguments: Any, **options: Any) -> Any:
        raise OSError(code, os.strerror(code), str(self))

    return fail


@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        (errno.ENOSPC, "No space left on device", "Free some space"),
        (errno.EROFS, "Read-only file system", "--runs-dir"),
        (errno.EACCES, "may not write", "permissions"),
        (errno.EPERM, "may not write", "permissions"),
    ],
)
@pytest.mark.parametrize("operation", ["mkdir", "write_text", "rename", "replace"])
def test_what_the_disk_refuses_is_said_and_nothing_is_lost(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    operation: str,
    code: int,
    message: str,
    hint: str,
) -> None:
    chain(run)
    before = tree(run.root)
    with monkeypatch.context() as disk:
        disk.setattr(Path, operation, refuse(code))
        with pytest.raises(ArtifactError, match=message) as caught:
            put(run, "calibrate", ("train",), "another result")
    assert hint in (caught.value.hint or "")
    assert tree(run.root) == before
    assert run.state("flash/qemu-m4").status == "done"
    assert Run(run.root).state("flash/qemu-m4").status == "done"


def test_no_place_for_a_new_run(tmp_path: Path) -> None:
    """Also for root, whom permissions do not stop: the place is a file."""
    (tmp_path / "runs").write_text("")
    with pytest.raises(ArtifactError, match="cannot write") as caught:
        create_run(tmp_path / "runs", "digits")
    assert caught.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission_for_a_new_run(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ArtifactError, match="may not write"):
        create_run(tmp_path / "runs", "digits")


def test_errors_of_ours_pass_through(tmp_path: Path) -> None:
    error = CheckError("differs", "look")
    with pytest.raises(CheckError) as caught, disk_errors(tmp_path):
        raise error
    assert caught.value is error


# ---- The manifest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '{"schema": 1}',
        '{"schema": 1, "stages": []}',
        '{"schema": 1, "stages": {"train": {}}}',
        '{"schema": 1, "stages": {"train": 3}}',
        '{"schema": 1, "stages": {"train": {"inputs": [], "outputs": []}}}',
        '{"schema": 1, "stages": {"train": {"inputs": {}, "outputs": 3}}}',
    ],
)
def test_a_manifest_that_cannot_be_read(text: str, run: Run) -> None:
    (run.root / MANIFEST).write_text(text)
    with pytest.raises(ArtifactError, match=r"run\.json cannot be read") as caught:
        Run(run.root)
    assert caught.value.hint == "Start a new run: snap train"


def test_a_manifest_that_is_no_text(run: Run) -> None:
    (run.root / MANIFEST).write_bytes(bytes(range(256)))
    with pytest.raises(ArtifactError, match="cannot be read"):
        Run(run.root)


@pytest.mark.parametrize("rest", [{"stages": {}}, {"layout": "of the future"}])
def test_a_manifest_of_another_schema(rest: dict[str, Any], run: Run) -> None:
    (run.root / MANIFEST).write_text(json.dumps({"schema": 2, **rest}))
    with pytest.raises(ArtifactError, match="has schema 2, this snap reads schema 1") as caught:
        Run(run.root)
    assert "version of snap" in (caught.value.hint or "")


def test_a_directory_that_is_not_ours(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"not a run directory: it has no run\.json") as caught:
        open_run(tmp_path, tmp_path / "runs")
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_json_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "value.json"
    write_json(path, {"n": 1})
    with monkeypatch.context() as disk:
        disk.setattr(Path, "replace", refuse(errno.ENOSPC))
        with pytest.raises(OSError, match="space"):
            write_json(path, {"n": 2})
    assert read_json(path) == {"n": 1}


def attached(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/bin/snap", "attach", "a model.tflite", "--data", "x.npz"])
    put(run, "attach")
    put(run, "calibrate", ("attach",))


def test_a_finished_model_takes_the_place_of_training(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not run.is_attached
    attached(run, monkeypatch)
    assert run.is_attached
    assert [s.stage for s in run.states()] == ["attach", "calibrate", "export-c", "flash", "bench"]
    assert run.next_command() == "snap export-c"
    assert run.state("bench/qemu-m4").origin == "export-c/qemu-m4"
    for stage in ("train", "taps", "quantize"):
        message, hint = refusal(run, stage)
        assert f"nothing to {stage}" in message
        assert "snap attach" in str(hint)


def test_an_attach_is_made_again_as_it_was_made(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    attached(run, monkeypatch)
    (run.root / "attach" / "result.txt").write_text("2")
    message, hint = refusal(run, "calibrate")
    assert "attach is damaged" in message
    assert hint == "Run: snap attach 'a model.tflite' --data x.npz"
