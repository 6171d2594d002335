"""Backbones by name: their blocks, taps and budgets; and a user's own."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snapcli.errors import ConfigError, UsageError
from snapcli.graph.reader import read_tflite
from snapcli.models import BACKBONES, Tap, default_backbone, load_backbone, own
from snapcli.models.convert import convert_int8

from ...conftest import need

pytestmark = pytest.mark.slow

SHAPES = {
    "dscnn-digits": (16, 16, 1),
    "cnn-mnist": (28, 28, 1),
    "resnet8": (32, 32, 3),
    "dscnn": (98, 40, 1),
    "mobilenetv2": (64, 64, 3),
}


def test_the_default_is_the_one_made_for_the_size() -> None:
    assert set(SHAPES) == set(BACKBONES)
    for name, shape in SHAPES.items():
        assert default_backbone(shape) == name
    assert default_backbone((20, 24, 1)) == "cnn-mnist"


@pytest.mark.parametrize("name", SHAPES)
def test_outputs_are_the_blocks_and_the_logits(name: str) -> None:
    need(tensorflow=True)
    backbone = load_backbone(name)
    model = backbone.build(SHAPES[name], 7)
    assert set(model.output) == {*backbone.outputs, "logits"}
    outputs = model(np.zeros((2, *SHAPES[name]), np.float32))
    assert outputs["logits"].shape == (2, 7)
    for block in backbone.outputs:
        assert len(outputs[block].shape) == 4
    for letter in backbone.letters:
        (tap,) = backbone.taps((letter,))
        assert backbone.outputs.index(tap.before) < backbone.outputs.index(tap.after)


def test_a_block_that_ends_in_a_layer_of_another_name_keeps_its_own() -> None:
    """As some of MobileNetV2 do."""
    need(tensorflow=True)
    from tf_keras import Input, Model, layers

    image = Input((6, 6, 1))
    a = layers.Conv2D(2, 3, name="a")(image)
    b = layers.BatchNormalization(name="b_bn")(layers.Conv2D(2, 3)(a))
    logits = layers.Dense(3, name="logits")(layers.GlobalAveragePooling2D()(b))
    samples = np.random.default_rng(0).normal(size=(2, 6, 6, 1)).astype(np.float32)
    model = Model(image, {"a": a, "b": b, "logits": logits})
    assert set(read_tflite(convert_int8(model, ("a", "b"), samples)).outputs) == set(model.output)


def test_resnet8_is_mlperf_tinys() -> None:
    """78 k parameters; ours normalises its shortcuts, where the reference has biases."""
    need(tensorflow=True)
    model = load_backbone("resnet8").build((32, 32, 3), 10)
    assert sum(v.shape.num_elements() for v in model.trainable_variables) == pytest.approx(
        78_000, rel=0.005
    )


def test_taps_are_named_by_letter_block_or_pair() -> None:
    backbone = load_backbone("dscnn")
    m, p = backbone.taps(("P", "M"))
    assert (m.after, p.after) == ("block2", "block4")
    assert backbone.taps(("block2",)) == (m,)
    assert backbone.taps(("block2", "M")) == (m,)
    assert backbone.taps(("stem:block3",)) == (Tap("stem", "block3", 32),)
    for wrong in ("X", "stem", "block9", "stem:block9", "nowhere:block1", "block3:block1"):
        with pytest.raises(UsageError):
            backbone.taps((wrong,))


@pytest.mark.parametrize(
    ("name", "pairs"),
    {
        "dscnn": {
            "E": ("stem", "block1"),
            "M": ("block1", "block2"),
            "M1": ("block1", "block2"),
            "M2": ("block2", "block3"),
            "P": ("block3", "block4"),
        },
        "resnet8": {
            "E": ("stem", "stage1"),
            "M": ("stage1", "stage2"),
            "M1": ("stage1", "stage2"),
            "M2": ("stage2", "stage3_inner"),
            "P": ("stage2", "stage3"),
        },
    }.items(),
)
def test_letters_name_a_pair(name: str, pairs: dict[str, tuple[str, str]]) -> None:
    backbone = load_backbone(name)
    assert set(backbone.letters) == set(pairs)
    for letter, pair in pairs.items():
        (tap,) = backbone.taps((letter,))
        assert (tap.before, tap.after) == pair


def test_letters_go_with_depth() -> None:
    for backbone in BACKBONES.values():
        depths = [
            backbone.outputs.index(backbone.letters[letter])
            for letter in ("E", "M1", "M2", "P")
            if letter in backbone.letters
        ]
        assert depths == sorted(set(depths))


def test_a_letter_that_is_missing_is_answered_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="cnn-mnist has no tap M2") as caught:
        load_backbone("cnn-mnist").taps(("M2",))
    assert caught.value.hint == "Its letters: E, M, M1, P."


def test_a_point_inside_of_a_block_is_predicted_from_the_block_before() -> None:
    backbone = load_backbone("resnet8")
    assert backbone.taps(("stage2_inner",)) == (Tap("stage1", "stage2_inner", 32),)
    assert backbone.taps(("stage2",)) == (Tap("stage1", "stage2", 32),)
    assert backbone.taps(("stage2_inner:stage2",)) == (Tap("stage2_inner", "stage2", 32),)


def test_ranks_are_one_for_all_or_one_for_each() -> None:
    backbone = load_backbone("dscnn")
    assert [t.rank for t in backbone.taps(("P", "E"))] == [32, 32]
    assert [t.rank for t in backbone.taps(("P", "E"), (8,))] == [8, 8]
    assert [(t.after, t.rank) for t in backbone.taps(("P", "E"), (64, 16))] == [
        ("block1", 16),
        ("block4", 64),
    ]
    with pytest.raises(UsageError, match="2 ranks for 3 taps"):
        backbone.taps(("E", "M", "P"), (8, 16))
    with pytest.raises(UsageError, match="2 taps predict 'block2'"):
        backbone.taps(("M", "M1"), (8, 16))
    with pytest.raises(UsageError, match="no tap of dscnn given"):
        backbone.taps(())
    with pytest.raises(UsageError, match="6 taps"):
        load_backbone("resnet8").taps(
            tuple(f"stage{i}{s}" for i in (1, 2, 3) for s in ("", "_inner"))
        )


def test_an_unknown_backbone_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="'resnet9'") as caught:
        load_backbone("resnet9")
    assert caught.value.hint == "Did you mean resnet8?"


SOURCE = """
from tf_keras import Input, Model, Sequential, layers


