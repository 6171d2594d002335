"""Where CMSIS-NN comes from, with a small wheel instead of the real one and no network."""

import hashlib
import os
import shutil
import zipfile
from pathlib import Path

import pytest

from snapcli import kernels, toolchain
from snapcli.errors import ArtifactError, ToolchainError, UsageError
from tests.conftest import snap

TREE = "aidge_export_arm_cortexm/_CMSIS-NN/CMSIS-NN"
LICENSE = "aidge_export_arm_cortexm/boards/stm32/F7/Drivers/CMSIS/LICENSE.txt"
FILES = {
    f"{TREE}/Include/arm_nnfunctions.h": "void arm_a(void);\n",
    f"{TREE}/Source/Some/arm_a.c": "void arm_a(void)\n{\n}\n",
    LICENSE: "Apache License\n",
    f"{TREE}/Tests/test.py": "",
    "aidge_export_arm_cortexm/__init__.py": "",
}
UNPACKED = {"Include/arm_nnfunctions.h", "Source/Some/arm_a.c", "LICENSE.txt", "SHA256SUMS"}


class Index:
    """A package index that has one wheel, and counts who asks for it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.wheel = folder / kernels.WHEEL
        self.monkeypatch = monkeypatch
        self.asked = 0
        monkeypatch.setattr(toolchain, "download_wheel", self.download)
        self.offer(FILES)

    def offer(self, files: dict[str, str], known: bool = True) -> None:
        with zipfile.ZipFile(self.wheel, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        if known:
            digest = hashlib.sha256(self.wheel.read_bytes()).hexdigest()
            self.monkeypatch.setattr(kernels, "SHA256", digest)

    def download(self, requirement: str, folder: Path) -> None:
        assert requirement == "aidge-export-arm-cortexm==0.2.1"
        self.asked += 1
        shutil.copy(self.wheel, folder)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("SNAP_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def index(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    return Index(tmp_path, monkeypatch)


def files_in(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_fetched_once_and_only_what_is_needed(index: Index, cache: Path) -> None:
    folder = kernels.cmsis_nn_dir(None)
    assert folder.parent == cache
    assert files_in(folder) == UNPACKED
    assert kernels.cmsis_nn_dir(None) == folder
    assert index.asked == 1
    assert list(cache.iterdir()) == [folder]


def test_a_cache_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SNAP_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    Index(tmp_path, monkeypatch)
    assert tmp_path in kernels.cmsis_nn_dir(None).parents


def test_another_wheel_is_refused(index: Index, cache: Path) -> None:
    index.offer({**FILES, f"{TREE}/Source/Some/arm_a.c": "evil"}, known=False)
    with pytest.raises(ArtifactError, match="another aidge-export-arm-cortexm") as caught:
        kernels.cmsis_nn_dir(None)
    assert kernels.SHA256 in str(caught.value.hint)
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("name", ["../../evil.c", "Some/../../../../evil.c", "..\\evil.c"])
def test_no_file_leaves_its_folder(index: Index, cache: Path, name: str) -> None:
    index.offer({**FILES, f"{TREE}/Source/{name}": "evil"})
    with pytest.raises(ArtifactError, match="outside of its folder"):
        kernels.cmsis_nn_dir(None)
    assert not list(cache.parent.rglob("*evil*"))
    assert list(cache.iterdir()) == []


def test_a_wheel_without_the_kernels(index: Index) -> None:
    index.offer({"aidge_export_arm_cortexm/__init__.py": ""})
    with pytest.raises(ArtifactError, match="holds no CMSIS-NN"):
        kernels.cmsis_nn_dir(None)


def test_a_wheel_that_is_no_archive(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    index.wheel.write_bytes(b"not a zip")
    monkeypatch.setattr(kernels, "SHA256", hashlib.sha256(b"not a zip").hexdigest())
    with pytest.raises(ArtifactError, match="damaged"):
        kernels.cmsis_nn_dir(None)


def test_a_killed_fetch_leaves_what_was_there(
    index: Index, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted at its last step but one, once into an empty cache, once over a copy."""

    def killed(source: Path, target: Path) -> None:
        raise KeyboardInterrupt

    for content in ([], [kernels.fetch_cmsis_nn()]):
        for path in [] if content else cache.iterdir():
            shutil.rmtree(path)
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", killed)
            with pytest.raises(KeyboardInterrupt):
                kernels.fetch_cmsis_nn()
        assert list(cache.iterdir()) == content
        if content:
            assert kernels.cached_cmsis_nn() == content[0]
        kernels.fetch_cmsis_nn()


