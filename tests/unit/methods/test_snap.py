"""SNAP as a method: what each of its maps may see, and what its posterior says."""

from functools import cache

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.metrics import roc_auc_score

from snapcli.config import CalibrateOptions
from snapcli.methods.method import (
    DISTANCE,
    FOREIGN,
    LOGITS,
    SURPRISAL,
    UNCERTAINTY,
    Batch,
    Dev,
)
from snapcli.methods.snap import DeployedForeign, DeployedSnap, Foreign, Snap, Surprise
from snapcli.score.calibration import Condition, Conditions, fit_map
from snapcli.score.confidence import doubt, energy, error_logit
from snapcli.score.maps import Features, reads_third
from snapcli.score.weights import tap_weights
from tests.unit.made_evidence import TAPS, made_batch, made_dev, made_evidence

OPTIONS = CalibrateOptions()
KINDS = ("gated", "gated-taps", "logistic", "logistic-s", "isotonic", "percentile")


@cache
def fitted(kind: str) -> Snap:
    method = Snap(f"snap-{kind}", CalibrateOptions(map=kind))
    method.fit(made_evidence().train, made_dev())
    return method


def with_surprisal(batch: Batch, factor: float) -> Batch:
    return Batch({**batch.outputs, SURPRISAL: factor * batch.outputs[SURPRISAL]}, batch.y)


def test_s_trusts_a_noisy_tap_less() -> None:
    method, clean = Surprise("snap-s", OPTIONS), made_evidence().clean
    method.fit(made_evidence().train, made_dev())
    trust = 1 / made_dev().clean.outputs[SURPRISAL].var(axis=0)
    expected = clean.outputs[SURPRISAL] @ (trust / trust.sum())
    np.testing.assert_allclose(method.score(clean), expected)
    alone = Surprise("snap-s", OPTIONS)
    alone.fit(made_evidence().train, Dev(made_dev().clean, {}))
    np.testing.assert_array_equal(alone.weights_, method.weights_)


def test_s_weighs_taps_as_the_run_does() -> None:
    method = Surprise("snap-s", CalibrateOptions(weights="uniform"))
    method.fit(made_evidence().train, made_dev())
    clean = made_evidence().clean
    np.testing.assert_allclose(method.score(clean), clean.outputs[SURPRISAL].mean(axis=1))


def test_s_of_other_heads_reads_their_surprisals() -> None:
    clean = made_evidence().clean
    outputs = {**clean.outputs, "surprisal huber": clean.outputs[SURPRISAL][:, ::-1] ** 2}
    batch = Batch(outputs, clean.y)
    method = Surprise("snap-huber", OPTIONS, "surprisal huber")
    method.fit(batch, Dev(batch, {}))
    assert not np.allclose(method.score(batch), batch.outputs[SURPRISAL] @ method.weights_)
    np.testing.assert_allclose(method.score(batch), outputs["surprisal huber"] @ method.weights_)


@pytest.mark.parametrize("kind", KINDS)
def test_u_never_falls_when_surprise_grows(kind: str) -> None:
    method = fitted(kind)
    for batch in made_evidence().conditions.values():
        less, more = (with_surprisal(batch, factor) for factor in (1.0, 3.0))
        assert np.all(method.score(more) >= method.score(less))
        low, high = method.uncertainty(less), method.uncertainty(more)
        if low is not None and high is not None:
            assert np.all((low >= 0) & (high <= 1) & (high >= low))
    assert method.score(more).mean() > method.score(less).mean()


@pytest.mark.parametrize("kind", ["gated", "gated-taps", "logistic", "logistic-s"])
def test_the_score_ranks_as_u_does_and_further_where_u_is_1(kind: str) -> None:
    method, batch = fitted(kind), with_surprisal(made_evidence().clean, 1e6)
    u, score = method.uncertainty(batch), method.score(batch)
    assert u is not None
    assert np.ptp(u) < 1e-9
    assert len(np.unique(score)) == len(batch)
    usual = made_evidence().clean
    np.testing.assert_allclose(expit(method.score(usual)), method.uncertainty(usual))


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_gets_what_u_leaves_and_the_others_share_u(kind: str) -> None:
    method, batch = fitted(kind), made_evidence().clean
    p, rows = method.probabilities(batch), np.arange(len(batch))
    np.testing.assert_allclose(p.sum(axis=-1), 1.0)
    answers = method.answers(batch)
    np.testing.assert_array_equal(answers, batch.logits.argmax(axis=-1))
    soft = softmax(batch.logits / method.temperature_, axis=-1)
    u = method.uncertainty(batch)
    wrong = 1 - soft.max(axis=-1) if u is None else u
    np.testing.assert_allclose(p[rows, answers], 1 - wrong, atol=1e-9)
    others = np.arange(p.shape[1])[None] != answers[:, None]
    expected = soft * (wrong / (1 - soft.max(axis=-1)))[:, None]
    np.testing.assert_allclose(p[others], expected[others], atol=1e-9)


