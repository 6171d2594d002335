"""Candidates: one pass over the inputs gives what each choice of taps would compute."""

import numpy as np
import pytest

from snapcli.config import MEAN
from snapcli.graph import read_tflite
from snapcli.graph.chunks import CHUNK, in_chunks
from snapcli.graph.foreign import classifier, logits_of
from snapcli.heads.quantize import quantize_head
from snapcli.monitor.body import TapTensors
from snapcli.monitor.candidates import Candidates, CandidateScores
from snapcli.monitor.distance import quantize_mahalanobis
from snapcli.monitor.pooled import Pooled, pooled
from snapcli.score.mahalanobis import fit_mahalanobis

from ..tiny_foreign import foreign_tflite
from ..tiny_monitor import random_head, random_inputs


@pytest.fixture(scope="module")
def candidates() -> Candidates:
    graph = classifier(read_tflite(foreign_tflite()))
    stem, spatial, block = (layer.target for layer in graph.layers[:3])
    x = random_inputs(60)
    found = pooled(graph, [stem, spatial, block], MEAN, x)
    pairs = ((stem, spatial), (stem, block), (spatial, block))
    heads, distances = [], []
    for before, after in pairs:
        ends = graph.tensors[before], graph.tensors[after]
        head = random_head(*ends, found.sums, rank=2)
        heads.append(quantize_head(head, *ends, found.sums[before]))
        real = found.sums[after] * (ends[1].scale / ends[1].positions)
        answers = found.logits.argmax(axis=-1)
        nearest = fit_mahalanobis(real, answers, found.logits.shape[1])
        distances.append(quantize_mahalanobis(nearest, ends[1]))
    taps = tuple(TapTensors(*pair) for pair in pairs)
    return Candidates(graph, taps, tuple(heads), tuple(distances), MEAN)


@pytest.mark.parametrize("chosen", [(0, 1, 2), (0, 2), (1,), ()])
def test_what_is_taken_equals_what_a_body_of_it_computes(
    candidates: Candidates, chosen: tuple[int, ...]
) -> None:
    x = random_inputs(40, seed=1)
    taken = candidates.score(x).of_body(chosen)
    computed = candidates.body(chosen).run(x)
    np.testing.assert_array_equal(taken.surprisal_q16, computed.surprisal_q16)
    np.testing.assert_array_equal(taken.logits, computed.logits)
    np.testing.assert_array_equal(taken.distance_q16, computed.distance_q16)
    assert len(np.unique(taken.distance_q16)) > 20
    assert not chosen or len(np.unique(taken.surprisal_q16)) > 20


def test_a_body_gives_the_outputs_of_the_file_beside_its_logits(candidates: Candidates) -> None:
    body = candidates.body((0, 2))
    assert body.results == (logits_of(body.graph), body.graph.outputs["Identity"])


def test_chunks_come_in_order_and_are_counted(candidates: Candidates) -> None:
    x = random_inputs(2 * CHUNK + 5)
    done, parts = zip(*in_chunks(candidates.score, x), strict=True)
    assert done == (CHUNK, 2 * CHUNK, len(x))
    whole, joined = candidates.score(x), CandidateScores.concatenate(list(parts))
    np.testing.assert_array_equal(joined.surprisal_q16, whole.surprisal_q16)
    np.testing.assert_array_equal(joined.distance_q16, whole.distance_q16)


def test_pooled_parts_join(candidates: Candidates) -> None:
    tensor = candidates.taps[0].before
    x = random_inputs(7)
    whole = pooled(candidates.graph, [tensor], MEAN, x)
    halves = [pooled(candidates.graph, [tensor], MEAN, part) for part in (x[:3], x[3:])]
    joined = Pooled.concatenate(halves)
    np.testing.assert_array_equal(joined.sums[tensor], whole.sums[tensor])
    np.testing.assert_array_equal(joined.logits, whole.logits)
