"""Objects that were compiled before: the same bytes without a compiler, others when anything that
matters is another."""

from dataclasses import replace
from pathlib import Path

import pytest

from snapcli import object_cache, toolchain
from snapcli.targets import load_target

TARGET = load_target("qemu-m4")
OTHER = replace(TARGET, core="Cortex-M3")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SNAP_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "objects"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that a compiler has translated."""
    found: list[str] = []
    run = toolchain._run

    def noted(command, *rest):  # type: ignore[no-untyped-def]
        if "-c" in command:
            found.append(Path(command[command.index("-c") + 1]).name)
        return run(command, *rest)

    monkeypatch.setattr(toolchain, "_run", noted)
    return found


def made(place: Path, text: str = "", header: str = "", target: object = TARGET) -> bytes:
    place.mkdir()
    (place / "a.h").write_text(f"#define A 5\n{header}")
    (place / "a.c").write_text(
        f'#include "a.h"\nint f(int x);\nint f(int x) {{ return x + A; }}{text}'
    )
    built = toolchain.compile_objects(target, [place / "a.c"], [place], place / "out")  # type: ignore[arg-type]
    assert built[0].with_suffix(".su").read_text().count("\tstatic") == 1
    return built[0].read_bytes()


def test_a_repeated_build_compiles_nothing(tmp_path: Path, compiled: list[str]) -> None:
    first = made(tmp_path / "one")
    assert compiled == ["a.c"]
    assert made(tmp_path / "elsewhere") == first
    assert compiled == ["a.c"]


@pytest.mark.parametrize("what", ["source", "header", "flags"])
def test_what_changes_the_object_is_compiled(
    what: str, tmp_path: Path, compiled: list[str]
) -> None:
    first = made(tmp_path / "one")
    second = made(
        tmp_path / "two",
        text="\nint g;" if what == "source" else "",
        header="#undef A\n#define A 6\n" if what == "header" else "",
        target=OTHER if what == "flags" else TARGET,
    )
    assert compiled == ["a.c", "a.c"]
    assert second != first


def test_a_comment_changes_nothing(tmp_path: Path, compiled: list[str]) -> None:
    assert made(tmp_path / "one") == made(tmp_path / "two", header="/* words */\n")
    assert compiled == ["a.c"]


def test_a_compiler_that_was_replaced_is_another(tmp_path: Path) -> None:
    compiler = tmp_path / "gcc"
    compiler.write_text("one")
    before = object_cache.key_of(compiler, "int x;", "x.c", ["-O2"])
    assert object_cache.key_of(compiler, "int x;", "x.c", ["-O2"]) == before
    compiler.write_text("another")
    assert object_cache.key_of(compiler, "int x;", "x.c", ["-O2"]) != before


def test_a_cache_that_cannot_be_written_costs_time_alone(
    tmp_path: Path, compiled: list[str], folder: Path
) -> None:
    folder.parent.mkdir()
    folder.write_text("no folder")
    assert made(tmp_path / "one") == made(tmp_path / "two")
    assert compiled == ["a.c", "a.c"]


def test_an_object_without_its_frames_is_not_taken(
    tmp_path: Path, compiled: list[str], folder: Path
) -> None:
    first = made(tmp_path / "one")
    (frames,) = folder.glob("*.su")
    frames.unlink()
    assert made(tmp_path / "two") == first
    assert compiled == ["a.c", "a.c"]


def test_the_oldest_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(object_cache, "_MOST", 3)
    monkeypatch.setattr(object_cache, "_LEFT", 2)
    place = tmp_path / "x.o"
    for i in range(4):
        place.write_bytes(bytes([i]))
        place.with_suffix(".su").write_text(str(i))
        object_cache.keep(f"key{i}", place)
        if i == 2:
            assert object_cache.fetch("key0", tmp_path / "y.o")  # now younger than the others
    assert len(list(folder.iterdir())) == 4
    assert {path.stem for path in folder.glob("*.o")} == {"key0", "key3"}