@pytest.mark.parametrize("damage", ["missing", "changed", "no sums", "empty sums", "odd sums"])
def test_a_damaged_cache_is_fetched_again(index: Index, damage: str) -> None:
    folder = kernels.cmsis_nn_dir(None)
    source, sums = folder / "Source/Some/arm_a.c", folder / "SHA256SUMS"
    match damage:
        case "missing":
            source.unlink()
        case "changed":
            source.write_text("void arm_a(void)\n{\n  }\n")
        case "no sums":
            sums.unlink()
        case "empty sums":
            sums.write_text("")
        case "odd sums":
            sums.write_text("nonsense\n")
    assert kernels.cached_cmsis_nn() is None
    assert kernels.cmsis_nn_dir(None) == folder
    assert index.asked == 2
    assert files_in(folder) == UNPACKED
    assert source.read_text() == FILES[f"{TREE}/Source/Some/arm_a.c"]


def test_a_cache_that_cannot_be_written(index: Index, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    with pytest.raises(ArtifactError, match="cannot be written") as caught:
        kernels.cmsis_nn_dir(None)
    assert "SNAP_CACHE_DIR" in str(caught.value.hint)


def test_another_fetch_was_quicker(
    index: Index, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = kernels.fetch_cmsis_nn()
    monkeypatch.setattr(Path, "exists", lambda self: False)  # what this fetch saw at first
    assert kernels.fetch_cmsis_nn() == folder
    assert files_in(folder) == UNPACKED


def test_without_a_network(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real pip, which is told to ask nobody."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(ToolchainError, match="cannot be fetched: pip cannot download") as caught:
        kernels.cmsis_nn_dir(None)
    hint = str(caught.value.hint)
    for word in (kernels.WHEEL, "snap kernels fetch", "--cmsis-nn DIR"):
        assert word in hint
    assert list(cache.iterdir()) == []


def test_a_copy_of_the_user(index: Index, tmp_path: Path) -> None:
    own = tmp_path / "own"
    for missing in ("everything", "Source", "header", None):
        shutil.rmtree(own, ignore_errors=True)
        if missing != "everything":
            (own / "Include").mkdir(parents=True)
        if missing not in ("everything", "Source"):
            (own / "Source/Some").mkdir(parents=True)
            (own / "Source/Some/arm_a.c").write_text("")
        if missing not in ("everything", "header"):
            (own / "Include/arm_nnfunctions.h").write_text("")
        if missing:
            with pytest.raises(UsageError, match="is not a CMSIS-NN source tree"):
                kernels.cmsis_nn_dir(own)
    assert kernels.cmsis_nn_dir(own) == own
    assert index.asked == 0


def test_the_commands(index: Index, cache: Path) -> None:
    listed = snap("kernels", "list")
    assert (listed.code, listed.err) == (0, "")
    assert "not fetched" in listed.out
    assert "snap kernels fetch" in listed.out
    assert snap("kernels", "list", "--json").json[-1] == {
        "name": "cmsis-nn",
        "version": None,
        "folder": None,
    }
    fetched = snap("kernels", "fetch", "--json")
    folder = str(cache / "cmsis-nn-5.0.0")
    assert fetched.json == {"name": "cmsis-nn", "version": "5.0.0", "folder": folder}
    again = snap("kernels", "fetch")
    assert again.out == f"cmsis-nn 5.0.0 is in {folder}\n"
    assert index.asked == 1
    listed = snap("kernels", "list")
    assert folder in listed.out
    assert "not fetched" not in listed.out
    names = [source["name"] for source in snap("kernels", "list", "--json").json]
    assert names == ["snap", "reference", "cmsis-nn"]


def test_the_commands_say_what_is_wrong(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(requirement: str, folder: Path) -> None:
        raise ToolchainError("pip cannot download it: no network", "Check the network.")

    monkeypatch.setattr(toolchain, "download_wheel", refuse)
    outcome = snap("kernels", "fetch")
    assert outcome.code == ToolchainError.exit_code
    assert "no network" in outcome.error()[0]
    assert "--cmsis-nn DIR" in outcome.error()[1]
    assert snap("kernels").code == UsageError.exit_code
