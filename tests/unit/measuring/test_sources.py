"""What an image is built of: the recorded kernels, and the model made anew from the network."""

import re
from dataclasses import asdict
from pathlib import Path

import pytest

from snapcli.config import SNAP
from snapcli.emit import build_program, emit_model
from snapcli.emit.folder import step_rows
from snapcli.errors import ArtifactError
from snapcli.kernels import snapuq_files
from snapcli.measuring.sources import MODEL, built_sources, write_sources
from snapcli.monitor.body import save_body
from snapcli.monitor.decision import decision_to_dict
from snapcli.monitor.monitor import CALIBRATION_FILE
from snapcli.pricing.kernel_set import kernel_files, kernel_set
from snapcli.pricing.memory import write_texts
from snapcli.runs import Run, create_run, write_json
from snapcli.targets import load_target

from ..tiny_monitor import random_inputs, tiny_monitor, tiny_tflite

TARGET = load_target("small-mcu")
STAGE = f"export-c/{TARGET.name}"


def exported(folder: Path, changes: dict[str, str] | None = None, lacking: str = "") -> Run:
    """A run with the C of the tiny monitor; changes: of its files, recorded like the others."""
    monitor, run = tiny_monitor(), create_run(folder, "tiny")
    with run.write("quantize", after=()) as out:
        save_body(monitor.body, tiny_tflite(), out)
        write_json(out / CALIBRATION_FILE, {"device": decision_to_dict(monitor.decision)})
    kernels, library = kernel_set(SNAP, None)
    program = build_program(monitor.body.graph, monitor.body, kernels)
    emitted = emit_model(program, monitor, random_inputs(1))
    files = {**emitted.files, **kernel_files(library, emitted.files), **(changes or {})}
    with run.write(STAGE, after=("quantize",)) as out:
        write_texts(files, out)
        report = {
            "model_id": emitted.model_id,
            "target": TARGET.name,
            "kernels": kernels.name,
            "arena_bytes": emitted.arena_bytes,
            "steps": [asdict(row) for row in step_rows(program, monitor, {})],
            "files": sorted(set(files) - {lacking}),
        }
        write_json(out / "export.json", report)
    return run


def test_the_model_is_that_of_the_export_with_marks(tmp_path: Path) -> None:
    run = exported(tmp_path)
    sources, includes = write_sources(run, TARGET, tmp_path / "out")
    model, folder = tmp_path / "out" / MODEL, run.path(STAGE)
    assert {path.name for path in sources if path.parent == model} == {
        *("snap_model.c", "snap_heads.c", "snap_luts.c", "snap_settings.c", "snapuq_mark.c"),
    }
    kernels = [path for path in sources if path.parent != model]
    assert kernels == sorted((folder / "kernels").glob("*.c"))
    # The plain header is nowhere on the way.
    assert includes == [model, folder / "kernels"]
    for name in ("snap_heads.c", "snap_luts.c", "snap_parts.h", "snap_settings.c", "snap_golden.h"):
        assert (model / name).read_bytes() == (folder / name).read_bytes()
    assert "snapuq_mark(probe, 0);" in (model / "snap_model.c").read_text()
    (model_id,) = re.findall(r'SNAP_MODEL_ID "(\w+)"', (model / "snap_model.h").read_text())
    assert f'"{model_id}"' in (folder / "snap_model.h").read_text()
    assert built_sources(tmp_path / "out", folder) == (sources, includes)


def test_only_recorded_kernels_are_built(tmp_path: Path) -> None:
    run = exported(tmp_path)
    (run.path(STAGE) / "kernels" / "added.c").write_text("int added;")
    (run.path(STAGE) / "added.c").write_text("int added;")
    sources, _ = write_sources(run, TARGET, tmp_path / "out")
    assert "added.c" not in {path.name for path in sources}


@pytest.mark.parametrize("name", ["snap_model.c", "snap_heads.c", "snap_luts.c", "snap_parts.h"])
def test_recorded_c_that_is_not_of_the_network_is_refused(tmp_path: Path, name: str) -> None:
    """Of another version, or of somebody who records what they like."""
    run = exported(tmp_path, {name: "int other;\n"})
    with pytest.raises(ArtifactError, match="not what this version makes") as caught:
        write_sources(run, TARGET, tmp_path / "out")
    assert str(caught.value.hint).startswith("Export it again: snap export-c --target small-mcu")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["snap_golden.h", "snap_settings.c", "snap_model.c"])
def test_a_file_that_was_not_recorded_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArtifactError, match="not what this version makes"):
        write_sources(exported(tmp_path, lacking=name), TARGET, tmp_path / "out")


def test_source_of_one_s_own_in_a_run_is_never_compiled(tmp_path: Path) -> None:
    """A model's file that somebody added and recorded is none that an image is built of."""
    run = exported(tmp_path, {"snap_more.c": "int more;\n"})
    sources, _ = write_sources(run, TARGET, tmp_path / "out")
    assert "snap_more.c" not in {path.name for path in sources}


def test_the_probe_s_files_are_those_of_the_library(tmp_path: Path) -> None:
    write_sources(exported(tmp_path), TARGET, tmp_path / "out")
    for name in ("snapuq_mark.c", "snapuq_probe.h"):
        assert (tmp_path / "out" / MODEL / name).read_text() == snapuq_files()[name]
