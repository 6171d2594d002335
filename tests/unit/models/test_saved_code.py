"""Models that would run code: nothing of it runs unless it is allowed."""

import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snapcli.errors import SnapError, UsageError
from snapcli.models.finished import load_finished
from snapcli.models.saved_code import refuse_code

from ...conftest import need
from .small_models import KERAS, answers, classifier, inputs, library, saved

pytestmark = pytest.mark.slow

TRACE = Path("trace")
MODULE = """
from pathlib import Path
import {keras}
Path("trace").touch()

class Doubled({keras}.layers.Layer):
    def call(self, x):
        return x * 2.0
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder of its own, in which any code of a model leaves a file; the path of modules and
    the modules themselves are afterwards what they were."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("their_layers", None)


# Its code goes into the file, so it can use nothing from here.
tracing = lambda x: (__import__("pathlib").Path("trace").touch(), x * 2.0)[1]  # noqa: E731


def refused(path: Path) -> UsageError:
    """Loads without permission; nothing may have happened."""
    TRACE.unlink(missing_ok=True)
    with pytest.raises(UsageError) as told:
        load_finished(path, allow_code=False)
    assert not TRACE.exists()
    assert "--allow-code" in str(told.value.hint)
    return told.value


def check_allowed(path: Path, model: Any) -> None:
    """Loads with permission: the code runs, and the model computes what it did."""
    TRACE.unlink(missing_ok=True)
    x = inputs(32)
    finished = load_finished(path, allow_code=True)
    found = answers(finished.convert(x), x)
    assert TRACE.exists()
    assert np.abs(found - model.predict(x, verbose=0)).max() < 0.1


@pytest.mark.parametrize("form", ["keras", "h5"])
@pytest.mark.parametrize("version", ["3", "2"])
def test_a_lambda_runs_only_if_allowed(version: str, form: str, tmp_path: Path) -> None:
    need(tensorflow=True)
    keras = library(version)
    model = classifier(keras, keras.layers.Lambda(tracing, name="sly"))
    path = saved(model, form, tmp_path)
    assert "layer 'sly'" in refused(path).message
    check_allowed(path, model)


@pytest.mark.parametrize("form", ["keras", "h5"])
@pytest.mark.parametrize("version", ["3", "2"])
def test_a_lambda_inside_of_a_nested_model_is_found(
    version: str, form: str, tmp_path: Path
) -> None:
    need(tensorflow=True)
    keras = library(version)
    deep = keras.Sequential([keras.Input((6, 6, 4)), keras.layers.Lambda(tracing, name="sly")])
    path = saved(
        classifier(keras, keras.Sequential([keras.Input((6, 6, 4)), deep])), form, tmp_path
    )
    assert "layer 'sly'" in refused(path).message


@pytest.mark.parametrize("version", ["3", "2"])
def test_a_class_of_ones_own_is_imported_only_if_allowed(version: str, tmp_path: Path) -> None:
    need(tensorflow=True)
    keras = library(version)
    Path("their_layers.py").write_text(MODULE.format(keras=KERAS[version]))
    sys.path.insert(0, str(tmp_path))
    import their_layers  # type: ignore[import-not-found]

    model = classifier(keras, their_layers.Doubled(name="own"))
    files = [saved(model, form, tmp_path) for form in ("keras", "h5")]
    del sys.modules["their_layers"]
    sys.path.remove(str(tmp_path))
    for path in files:
        message = refused(path).message
        assert "layer 'own'" in message
        assert "Doubled" in message
        assert "their_layers" not in sys.modules
    check_allowed(files[0], model)


def test_a_class_that_cannot_be_found_is_told_even_if_allowed(tmp_path: Path) -> None:
    need(tensorflow=True)
    path = changed(tmp_path, "Softmax", {"module": "no_such_module", "class_name": "Odd"})
    with pytest.raises(SnapError, match=r"no_such_module\.Odd, which cannot be imported"):
        load_finished(path, allow_code=True)


def changed(folder: Path, name: str, new: dict[str, Any]) -> Path:
    """A .keras file in which one layer is replaced by hand."""
    path = saved(classifier(library("2")), "keras", folder)
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    config = json.loads(members["config.json"])
    for layer in config["config"]["layers"]:
        if layer["class_name"] == name:
            layer.update(registered_name=None, **new)
    members["config.json"] = json.dumps(config).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return path


@pytest.mark.parametrize(
    "part",
    [
        {"module": "builtins", "class_name": "exec", "config": {}},
        {"module": "os", "class_name": "function", "config": "system"},
        {"module": "keras.utils", "class_name": "function", "config": "get_file"},
        {"module": "keras.layers", "class_name": "TFSMLayer", "config": {"filepath": "x"}},
        {"module": "keras.layers", "class_name": "StringLookup", "config": {}},
        {"module": "keras_evil.layers", "class_name": "Dense", "config": {}},
        {"class_name": "TFOpLambda", "config": {"function": "io.write_file"}},
        {"class_name": "TensorFlowOpLayer", "config": {"node_def": "WriteFile"}},
        {"module": "keras.layers", "class_name": "Dense", "registered_name": "their>Dense"},
        {"class_name": "__lambda__", "config": {"value": "4wAAAA=="}},
        {"class_name": "__typespec__", "spec_name": "Popen", "module": "subprocess"},
        {"class_name": ["Dense"], "config": {}},
        {"module": 3, "class_name": "Dense", "config": {}},
        {"module": "builtins", "class_name": "function", "config": "theirs"},
        {"class_name": "TimeDistributed", "config": {"layer": {"class_name": "Lambda"}}},
    ],
)
def test_what_may_run_code_is_refused(part: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"of m\.keras"):
        refuse_code({"class_name": "Functional", "config": {"layers": [part]}}, "m.keras")


@pytest.mark.parametrize(
    "part",
    [
        {"module": "keras.layers", "class_name": "Dense", "registered_name": None},
        {"module": "tf_keras.src.engine.functional", "class_name": "Functional"},
        {"module": "keras.src.ops.numpy", "class_name": "Mean", "registered_name": "Mean"},
        {"module": "builtins", "class_name": "function", "config": "relu"},
        {"class_name": "TFOpLambda", "config": {"function": "math.multiply"}},
        {"class_name": "SlicingOpLambda", "config": {"function": "__operators__.getitem"}},
        {"class_name": "Conv2D", "config": {"name": "Lambda", "activation": "relu"}},
    ],
)
def test_what_only_computes_passes(part: dict[str, Any]) -> None:
    refuse_code({"class_name": "Sequential", "config": [part]}, "m.h5")


plain = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
harmless = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["config", "layers", "name", "x"]), inner, max_size=3)
    ),
)


@given(harmless, st.lists(st.sampled_from(["config", "layer", 0, 1]), max_size=8))
def test_a_lambda_is_found_wherever_it_hides(rest: Any, places: list[str | int]) -> None:
    refuse_code(rest, "m")
    found: Any = {"class_name": "Lambda", "config": rest}
    for place in places:
        found = {place: found, "name": rest} if isinstance(place, str) else [rest, found, rest]
    with pytest.raises(UsageError, match="Lambda"):
        refuse_code(found, "m")


def test_a_name_cannot_break_the_message() -> None:
    part = {"class_name": "Lambda", "config": {"name": "a\n\x1b[2Jerror: b" + "c" * 500}}
    with pytest.raises(UsageError) as told:
        refuse_code(part, "m")
    assert told.value.message.isprintable()
    assert len(told.value.message) < 200


def test_a_very_deep_configuration_is_walked() -> None:
    found: Any = {"class_name": "Lambda"}
    for _ in range(100_000):
        found = [found]
    with pytest.raises(UsageError):
        refuse_code(found, "m")
