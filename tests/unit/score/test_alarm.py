"""Alarms fitted to made-up scores: what they promise, with and without a baseline, and whether it
holds for frames that are drawn independently and for those that follow each other."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.config import DETECTORS, SUMS
from snapcli.monitor.alarm import FieldAlarm, alarm_from_dict, alarm_to_dict
from snapcli.score import alarm as fitting
from snapcli.score.alarm import (
    BETTING,
    CUSUM,
    EWMA,
    ONE_Q16,
    FittedAlarm,
    Gains,
    ShiftScores,
    block_of,
    fit_alarm,
    fit_gains,
)

Values = NDArray[np.uint32]
CLEAN, HARMLESS, HARMFUL = -4.0, -3.7, -1.5


def u(rng: np.random.Generator, mean: float, shape: int | tuple[int, int]) -> Values:
    return np.rint(65536 / (1 + np.exp(-rng.normal(mean, 1.5, shape)))).astype(np.uint32)


def scenes(rng: np.random.Generator, mean: float, shape: tuple[int, int]) -> Values:
    """A frame repeats the last one with a probability of 3/4."""
    fresh = rng.random(shape) < 0.25
    fresh[:, 0] = True
    last = np.maximum.accumulate(np.where(fresh, np.arange(shape[1]), 0), axis=1)
    return np.take_along_axis(u(rng, mean, shape), last, axis=1)


def made_scores(examples: int = 1_000, seed: int = 0) -> ShiftScores:
    rng = np.random.default_rng(seed)
    shifts = ([u(rng, mean, 500)] for mean in (HARMFUL, HARMLESS))
    return ShiftScores(u(rng, CLEAN, examples), *shifts)


def alarms(fitted: FittedAlarm, values: Values) -> int:
    state = fx.alarm_start(fitted.device, len(values))
    fx.alarm_run(fitted.device, state, values, np.zeros_like(values))
    return int(state.alarms.sum())


# ---- Evidence -------------------------------------------------------------------------------


def test_evidence_grows_with_the_score_and_is_a_likelihood_ratio() -> None:
    gains = fit_gains(made_scores(), 0.0, 512)
    assert np.all(np.diff(gains.nats) >= 0)
    assert len(gains.nats) == len(gains.edges) + 1 <= fx.ALARM_BINS
    assert gains.nats[0] < 0 < gains.nats[-1] <= 7
    assert gains.clean.sum() == 1_000
    assert gains.shares.sum() == pytest.approx(1)
    assert gains.harmful.sum() == pytest.approx(1)


def test_harmless_shifts_count_as_normal() -> None:
    scores = made_scores()
    without = fit_gains(replace(scores, harmless=[]), 0.0, 512)
    strange = fit_gains(replace(scores, harmless=scores.harmful), 0.0, 512)
    assert strange.nats[-1] < 0.7 * without.nats[-1]


def test_the_offset_makes_a_bet_fair() -> None:
    gains = fit_gains(made_scores(), 0.0, 512)
    offset = gains.offset(gains.shares, 512, 0.0)
    assert gains.shares @ np.exp(gains.nats - offset) == pytest.approx(1)


def test_the_doubt_of_a_baseline_covers_what_clean_frames_earn() -> None:
    """Of 95 % of the baselines, by Chernoff's bound, which is not tight."""
    gains = fit_gains(made_scores(), 3.0, 512)
    sure = -math.log(1 - fitting.SURE)
    true = gains.offset(gains.shares, 512, 0.0)
    assert np.mean(gains.offsets(gains.shares, 512, 1, sure) >= true) >= 0.95
    assert np.mean(gains.offsets(gains.shares, 512, 1, 0.0) >= true) < 0.7
    # Runs of 32 tell as much as one frame each: the doubt grows with them.
    assert np.mean(gains.offsets(gains.shares, 512, 32, 32 * sure) >= true) >= 0.95
    assert np.mean(gains.offsets(gains.shares, 512, 32, sure) >= true) < 0.95


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.integers(0, 40), min_size=2, max_size=16).filter(any),
    st.floats(0.1, 6),
    st.integers(1, 2_000),
    st.floats(0, 5),
)
def test_more_doubt_is_a_higher_offset_and_never_above_the_largest_gain_without_it(
    counts: list[int], top: float, examples: int, sure: float
) -> None:
    nats = np.linspace(-1, top, len(counts))
    shares = np.array(counts) / sum(counts)
    gains = Gains(np.arange(len(counts) - 1, dtype=np.uint32), nats, np.array(counts), shares)
    plain = gains.offset(shares, examples, 0.0)
    assert -1 - 1e-9 <= plain <= top + 1e-9
    assert gains.offset(shares, examples, sure) >= plain


