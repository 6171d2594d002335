"""Heads fitted without TensorFlow: against scikit-learn, known truths and TensorFlow's own fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.linear_model import LinearRegression

from snapcli import fixedpoint as fx
from snapcli.config import TrainOptions
from snapcli.data.dataset import Dataset, Split
from snapcli.graph import Tensor
from snapcli.heads.fit import fit_head
from snapcli.heads.head import Head
from snapcli.heads.likelihood import variance
from snapcli.heads.loss import Loss, Weights, nll
from snapcli.heads.quantize import quantize_head
from snapcli.models.backbone import Tap
from snapcli.models.posthoc import heads_for

from ...conftest import need

# -ln p without constants of mean 0 and sigma 1 for standardized activations.
NOTHING = 0.5

Pair = tuple[np.ndarray, np.ndarray]


def draw(rng: np.random.Generator, count: int, c: int, d: int, signal: float = 1.0) -> Pair:
    """Correlated channels of a network's kind: y follows x by four directions, and noise."""
    x = rng.normal(0, 1, (count, 4)) @ rng.normal(0, 0.5, (4, c)) + rng.normal(0, 1, (count, c))
    slopes = rng.normal(0, 1, (c, 4)) @ rng.normal(0, 0.5 / c**0.5, (4, d))
    return x, signal * x @ slopes + rng.normal(0, 1, (count, d))


def held_out_nll(head: Head, x: np.ndarray, y: np.ndarray) -> float:
    found = head.predict(x, y)
    return 0.5 * float(np.mean(found.residual**2 / found.variance + np.log(found.variance)))


def in_raw_units(head: Head, x: np.ndarray, y: np.ndarray) -> float:
    """The same whatever a head standardizes by."""
    return held_out_nll(head, x, y) + float(np.mean(np.log(head.after_deviation)))


def head_of(pair: Pair, rank: int = 8, seed: int = 0) -> Head:
    return fit_head("a", "b", *pair, rank, seed)


def random_weights(rng: np.random.Generator, c: int, d: int, rank: int) -> Weights:
    shapes = ((rank, c), (d, rank), (d,), (d, rank), (d,))
    return Weights(*(rng.normal(0, 0.5, shape) for shape in shapes))


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 30.0]))
def test_the_gradient_is_that_of_finite_differences(seed: int, ridge: float) -> None:
    rng = np.random.default_rng(seed)
    x, y = draw(rng, 300, 4, 3)
    loss = Loss(x, y, ridge, random_weights(rng, 4, 3, 2))
    at = random_weights(rng, 4, 3, 2).flat()
    gradient = loss(at)[1]
    # To both sides: to one side the curvature of some draws is more than the tolerance.
    steps = 1e-5 * np.eye(len(at))
    found = [(loss(at + step)[0] - loss(at - step)[0]) / 2e-5 for step in steps]
    assert np.linalg.norm(found - gradient) < 1e-5 * (1 + np.linalg.norm(gradient))


def test_the_gradient_ends_where_the_variance_is_clipped() -> None:
    rng = np.random.default_rng(0)
    x, y = draw(rng, 50, 4, 3)
    weights = random_weights(rng, 4, 3, 2)._replace(
        xi=np.zeros((3, 2)), xi_bias=np.array([-30.0, 0.0, 200.0])
    )
    slopes = weights.shaped(Loss(x, y, 0.0, weights)(weights.flat())[1])
    assert slopes.xi_bias[0] == slopes.xi_bias[2] == 0.0
    assert slopes.xi_bias[1] != 0.0


def test_without_a_ridge_the_loss_is_the_likelihood() -> None:
    rng = np.random.default_rng(1)
    x, y = draw(rng, 300, 4, 3)
    weights = random_weights(rng, 4, 3, 2)
    assert Loss(x, y, 0.0, weights)(weights.flat())[0] == pytest.approx(nll(weights, x, y))


def test_at_full_rank_the_mean_is_linear_regression() -> None:
    """Noise of the same size everywhere: a regression is what is likeliest."""
    rng = np.random.default_rng(2)
    x, y = draw(rng, 6000, 6, 5)
    head = head_of((x, y), rank=99)
    assert head.projector.shape == (5, 6)
    mean = y - head.predict(x, y).residual * head.after_deviation
    oracle = LinearRegression().fit(x, y).predict(x)
    # Of noise with deviation 1; the ridge and the examples held out make the difference.
    assert np.sqrt(np.mean((mean - oracle) ** 2)) < 0.05