def build(input_shape, classes, activation=None):
    image = Input(input_shape)
    x = layers.Conv2D(4, 3, 2, activation="relu", name="first")(image)
    x = layers.Conv2D(6, 3, activation="relu", name="second")(x)
    x = layers.GlobalAveragePooling2D()(x)
    return Model(image, layers.Dense(classes, activation=activation)(x))


def sure(input_shape, classes):
    return build(input_shape, classes, "softmax")


def named(input_shape, classes):
    image = Input(input_shape)
    a = layers.Conv2D(4, 3)(image)
    b = layers.Conv2D(5, 3)(a)
    logits = layers.Dense(classes)(layers.GlobalAveragePooling2D()(b))
    return Model(image, {"a": a, "b": b, "logits": logits})


def twins(input_shape, classes):
    image = Input(input_shape)
    return Model(image, [image, image])


def picky(image):
    return None


def empty(input_shape, classes):
    return None


number = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    need(tensorflow=True)
    name = f"own_nets_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def built(name: str, *taps: tuple[str, str]) -> Any:
    model = own.built(load_backbone(name).build, (9, 9, 1), 3, name)
    return own.with_taps(model, taps, name)


def test_a_functional_model_is_tapped_by_its_layers(module: str) -> None:
    backbone = load_backbone(f"{module}:build")
    (tap,) = backbone.taps(("first:second",))
    model = built(f"{module}:build", (tap.before, tap.after))
    outputs = model(np.ones((2, 9, 9, 1), np.float32))
    assert {k: v.shape[-1] for k, v in outputs.items()} == {"first": 4, "second": 6, "logits": 3}


