"""What a network shows is what it computes: in integers as the monitor does, in float as Keras."""

import numpy as np
import pytest

from snapcli.config import MEAN
from snapcli.graph.reader import read_tflite
from snapcli.heads.gaussian import Gaussian
from snapcli.heads.head import Head, surprisals
from snapcli.judging.observe import FloatNetwork, IntegerNetwork, surprisal_by
from snapcli.methods.method import FEATURES, LOGITS, SURPRISAL, UNCERTAINTY
from snapcli.models.activations import pooled_activations
from snapcli.monitor.body import Body
from snapcli.monitor.decision import ONE_Q16
from snapcli.monitor.monitor import Monitor
from tests.conftest import need
from tests.golden import tflite_op as op
from tests.unit.tiny_monitor import random_inputs, tiny_body, tiny_monitor, tiny_ops

COUNT = 200  # more than one chunk


def shown(monitor: Monitor, **further: Body) -> tuple[IntegerNetwork, np.ndarray, dict]:
    """(network, int8 inputs, what it shows of them)"""
    network = IntegerNetwork(monitor, "gaussian", further)
    q = random_inputs(COUNT, seed=4)
    tensor = monitor.body.graph.tensors[monitor.body.graph.input]
    return network, q, network.observe(tensor.real(q))


@pytest.mark.parametrize("kind", ["gated", "isotonic", "energy", "mahalanobis"])
def test_integers_are_those_of_the_monitor(kind: str) -> None:
    monitor = tiny_monitor(kind)
    _, q, outputs = shown(monitor)
    expected = monitor.run(q)
    np.testing.assert_array_equal(outputs[SURPRISAL] * ONE_Q16, expected.surprisal_q16)
    np.testing.assert_array_equal(outputs[UNCERTAINTY] * ONE_Q16, expected.uncertainty_q16)
    scale = monitor.body.graph.tensors[monitor.body.logits_tensor].scale
    np.testing.assert_array_equal(np.rint(outputs[LOGITS] / scale), expected.logits)
    np.testing.assert_array_equal(outputs[LOGITS].argmax(axis=-1), expected.predicted)


def test_heads_of_another_kind_are_asked_beside_the_own() -> None:
    other = tiny_body("huber")
    network, q, outputs = shown(tiny_monitor(), huber=other)
    assert network.heads == ("huber",)
    expected = other.run(q).surprisal_q16
    np.testing.assert_array_equal(outputs[surprisal_by("huber")] * ONE_Q16, expected)
    assert not np.array_equal(expected, tiny_monitor().run(q).surprisal_q16)


def test_taps_are_shown_as_means_of_real_activations() -> None:
    monitor = tiny_monitor()
    network, q, outputs = shown(monitor)
    graph = monitor.body.graph
    for name in network.taps:
        real = graph.tensors[name].real(graph.run(q, {name})[name])
        np.testing.assert_allclose(outputs[name], real.mean(axis=(1, 2)), rtol=1e-4, atol=1e-5)


def test_the_last_layer_gives_the_logits_within_rounding() -> None:
    monitor = tiny_monitor()
    network, q, outputs = shown(monitor)
    last = network.last
    assert last is not None
    found = last.logits(outputs[FEATURES])
    tensor = monitor.body.graph.tensors[monitor.body.logits_tensor]
    logits = monitor.run(q).logits
    inside = (logits > -128) & (logits < 127)
    assert inside.mean() > 0.5
    steps = np.abs(found - tensor.real(logits)) / tensor.scale
    assert steps[inside].max() < 0.51


def test_logits_of_a_convolution_have_no_last_layer() -> None:
    graph = read_tflite(op.flatbuffer(tiny_ops()[:3], {"stem": 0, "spatial": 1, "logits": 2}))
    monitor = Monitor(Body(graph, (), (), MEAN), tiny_monitor().decision)
    assert IntegerNetwork(monitor, "gaussian", {}).last is None


# ---- Float ------------------------------------------------------------------


def small_head(before: str, after: str, c: int, d: int, seed: int) -> Head:
    rng = np.random.default_rng(seed)
    return Head(
        before=before,
        after=after,
        before_mean=rng.normal(0, 0.1, c),
        before_deviation=np.ones(c),
        after_mean=rng.normal(0, 0.1, d),
        after_deviation=np.ones(d),
        projector=rng.normal(0, 1, (2, c)),
        mean_weights=rng.normal(0, 1, (d, 2)),
        mean_bias=np.zeros(d),
        xi_weights=rng.normal(0, 1, (d, 2)),
        xi_bias=np.zeros(d),
        class_mean=np.zeros((0, d)),
        likelihood=Gaussian(),
    )


def float_network(activation: str | None, bias: bool = True) -> FloatNetwork:
    need(tensorflow=True)
    import tf_keras
    from tf_keras import layers

    tf_keras.utils.set_random_seed(1)
    image = tf_keras.Input((6, 6, 2))
    stem = layers.Conv2D(3, 3, activation="relu", name="stem")(image)
    block = layers.Conv2D(5, 3, activation="relu", name="block")(stem)
    features = layers.Dropout(0.5)(layers.GlobalAveragePooling2D()(block))
    dense = layers.Dense(
        4, activation=activation, use_bias=bias, bias_initializer="random_normal", name="last"
    )
    outputs = {"stem": stem, "block": block, "logits": dense(features)}
    own, other = (small_head("stem", "block", 3, 5, seed) for seed in (0, 1))
    return FloatNetwork(tf_keras.Model(image, outputs), [own], "gaussian", MEAN, {"huber": [other]})


def test_float_features_times_the_last_layer_are_the_logits() -> None:
    for bias in (True, False):
        network = float_network(None, bias)
        x = np.random.default_rng(0).normal(0, 1, (600, 6, 6, 2)).astype(np.float32)
        outputs, last = network.observe(x), network.last
        assert last is not None
        np.testing.assert_allclose(last.logits(outputs[FEATURES]), outputs[LOGITS], atol=1e-5)
        expected = pooled_activations(network.model, x, ["stem", "block"])
        for name in ("stem", "block", LOGITS):
            np.testing.assert_array_equal(outputs[name], expected[name])
        np.testing.assert_allclose(outputs[SURPRISAL], surprisals(network.own, expected))
        other = surprisals(network.further["huber"], expected)
        np.testing.assert_allclose(outputs[surprisal_by("huber")], other)
        assert (network.taps, network.heads) == (("block",), ("huber",))


def test_a_last_layer_that_does_more_than_weigh_is_none() -> None:
    network = float_network("softmax")
    assert network.last is None
    assert FEATURES not in network.observe(np.zeros((2, 6, 6, 2), np.float32))
