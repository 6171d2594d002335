"""Heads and decisions that somebody changed: refused, or sound to the last bit."""

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from snapcli.emit import Reference, build_program, emit_model
from snapcli.errors import ArtifactError
from snapcli.monitor.body import HEADS_FILE, MODEL_FILE, save_body
from snapcli.monitor.decision import decision_to_dict
from snapcli.monitor.monitor import CALIBRATION_FILE, Monitor, load_monitor

from ..emit.test_emit import INPUTS, build, library, run
from ..tiny_monitor import HEADS, MAPS, random_inputs, tiny_monitor, tiny_tflite

pytestmark = pytest.mark.slow

__all__ = ["library"]
Arrays = dict[str, NDArray[Any]]
KINDS = [*((k, "gaussian") for k in MAPS), *(("gated", h) for h in HEADS)]
thorough = settings(max_examples=150, suppress_health_check=list(HealthCheck))


def save(monitor: Monitor, folder: Path) -> None:
    save_body(monitor.body, tiny_tflite(), folder)
    text = json.dumps({"device": decision_to_dict(monitor.decision)})
    (folder / CALIBRATION_FILE).write_text(text)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Path]:
    folders = {}
    for kind, head in KINDS:
        folders[kind, head] = tmp_path_factory.mktemp(f"{kind}-{head}")
        save(tiny_monitor(kind, head), folders[kind, head])
    return folders


def arrays_of(path: Path) -> Arrays:
    with np.load(path) as found:
        return dict(found)


def is_sound(folder: Path) -> bool:
    """Whether it loads; then the numbers are computed and C is written, without a complaint."""
    monitor = told = None
    try:
        monitor = load_monitor(folder)
    except ArtifactError as error:
        told = error
    if monitor is None:
        assert told is not None
        assert told.hint
        assert told.message.isprintable()
        return False
    with np.errstate(all="raise"):
        found = monitor.run(random_inputs(3))
    assert (found.uncertainty_q16 <= 1 << 16).all()
    program = build_program(monitor.body.graph, monitor.body, Reference())
    assert emit_model(program, monitor, random_inputs(1)).files
    return True


