"""The networks that methods train: what they share, what they have of their own."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from snapcli.config import TrainOptions
from snapcli.errors import UsageError
from snapcli.graph import read_tflite
from snapcli.methods.table import ROWS
from snapcli.methods.trained import g_odin, hydra, mc_dropout, observe, qute
from snapcli.methods.trained.deep_ensemble import assembled
from snapcli.models.backbone import BACKBONES, Backbone
from snapcli.models.convert import convert_int8
from snapcli.models.layers import classified, normalised_relu6
from snapcli.models.tensorflow import require_tensorflow

from ....conftest import need

pytestmark = pytest.mark.slow

SHAPE, CLASSES = (8, 8, 1), 3
KINDS = {row.name: row.trains for row in ROWS if row.trains}


def build_small(input_shape: tuple[int, int, int], classes: int) -> Any:
    from tf_keras import Input, layers

    x = image = Input(input_shape, name="image")
    outputs = {}
    for name in ("stem", "first", "second"):
        x = layers.Conv2D(6, 3, use_bias=False, name=f"{name}_conv")(x)
        outputs[name] = x = normalised_relu6(x, name)
    return classified(image, outputs, classes, "small")


SMALL = Backbone(
    "small", build_small, ("stem", "first", "second"), {"E": "stem", "M": "first", "P": "second"}
)


@cache
def built(name: str) -> Any:
    """With batch statistics that are no longer the first ones."""
    need(tensorflow=True)
    require_tensorflow()
    import tf_keras

    tf_keras.utils.set_random_seed(1)
    model = KINDS[name].build(SMALL, SHAPE, CLASSES)
    rng = np.random.default_rng(0)
    for layer in model.layers:
        if isinstance(layer, tf_keras.layers.BatchNormalization):
            layer.set_weights([rng.uniform(0.5, 1.5, w.shape) for w in layer.get_weights()])
    return model


def inputs(n: int) -> np.ndarray:
    return np.random.default_rng(3).uniform(0, 1, (n, *SHAPE)).astype(np.float32)


def convolutions(model: Any) -> Iterator[Any]:
    """Their kernels, and those of classifiers."""
    return (v for v in model.trainable_variables if "kernel" in v.name)


@pytest.mark.parametrize("name", ["deep-ensemble", "early-exit", "qute"])
def test_the_int8_form_says_the_same(name: str) -> None:
    model, x = built(name), inputs(32)
    graph = read_tflite(convert_int8(model, sorted(model.output), x))
    assert sorted(graph.outputs) == ["logits_0", "logits_1", "logits_2"]
    found = graph.run(graph.tensors[graph.input].quantize(x), set(graph.outputs.values()))
    expected = model(x, training=False)
    for output, tensor in graph.outputs.items():
        logits = expected[output].numpy()
        error = graph.tensors[tensor].real(found[tensor]).reshape(logits.shape) - logits
        assert np.abs(error).max() < 0.1 * np.ptp(logits)


@pytest.mark.parametrize(
    "name", ["deep-ensemble", "early-exit", "hydra", "qute", "tiny-deep-ensemble"]
)
def test_members_differ(name: str) -> None:
    found = observe.members(built(name))(inputs(5))["members"]
    assert found.shape == (5, 3, CLASSES)
    for i in range(3):
        assert np.abs(found[:, i] - found[:, i - 1]).max() > 1e-4


def test_an_assembled_ensemble_says_what_its_members_say() -> None:
    built("deep-ensemble")
    models = [build_small(SHAPE, CLASSES) for _ in range(3)]
    found = observe.members(assembled(models))(inputs(4))["members"]
    for i, model in enumerate(models):
        expected = model(inputs(4), training=False)["logits"].numpy()
        np.testing.assert_allclose(found[:, i], expected, atol=1e-6)


def test_members_of_a_tiny_deep_ensemble_share_all_but_normalisations() -> None:
    """One set of kernels, three of scales, offsets and statistics."""
    model, plain = built("tiny-deep-ensemble"), build_small(SHAPE, CLASSES)
    assert [v.shape for v in convolutions(model)] == [v.shape for v in convolutions(plain)]
    scales = [v for v in model.variables if "gamma" in v.name]
    assert len(scales) == 3 * sum("gamma" in v.name for v in plain.variables)


def test_heads_of_hydra_share_all_but_the_last_block() -> None:
    names = [layer.name for layer in built("hydra").layers if layer.weights]
    shared = [name for name in names if name.startswith(("stem", "first"))]
    assert not any(name.endswith(("_0", "_1", "_2")) for name in shared)
    for i in range(3):
        assert {f"second_conv_{i}", f"second_bn_{i}", f"logits_{i}"} <= set(names)


def test_early_exits_of_qute_are_left_out_of_what_is_deployed() -> None:
    built("qute")
    model = qute.build_training(SMALL, SHAPE, CLASSES)
    assert any(layer.name.startswith("early") for layer in model.layers)
    kept = qute.deployed(model)
    assert not any(layer.name.startswith("early") for layer in kept.layers)
    x = inputs(4)
    expected = model(x, training=False)
    for name, output in kept(x, training=False).items():
        np.testing.assert_array_equal(output, expected[name])


def test_a_head_of_qute_takes_over_the_weights_of_its_exit() -> None:
    built("qute")
    lesson = qute.Assisted(qute.build_training(SMALL, SHAPE, CLASSES), TrainOptions())
    x = inputs(4)
    before = lesson.deployed(x)
    lesson.prepare_step()
    for i in (1, 2):
        head, twin = (lesson.model.get_layer(f"{kind}_{i}") for kind in ("logits", "early"))
        np.testing.assert_array_equal(head.get_weights()[0], twin.get_weights()[0])
    after = lesson.deployed(x)
    np.testing.assert_array_equal(after["logits_0"], before["logits_0"])
    assert np.abs(after["logits_1"] - before["logits_1"]).max() > 1e-3


def test_hydra_begins_its_second_half_with_equal_heads() -> None:
    built("hydra")
    model = hydra.build(SMALL, SHAPE, CLASSES)
    lesson = hydra.Imitation(model, TrainOptions(epochs=4), built("deep-ensemble"))
    look = observe.members(model)
    lesson.begin(1)
    assert np.ptp(look(inputs(4))["members"], axis=1).max() > 1e-4
    lesson.begin(2)
    assert np.ptp(look(inputs(4))["members"], axis=1).max() == 0


def test_hydra_has_nothing_to_learn_when_it_is_its_teacher() -> None:
    """The gradient of the imitation vanishes; that of the mean's, in the first half, does not."""
    import tensorflow as tf

    model, x = built("hydra"), tf.constant(inputs(8))
    lesson = hydra.Imitation(model, TrainOptions(epochs=4), model)

    def pull(epoch: float) -> float:
        with tf.GradientTape() as tape:
            loss = lesson.loss({"x": x}, model(x, training=False), tf.constant(epoch))
        kernels = list(convolutions(model))
        gradients = tape.gradient(loss, kernels, unconnected_gradients="zero")
        return float(tf.linalg.global_norm(gradients))

    assert pull(2.0) < 1e-2 * pull(0.0)


