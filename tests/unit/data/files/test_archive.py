"""Archives are unpacked whole, and never outside of their folder."""

import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from snapcli.data.files.archive import read_members, unpack
from snapcli.errors import ArtifactError


def tar(path: Path, members: dict[str, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as file:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    return path


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def content(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "zip"])
@pytest.mark.parametrize("top", ["", "./", "toy/", "./toy/"])
def test_files_land_in_the_folder_whatever_the_archive_calls_its_top(
    tmp_path: Path, kind: str, top: str
) -> None:
    members = {f"{top}{name}": name.encode() for name in ("a.txt", "b/c.txt", "b/d/e.txt")}
    path = tmp_path / f"archive.{kind}"
    zipped(path, members) if kind == "zip" else tar(path, members, "w" if kind == "tar" else "w:gz")
    unpack(path, tmp_path / "out", "toy")
    found = content(tmp_path / "out")
    assert found == {f"toy/{n}": n.encode() for n in ("a.txt", "b/c.txt", "b/d/e.txt")}


ESCAPES = ["../evil", "/evil", "a/../../evil", "..", "C:\\evil", "a\\..\\evil"]


@pytest.mark.parametrize("name", ESCAPES)
@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_a_member_that_leaves_the_folder_is_refused_and_leaves_nothing(
    tmp_path: Path, name: str, kind: str
) -> None:
    path = tmp_path / f"archive.{kind}"
    members = {"good.txt": b"1", name: b"2"}
    zipped(path, members) if kind == "zip" else tar(path, members)
    before = content(tmp_path)
    with pytest.raises(ArtifactError, match="outside of its folder"):
        unpack(path, tmp_path / "out", "toy")
    assert content(tmp_path) == before
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "archive.tar"
    with tarfile.open(path, "w") as file:
        info = tarfile.TarInfo("link")
        info.type, info.linkname = kind, "/etc/passwd"
        file.addfile(info)
    with pytest.raises(ArtifactError, match="which is not a file"):
        unpack(path, tmp_path / "out", "toy")


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w") as file:
        entry = zipfile.ZipInfo("link")
        entry.external_attr = 0o120777 << 16
        file.writestr(entry, "/etc/passwd")
    with pytest.raises(ArtifactError, match="which is not a file"):
        unpack(path, tmp_path / "out", "toy")


@pytest.mark.parametrize("kept", [0, 10, 0.5, 0.9])
@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_a_damaged_archive_is_an_error_and_leaves_nothing(
    tmp_path: Path, kind: str, kept: float
) -> None:
    path = tmp_path / f"archive.{kind}"
    noise = bytes(range(256)) * 400
    members = {"a": noise, "b": noise[::-1]}
    zipped(path, members) if kind == "zip" else tar(path, members)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(kept * len(whole)) if kept < 1 else int(kept)])
    with pytest.raises(ArtifactError, match="cannot be unpacked"):
        unpack(path, tmp_path / "out", "toy")
    assert not (tmp_path / "out" / "toy").exists()


@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_a_wrong_byte_is_an_error_and_leaves_nothing(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"archive.{kind}"
    noise = np.random.default_rng(0).bytes(30_000)
    members = {"a": noise, "b": noise[::-1]}
    zipped(path, members) if kind == "zip" else tar(path, members)
    whole = path.read_bytes()
    for place in range(100, 60_000, 2_500):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with pytest.raises(ArtifactError, match="cannot be unpacked"):
            unpack(path, tmp_path / "out", "toy")
        assert list((tmp_path / "out").iterdir()) == []


def test_named_files_of_a_tar_are_read_and_no_others(tmp_path: Path) -> None:
    path = tar(tmp_path / "a.tar.gz", {"a": b"1", "b/c": b"2", "d": b"3"})
    assert read_members(path, {"b/c", "d", "e"}) == {"b/c": b"2", "d": b"3"}


def test_an_earlier_folder_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "out" / "toy").mkdir(parents=True)
    (tmp_path / "out" / "toy" / "old").touch()
    unpack(tar(tmp_path / "a.tar.gz", {"new": b"1"}), tmp_path / "out", "toy")
    assert content(tmp_path / "out") == {"toy/new": b"1"}
