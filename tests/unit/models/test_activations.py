"""Pooling over positions, and its gradient."""

import numpy as np
import pytest

from snapcli.models.activations import pooled

from ...conftest import need


@pytest.mark.parametrize("statistics", ["mean", "mean-deviation"])
def test_channels_are_pooled_over_positions(statistics: str) -> None:
    need(tensorflow=True)
    import tensorflow as tf

    x = np.random.default_rng(0).normal(2, 3, (4, 5, 7, 3)).astype(np.float32)
    expected = x.mean(axis=(1, 2))
    if statistics == "mean-deviation":
        expected = np.concatenate([expected, x.std(axis=(1, 2))], axis=-1)
    a, ours, weights = tf.constant(x), [], tf.constant(expected)
    for f in (lambda a: pooled(a, statistics), lambda a: oracle(a, statistics)):
        with tf.GradientTape() as tape:
            tape.watch(a)
            found = f(a)
            total = tf.reduce_sum(found * weights)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        ours.append(tape.gradient(total, a))
    np.testing.assert_allclose(ours[0], ours[1], rtol=1e-4, atol=1e-6)


def oracle(a: object, statistics: str) -> object:
    import tensorflow as tf

    mean = tf.reduce_mean(a, axis=(1, 2))
    if statistics == "mean":
        return mean
    return tf.concat([mean, tf.math.reduce_std(a, axis=(1, 2))], axis=-1)


def test_a_channel_that_is_the_same_everywhere_has_a_finite_gradient() -> None:
    need(tensorflow=True)
    import tensorflow as tf

    a = tf.ones((1, 4, 4, 2))
    with tf.GradientTape() as tape:
        tape.watch(a)
        total = tf.reduce_sum(pooled(a, "mean-deviation"))
    assert np.isfinite(tape.gradient(total, a)).all()