def test_a_sure_answer_leaves_the_others_something_to_share() -> None:
    """All but the answer has rounded to 0: the rest is shared evenly."""
    method, one = fitted("gated"), made_evidence().clean
    z = np.array([[4000.0, 0.0, 0.0, 0.0]])
    batch = Batch({LOGITS: z, SURPRISAL: 40 * one.outputs[SURPRISAL][:1]}, one.y[:1])
    p = method.probabilities(batch)
    assert p.sum() == pytest.approx(1.0)
    assert np.ptp(p[0, 1:]) == 0


def test_only_a_percentile_is_no_probability() -> None:
    clean = made_evidence().clean
    without = [kind for kind in KINDS if fitted(kind).uncertainty(clean) is None]
    assert without == ["percentile"]


def test_auto_learns_nothing_from_few_errors() -> None:
    """U is then 1 - max p at the fitted temperature."""
    clean = made_dev().clean
    right = np.flatnonzero(clean.logits.argmax(axis=-1) == clean.y)
    batch = Batch({name: v[right] for name, v in clean.outputs.items()}, clean.y[right])
    method = Snap("snap", OPTIONS)
    method.fit(made_evidence().train, Dev(batch, {}))
    assert method.tuning_ is None
    expected = 1 - softmax(batch.logits / method.temperature_, axis=-1).max(axis=-1)
    np.testing.assert_allclose(method.uncertainty(batch), expected, atol=1e-12)


def test_the_device_has_said_u_itself() -> None:
    method, batch = DeployedSnap("snap", CalibrateOptions(map="gated")), made_evidence().clean
    # Corrupted data have no say: the map was fitted elsewhere.
    method.fit(made_evidence().train, Dev(made_dev().clean, {}))
    assert not method.learns_shift
    assert not hasattr(method, "map_")
    np.testing.assert_array_equal(method.score(batch), batch.outputs[UNCERTAINTY])
    p = method.probabilities(batch)
    rows = np.arange(len(batch)), method.answers(batch)
    np.testing.assert_allclose(p[rows], 1 - batch.outputs[UNCERTAINTY])


def test_f_finds_foreign_inputs_and_claims_no_probability() -> None:
    evidence = made_evidence()
    method = Foreign("snap-foreign", OPTIONS, tap=TAPS[-1])
    method.fit(evidence.train, evidence.dev)
    usual = method.score(evidence.clean)
    for key in evidence.foreign:
        batch = evidence.conditions[key]
        found = np.r_[np.zeros(len(usual)), np.ones(len(batch))]
        assert roc_auc_score(found, np.r_[usual, method.score(batch)]) > 0.9
        assert method.uncertainty(batch) is None
    # Who is right has no say.
    blind = Foreign("snap-foreign", OPTIONS, tap=TAPS[-1])
    dev = evidence.dev
    mislabelled = Dev(dev.clean, {k: Batch(b.outputs, 0 * b.y) for k, b in dev.corrupted.items()})
    blind.fit(evidence.train, mislabelled)
    np.testing.assert_array_equal(blind.score(evidence.clean), usual)


def test_the_device_has_said_f_itself() -> None:
    batch = made_evidence().clean
    method = DeployedForeign("snap-foreign", "")
    np.testing.assert_array_equal(method.score(batch), batch.outputs[FOREIGN])


def test_a_monitor_without_heads_is_not_told_surprise() -> None:
    """The map reads logits and distances alone, and says the same whatever the heads say."""
    evidence = made_evidence()
    method = Snap("snap", CalibrateOptions(map="evidence", taps="none"), tap=TAPS[-1])
    method.fit(evidence.train, evidence.dev)
    for batch in evidence.conditions.values():
        expected = method.score(batch)
        np.testing.assert_array_equal(method.score(with_surprisal(batch, 7.0)), expected)
    right = evidence.clean.logits.argmax(axis=-1) == evidence.clean.y
    assert roc_auc_score(~right, method.score(evidence.clean)) > 0.6