# ---- What is promised -----------------------------------------------------------------------


def test_a_bet_promises_the_logarithm() -> None:
    fitted = fit_alarm(BETTING, made_scores(), 10_000, 1, 512)
    assert fitted.device.threshold_q16 == round(math.log(10_000) * ONE_Q16)
    assert fitted.at_least == 10_000 <= fitted.expected
    assert fitted.device.confidence_q16 == round(-math.log(0.05) * ONE_Q16)


def test_a_block_makes_a_bet_as_many_times_as_slow_and_as_doubtful() -> None:
    device = fit_alarm(BETTING, made_scores(), 10_000, 8, 4_096).device
    assert device.threshold_q16 == round(8 * math.log(10_000 / 8) * ONE_Q16)
    assert device.confidence_q16 == round(-8 * math.log(0.05) * ONE_Q16)
    # Dev examples are drawn independently, whatever the field's frames do.
    assert fit_alarm(BETTING, made_scores(), 10_000, 8, 0).device.confidence_q16 == round(
        -math.log(0.05) * ONE_Q16
    )


def test_a_mean_does_not_sound_at_what_is_nearly_clean_however_often_it_may() -> None:
    """One alarm per 20 frames would be easy to keep."""
    fitted = fit_alarm(EWMA, made_scores(), 20, 1, 512)
    assert fitted.expected > 1_000
    nearly = u(np.random.default_rng(4), HARMLESS, (100, 400))
    clean = u(np.random.default_rng(5), CLEAN, (100, 512))
    assert alarms(fitted, np.concatenate([clean, nearly], axis=1)) < 20


@pytest.mark.parametrize("detector", DETECTORS)
def test_what_is_expected_is_what_was_asked_for_and_at_least_is_no_more(detector: str) -> None:
    fitted = fit_alarm(detector, made_scores(), 10_000, 1, 0)
    assert fitted.expected >= 0.99 * 10_000
    assert fitted.at_least <= fitted.expected
    assert fitted.device.threshold_q16 > fitted.device.clear_q16


@pytest.mark.parametrize("detector", DETECTORS)
def test_more_frames_between_false_alarms_take_no_lower_threshold(detector: str) -> None:
    found = [
        fit_alarm(detector, made_scores(), frames, 1, 0).device.threshold_q16
        for frames in (100, 10_000, 1_000_000)
    ]
    assert found == sorted(found)
    assert found[0] < found[-1] or detector not in SUMS  # others keep away from harmless shifts


def test_few_examples_make_sure_of_little() -> None:
    few, many = (fit_alarm(CUSUM, made_scores(n), 10_000, 1, 0) for n in (100, 4_000))
    assert few.at_least < 0.1 * 10_000 < 0.25 * many.expected < many.at_least


@pytest.mark.slow
def test_the_bound_holds_in_most_draws_of_dev_data() -> None:
    """True run lengths by the shares of half a million frames."""
    all_clean = u(np.random.default_rng(99), CLEAN, 500_000)
    for baseline in (0, 512):
        held = []
        for seed in range(10):
            fitted = fit_alarm(CUSUM, made_scores(300, seed), 1_000, 1, baseline)
            gains, device = fitted.gains, fitted.device
            bins = np.searchsorted(gains.edges, all_clean, side="right")
            shares = np.bincount(bins, minlength=len(gains.nats)) / len(all_clean)
            offsets = np.array([device.offset_q16 / ONE_Q16])
            if baseline:
                offsets = gains.offsets(shares, baseline, 1, 0.0)
            true = fitting.silence_of(CUSUM, gains.nats, shares, offsets, 1)
            held.append(fitted.at_least <= true(device.threshold_q16 / ONE_Q16))
        assert np.mean(held) >= 0.9


