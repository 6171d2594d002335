"""What each method computes behind the network, as C and as the same in numpy.

An end sees the outputs of its graph as pointers of their names, `scratch` in the arena, and
`scored`, where it leaves the answer and a score that grows with doubt.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.config import MEAN
from snapcli.emit.distance import TYPE
from snapcli.emit.text import array, struct
from snapcli.graph.graph import Tensor
from snapcli.monitor.pooled import pooled_sums

Values = Mapping[str, NDArray[np.int8]]
Scored = tuple[NDArray[np.int32], NDArray[np.int32]]
"""The answers and the scores, each [n]."""

_LOG2, _TAIL, _CONFIDENCE, _DISTANCE = (
    f"scored_{name}" for name in ("log2_q15", "tail_q16", "confidence", "distance")
)
_ANSWER = "scored->predicted = snapuq_argmax_s8({logits}, {classes});"


@dataclass(frozen=True)
class End:
    """reads: outputs of the graph, by name. definitions: constants of C. scratch_bytes: of the
    arena. reference: {output: int8 [n, ...]} -> what the statements leave."""

    reads: tuple[str, ...]
    definitions: str
    statements: tuple[str, ...]
    scratch_bytes: int
    reference: Callable[[Values], Scored]


def _signed(score: NDArray[np.unsignedinteger]) -> NDArray[np.int32]:
    return score.astype(np.int32)


def answer_end(logits: Tensor) -> End:
    """The class alone."""

    def reference(values: Values) -> Scored:
        predicted = fx.argmax_s8(values["logits"].reshape(-1, logits.size_bytes))
        return predicted, np.zeros_like(predicted)

    answer = _ANSWER.format(logits="logits", classes=logits.size_bytes)
    return End(("logits",), "", (answer, "scored->score_q16 = 0;"), 0, reference)


def entropy_end(members: Mapping[str, Tensor]) -> End:
    """The entropy of the mean of the members' probabilities, of which one may be all there are;
    the answer is the likeliest class of that mean."""
    classes = next(iter(members.values())).size_bytes
    steps = {name: fx.probability_step_q24(t.scale) for name, t in members.items()}
    statements = ["uint32_t *const probability_q16 = scratch;"]
    statements += [
        f"snapuq_probability_q16({name}, {classes}, {step}u, probability_q16 + {i * classes});"
        for i, (name, step) in enumerate(steps.items())
    ]
    if len(members) == 1:
        statements.append(_ANSWER.format(logits=next(iter(members)), classes=classes))
    else:
        mean = f"snapuq_average_q16(probability_q16, {len(members)}, {classes}, probability_q16);"
        statements += [mean, "scored->predicted = 0;"]
        statements += [
            f"for (int32_t k = 1; k < {classes}; ++k) {{",
            "    if (probability_q16[k] > probability_q16[scored->predicted]) {",
            "        scored->predicted = k;",
            "    }",
            "}",
        ]
    statements.append(
        f"scored->score_q16 = (int32_t)snapuq_entropy_q16(probability_q16, {classes}, {_LOG2});"
    )

    def reference(values: Values) -> Scored:
        logits = [values[name].reshape(-1, classes) for name in steps]
        each = [fx.probability_q16(z, s) for z, s in zip(logits, steps.values(), strict=True)]
        mean = fx.average_q16(np.stack(each, axis=1))
        # Of one network the logits say more than probabilities that were rounded.
        answer = fx.argmax_s8(logits[0]) if len(each) == 1 else mean.argmax(axis=-1)
        return answer.astype(np.int32), _signed(fx.entropy_q16(mean))

    return End(
        tuple(members),
        array(_LOG2, fx.log2_q15_table()),
        tuple(statements),
        4 * classes * len(members),
        reference,
    )


def temperature_end(logits: Tensor, temperature: float) -> End:
    """1 - max p of the softmax at a temperature."""
    confidence = fx.confidence_of(logits.size_bytes, logits.scale, temperature)
    definitions = [struct(confidence, _CONFIDENCE, {}), array(_LOG2, fx.log2_q15_table())]
    definitions.append(array(_TAIL, fx.sigmoid_tail_q16_table()))
    statements = (
        _ANSWER.format(logits="logits", classes=confidence.classes),
        "scored->score_q16 = (int32_t)snapuq_sigmoid_q16(",
        f"    snapuq_error_logit_q16(&{_CONFIDENCE}, logits, scored->predicted, {_LOG2}),",
        f"    {_TAIL});",
    )

    def reference(values: Values) -> Scored:
        z = values["logits"].reshape(-1, confidence.classes)
        predicted = fx.argmax_s8(z)
        error_logit = fx.error_logit_q16(confidence, z, predicted)
        return predicted, _signed(fx.sigmoid_q16(error_logit.astype(np.int64)))

    return End(("logits",), "\n".join(definitions), statements, 0, reference)


def energy_end(logits: Tensor, temperature: float) -> End:
    """The free energy of logits / temperature; of two rows, that of the second, while the first
    answers."""
    classes = logits.channels
    confidence = fx.confidence_of(classes, logits.scale, temperature)
    judged = f"logits + {classes}" if logits.size_bytes > classes else "logits"
    statements = (
        _ANSWER.format(logits="logits", classes=classes),
        f"scored->score_q16 = snapuq_free_energy_q16(&{_CONFIDENCE}, {judged},",
        f"    snapuq_argmax_s8({judged}, {classes}), {_LOG2});",
    )

    def reference(values: Values) -> Scored:
        rows = values["logits"].reshape(len(values["logits"]), -1, classes)
        shaped = rows[:, -1]
        energy = fx.free_energy_q16(confidence, shaped, fx.argmax_s8(shaped))
        return fx.argmax_s8(rows[:, 0]), energy

    definitions = [struct(confidence, _CONFIDENCE, {}), array(_LOG2, fx.log2_q15_table())]
    return End(("logits",), "\n".join(definitions), statements, 0, reference)


def distance_end(logits: Tensor, tapped: Tensor, head: fx.MahalanobisS8) -> End:
    """The distance of the output `tapped`, pooled, to the nearest class."""
    sums = f"{tapped.positions}, {tapped.channels}, {tapped.zero_point}, sum"
    statements = (
        "int32_t *const sum = scratch;",
        f"int16_t *const work = (int16_t *)(sum + {tapped.channels});",
        f"snapuq_pool_sum_s8(tapped, {sums});",
        _ANSWER.format(logits="logits", classes=logits.size_bytes),
        f"const {TYPE} d =\n"
        f"        snapuq_mahalanobis_s8(&{_DISTANCE}, sum, scored->predicted, work);",
        "scored->score_q16 = (int32_t)(d.own_q16 < d.next_q16 ? d.own_q16 : d.next_q16);",
    )

    def reference(values: Values) -> Scored:
        answer = fx.argmax_s8(values["logits"].reshape(-1, logits.size_bytes))
        sums = pooled_sums(tapped, values["tapped"], MEAN)
        return answer, _signed(fx.mahalanobis_s8(head, sums, answer).min(axis=-1))

    scratch_bytes = 4 * tapped.channels + 2 * (head.channels + head.rank)
    definitions = struct(head, _DISTANCE, {})
    return End(("logits", "tapped"), definitions, statements, scratch_bytes, reference)