def test_sigma_follows_the_truth() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(0, 1, (6000, 5))
    sigma = np.sqrt(np.logaddexp(0, x @ rng.normal(0, 0.6, (5, 4)) - 0.5))
    y = x @ rng.normal(0, 1, (5, 4)) + sigma * rng.normal(0, 1, sigma.shape)
    seen, new = slice(0, 4000), slice(4000, None)
    head = head_of((x[seen], y[seen]), rank=4)
    found = np.sqrt(variance(head.xi(x[new]))) * head.after_deviation
    for channel in range(4):
        assert spearmanr(found[:, channel], sigma[new, channel]).statistic > 0.9
    np.testing.assert_allclose(np.median(found / sigma[new], axis=0), 1, atol=0.1)
    assert head.surprisal(x[new], y[new]).mean() == pytest.approx(1, abs=0.05)


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    gains=st.tuples(*[st.floats(-4, 4)] * 2),
    shifts=st.tuples(*[st.floats(-10, 10)] * 2),
)
def test_units_do_not_matter(
    seed: int, gains: tuple[float, float], shifts: tuple[float, float]
) -> None:
    """gains: powers of ten; shifts: in the unit of the channels."""
    pair = draw(np.random.default_rng(seed), 200, 6, 5)
    other = tuple(10**g * (a + s) for a, g, s in zip(pair, gains, shifts, strict=True))
    plain = head_of(pair, rank=3).surprisal(*pair)
    np.testing.assert_allclose(head_of(other, rank=3).surprisal(*other), plain, rtol=0.02)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_loud_and_quiet_channels_count_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pair = draw(rng, 400, 6, 5)
    other = tuple(a * rng.uniform(0.3, 3, a.shape[1]) for a in pair)
    plain, moved = (head_of(p, rank=3).surprisal(*p) for p in (pair, other))
    assert spearmanr(plain, moved).statistic > 0.98
    assert moved.mean() == pytest.approx(plain.mean(), rel=0.05)


def test_channels_that_never_fire() -> None:
    rng = np.random.default_rng(4)
    x, y = draw(rng, 1000, 8, 6)
    x[:, 2], y[:, 1], y[:, 4] = 0.0, 0.0, 7.7
    head = head_of((x[:600], y[:600]))
    new = x[600:], y[600:]
    # Four of the six channels say something.
    assert head.surprisal(*new).mean() == pytest.approx(4 / 6, rel=0.1)
    alone = fit_head("a", "b", x[:600], y[:600, [0, 2, 3, 5]], 8, 0)
    np.testing.assert_allclose(
        head.surprisal(*new) * 6 / 4, alone.surprisal(x[600:], y[600:][:, [0, 2, 3, 5]]), rtol=0.02
    )
    fires = new[1].copy()
    fires[:, 1] = 1.0
    assert np.all(head.surprisal(new[0], fires) > head.surprisal(*new) + 1)


def test_a_channel_that_fires_once_does_not_spoil_the_others() -> None:
    rng = np.random.default_rng(5)
    x, y = draw(rng, 700, 8, 6)
    for row in range(0, 500, 50):
        rare = y[:500].copy()
        rare[:, 0] = 0.0
        rare[row, 0] = 5.0
        head = head_of((x[:500], rare))
        found = head.predict(x[500:], y[500:])
        energy = np.mean(found.residual**2 / found.variance, axis=0)
        assert 0.7 < energy[1:].mean() < 1.4


@pytest.mark.parametrize("dead", ["x", "y", "both"])
def test_taps_without_life(dead: str) -> None:
    x, y = draw(np.random.default_rng(6), 100, 5, 4)
    if dead in ("x", "both"):
        x[:] = 3.3
    if dead in ("y", "both"):
        y[:] = 0.0
    found = head_of((x, y)).surprisal(x, y)
    assert np.all(np.isfinite(found))
    assert found.mean() == pytest.approx(0 if dead != "x" else 1, abs=0.4)


def test_a_seed_gives_the_same_head_and_another_one_a_similar_one() -> None:
    pair = draw(np.random.default_rng(7), 400, 8, 6)
    first, again, other = (head_of(pair, seed=seed) for seed in (1, 1, 2))
    for name, value in vars(first).items():
        np.testing.assert_array_equal(getattr(again, name), value, err_msg=name)
    assert np.any(first.projector != other.projector)
    assert spearmanr(first.surprisal(*pair), other.surprisal(*pair)).statistic > 0.9


@pytest.mark.parametrize(("c", "d", "rank"), [(3, 9, 4), (9, 3, 4), (9, 9, 4), (9, 9, 99)])
def test_the_rank_is_cut(c: int, d: int, rank: int) -> None:
    head = head_of(draw(np.random.default_rng(8), 60, c, d), rank)
    cut = min(c, d, rank)
    assert head.projector.shape == (cut, c)
    assert head.mean_weights.shape == head.xi_weights.shape == (d, cut)