def test_the_hybrid_hears_what_only_the_distance_says() -> None:
    """The last tap moves away, surprise and confidence do not."""
    evidence, dev = made_evidence(), made_dev()
    rng = np.random.default_rng(0)

    def strange(batch: Batch) -> Batch:
        moved = batch.outputs[TAPS[-1]] + 6.0 * rng.choice([-1.0, 1.0], (len(batch), 1))
        wrong = (batch.logits.argmax(axis=-1) + 1) % 4
        return Batch(
            {**batch.outputs, TAPS[-1]: moved},
            np.where(rng.random(len(batch)) < 0.9, wrong, batch.y),
        )

    shifted = Dev(dev.clean, {("moved", 3): strange(dev.clean)})
    with_distance = CalibrateOptions(map="gated", third="mahalanobis")
    hybrid = Snap("hybrid", with_distance, tap=TAPS[-1])
    gated = Snap("snap-gated", CalibrateOptions(map="gated"))
    for method in (hybrid, gated):
        method.fit(evidence.train, shifted)
    clean, test = evidence.clean, strange(made_batch(evidence.clean.y, 0.0, 77))
    moved = np.repeat([False, True], len(clean))

    def found(method: Snap) -> float:
        return float(roc_auc_score(moved, np.r_[method.score(clean), method.score(test)]))

    assert reads_third(hybrid.map_)
    assert found(hybrid) > 0.95 > found(gated)


def test_what_auto_took_is_kept_by_later_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    method, dev = Snap("snap", OPTIONS), made_dev()
    method.fit(made_evidence().train, dev)
    taken = method.map_.kind

    def never(*_: object) -> None:
        raise AssertionError("chosen again")

    monkeypatch.setattr("snapcli.methods.snap.choose_map", never)
    method.fit(made_evidence().train, dev.of_types(dev.types()[:1]))
    assert method.map_.kind == taken


# ---- As the run was calibrated ----------------------------------------------


def by(**given: object) -> Snap:
    options = CalibrateOptions(map="logistic", **given)  # type: ignore[arg-type]
    method = Snap("snap", options)
    method.fit(made_evidence().train, made_dev())
    return method


def test_weights_alpha_and_balance_are_those_of_the_calibration() -> None:
    """Each against what score/ makes of the same numbers."""
    dev, clean = made_dev(), made_evidence().clean
    np.testing.assert_allclose(by(weights="uniform").weights_, [0.5, 0.5])
    assert not np.allclose(by().weights_, [0.5, 0.5])
    for given in ({"alpha": 0.2}, {"alpha": 0.9}, {"balanced": False}, {"weights": "uniform"}):
        method = by(**given)
        options = CalibrateOptions(map="logistic", **given)  # type: ignore[arg-type]
        weights = tap_weights(dev.clean.outputs[SURPRISAL], options.weights)

        def condition(
            batch: Batch,
            t: float = method.temperature_,
            w: np.ndarray = weights,
            options: CalibrateOptions = options,
        ) -> Condition:
            e, z = batch.outputs[SURPRISAL], batch.logits
            answer, margin = z.argmax(axis=-1), doubt(z, t, options.alpha)
            features = Features(e @ w, error_logit(z, t), margin, e, answer, z.shape[1])
            return Condition(features, answer != batch.y, error_logit(z, 1.0))

        on_dev = Conditions(
            condition(dev.clean), {k: condition(b) for k, b in dev.corrupted.items()}
        )
        expected = fit_map("logistic", on_dev, on_dev.types(), options.fit)
        assert method.map_ == expected
        assert method.map_ != by().map_
        np.testing.assert_array_equal(
            method.uncertainty(clean), expected(condition(clean).features)
        )


def test_an_energy_can_be_the_third_input() -> None:
    options = CalibrateOptions(map="gated", third="energy")
    method, batch = Snap("snap", options), made_evidence().clean
    method.fit(made_evidence().train, made_dev())
    third = method._features(batch).third
    np.testing.assert_array_equal(third, energy(batch.logits, method.temperature_))


def test_the_distance_that_a_network_shows_is_taken_as_it_is() -> None:
    """The device's own, rather than one that is fitted again."""
    options = CalibrateOptions(map="gated", third="mahalanobis")

    def shown(batch: Batch) -> Batch:
        nearest = np.arange(1.0, len(batch) + 1)
        distances = np.stack([nearest + len(batch), nearest], axis=-1)
        return Batch({**batch.outputs, DISTANCE: distances}, batch.y)

    dev = made_dev()
    method = Snap("snap", options, tap="nowhere")
    method.fit(
        shown(made_evidence().train),
        Dev(shown(dev.clean), {k: shown(b) for k, b in dev.corrupted.items()}),
    )
    batch = shown(made_evidence().clean)
    np.testing.assert_array_equal(
        method._features(batch).third, np.log(np.arange(1.0, len(batch) + 1))
    )
    np.testing.assert_array_equal(method._features(batch).distances, batch.outputs[DISTANCE])
