"""What --labels says, in all its forms."""

import csv
import io
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.data.user.labels import Labels, read_labels
from snapcli.errors import ArtifactError, ConfigError, SnapError, UsageError

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1)


def refused(kind: type[SnapError], message: str, text: Path | str, classes: int = 3) -> None:
    with pytest.raises(kind, match=message) as caught:
        read_labels(str(text), classes)
    assert "\n" not in caught.value.message
    assert caught.value.hint


def file(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, "utf-8")
    return path


def test_nothing_says_nothing() -> None:
    assert read_labels("", 3) == Labels()


def test_names_come_with_commas_or_line_by_line(tmp_path: Path) -> None:
    names = ("Yes", "no", "_unknown_")
    assert read_labels("Yes, no,_unknown_", 3).names == names
    for text in ("Yes\nno\n_unknown_\n", "\ufeffYes\r\n no \r\n\r\n_unknown_"):
        assert read_labels(str(file(tmp_path, "names.txt", text)), 3).names == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b", "--labels names 2 classes, the model answers with 3"),
        ("cat", "--labels names 1 classes"),
        ("a,b,c,d", "--labels names 4 classes"),
        ("a,,c", "--labels has an empty name"),
        ("a,b,A", "--labels names 'A' twice"),
        ("unknown,b,_unknown_", "'_unknown_' twice"),
    ],
)
def test_names_that_do_not_fit_are_told(text: str, message: str, tmp_path: Path) -> None:
    refused(ConfigError, message, text)
    if ",," not in text:
        path = file(tmp_path, "names.txt", text.replace(",", "\n"))
        refused(ConfigError, re.escape(message.replace("--labels", str(path))), path)


@pytest.mark.parametrize("name", ["gone.txt", "gone.csv", "gone.npy"])
def test_a_file_that_is_not_there_is_told(name: str) -> None:
    refused(UsageError, f"there is no {name}", name)


def test_other_files_are_refused(tmp_path: Path) -> None:
    refused(UsageError, r"names\.json cannot say", file(tmp_path, "names.json", "[]"))


@pytest.mark.parametrize("name", ["names.txt", "names.csv"])
def test_what_is_no_text_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff\xfe\x00caf\xe9")
    refused(ArtifactError, "cannot be read", tmp_path / name)


@given(st.dictionaries(WORDS, WORDS, min_size=1), st.booleans())
def test_rows_are_read_as_any_writer_wrote_them(rows: dict[str, str], header: bool) -> None:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows([("file", "label")] * header + list(rows.items()))
    first = next(iter(rows.items()))
    if not header and first[0].lower() == "file" and first[1].lower() == "label":
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.csv"
        path.write_text(out.getvalue(), "utf-8", newline="")
        assert read_labels(str(path), 3).rows == rows


@pytest.mark.parametrize("header", ["", "file,label\n", "Filename, Class\n", "\n"])
def test_a_header_is_no_row(tmp_path: Path, header: str) -> None:
    path = file(tmp_path, "labels.csv", header + "1.wav,yes\n 2 , no\n\n3,1\n")
    assert read_labels(str(path), 2).rows == {"1.wav": "yes", "2": "no", "3": "1"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has no labels"),
        ("file,label\n", "has no labels"),
        ("a,1\nb\n", "line 2 of .* has not two columns"),
        ("a;1\n", "line 1 of .* has not two columns"),
        ("file,label\na,1,2\n", "line 2 of"),
        ("a,1\n\nb,\n", "line 3 of"),
        ("a,1\nb,1\na,2\n", "has 'a' twice"),
    ],
)
def test_rows_that_mean_nothing_are_told(tmp_path: Path, content: str, message: str) -> None:
    refused(ConfigError, message, file(tmp_path, "labels.csv", content))


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int16])
def test_answers_are_whole_numbers(tmp_path: Path, dtype: type) -> None:
    np.save(tmp_path / "y.npy", np.array([2, 0, 1], dtype))
    answers = read_labels(str(tmp_path / "y.npy"), 3).answers
    assert answers is not None
    assert answers.dtype == np.int64
    assert answers.tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([0.0, 1.0]), r"\(2,\) of float64"),
        (np.array(["a", "b"]), r"\(2,\) of <U1"),
        (np.eye(3, dtype=int), r"\(3, 3\) of int64"),
        (np.array([0, 3]), "the label 3, the model's outputs are 0 to 2"),
        (np.array([0, -1]), "the label -1"),
    ],
)
def test_other_answers_are_told(tmp_path: Path, array: np.ndarray, message: str) -> None:
    np.save(tmp_path / "y.npy", array)
    refused(ConfigError, message, tmp_path / "y.npy")


def test_files_that_are_no_array_are_told(tmp_path: Path) -> None:
    path = tmp_path / "y.npy"
    np.save(path, np.array([{}]), allow_pickle=True)
    for content in (path.read_bytes(), b"", b"no array"):
        path.write_bytes(content)
        refused(ArtifactError, "cannot be read", path)
    with path.open("wb") as raw:
        np.savez(raw, y=np.arange(3))
    refused(ArtifactError, "not an array that numpy", path)
