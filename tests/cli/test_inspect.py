"""`snap inspect`: what a user sees of a model."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import snap
from tests.golden.random_models import random_model
from tests.unit.tiny_monitor import tiny_tflite


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "tiny.tflite"
    path.write_bytes(tiny_tflite())
    return str(path)


def test_a_model_is_a_tree_of_blocks(model: str) -> None:
    lines = snap("inspect", model).out.splitlines()
    assert re.match(r"tiny\.tflite: [\d,]+ MAC, constants [\d,]+ B, arena [\d,]+ B ", lines[0])
    assert any("input input 9x8x3 int8, 0.02 * (q - (5))" in line for line in lines)
    (stem,) = [line for line in lines if " stem  " in line]
    # Number, name, operator, shape, work, constants, and its life: tapped outputs live to the end.
    assert re.search(r"1 +stem +CONV_2D +9x8x6 +11,664 MAC +216 B +-> 432 B +alive 1-6", stem)
    taps = [line.rpartition(" ")[2] for line in lines if "tap candidate" in line]
    assert taps == ["stem", "block"]
    assert lines[-2].startswith("└── output ")
    assert lines[-1].startswith("MAC: ")


def test_json_holds_the_same(model: str) -> None:
    report = snap("inspect", model, "--json").json
    layers = [layer for block in report["blocks"] for layer in block]
    assert [layer["number"] for layer in layers] == [1, 2, 3, 4, 5]
    assert sum(layer["macs"] for layer in layers) == report["macs"]
    assert sum(layer["constant_bytes"] for layer in layers) == report["constant_bytes"]
    assert report["inputs"][0]["shape"] == [9, 8, 3]
    assert report["file_bytes"] == len(tiny_tflite())


@pytest.mark.parametrize("seed", range(5))
def test_every_layer_of_any_model_is_listed(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "random.tflite"
    path.write_bytes(random_model(seed, 12))
    report = snap("inspect", str(path), "--json").json
    names = [layer["name"] for block in report["blocks"] for layer in block]
    shown = snap("inspect", str(path)).out
    assert names
    assert all(f" {name} " in shown for name in names)


def test_no_command_on_a_model_loads_tensorflow(model: str, tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from snapcli.cli import run_app\n"
        "for words in (['inspect'], ['export-c', '--out', sys.argv[2], '--model']):\n"
        "    assert run_app([*words, sys.argv[1]]) == 0\n"
        "print('tensorflow' in sys.modules, 'sklearn' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, model, str(tmp_path / "out")],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.stdout.splitlines()[-1] == "False False", done.stderr


def test_what_is_no_model_is_told(tmp_path: Path) -> None:
    path = tmp_path / "notes.tflite"
    path.write_text("my notes on models")
    outcome = snap("inspect", str(path))
    assert outcome.code == 4
    assert outcome.error()[0] == "this is not a .tflite file"
    assert snap("inspect", str(tmp_path / "gone.tflite")).code == 4
