"""A function of the user's that returns the examples."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from snapcli.data.corruptions import COMMON
from snapcli.data.wanted import Wanted
from snapcli.errors import ConfigError, UsageError
from tests.unit.data.user.given import (
    KEYWORDS,
    PIXELS,
    RATE,
    SIGNED,
    everything,
    load,
    order,
    position,
    refused,
)

Module = Callable[[str], str]
_NUMBERS = count()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Module:
    """Writes a module with a function `get` into the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def write(body: str) -> str:
        name = f"users_data_{next(_NUMBERS)}"
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        (tmp_path / f"{name}.py").write_text(
            "import numpy as np\n"
            "rng = np.random.default_rng(0)\n"
            "x = rng.uniform(-1, 1, (60, 6, 4))\n"
            "y = np.arange(60) % 3\n"
            f"def get():\n{lines}\n"
        )
        return f"{name}:get"

    return write


@pytest.mark.parametrize(
    ("body", "labelled"),
    [
        ("return x", False),
        ("return x.tolist()", False),
        ("return x, y", True),
        ("return x, None", False),
        ("return x, list(y)", True),
        ("return {'x': x}", False),
        ("return {'x': x, 'y': None}", False),
        ("return {'x': x, 'y': y}", True),
        ("return {'x_train': x[:50], 'y_train': y[:50], 'x_test': x[50:], 'y_test': y[50:]}", True),
    ],
)
def test_arrays_pairs_and_dictionaries(module: Module, body: str, labelled: bool) -> None:
    name = module(body)
    dataset = load(name, SIGNED)
    assert dataset.name == name
    assert dataset.labelled == labelled
    found = everything(dataset)
    assert len(found) == 60
    x = np.random.default_rng(0).uniform(-1, 1, (60, 6, 4)).astype(np.float32)
    for origin, (label, raw) in found.items():
        row = position(origin) + (50 if origin.startswith("test/") else 0)
        np.testing.assert_array_equal(raw, x[row])
        assert label == (row % 3 if labelled else 0)
    assert order(load(name, SIGNED)) == order(dataset)


def test_a_dictionary_holds_all_that_an_npz_may(module: Module) -> None:
    name = module("return {'x': x, 'y': y, 'ood': -x[:4], 'class_names': ['a', 'b', 'c']}")
    dataset = load(name, SIGNED)
    assert dataset.class_names == ("a", "b", "c")
    assert dataset.ood["ood"].shape == (4, 6, 4)


def test_answers_beside_a_function(module: Module, tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", np.arange(60) % 3)
    dataset = load(module("return x"), SIGNED, labels=str(tmp_path / "y.npy"))
    assert all(y == position(o) % 3 for o, (y, _) in everything(dataset).items())


def test_images_are_raw_and_can_be_corrupted(module: Module) -> None:
    name = module("return rng.integers(0, 256, (60, 10, 10, 3), np.uint8)")
    dataset = load(name, PIXELS, augment_dev=True)
    assert list(dataset.corruptions) == list(COMMON)
    assert dataset.shifted("dev", np.arange(2), "fog", 3, 0).dtype == np.uint8


def test_sounds_are_raw_and_can_be_corrupted(module: Module) -> None:
    name = module("return rng.integers(-9000, 9000, (60, 16000), dtype=np.int16)")
    dataset = load(name, KEYWORDS, augment_dev=True)
    assert "reverb" in dataset.corruptions
    assert dataset.shifted("test", np.arange(2), "pitch", 3, 0).shape == (2, RATE)
    assert dataset.identity is not None


def test_a_front_end_of_the_users_own_gets_what_was_given(module: Module, tmp_path: Path) -> None:
    """300 samples are not a sound of ours, and nothing is kept of what may change."""
    name = module("return rng.integers(-9000, 9000, (60, 300), dtype=np.int16)")
    (tmp_path / "users_front_end.py").write_text(
        "def front(x):\n    assert x.shape[1] == 300\n    return x.reshape(-1, 30, 10) / 9000.0\n"
    )
    wanted = Wanted((30, 10), 2, 2 / 255, 0)
    dataset = load(name, wanted, front_end="users_front_end:front")
    assert dataset.front_end(dataset.test.x).shape == (12, 30, 10)
    assert dataset.identity is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return None", "returned NoneType, not an array"),
        ("return x, y, y", "returned tuple, not an array"),
        ("return {'x': object()}", "returned object, not an array"),
        ("return [[1, 2], [3]]", "returned list, not an array"),
        ("return 'a folder'", r"an array \(\) of <U8"),
        ("return {}", "has the arrays none"),
        ("return {'images': x}", "has the arrays images"),
        ("return x, y[1:]", "60 examples but 59 labels"),
        ("return x[:20]", "has 20 examples"),
        ("return x * np.nan", "not numbers"),
        ("return x * 255", "the model expects int8"),
        ("raise OSError('no card\\nin the reader')", "failed with OSError: no card$"),
        ("return get(1)", "failed with TypeError"),
    ],
)
def test_nonsense_is_told(module: Module, body: str, message: str) -> None:
    refused(ConfigError, message, module(body), SIGNED)


def test_what_cannot_be_found_is_told(module: Module) -> None:
    refused(UsageError, "there is no module nowhere_at_all", "nowhere_at_all:get", SIGNED)
    name = module("return x").replace(":get", ":other")
    refused(UsageError, "has no 'other'", name, SIGNED)
