"""The wheel, installed elsewhere and used from an empty folder."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

import snapcli
from tests.conftest import need

CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the wheel was installed, without its dependencies."""
    for tool in ("build", "hatchling"):
        if find_spec(tool) is None:
            pytest.skip(f"{tool} is not installed (the extra dev)")
    folder = tmp_path_factory.mktemp("wheel")
    build = ["build", "--wheel", "--no-isolation", "--outdir", str(folder), str(CHECKOUT)]
    subprocess.run([sys.executable, "-m", *build], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
    install = ["pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([sys.executable, "-m", *install, str(wheel)], check=True, capture_output=True)
    return site


@pytest.fixture
def elsewhere(installed: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs Python in an empty folder, with the installed package before the checkout."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(installed)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_everything_travels_inside(
    installed: Path, elsewhere: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    probe = (
        "import snapcli; from snapcli.assets import asset_dir;"
        "print(snapcli.__file__); print(asset_dir('firmware')); print(asset_dir('pipelines'))"
    )
    package, firmware, pipelines = map(Path, elsewhere("-c", probe).stdout.splitlines())
    assert package.is_relative_to(installed)
    assert package != Path(snapcli.__file__)
    ours = {
        folder: [p.relative_to(CHECKOUT / folder) for p in (CHECKOUT / folder).rglob("*.[chlt]*")]
        for folder in ("firmware", "pipelines")
    }
    for folder, packed in (("firmware", firmware), ("pipelines", pipelines)):
        assert packed.is_relative_to(installed)
        assert ours[folder]
        # All but the programs that only the tests build.
        needed = [name for name in ours[folder] if name.parts[0] != "test"]
        assert [name for name in needed if not (packed / name).is_file()] == []


@pytest.mark.parametrize("name", ["snap", "snapuq"])
def test_both_programs_are_installed(
    installed: Path, elsewhere: Callable[..., subprocess.CompletedProcess[str]], name: str
) -> None:
    done = elsewhere(str(installed / "bin" / name), "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("snap ")


def test_the_whole_pipeline_from_an_empty_folder(
    installed: Path,
    elsewhere: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    need(tensorflow=True, compiler=True, emulator=True)
    program = str(installed / "bin" / "snap")
    doctor = elsewhere(program, "doctor", "--json")
    assert doctor.returncode == 0, doctor.stdout
    checks = json.loads(doctor.stdout)["checks"]
    assert [c["name"] for c in checks if c["version"] is None and not c["optional"]] == []

    brief = ("--set", "train.epochs=1", "--set", "bench.inputs=10")
    done = elsewhere(program, "run", "pipelines/digits.toml", *brief)
    assert done.returncode == 0, done.stderr
    assert "10 of 10" in done.stdout
    timed = [line.split()[0] for line in done.stderr.splitlines()]
    # After one epoch the data may bear no alarm, which a last line says.
    stages = ["train", "calibrate", "quantize", "alarm", "export-c", "flash", "bench"]
    assert timed[: len(stages)] == stages
    assert set(timed[len(stages) :]) <= {"alarm"}
    assert (tmp_path / "runs/latest").readlink() == Path("digits-001")
    bench = json.loads((tmp_path / "runs/latest/bench/qemu-m4-001.json").read_text())
    assert bench["bit_exact"] == bench["inputs"] == 10
    model = "runs/latest/quantize/model_int8.tflite"
    verified = elsewhere(program, "verify", "--model", model, "--inputs", "1", "--json")
    assert verified.returncode == 0, verified.stderr
    assert len(json.loads(verified.stdout)["links"]) == 3
    # Nothing of the checkout went into the image.
    linked = (tmp_path / "runs/latest/build/qemu-m4/firmware.map").read_text()
    assert str(CHECKOUT) not in linked