def copied(source: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    return folder


def reshaped(values: NDArray[Any], how: int) -> NDArray[Any]:
    axis = how % values.ndim if values.ndim else 0
    if not values.ndim:
        return values.reshape(1)
    choices: list[Callable[[], NDArray[Any]]] = [
        lambda: np.concatenate([values, values[:1]]),
        lambda: values[:-1],
        lambda: values.reshape(-1),
        lambda: values[np.newaxis],
        lambda: np.repeat(values, 2, axis=axis),
        lambda: np.swapaxes(values, 0, -1),
        lambda: values[:0],
    ]
    return choices[how % len(choices)]()


def with_value(values: NDArray[Any], how: int) -> NDArray[Any]:
    values = values.copy()
    if values.dtype.kind == "U":
        return np.array([["spatial", "logits", "", "no such", "a" * 300][how % 5]] * values.size)
    if values.dtype.kind == "f":
        values.reshape(-1)[:1] = [np.nan, np.inf, -np.inf, 1e38, -1e38][how % 5]
        return values
    info = np.iinfo(values.dtype)
    value = [info.max, info.min, 0, 1, info.max // 2][how % 5]
    (values.reshape(-1)[how % max(values.size, 1) :][:1])[:] = value
    return values


TYPES = ("int8", "int16", "int32", "int64", "uint8", "float32", "float64", "<U5", "complex64")


@thorough
@given(
    st.sampled_from(KINDS),
    st.integers(0, 200),
    st.sampled_from(["shape", "value", "type", "drop", "add", "rename"]),
    st.integers(0, 200),
)
def test_changed_heads(
    saved: dict[tuple[str, str], Path],
    tmp_path_factory: pytest.TempPathFactory,
    kind: tuple[str, str],
    which: int,
    change: str,
    how: int,
) -> None:
    folder = copied(saved[kind], tmp_path_factory.getbasetemp() / "changed")
    arrays = arrays_of(folder / HEADS_FILE)
    name = sorted(arrays)[which % len(arrays)]
    if change == "shape":
        arrays[name] = reshaped(arrays[name], how)
    elif change == "value":
        arrays[name] = with_value(arrays[name], how)
    elif change == "type":
        arrays[name] = (
            arrays[name].astype(TYPES[how % len(TYPES)], casting="unsafe")
            if (arrays[name].dtype.kind != "U")
            else np.array(how)
        )
    elif change == "drop":
        del arrays[name]
    elif change == "add":
        arrays[f"{name}.more"] = np.zeros(3)
    else:
        arrays[f"{how}.{name}"] = arrays.pop(name)
    np.savez(folder / HEADS_FILE, **arrays)  # type: ignore[arg-type]
    sound = is_sound(folder)
    if change in ("drop", "add", "rename"):
        assert not sound


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    found = [path] if path else []
    for key, part in parts:
        inner = isinstance(part, dict | list)
        found += leaves(part, (*path, key)) if inner else [(*path, key)]
    return found


NOT_JSON = ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400, "[" * 100_000]
OTHER = [None, True, "x", -1, 0, 2**31, 2**32, 2**63, -(2**31), 1e300, 0.5, [], {}, [[]], "score"]


@thorough
@given(
    st.sampled_from(list(MAPS)),
    st.integers(0, 200),
    st.sampled_from(OTHER) | st.sampled_from(NOT_JSON).map(lambda t: (t,)) | st.just("drop"),
)
def test_a_changed_decision(
    saved: dict[tuple[str, str], Path],
    tmp_path_factory: pytest.TempPathFactory,
    kind: str,
    which: int,
    new: Any,
) -> None:
    folder = copied(saved[kind, "gaussian"], tmp_path_factory.getbasetemp() / "changed")
    path = folder / CALIBRATION_FILE
    content = json.loads(path.read_text())
    places = leaves(content)
    *way, last = places[which % len(places)]
    parent = content
    for key in way:
        parent = parent[key]
    if new == "drop":
        del parent[last]
    else:
        parent[last] = "HERE" if isinstance(new, tuple) else new
    text = json.dumps(content)
    path.write_text(text.replace('"HERE"', new[0]) if isinstance(new, tuple) else text)
    sound = is_sound(folder)
    if isinstance(new, tuple):
        assert not sound


@thorough
@given(
    st.sampled_from([HEADS_FILE, CALIBRATION_FILE, MODEL_FILE]),
    st.floats(0, 1, exclude_max=True),
    st.sampled_from(["cut", "flip", "insert"]),
    st.integers(1, 255),
)
def test_damaged_bytes(
    saved: dict[tuple[str, str], Path],
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    where: float,
    damage: str,
    mask: int,
) -> None:
    folder = copied(saved["gated", "gaussian"], tmp_path_factory.getbasetemp() / "changed")
    content = bytearray((folder / name).read_bytes())
    at = int(where * len(content))
    if damage == "cut":
        del content[at:]
    elif damage == "flip":
        content[at] ^= mask
    else:
        content[at:at] = bytes([mask]) * 7
    (folder / name).write_bytes(content)
    is_sound(folder)


def test_a_name_that_comes_twice(saved: dict[tuple[str, str], Path], tmp_path: Path) -> None:
    folder = copied(saved["gated", "gaussian"], tmp_path / "changed")
    with zipfile.ZipFile(folder / HEADS_FILE, "a") as archive, pytest.warns(match="Duplicate name"):
        archive.writestr("0.rank.npy", archive.read("0.rank.npy"))
    with pytest.raises(ArtifactError, match=r"0\.rank is not an array of its own"):
        load_monitor(folder)


def test_a_changed_rank_is_named(saved: dict[tuple[str, str], Path], tmp_path: Path) -> None:
    """The one that gave C that reads out of bounds."""
    folder = copied(saved["gated", "gaussian"], tmp_path / "changed")
    arrays = arrays_of(folder / HEADS_FILE)
    arrays["0.rank"] = np.array(200)
    np.savez(folder / HEADS_FILE, **arrays)  # type: ignore[arg-type]
    with pytest.raises(ArtifactError, match=r"head 0\.projector has the shape") as told:
        load_monitor(folder)
    assert told.value.exit_code == 4


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize("high", [True, False], ids=["high", "low"])
@pytest.mark.parametrize("head", HEADS)
def test_at_the_ends_of_every_range_c_still_equals_numpy(
    head: str,
    high: bool,
    saved: dict[tuple[str, str], Path],
    tmp_path: Path,
    library: list[str],
) -> None:
    """Every number as large, or as small, as it may be: with sanitizers, bit for bit."""
    folder = copied(saved["gated", head], tmp_path / "changed")
    arrays = arrays_of(folder / HEADS_FILE)
    for name, values in arrays.items():
        last = name.rpartition(".")[2]
        ends = {
            "mantissa": (0, 2**31 - 1),
            "offset": (-(2**31), 2**31 - 1),
            "shift": (-31, 30),
            "xi_bias": (-(2**30), 2**30),
            "bias": (-(2**30), 2**30),
            "xi_zero_point": (-(2**24), 2**24),
            "inverse_sigma_q9": (0, 65535),
        }
        if last in ends:
            values[...] = ends[last][high]
        elif values.dtype == np.int8:
            values[...] = 127 if high else -127
    np.savez(folder / HEADS_FILE, **arrays)  # type: ignore[arg-type]
    monitor = load_monitor(folder)
    x = random_inputs(INPUTS // 10)
    expected = monitor.run(x)
    found = run(build(monitor, tmp_path, library), x, len(monitor.body.taps))
    np.testing.assert_array_equal(found["surprisal_q16"], expected.surprisal_q16)
    np.testing.assert_array_equal(found["uncertainty_q16"], expected.uncertainty_q16)
