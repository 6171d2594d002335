"""The integer reference of a stream as a device would answer, and the comparison bit by bit."""

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.device import Inference, StreamState
from snapcli.errors import CheckError
from snapcli.monitor.decision import Decision
from snapcli.monitor.monitor import Monitor

# What an image without heads has as well; all else comes from them.
_PLAIN = {"logits": "logits", "predicted": "class"}
_ALL = {
    **_PLAIN,
    "surprisal_q16": "surprisal",
    "score_q16": "S",
    "uncertainty_q16": "U",
    "abstain": "decision",
    "foreign_q16": "F",
    "foreign": "verdict",
    "rate_q24": "rate",
    "threshold_q24": "threshold",
}
_ONE_Q24 = 1 << 24


class Reference:
    """Answers as the device must, one batch of frames after the other."""

    def __init__(self, monitor: Monitor, state: StreamState | None = None) -> None:
        """state: where the stream stands, None at its start."""
        self._monitor = monitor
        self._state = state or start_of(monitor.decision)

    def answers(self, x: NDArray[np.int8]) -> list[Inference]:
        """x int8 [n, ...]; their counts are 0."""
        decisions = self._monitor.run(x)
        answers = []
        for i, uncertainty in enumerate(decisions.uncertainty_q16.tolist()):
            abstain = self._decide(uncertainty)
            answers.append(
                Inference(
                    predicted=int(decisions.predicted[i]),
                    abstain=abstain,
                    score_q16=int(decisions.score_q16[i]),
                    uncertainty_q16=uncertainty,
                    foreign=bool(decisions.foreign[i]),
                    foreign_q16=int(decisions.foreign_q16[i]),
                    count=0,
                    rate_q24=self._state.rate_q24,
                    threshold_q24=self._state.threshold_q24,
                    surprisal_q16=tuple(decisions.surprisal_q16[i].tolist()),
                    logits=tuple(decisions.logits[i].tolist()),
                )
            )
        return answers

    def _decide(self, uncertainty_q16: int) -> bool:
        decision = self._monitor.decision
        if decision.controller is None:
            return uncertainty_q16 >= decision.threshold_q16
        before = fx.BudgetState(self._state.rate_q24, self._state.threshold_q24)
        abstain, after = fx.budget_step(decision.controller, before, uncertainty_q16)
        self._state = StreamState(after.rate_q24, after.threshold_q24)
        return abstain


def start_of(decision: Decision) -> StreamState:
    """Where START puts a device; without a controller it stays there (SPEC 3.2)."""
    return StreamState(0, min(decision.threshold_q16 << 8, _ONE_Q24))


def check_exact(
    number: int, answer: Inference, expected: Inference, remedy: str, has_heads: bool = True
) -> None:
    """CheckError names the first value that differs; number: that of the input."""
    where = "" if has_heads else " without heads"
    for field, name in (_ALL if has_heads else _PLAIN).items():
        got, want = getattr(answer, field), getattr(expected, field)
        if got != want:
            raise CheckError(
                f"not bit-exact{where}: {name} of input {number} is "
                f"{got} on the device, {want} in the reference ({number} inputs before it agree)",
                f"Build it again: {remedy}. If it stays so, the C is wrong: report it.",
            )