def test_a_softmax_at_the_end_is_left_off(module: str) -> None:
    x = np.random.default_rng(0).normal(size=(5, 9, 9, 1)).astype(np.float32)
    original = load_backbone(f"{module}:sure").build((9, 9, 1), 3)
    probabilities = original(x).numpy()
    logits = own.with_taps(original, [("first", "second")], "own")(x)["logits"].numpy()
    spread = np.exp(logits - logits.max(axis=1, keepdims=True))
    np.testing.assert_allclose(spread / spread.sum(axis=1, keepdims=True), probabilities, atol=1e-6)
    assert logits.min() < 0


def test_a_model_that_names_its_blocks_keeps_their_names(module: str) -> None:
    model = built(f"{module}:named", ("a", "b"))
    assert set(model.output) == {"a", "b", "logits"}
    # The converter names outputs after their layers.
    assert set(model.output_names) == {"a", "b", "logits"}


def test_a_saved_model_is_a_backbone(module: str, tmp_path: Path) -> None:
    load_backbone(f"{module}:build").build((9, 9, 1), 3).save(tmp_path / "net.keras")
    model = built(str(tmp_path / "net.keras"), ("first", "second"))
    assert set(model.output_names) == {"first", "second", "logits"}


def test_what_cannot_be_tapped_is_named(module: str) -> None:
    model = load_backbone(f"{module}:build").build((9, 9, 1), 3)
    with pytest.raises(UsageError, match="no layer 'third'"):
        own.with_taps(model, [("first", "third")], "own")
    with pytest.raises(UsageError, match="not a map"):
        own.with_taps(model, [("first", model.layers[-1].name)], "own")
    with pytest.raises(UsageError, match="'second' does not come before 'first'"):
        own.with_taps(model, [("second", "first")], "own")
    with pytest.raises(ConfigError, match="2 outputs"):
        built(f"{module}:twins", ("first", "second"))


def test_a_model_for_other_data_is_refused(module: str) -> None:
    model = built(f"{module}:build", ("first", "second"))
    own.check_built(model, (9, 9, 1), 3, "own")
    for shape, classes in (((8, 9, 1), 3), ((9, 9, 1), 4)):
        with pytest.raises(ConfigError, match="own takes"):
            own.check_built(model, shape, classes, "own")


@pytest.mark.parametrize(
    ("suffix", "message"), [(":nothing", "no 'nothing'"), (":number", "not a function")]
)
def test_a_module_without_it_is_named(module: str, suffix: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_backbone(module + suffix)


@pytest.mark.parametrize(
    ("function", "message"), [("picky", "failed with TypeError"), ("empty", "returned NoneType")]
)
def test_what_goes_wrong_in_a_users_function_is_told(
    module: str, function: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        built(f"{module}:{function}", ("first", "second"))


@pytest.mark.parametrize("source", ["import no_such_thing", "1 +", "1 / 0"])
def test_a_module_that_cannot_be_imported_is_named(
    module: str, tmp_path: Path, source: str
) -> None:
    (tmp_path / f"{module}_bad.py").write_text(source)
    with pytest.raises(UsageError, match=f"module {module}_bad cannot be imported"):
        load_backbone(f"{module}_bad:build")


def test_a_module_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="no module no_such_module"):
        load_backbone("no_such_module:build")
    with pytest.raises(UsageError, match=r"no model gone\.keras"):
        load_backbone("gone.keras")
    with pytest.raises(UsageError, match="names no tap"):
        load_backbone("os.path:join").taps(("M",))
