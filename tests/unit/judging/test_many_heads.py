"""Many sets of heads that look at one pass."""

from dataclasses import replace

import numpy as np

from snapcli.judging.many_heads import FloatHeads, IntegerHeads, ManyHeads, half
from snapcli.judging.observe import surprisal_by
from snapcli.monitor.decision import ONE_Q16
from snapcli.monitor.pooled import pooled_sums

from ..tiny_monitor import MOMENTS, random_head, random_inputs, tiny_monitor


def test_every_set_says_what_it_says_alone() -> None:
    """Those that take deviations beside those that do not."""
    bodies = {kind: tiny_monitor(head=kind).body for kind in ("gaussian", "mixture", MOMENTS)}
    first = bodies["gaussian"]
    shared = {kind: replace(body, graph=first.graph) for kind, body in bodies.items()}
    network = ManyHeads(first.graph, {k: IntegerHeads(body) for k, body in shared.items()})
    q = random_inputs(70)
    seen = network.observe(first.graph.tensors[first.graph.input].real(q))
    for kind, body in bodies.items():
        alone = body.run(q)
        np.testing.assert_array_equal(
            seen[surprisal_by(kind)] * ONE_Q16, alone.surprisal_q16, err_msg=kind
        )
    scale = first.graph.tensors[first.logits_tensor].scale
    np.testing.assert_allclose(seen["logits"], first.run(q).logits * scale, rtol=1e-6)


def test_float_heads_look_at_what_the_int8_network_shows() -> None:
    body = tiny_monitor().body
    graph, q = body.graph, random_inputs(200)
    found = graph.run(q, body.tapped)
    sums = {
        name: pooled_sums(body.graph.tensors[name], found[name], body.statistics)
        for name in body.tapped
    }
    heads = [
        replace(
            random_head(graph.tensors[t.before], graph.tensors[t.after], sums, rank=3),
            before=t.before,
            after=t.after,
        )
        for t in body.taps
    ]
    network = ManyHeads(
        graph, {"float": FloatHeads(body, heads), "half": FloatHeads(body, half(heads))}
    )
    seen = network.observe(graph.tensors[graph.input].real(q))
    exact, rounded = (seen[surprisal_by(name)] for name in ("float", "half"))
    tap, tensor = heads[0], graph.tensors
    real = {n: s * float(tensor[n].scale / tensor[n].positions) for n, s in sums.items()}
    np.testing.assert_allclose(
        exact[:, 0], tap.surprisal(real[tap.before], real[tap.after]), rtol=1e-9
    )
    assert not np.array_equal(exact, rounded)
    np.testing.assert_allclose(rounded, exact, rtol=0.05, atol=0.01)


def test_a_set_alone_does_not_keep_what_others_look_at() -> None:
    both = tiny_monitor().body
    first, second = both.taps
    assert first.before in both.graph.outputs.values()
    one = replace(both, taps=(second,), heads=both.heads[1:])
    alone = ManyHeads(both.graph, {"both": IntegerHeads(both), "one": IntegerHeads(one)}).alone(
        "one"
    )
    assert first.before in one.results
    assert first.before not in alone.results
    q = random_inputs(5)
    np.testing.assert_array_equal(alone.run(q).surprisal_q16, both.run(q).surprisal_q16[:, 1:])
