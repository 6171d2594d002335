"""`snap data` as its user meets it, on small copies of the published data sets."""

import hashlib
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snapcli.cli import render
from snapcli.data.files import catalogue
from snapcli.data.files.catalogue import SOURCES, Source
from tests.conftest import snap
from tests.unit.data.layouts import (
    write_cifar10,
    write_fashion_mnist,
    write_mnist,
    write_mnist_c,
    write_svhn,
    write_tinyimagenet,
)

USAGE, CONFIG, ARTIFACT, CHECK = 2, 3, 4, 7


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("copies")
    for write in (write_mnist, write_fashion_mnist, write_cifar10, write_svhn, write_tinyimagenet):
        write(root)
    return root


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data but those that a test names, and no network."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SNAP_DATA_DIR", raising=False)
    monkeypatch.setenv("SNAP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    for name, source in SOURCES.items():
        local = off_line(source)
        monkeypatch.setitem(SOURCES, name, local)
        for constant, value in list(vars(catalogue).items()):
            if value is source:
                monkeypatch.setattr(catalogue, constant, local)


def off_line(source: Source) -> Source:
    """Nobody listens on that port."""
    files = (replace(f, url=f"http://127.0.0.1:9/{f.name}") for f in source.files)
    return replace(source, files=tuple(files))


@pytest.fixture
def mine(copies: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return shutil.copytree(copies, tmp_path / "mine")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A user's own: two classes of ten, and one broken image."""
    rng = np.random.default_rng(0)
    for name in ("cats", "dogs"):
        (tmp_path / "pets" / name).mkdir(parents=True)
        for i in range(11):
            array = rng.integers(0, 256, (10, 10, 3), np.uint8)
            Image.fromarray(array).save(tmp_path / "pets" / name / f"{i}.png")
    (tmp_path / "pets" / "cats" / "0.png").write_bytes(b"broken")
    return tmp_path / "pets"


# ---- list ---------------------------------------------------------------------


def test_list_says_where_each_data_set_is(copies: Path) -> None:
    found = {s["name"]: s for s in snap("data", "list", "--data-dir", str(copies), "--json").json}
    assert set(found) == set(SOURCES)
    here = {name: s["place"] for name, s in found.items() if s["place"]}
    assert here == {
        "mnist": str(copies / "mnist"),
        "fashion-mnist": str(copies / "fashion-mnist"),
        "cifar10": str(copies / "cifar10"),
        "svhn": str(copies / "svhn"),
        "tinyimagenet": str(copies / "tiny-imagenet-200"),
    }
    assert found["cifar10"]["size_bytes"] == 170_498_071
    assert found["esc50"]["size_bytes"] == 0
    assert all(s["licence"] and s["home"].startswith("http") for s in found.values())


def test_list_as_a_table(copies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SNAP_DATA_DIR", str(copies))
    outcome = snap("data", "list")
    assert (outcome.code, outcome.err) == (0, "")
    words = " ".join(outcome.out.split())
    assert "inside scikit-learn" in words
    assert "fetch 2,429 MB" in words
    assert "by hand" in words
    assert all(name in words for name in SOURCES)
    assert "fetch 170 MB" not in words


def test_a_data_directory_that_is_not_there_is_told() -> None:
    for command in (("list",), ("verify",), ("fetch", "mnist"), ("info", "mnist")):
        outcome = snap("data", *command, "--data-dir", "nowhere")
        assert outcome.code == USAGE
        assert "nowhere" in outcome.error()[0]


# ---- fetch --------------------------------------------------------------------


def test_fetch_leaves_what_is_here(copies: Path) -> None:
    before = {p: p.stat().st_mtime_ns for p in copies.rglob("*")}
    arguments = ("data", "fetch", "mnist", "svhn", "--data-dir", str(copies))
    outcome = snap(*arguments)
    assert outcome.code == 0
    assert outcome.out.splitlines() == [
        f"mnist is in {copies / 'mnist'}",
        f"svhn is in {copies / 'svhn'}",
    ]
    assert [s["name"] for s in snap(*arguments, "--json").json] == ["mnist", "svhn"]
    assert {p: p.stat().st_mtime_ns for p in copies.rglob("*")} == before


def test_fetch_without_a_network_says_what_to_do(tmp_path: Path) -> None:
    outcome = snap("data", "fetch", "mnist")
    assert outcome.code == ARTIFACT
    error, hint = outcome.error()
    assert "http://127.0.0.1:9/train-images-idx3-ubyte.gz cannot be fetched" in error
    assert "SNAP_DATA_DIR" in hint
    assert str(tmp_path / "cache" / "data" / "mnist") in hint


def test_fetch_of_what_has_no_download_says_where_it_is() -> None:
    outcome = snap("data", "fetch", "esc50")
    assert outcome.code == ARTIFACT
    error, hint = outcome.error()
    assert "esc50 has no download with a known hash" in error
    assert "https://github.com/karolpiczak/ESC-50" in hint


@pytest.mark.parametrize("command", ["fetch", "verify"])
def test_an_unknown_name_gets_a_suggestion(command: str) -> None:
    outcome = snap("data", command, "minst")
    assert outcome.code == USAGE
    assert outcome.error() == (
        "there is no data set 'minst' to fetch",
        "Did you mean mnist?",
    )


# ---- verify -------------------------------------------------------------------


def statuses(*arguments: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for check in snap("data", "verify", *arguments, "--json").json["files"]:
        found.setdefault(check["source"], set()).add(check["status"])
    return found


def test_verify_reads_all_that_is_here(copies: Path) -> None:
    outcome = snap("data", "verify", "--data-dir", str(copies), "--json")
    assert outcome.code == 0
    assert outcome.json["loaded"] == ["mnist", "cifar10", "tinyimagenet"]
    assert statuses("--data-dir", str(copies)) == {
        "mnist": {"differs"},
        "fashion-mnist": {"differs"},
        "cifar10": {"differs"},
        "svhn": {"differs"},
        "tinyimagenet": {"unpacked"},
    }
    text = snap("data", "verify", "--data-dir", str(copies)).out
    assert "Read without an error: mnist, cifar10, tinyimagenet" in text
    assert "not the publisher's bytes" in text
    assert "unpacked: no archive to compare" in text


def test_verify_knows_the_publisher_s_bytes(copies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file,) = SOURCES["svhn"].files
    digest = hashlib.sha256((copies / "svhn" / file.name).read_bytes()).hexdigest()
    known = replace(SOURCES["svhn"], files=(replace(file, sha256=digest),))
    monkeypatch.setitem(SOURCES, "svhn", known)
    assert statuses("svhn", "--data-dir", str(copies)) == {"svhn": {"published"}}
    assert "as published" in snap("data", "verify", "svhn", "--data-dir", str(copies)).out


def test_verify_takes_sounds_that_were_put_there_by_hand(tmp_path: Path) -> None:
    (tmp_path / "root" / "esc50").mkdir(parents=True)
    (tmp_path / "root" / "esc50" / "1.wav").touch()
    assert statuses("esc50", "--data-dir", str(tmp_path / "root")) == {"esc50": {"unpacked"}}


@pytest.mark.parametrize(("name", "other"), [("mnist", "fashion-mnist"), ("cifar10", "svhn")])
def test_verify_does_not_download_what_a_data_set_lacks(mine: Path, name: str, other: str) -> None:
    shutil.rmtree(mine / other)
    for arguments in ((), (name,)):
        outcome = snap("data", "verify", *arguments, "--data-dir", str(mine), "--json")
        assert outcome.code == 0, outcome.err
        assert name not in outcome.json["loaded"]
        assert statuses(*arguments, "--data-dir", str(mine))[other] == {"missing"}
    assert "not here, but needed" in snap("data", "verify", name, "--data-dir", str(mine)).out


def test_verify_of_what_is_not_here_fails(mine: Path) -> None:
    shutil.rmtree(mine / "svhn")
    outcome = snap("data", "verify", "svhn", "--data-dir", str(mine))
    assert outcome.code == CHECK
    assert outcome.error() == ("svhn is not here", "Get it: snap data fetch svhn")


def test_verify_without_any_data_says_so(tmp_path: Path) -> None:
    outcome = snap("data", "verify")
    assert outcome.code == 0
    assert "Read without an error: none" in outcome.out


def test_verify_finds_damage(mine: Path) -> None:
    path = mine / "mnist" / "t10k-labels-idx1-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-9])
    outcome = snap("data", "verify", "mnist", "--data-dir", str(mine))
    assert outcome.code == ARTIFACT
    assert str(path) in outcome.error()[0]


def test_verify_is_strict_about_broken_images(mine: Path) -> None:
    path = mine / "tiny-imagenet-200" / "val" / "images" / "val_3.JPEG"
    path.write_bytes(b"broken")
    outcome = snap("data", "verify", "tinyimagenet", "--data-dir", str(mine))
    assert outcome.code == ARTIFACT
    assert str(path) in outcome.error()[0]


# ---- info ---------------------------------------------------------------------


def test_info_of_a_published_data_set(mine: Path) -> None:
    write_mnist_c(mine, ("fog", "zigzag"))
    found = snap("data", "info", "mnist", "--data-dir", str(mine), "--json").json
    assert found["name"] == "mnist"
    assert found["input_shape"] == [28, 28, 1]
    assert {split: sum(c.values()) for split, c in found["counts"].items()} == {
        "train": 180,
        "dev": 20,
        "test": 40,
    }
    assert found["counts"]["dev"] == {str(digit): 2 for digit in range(10)}
    assert found["ood"] == {"fashion-mnist": 30}
    assert len(found["corruptions"]) == 15
    assert found["published_corruptions"] == ["fog", "zigzag"]
    assert found["severities"]["fog"] == found["severities"]["zigzag"] == 1
    assert sorted(found["severities"].values()) == [1, 1] + 13 * [5]
    assert found["notes"] == []
    told = snap("data", "info", "mnist", "--data-dir", str(mine)).out
    assert re.search(r"of one severity on test +│? *fog, zigzag", told)


def test_accuracy_of_types_with_one_severity_has_no_number() -> None:
    assert render.by_severity({"0": 0.5}) == [("accuracy, corrupted (one severity)", "50.0 %")]
    assert render.by_severity({"0": 0.5, "1": 0.9, "5": 0.6}, labelled=False) == [
        ("same answers, severity 1 - 5", "90.0 % / 60.0 %"),
        ("same answers, corrupted (one severity)", "50.0 %"),
    ]
    assert render.by_severity({}) == []


def test_info_as_tables(copies: Path) -> None:
    outcome = snap("data", "info", "tinyimagenet", "--data-dir", str(copies))
    assert (outcome.code, outcome.err) == (0, "")
    words = " ".join(re.sub("[│╭╮╰╯─]", " ", outcome.out).split())
    assert "input 64 x 64 x 3" in words
    assert "train 43, dev 5, test 16" in words
    assert "foreign other-classes 16" in words
    assert "glass_blur" in words
    assert re.search(r"thing \d 1[01] [12] 4", words)


def test_info_of_digits_needs_no_data() -> None:
    found = snap("data", "info", "digits", "--json").json
    assert sum(sum(c.values()) for c in found["counts"].values()) == 1_797


def test_info_of_a_user_s_own_images(photos: Path) -> None:
    outcome = snap("data", "info", str(photos), "--image-size", "16", "--json")
    assert outcome.code == 0, outcome.err
    found = outcome.json
    assert found["input_shape"] == [16, 16, 3]
    assert {split: list(c) for split, c in found["counts"].items()} == {
        split: ["cats", "dogs"] for split in ("train", "dev", "test")
    }
    assert sum(sum(c.values()) for c in found["counts"].values()) == 21
    assert found["ood"] == {}
    assert found["notes"][1:] == ["1 broken file was skipped", "21 images resized to 16x16"]
    outcome = snap("data", "info", str(photos))
    assert "note: 1 broken file was skipped\n" in outcome.err
    assert "foreign" in outcome.out
    assert "none" in outcome.out


def test_info_is_strict_when_asked(photos: Path) -> None:
    outcome = snap("data", "info", str(photos), "--strict")
    assert outcome.code == ARTIFACT
    assert "0.png" in outcome.error()[0]


def test_info_of_a_relative_path_knows_its_name(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(photos)
    assert snap("data", "info", ".", "--json").json["name"] == "pets"


@pytest.mark.parametrize("command", ["info", "preview"])
@pytest.mark.parametrize(
    ("dataset", "code", "word"),
    [
        ("mnits", USAGE, "unknown data set 'mnits'"),
        ("no/such/folder", USAGE, "there is no no/such/folder"),
        ("mnist", ARTIFACT, "cannot be fetched"),
        ("tinyimagenet", ARTIFACT, "cannot be fetched"),
        ("pets", USAGE, "train.image_size is 1000"),
        ("digits", CONFIG, "digits has images of its own size"),
    ],
)
def test_what_cannot_be_shown_is_told_in_two_lines(
    photos: Path, command: str, dataset: str, code: int, word: str
) -> None:
    size = {"pets": ("--image-size", "1000"), "digits": ("--channels", "3")}
    given = size.get(dataset, ())
    outcome = snap("data", command, dataset, *given)
    assert outcome.code == code, outcome.err
    assert word in outcome.error()[0]
    assert outcome.out == ""
    assert not Path("preview.png").exists()


# ---- preview ------------------------------------------------------------------


@pytest.mark.parametrize("dataset", ["digits", "mnist", "cifar10", "tinyimagenet"])
def test_preview_writes_a_picture(copies: Path, tmp_path: Path, dataset: str) -> None:
    out = tmp_path / "deep" / "down" / "a.png"
    outcome = snap(
        "data", "preview", dataset, "--out", str(out), "--data-dir", str(copies), "--json"
    )
    assert outcome.code == 0, outcome.err
    assert outcome.json == {"picture": str(out)}
    with Image.open(out) as picture:
        picture.load()
        assert picture.format == "PNG"
        # More lines than there are types of corruptions, each of 80 pixels or more.
        assert picture.height > 80 * (8 if dataset == "digits" else 15)
    assert [p.name for p in out.parent.iterdir()] == ["a.png"]
    assert out.stat().st_mode & 0o777 == 0o644


def test_preview_of_own_images_says_where_it_is(photos: Path, tmp_path: Path) -> None:
    outcome = snap("data", "preview", str(photos))
    assert outcome.out == "Look at preview.png\n"
    with Image.open(tmp_path / "preview.png") as picture:
        assert picture.width > 400


@pytest.mark.parametrize(
    ("place", "code", "word"),
    [("folder", USAGE, ".png"), ("a.jpg", USAGE, ".png"), ("file/a.png", ARTIFACT, "--out")],
)
def test_a_place_that_cannot_be_written_is_told(
    tmp_path: Path, place: str, code: int, word: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    outcome = snap("data", "preview", "digits", "--out", place)
    assert outcome.code == code
    assert word in outcome.error()[1]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]
