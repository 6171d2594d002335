"""What the fuzzer has found worth keeping (make fuzz-link), once more with gcc's sanitizers."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import need

from .fuzz import CORPUS, FOLDER, flags, seeds, target_sources


@pytest.fixture(scope="module")
def replay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need(host=True)
    program = tmp_path_factory.mktemp("fuzz") / "replay"
    sanitizers = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    sources = [*target_sources(), FOLDER / "replay.c"]
    command = ["cc", *sanitizers, *flags(), *map(str, sources), "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def run(replay: Path, files: list[Path]) -> None:
    """Fails with the sanitizer's report; the program tells how many inputs it has run."""
    done = subprocess.run([str(replay), *map(str, files)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{len(files)}\n"


def test_the_kept_corpus_does_no_harm(replay):
    files = sorted(CORPUS.iterdir())
    assert len(files) >= 100
    assert sum(path.stat().st_size for path in files) < 200_000
    run(replay, files)


def test_the_seeds_do_no_harm(replay, tmp_path):
    for number, data in enumerate(seeds()):
        (tmp_path / f"{number:03}").write_bytes(data)
    run(replay, sorted(tmp_path.iterdir()))