@pytest.mark.parametrize("detector", DETECTORS)
def test_independent_frames_keep_the_promise(detector: str) -> None:
    fitted = fit_alarm(detector, made_scores(), 1_000, 1, 256)
    values = u(np.random.default_rng(1), CLEAN, (100, 256 + 1_000))
    assert alarms(fitted, values) <= 1.5 * 100_000 / fitted.at_least + 3


@pytest.mark.parametrize("detector", DETECTORS)
def test_frames_that_repeat_break_the_promise_unless_the_block_is_known(detector: str) -> None:
    rng = np.random.default_rng(2)
    scores = made_scores()
    block = block_of(scenes(rng, CLEAN, (1, 20_000))[0], scores.clean)
    assert 5 <= block <= 9  # (1 + 3/4) / (1 - 3/4) = 7
    values = scenes(rng, CLEAN, (50, 2_048 + 2_000))
    asked = 100_000 / 5_000
    without = fit_alarm(detector, scores, 5_000, 1, 2_048)
    with_block = fit_alarm(detector, scores, 5_000, block, 2_048)
    assert alarms(without, values) > 3 * asked
    assert alarms(with_block, values) <= 1.6 * 100_000 / min(with_block.at_least, 5_000)


def test_a_bet_keeps_its_promise_where_the_field_is_not_like_dev() -> None:
    fitted = fit_alarm(BETTING, made_scores(), 1_000, 1, 512)
    plain = fit_alarm(BETTING, made_scores(), 1_000, 1, 0)
    values = u(np.random.default_rng(3), CLEAN + 0.8, (100, 512 + 1_000))
    assert alarms(fitted, values) <= 100
    assert alarms(plain, values) > 100


@pytest.mark.parametrize("detector", [BETTING, CUSUM])
def test_a_field_that_is_as_strange_as_a_mild_shift_is_not_an_alarm(detector: str) -> None:
    """Unless nothing could be found there: then it sounds as soon as the baseline is over."""
    rng = np.random.default_rng(7)
    scores = replace(made_scores(), harmful=[u(rng, mean, 500) for mean in (-2.5, -0.5)])
    fitted = fit_alarm(detector, scores, 5_000, 1, 512)
    assert fitted.blind == 0
    assert alarms(fitted, u(rng, -2.2, (50, 512 + 400))) <= 10
    assert alarms(fitted, u(rng, 2.0, (50, 512 + 1))) == 50


# ---- Blocks ---------------------------------------------------------------------------------


def test_frames_drawn_independently_have_blocks_of_one() -> None:
    rng = np.random.default_rng(0)
    assert block_of(u(rng, CLEAN, 20_000), u(rng, CLEAN, 500)) == 1


def test_a_stream_that_stands_still_is_one_block_as_long_as_it_is() -> None:
    assert block_of(np.full(300, 7, np.uint32), np.arange(10, dtype=np.uint32)) == 300


def test_a_short_stream_leaves_a_longer_block_open() -> None:
    rng = np.random.default_rng(0)
    usual = u(rng, CLEAN, 500)
    blocks = [block_of(scenes(rng, CLEAN, (1, n))[0], usual) for n in [250] * 40]
    true = block_of(scenes(rng, CLEAN, (1, 200_000))[0], usual)
    assert np.mean(np.array(blocks) >= true) >= 0.8


def test_a_large_value_now_and_then_does_not_hide_how_frames_follow() -> None:
    rng = np.random.default_rng(0)
    usual = u(rng, CLEAN, 500)
    stream = scenes(rng, CLEAN, (1, 20_000))[0]
    spiked = np.where(rng.random(20_000) < 0.002, 2**31, stream).astype(np.uint32)
    assert abs(block_of(spiked, usual) - block_of(stream, usual)) <= 1


# ---- What the device is given ---------------------------------------------------------------


