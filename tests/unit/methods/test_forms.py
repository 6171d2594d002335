"""What is priced is what is judged: a method's form in integers says what its score does."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import spearmanr

from snapcli.config import HEADS, MINIMAL, CalibrateOptions
from snapcli.data.evaluation import Evaluation
from snapcli.graph.ensemble import copies
from snapcli.judging.evidence import collect_dev
from snapcli.judging.observe import IntegerNetwork
from snapcli.methods.forms import FormInputs, monitor_of
from snapcli.methods.method import Batch, Dev
from snapcli.methods.snap import Snap
from snapcli.methods.table import GROUPS, TABLE, Calibration
from snapcli.methods.trained.ensemble import MEMBERS, Ensemble
from snapcli.monitor.decision import ONE_Q16
from snapcli.monitor.monitor import Monitor
from snapcli.score.maps import SCORE, THIRD, Gate, GatedMap
from tests.unit.stages.tiny_run import tiny_dataset
from tests.unit.tiny_monitor import random_inputs, tiny_body, tiny_monitor

pytestmark = pytest.mark.slow

FORMS = [name for name in GROUPS["single-pass"] if TABLE[name].form]
FITTED = [name for name in FORMS if name not in ("snap", "snap-deployed")]
COUNT = 150


@cache
def network() -> IntegerNetwork:
    further = {kind: tiny_body(kind) for kind in HEADS if kind not in ("gaussian", MINIMAL)}
    return IntegerNetwork(tiny_monitor(), "gaussian", {**further, MINIMAL: tiny_body()})


@cache
def fitting() -> tuple[Batch, Dev]:
    options = CalibrateOptions()
    return collect_dev(network().observe, Evaluation(tiny_dataset(True), 80), options, print)


@cache
def inputs() -> tuple[np.ndarray, Batch]:
    """(int8 inputs, what the network shows of them)"""
    q = random_inputs(COUNT, seed=5)
    body = network().body
    real = body.graph.tensors[body.graph.input].real(q)
    return q, Batch(network().observe(real), np.zeros(COUNT, np.int64))


def given() -> FormInputs:
    return FormInputs(network().monitor, dict(network().further))


def in_integers(name: str, method: object) -> tuple[np.ndarray, np.ndarray]:
    """(answers, scores)"""
    form = TABLE[name].form
    assert form is not None
    found, (q, _) = form(method, given()), inputs()
    if isinstance(found, Monitor):
        scores = found.run(q)
        return scores.predicted, scores.uncertainty_q16 / ONE_Q16
    graph, end = found
    tensors = {output: graph.outputs[output] for output in end.reads}
    values = graph.run(q, set(tensors.values()))
    answers, score = end.reference({output: values[t] for output, t in tensors.items()})
    return answers, score / ONE_Q16


@pytest.mark.parametrize("name", FITTED)
def test_the_form_says_what_the_score_does(name: str) -> None:
    method = TABLE[name].make(network(), Calibration(CalibrateOptions(), "gated"))
    assert not isinstance(method, str), method
    method.fit(*fitting())
    answers, score = in_integers(name, method)
    _, batch = inputs()
    np.testing.assert_array_equal(answers, method.answers(batch))
    expected = method.score(batch)
    uncertainty = method.uncertainty(batch)
    if uncertainty is not None:
        assert np.abs(score - uncertainty).max() < 0.02
    if np.ptp(expected) > 0 and np.ptp(score) > 0:
        assert spearmanr(score, expected).statistic > 0.97


def test_snap_is_priced_as_it_is_deployed() -> None:
    form = TABLE["snap"].form
    assert form is not None
    assert form(None, given()) is network().monitor


@pytest.mark.parametrize("third", ["none", "energy", "mahalanobis"])
def test_a_monitor_has_all_of_the_calibration(third: str) -> None:
    options = CalibrateOptions(
        map="gated", third=third, alpha=0.25, weights="uniform", balanced=False
    )
    (tap,) = network().taps[-1:]
    method = Snap("snap", options, tap=tap)
    method.fit(*fitting())
    monitor = monitor_of(method, network().body)
    assert monitor.decision.alpha_q16 == ONE_Q16 // 4
    assert monitor.decision.weight_q16 == (ONE_Q16 // 2, ONE_Q16 // 2)
    assert monitor.decision.temperature == method.temperature_
    assert (monitor.body.distance is not None) == (monitor.decision.third == "mahalanobis")
    _, batch = inputs()
    uncertainty = monitor.run(inputs()[0]).uncertainty_q16 / ONE_Q16
    assert np.abs(uncertainty - method.uncertainty(batch)).max() < 0.02


@pytest.mark.parametrize("kind", ["gaussian", "huber"])
def test_heads_of_another_kind_have_the_distance_of_the_run(kind: str) -> None:
    """Where the network shows one, nothing is fitted that could stand for it."""
    shows = IntegerNetwork(tiny_monitor("mahalanobis"), "gaussian", {"huber": tiny_body("huber")})
    asked = CalibrateOptions(map="gated", third="mahalanobis")
    method = TABLE[f"snap-{kind}"].make(shows, Calibration(asked, "gated"))
    assert isinstance(method, Snap)
    method.fit(*collect_dev(shows.observe, Evaluation(tiny_dataset(True), 80), asked, print))
    method.map_ = GatedMap("gated", -1.0, 0.5, (Gate(SCORE, 0.5, 0.0), Gate(THIRD, 1.0, -1.0)))
    form = TABLE[f"snap-{kind}"].form
    assert form is not None
    monitor = form(method, FormInputs(shows.monitor, dict(shows.further)))
    assert isinstance(monitor, Monitor)
    assert monitor.decision.third == "mahalanobis"
    q, _ = inputs()
    real = shows.body.graph.tensors[shows.body.graph.input].real(q)
    expected = method.uncertainty(Batch(shows.observe(real), np.zeros(COUNT, np.int64)))
    assert np.abs(monitor.run(q).uncertainty_q16 / ONE_Q16 - expected).max() < 0.02


@pytest.mark.parametrize("name", [n for n in GROUPS["trained"] if TABLE[n].form])
def test_an_ensemble_is_judged_by_the_entropy_that_is_priced(name: str) -> None:
    graph = copies(given().graph, network().body.logits_tensor, 3)
    form, method = (
        TABLE[name].form,
        TABLE[name].make(network(), Calibration(CalibrateOptions(), "")),
    )
    assert form is not None
    assert isinstance(method, Ensemble)
    found = form(None, FormInputs(network().monitor, {}, graph))
    assert not isinstance(found, Monitor)
    shaped, end = found
    values = shaped.run(inputs()[0], set(shaped.outputs.values()))
    by_name = {output: values[tensor] for output, tensor in shaped.outputs.items()}
    answers, score = end.reference(by_name)
    real = [
        shaped.tensors[shaped.outputs[o]].real(by_name[o]).reshape(COUNT, -1) for o in end.reads
    ]
    batch = Batch({MEMBERS: np.stack(real, axis=1).astype(np.float64)}, np.zeros(COUNT, np.int64))
    np.testing.assert_allclose(score / ONE_Q16, method.score(batch), atol=0.002)
    assert np.mean(answers == method.answers(batch)) > 0.99
