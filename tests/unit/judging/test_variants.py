"""Variants as a stage of a run: trained once, resumed, trained anew when the run was."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from snapcli.config import Recipe, TrainOptions, dump_recipe
from snapcli.data import load_dataset
from snapcli.errors import UsageError
from snapcli.graph.reader import read_tflite
from snapcli.judging import variants
from snapcli.judging.variants import int8_graph, variant
from snapcli.methods.table import GROUPS, TABLE
from snapcli.models.activations import load_model
from snapcli.models.convert import convert_int8
from snapcli.models.tensorflow import require_tensorflow
from snapcli.origin.origin import TrainedOrigin
from snapcli.origin.recipe import CONFIG
from snapcli.runs import Run, create_run

from ...conftest import need
from ..methods.trained.test_networks import SMALL

pytestmark = pytest.mark.slow

X = np.random.default_rng(0).uniform(0, 1, (6, 16, 16, 1)).astype(np.float32)
EPOCHS = 2


def write_train(run: Run) -> None:
    """A network that has learned nothing."""
    with run.write("train", after=(), beside=(CONFIG,)) as out:
        SMALL.build((16, 16, 1), 10).save(out / "model.keras")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backbone and a data set that take no time."""
    digits = load_dataset(TrainOptions())
    data = replace(digits, train=digits.train.take(np.arange(64)))
    monkeypatch.setattr(variants, "load_backbone", lambda name: SMALL)
    monkeypatch.setattr(TrainedOrigin, "dataset", lambda *_: data)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    need(tensorflow=True)
    require_tensorflow()
    run = create_run(tmp_path_factory.mktemp("variants"), "digits")
    options = TrainOptions(backbone="dscnn-digits", taps=("P",), epochs=EPOCHS)
    run.path(CONFIG).write_text(dump_recipe(Recipe(train=options)))
    write_train(run)
    return run


@pytest.fixture
def seen() -> list[tuple[int, int]]:
    return []


def test_every_method_that_trains_has_a_network() -> None:
    for name in GROUPS["trained"]:
        kind = TABLE[name].trains
        assert kind is not None
        assert kind.build(SMALL, (16, 16, 1), 10).output


def test_hydra_learns_from_the_deep_ensemble_of_the_run(
    run: Run, seen: list[tuple[int, int]]
) -> None:
    found = variant(run, "hydra", lambda done, total, _: seen.append((done, total)))
    # Two members beside the run's own, then the heads.
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4), (1, 2), (2, 2)]
    assert found.observe(X)["members"].shape == (6, 3, 10)
    assert run.state("variants/deep-ensemble").status == "done"
    seen.clear()
    ensemble = variant(run, "deep-ensemble", lambda done, total, _: seen.append((done, total)))
    assert seen == []
    own = load_model(run.path("train/model.keras"))(X, training=False)["logits"]
    members = ensemble.observe(X)["members"]
    np.testing.assert_allclose(members[:, 0], own, atol=1e-5)
    integer = ensemble.int8(X)(X)["members"]
    assert integer.shape == members.shape
    assert np.abs(integer - members).max() < 0.2 * np.ptp(members)


def test_what_is_priced_is_the_trained_network_if_there_is_one(run: Run) -> None:
    data = variants.origin_of(run).dataset()
    plain = read_tflite(convert_int8(load_model(run.path("train/model.keras")), ["logits"], X))
    found = variant(run, "hydra")
    graph = int8_graph(run, "hydra", data, plain, plain.outputs["logits"])
    values = graph.run(graph.tensors[graph.input].quantize(X), set(graph.outputs.values()))
    members = [
        graph.tensors[t].real(values[t]).reshape(len(X), -1)
        for t in (graph.outputs[name] for name in sorted(graph.outputs))
    ]
    expected = found.int8(data.front_end(data.train.x))(X)["members"]
    np.testing.assert_allclose(np.stack(members, axis=1), expected)
    # Nobody waits for a training to learn what a network of this shape costs.
    for name, count in (("early-exit", 3), ("qute", 3)):
        built = int8_graph(run, name, data, plain, plain.outputs["logits"])
        assert len(built.outputs) == count
        assert run.state(f"variants/{name}").status == "missing"


def test_an_interrupted_training_goes_on(run: Run, seen: list[tuple[int, int]]) -> None:
    def interrupt(done: int, total: int, detail: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        variant(run, "evidential", interrupt)
    assert run.state("variants/evidential").status == "missing"
    found = variant(run, "evidential", lambda done, total, _: seen.append((done, total)))
    assert seen == [(2, 2)]
    assert found.observe(X)["logits"].shape == (6, 10)
    assert not list(run.path("variants").glob("*.npz"))


def test_a_run_that_was_trained_anew_has_stale_variants(run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.root, tmp_path / "again")
    again = Run(tmp_path / "again")
    with again.write("train", after=(), beside=(CONFIG,)) as out:
        (out / "model.keras").write_bytes(b"another")
    for name in ("hydra", "deep-ensemble"):
        state = again.state(f"variants/{name}")
        assert state.status == "stale"
        assert f"eval --methods {name}" in again.remedy(state.origin)


def test_without_a_training_there_is_no_variant(tmp_path: Path) -> None:
    run = create_run(tmp_path, "given")
    with run.write("attach", after=()) as out:
        (out / "model").write_text("")
    with pytest.raises(UsageError, match="finished model"):
        variant(run, "qute")
    with pytest.raises(UsageError, match="no method 'hydr'"):
        variant(run, "hydr")