@pytest.mark.parametrize("detector", DETECTORS)
@pytest.mark.parametrize("block", [1, fitting.BLOCK_MOST])
def test_every_alarm_is_one_that_a_device_takes(detector: str, block: int) -> None:
    fitted = fit_alarm(detector, made_scores(), 1e11, block, 65535)
    stored = alarm_to_dict(FieldAlarm("U", fitted.device))
    again = alarm_from_dict(stored).parameters
    assert again.threshold_q16 == fitted.device.threshold_q16
    assert np.array_equal(again.gain_q16, fitted.device.gain_q16)


@pytest.mark.parametrize("detector", DETECTORS)
def test_a_score_that_is_always_the_same_earns_nothing(detector: str) -> None:
    same = np.full(300, 7, np.uint32)
    fitted = fit_alarm(detector, ShiftScores(same, [same], [same]), 10_000, 1, 512)
    assert fitted.growth <= 0.02


@pytest.mark.parametrize("detector", [BETTING, CUSUM])
def test_the_kernel_sums_what_the_bins_say(detector: str) -> None:
    """In float, with the offset that the device took from its baseline."""
    device = fit_alarm(detector, made_scores(), 10_000, 1, 512).device
    rng = np.random.default_rng(5)
    values = np.concatenate([u(rng, CLEAN, (1, 512)), u(rng, -2.5, (1, 300))], axis=1)
    state = fx.alarm_start(device)
    _, statistic = fx.alarm_run(device, state, values, np.zeros_like(values))
    gain = device.gain_q16[fx.alarm_bins(device, values[0])] / ONE_Q16
    top, sure = device.gain_q16[-1] / ONE_Q16, device.confidence_q16 / ONE_Q16
    earned = np.exp(gain[:512] - top).sum()
    most = earned + sure + math.sqrt(sure * sure + 2 * earned * sure)
    offset = min(top + math.log(most / 512), device.limit_q16 / ONE_Q16)
    expected, at = [], 0.0
    for each in gain[512:]:
        at = min(max(at, 0.0) + each - offset, 2 * device.threshold_q16 / ONE_Q16)
        expected.append(at)
    assert np.max(np.abs(statistic[0, 512:] / ONE_Q16 - expected)) < 0.05


def test_a_mean_holds_each_device_against_its_own_frames() -> None:
    """Whatever the field is like, its statistic rests near 0."""
    device = fit_alarm(EWMA, made_scores(), 10_000, 1, 512).device
    for mean in (CLEAN - 1, CLEAN, CLEAN + 0.5):
        values = u(np.random.default_rng(6), mean, (20, 512 + 1_000))
        state = fx.alarm_start(device, 20)
        _, statistic = fx.alarm_run(device, state, values, np.zeros_like(values))
        assert abs(np.mean(statistic[:, 512:])) < 0.2 * device.threshold_q16


@settings(deadline=None, max_examples=25)
@given(
    st.sampled_from((fx.ALARM_SUM, fx.ALARM_MEAN, fx.ALARM_WINDOW)),
    st.lists(st.integers(-(16 << 16), 16 << 16), min_size=16, max_size=16),
    st.integers(1, 1 << 28),
    st.integers(-(16 << 16), 16 << 16),
    st.integers(0, 40),
    st.integers(0, 1 << 28),
    st.lists(st.integers(0, 2**32 - 1), min_size=200, max_size=200),
)
def test_the_statistic_of_any_legal_alarm_stays_within_32_bits(
    detector: int,
    gains: list[int],
    threshold: int,
    offset: int,
    baseline: int,
    confidence: int,
    values: list[int],
) -> None:
    device = fx.Alarm(
        detector=detector,
        edge_q16=np.linspace(0, 2**32 - 1, 15).astype(np.uint32),
        gain_q16=np.sort(np.array(gains, np.int32)),
        threshold_q16=threshold,
        clear_q16=0,
        start_q16=0,
        offset_q16=offset,
        limit_q16=16 << 16,
        baseline=baseline,
        confidence_q16=confidence,
    )
    shown = np.array([values], np.uint32)
    state = fx.alarm_start(device)
    _, statistic = fx.alarm_run(device, state, shown, shown % 65537)
    assert np.abs(statistic).max() < 2**31
    assert abs(int(state.offset_q16[0])) < 2**31
    assert int(state.baseline_sum_q16[0]) < 2**32
