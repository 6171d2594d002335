"""Decisions of a controller, where a request had to be sent again."""

from dataclasses import replace

import numpy as np
import pytest
from snapcli.device.protocol import Inference

from snapcli import fixedpoint as fx
from snapcli.errors import CheckError
from snapcli.graph.monitor import Monitor
from snapcli.stages.bench import _check_answers, _timed

from ..tiny_monitor import random_inputs, tiny_body, tiny_monitor

INPUTS = random_inputs(60, seed=3)


def controlled() -> Monitor:
    decision = tiny_monitor().decision
    controller = fx.budget_of(0.1, 0.2, 0.1, decision.threshold_q16)
    return Monitor(tiny_body(), replace(decision, controller=controller))


class Device:
    """Answers as the firmware does; the answer to input `lost` gets lost once."""

    def __init__(self, monitor: Monitor, lost: int | None = None) -> None:
        self.monitor, self.lost, self.repeats = monitor, lost, 0
        self.asked: list[np.ndarray] = []  # since the last HELLO
        self.greeted = 0

    def hello(self) -> None:
        self.asked, self.greeted = [], self.greeted + 1

    def infer(self, data: bytes) -> Inference:
        x = np.frombuffer(data, np.int8).reshape(INPUTS.shape[1:])
        self.asked.append(x)
        if self.greeted and len(self.asked) - 1 == self.lost:
            self.repeats += 1
            self.asked.append(x)
        s = self.monitor.replay(self.monitor.run(np.stack(self.asked)))
        return Inference(
            int(s.predicted[-1]),
            bool(s.abstain[-1]),
            int(s.score_q16[-1]),
            int(s.uncertainty_q16[-1]),
            tuple(s.surprisal_q16[-1].tolist()),
            tuple(s.logits[-1].tolist()),
            1,
        )


@pytest.mark.parametrize("warmup", [0, 7])
def test_the_stream_starts_after_the_warm_up(warmup: int) -> None:
    monitor = controlled()
    answers, steady = _timed(Device(monitor), INPUTS, warmup, lambda n: None)  # type: ignore[arg-type]
    assert steady == len(INPUTS)
    expected = monitor.replay(monitor.run(INPUTS))
    assert np.any(expected.abstain != monitor.run(INPUTS).abstain)
    _check_answers(answers, expected, "", steady)


def test_after_a_repeated_request_decisions_are_not_compared() -> None:
    monitor = controlled()
    expected = monitor.replay(monitor.run(INPUTS))
    lost = int(np.flatnonzero(expected.abstain)[0])  # a second step moves the threshold away
    answers, steady = _timed(Device(monitor, lost), INPUTS, 0, lambda n: None)  # type: ignore[arg-type]
    assert steady == lost
    _check_answers(answers, expected, "", steady)
    with pytest.raises(CheckError, match="decision of input"):
        _check_answers(answers, expected, "", len(answers))