def test_g_odin_divides_cosines() -> None:
    """With kernels on the unit sphere h is the cosine; a step along the gradient makes it grow."""
    from tf_keras import Model

    model, x = built("g-odin"), inputs(6)
    directions = model.get_layer("h")
    directions.set_weights([directions.kernel_constraint(directions.kernel).numpy()])
    features = Model(model.input, model.get_layer("pool").output)(x).numpy()
    (kernel,) = directions.get_weights()
    cosines = features @ kernel
    cosines /= np.linalg.norm(features, axis=1)[:, None] * np.linalg.norm(kernel, axis=0)
    outputs = model(x, training=False)
    np.testing.assert_allclose(outputs["h"], cosines, atol=1e-5)
    assert np.all((outputs["g"] > 0) & (outputs["g"] < 1))
    np.testing.assert_allclose(outputs["logits"], outputs["h"] / outputs["g"], rtol=1e-5)
    found = observe.perturbed(model)(x)
    assert found["perturbed"].shape == (6, len(g_odin.MAGNITUDES))
    assert np.all(found["perturbed"][:, 0] >= found["h"].max(axis=-1))


def test_dropout_stays_on_and_is_the_same_for_the_same_inputs() -> None:
    look, x = observe.passes(built("mc-dropout")), inputs(5)
    found = look(x)["members"]
    assert found.shape == (5, mc_dropout.PASSES, CLASSES)
    assert np.ptp(found, axis=1).max() > 1e-4
    np.testing.assert_array_equal(look(x)["members"], found)


def test_dropout_leaves_out_whole_channels_and_keeps_their_mean() -> None:
    from tf_keras import Model

    model = built("mc-dropout")
    drop = model.get_layer("second_dropout")
    look = Model(model.input, [drop.input, drop.output])
    before, after = (map_.numpy() for map_ in look(np.repeat(inputs(1), 500, axis=0)))
    kept = np.all(after == before / np.float32(1 - mc_dropout.RATE), axis=(1, 2))
    gone = np.all(after == 0, axis=(1, 2))
    assert np.all(kept | gone)
    # What an earlier dropout or a ReLU has emptied says nothing.
    alive = before.max(axis=(1, 2)) > 0
    assert np.mean(gone[alive]) == pytest.approx(mc_dropout.RATE, abs=0.03)


@pytest.mark.parametrize("name", KINDS)
def test_a_backbone_of_the_users_own_is_refused(name: str) -> None:
    need(tensorflow=True)
    with pytest.raises(UsageError, match="not one of our backbones"):
        KINDS[name].build(Backbone("mine:net", build_small), SHAPE, CLASSES)


def test_they_can_be_made_of_a_residual_network() -> None:
    """Whose blocks have two ways through."""
    built("qute")
    for kind in KINDS.values():
        model = kind.build(BACKBONES["resnet8"], (16, 16, 1), CLASSES)
        assert all(v.shape[-1] == CLASSES for k, v in model.output.items() if "logits" in k)
