"""SavedModels whose graphs reach for files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snapcli.errors import UsageError
from snapcli.models.finished import load_finished
from snapcli.models.saved_graph import harmless

from ...conftest import need
from .small_models import answers, classifier, library, saved


@pytest.fixture(autouse=True)
def _tensorflow() -> None:
    need(tensorflow=True)
    library("2")


def stored(folder: Path, effect: Callable[[], Any] | None) -> Path:
    """A SavedModel that doubles three numbers and, on the way, has an effect."""
    import tensorflow as tf

    class Doubling(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = tf.Variable(2.0)

        @tf.function(input_signature=[tf.TensorSpec((None, 3), tf.float32)])
        def serve(self, x: Any) -> Any:
            if effect is not None:
                effect()
            return x * self.factor

    module = Doubling()
    path = folder / "saved"
    tf.saved_model.save(module, str(path), signatures=module.serve)
    return path


def message(path: Path) -> Any:
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    return SavedModel.FromString((path / "saved_model.pb").read_bytes())


def test_an_honest_one_is_loaded_with_its_savers_beside_it(tmp_path: Path) -> None:
    path = stored(tmp_path, None)
    functions = message(path).meta_graphs[0].graph_def.library.function
    assert "SaveV2" in {node.op for function in functions for node in function.node_def}
    x = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    found = answers(load_finished(path, False).convert(x), x)
    np.testing.assert_allclose(found, 2 * x, atol=0.06)


@pytest.mark.parametrize("operation", ["WriteFile", "ReadFile", "MatchingFiles", "EagerPyFunc"])
def test_one_that_reaches_out_is_not_loaded(operation: str, tmp_path: Path) -> None:
    import tensorflow as tf

    trace = tmp_path / "trace"
    effect = {
        "WriteFile": lambda: tf.io.write_file(str(trace), "here"),
        "ReadFile": lambda: tf.io.read_file(str(trace)),
        "MatchingFiles": lambda: tf.io.matching_files(str(tmp_path / "*")),
        "EagerPyFunc": lambda: tf.py_function(trace.touch, [], []),
    }[operation]
    path = stored(tmp_path, effect)
    with pytest.raises(UsageError, match=f"operation {operation} ") as told:
        load_finished(path, allow_code=False)
    assert "--allow-code" in str(told.value.hint)
    assert not trace.exists()


def test_with_permission_it_is_loaded(tmp_path: Path) -> None:
    import tensorflow as tf

    path = stored(tmp_path, lambda: tf.io.write_file(str(tmp_path / "trace"), "here"))
    finished = load_finished(path, allow_code=True)
    assert (finished.input_shape, finished.classes) == ((3,), 3)
    finished.call(tf.zeros((1, 3)))
    assert (tmp_path / "trace").read_text() == "here"


def test_an_effect_in_what_is_done_while_loading_is_found(tmp_path: Path) -> None:
    """A table is filled from a file when the model is loaded."""
    import tensorflow as tf

    words = tmp_path / "words.txt"
    words.write_text("a\nb\n")
    line, number = tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
    source = tf.lookup.TextFileInitializer(str(words), tf.string, line, tf.int64, number)
    module = tf.Module()
    module.table = tf.lookup.StaticHashTable(source, -1)
    tf.saved_model.save(module, str(tmp_path / "saved"))
    with pytest.raises(UsageError, match=r"operation (HashTable|InitializeTable)"):
        load_finished(tmp_path / "saved", allow_code=False)


def test_a_saver_that_the_model_calls_is_no_saver(tmp_path: Path) -> None:
    saved_model = message(stored(tmp_path, None))
    harmless(saved_model, "m")
    (meta,) = saved_model.meta_graphs
    functions = {f.signature.name: f for f in meta.graph_def.library.function}
    saver = next(n for n, f in functions.items() if any(d.op == "SaveV2" for d in f.node_def))
    assert saver not in meta.object_graph_def.concrete_functions
    called = next(iter(meta.object_graph_def.concrete_functions))
    node = functions[called].node_def.add(name="sly", op="StatefulPartitionedCall")
    node.attr["f"].func.name = saver
    with pytest.raises(UsageError, match="may reach outside"):
        harmless(saved_model, "m")


def test_a_saver_that_an_object_of_the_model_names_is_no_saver(tmp_path: Path) -> None:
    saved_model = message(stored(tmp_path, None))
    (meta,) = saved_model.meta_graphs
    functions = {f.signature.name: f for f in meta.graph_def.library.function}
    saver = next(n for n, f in functions.items() if any(d.op == "SaveV2" for d in f.node_def))
    meta.object_graph_def.nodes.add().function.concrete_functions.append(saver)
    with pytest.raises(UsageError, match="may reach outside"):
        harmless(saved_model, "m")


def test_what_is_loaded_is_the_graph_that_was_checked_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tensorflow as tf

    path = stored(tmp_path, None)
    (path / "saved_model.pbtxt").write_text("evil")
    (path / "assets.extra").mkdir()
    (path / "assets.extra" / "own_op.so").write_bytes(b"evil")
    seen: list[set[str]] = []
    load = tf.saved_model.load

    def watched(folder: str) -> Any:
        files = (p for p in Path(folder).rglob("*") if p.is_file())
        seen.append({str(p.relative_to(folder)) for p in files})
        graph = message(Path(folder)).meta_graphs[0].graph_def
        seen.append({n.op for n in graph.node})
        return load(folder)

    monkeypatch.setattr(tf.saved_model, "load", watched)
    assert load_finished(path, allow_code=False).classes == 3
    variables = {"variables/variables.index", "variables/variables.data-00000-of-00001"}
    assert seen == [{"saved_model.pb", *variables}, {"Const"}]


def test_a_constant_that_claims_to_be_huge_is_not_made(tmp_path: Path) -> None:
    from snapcli.limits import TooLargeError

    saved_model = message(stored(tmp_path, None))
    (meta,) = saved_model.meta_graphs
    node = meta.graph_def.node.add(name="huge", op="Const")
    for _ in range(3):
        node.attr["value"].tensor.tensor_shape.dim.add(size=1 << 20)
    with pytest.raises(TooLargeError, match="constant 'huge'"):
        harmless(saved_model, "m")


def test_an_operation_that_hides_behind_a_function_of_its_name_is_found(tmp_path: Path) -> None:
    saved_model = message(stored(tmp_path, None))
    (meta,) = saved_model.meta_graphs
    library_ = meta.graph_def.library
    library_.function.add().signature.name = "WriteFile"
    called = next(iter(meta.object_graph_def.concrete_functions))
    (function,) = (f for f in library_.function if f.signature.name == called)
    function.node_def.add(name="sly", op="WriteFile")
    with pytest.raises(UsageError, match="WriteFile"):
        harmless(saved_model, "m")


def test_the_form_of_tensorflow_1_is_refused(tmp_path: Path) -> None:
    """Its loader runs nodes of the graph, so savers are no longer beside the model."""
    saved_model = message(stored(tmp_path, None))
    saved_model.meta_graphs.add().CopyFrom(saved_model.meta_graphs[0])
    with pytest.raises(UsageError, match="TensorFlow 1"):
        harmless(saved_model, "m")
    del saved_model.meta_graphs[1]
    saved_model.meta_graphs[0].ClearField("object_graph_def")
    with pytest.raises(UsageError, match="TensorFlow 1"):
        harmless(saved_model, "m")


@pytest.mark.parametrize("version", ["3", "2"])
def test_augmentation_inside_of_a_model_passes(version: str, tmp_path: Path) -> None:
    keras = library(version)
    layers = keras.layers
    turned = (layers.RandomFlip(), layers.RandomRotation(0.1), layers.RandomZoom(0.1))
    path = saved(classifier(keras, *turned), "export", tmp_path)
    harmless(message(path), "m")