@pytest.mark.parametrize("signal", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("count", [100, 300])
def test_a_small_set_is_not_learned_by_heart(count: int, signal: float) -> None:
    """64 channels predicted from 64 have more weights than there are numbers to fit them to."""
    rng = np.random.default_rng(9)
    x, y = draw(rng, count + 2000, 64, 64, signal)
    head = head_of((x[:count], y[:count]), rank=32)
    assert 0.7 < head.surprisal(x[count:], y[count:]).mean() < 1.5
    standardized = (y[count:] - head.after_mean) / head.after_deviation
    nothing = float(NOTHING * np.mean(standardized**2))
    assert held_out_nll(head, x[count:], y[count:]) < nothing + 0.02


def test_a_large_set_is_learned_as_well_as_the_truth() -> None:
    rng = np.random.default_rng(10)
    x, y = draw(rng, 6000, 16, 16)
    head = head_of((x[:4000], y[:4000]))
    # Of the noise alone, which has a deviation of 1: -ln p without constants is 1/2.
    assert in_raw_units(head, x[4000:], y[4000:]) < 0.5 + 0.01
    assert head.surprisal(x[4000:], y[4000:]).mean() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("rank", [2, 12])
@pytest.mark.parametrize("quiet", [False, True])
def test_the_device_takes_it(rank: int, quiet: bool) -> None:
    rng = np.random.default_rng(11)
    tensors = (Tensor("a", (6, 5, 12), 0.003, -128), Tensor("b", (6, 5, 16), 0.2, -100))
    sums = [
        np.rint(30 * (60 + 8 * a)).astype(np.int32)
        for a in draw(rng, 600, tensors[0].channels, tensors[1].channels)
    ]
    if quiet:
        sums[0][:, 3], sums[1][:, :5], sums[1][:, 5] = 0, 900, 0
    pooled = [s * (t.scale / t.positions) for s, t in zip(sums, tensors, strict=True)]
    head = head_of((pooled[0], pooled[1]), rank)
    device = quantize_head(head, *tensors, sums[0])
    found = fx.surprisal_q16(device, sums[0], sums[1], np.zeros(600, np.int32)) / 65536
    real = head.surprisal(*pooled)
    assert spearmanr(found, real).statistic > 0.99
    np.testing.assert_allclose(found, real, rtol=0.1, atol=0.02)


@pytest.mark.parametrize("count", [400, 4000])
def test_it_fits_as_well_as_tensorflow(count: int) -> None:
    """A network that only passes on what it is given, so that both fit the same numbers."""
    need(tensorflow=True)
    import tf_keras

    c, d, new = 12, 10, slice(count, None)
    rng = np.random.default_rng(12)
    x, y = draw(rng, count + 2000, c, d)
    y *= 1 + 0.7 * np.tanh(x[:, :1])
    rows = np.concatenate([x, y], axis=1)[:, None, None].astype(np.float32)
    given = tf_keras.Input(rows.shape[1:])
    maps = {"a": given[..., :c], "b": given[..., c:], "logits": given[:, 0, 0, :2]}
    split = Split(rows[:count], np.zeros(count, np.int64), np.full(count, ""))
    data = Dataset("rows", ("0", "1"), split, split, split, {}, {}, front_end=lambda raw: raw)
    options = TrainOptions(mode="posthoc", qat=0.0)
    (theirs,) = heads_for(tf_keras.Model(given, maps), (Tap("a", "b", 6),), data, options)
    ours = fit_head("a", "b", x[:count], y[:count], 6, 0)
    assert in_raw_units(ours, x[new], y[new]) < in_raw_units(theirs, x[new], y[new]) + 0.005


def test_rank_0_is_the_mean_and_the_spread_of_the_data() -> None:
    rng = np.random.default_rng(4)
    x, y = draw(rng, 3500, 8, 6)
    (x, new_x), (y, new_y) = np.split(x, [3000]), np.split(y, [3000])
    head = fit_head("a", "b", x, y, 0, 0)
    one, other = head.surprisal(new_x, new_y), head.surprisal(new_x[::-1], new_y)
    np.testing.assert_array_equal(one, other)
    # Close to the distance in standard deviations, channel by channel.
    plain = np.mean(((new_y - y.mean(axis=0)) / y.std(axis=0)) ** 2, axis=1)
    np.testing.assert_allclose(one, plain, rtol=0.25)
    better = fit_head("a", "b", x, y, 4, 0)
    assert in_raw_units(better, new_x, new_y) < in_raw_units(head, new_x, new_y)
