"""The integer reference of a stream as a device would answer, and the comparison bit by bit."""

import numpy as np
from numpy.typing import NDArray

from snapcli import fixedpoint as fx
from snapcli.device import Inference, StreamState, Watch
from snapcli.errors import CheckError
from snapcli.monitor.monitor import DeviceScores, Monitor

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
        start = state or start_of(monitor)
        self._budget = fx.BudgetState(start.rate_q24, start.threshold_q24)
        self._alarm = _alarm_state(start.watch)

    def answers(self, x: NDArray[np.int8]) -> list[Inference]:
        """x int8 [n, ...]; their counts are 0."""
        decisions = self._monitor.run(x)
        answers = []
        for i, uncertainty in enumerate(decisions.uncertainty_q16.tolist()):
            abstain = self._decide(uncertainty)
            self._watch(decisions, i, abstain)
            answers.append(
                Inference(
                    predicted=int(decisions.predicted[i]),
                    abstain=abstain,
                    score_q16=int(decisions.score_q16[i]),
                    uncertainty_q16=uncertainty,
                    foreign=bool(decisions.foreign[i]),
                    foreign_q16=int(decisions.foreign_q16[i]),
                    count=0,
                    rate_q24=self._budget.rate_q24,
                    threshold_q24=self._budget.threshold_q24,
                    watch=_watch_of(self._alarm),
                    surprisal_q16=tuple(decisions.surprisal_q16[i].tolist()),
                    logits=tuple(decisions.logits[i].tolist()),
                )
            )
        return answers

    def _decide(self, uncertainty_q16: int) -> bool:
        decision = self._monitor.decision
        if decision.controller is None:
            return uncertainty_q16 >= decision.threshold_q16
        abstain, self._budget = fx.budget_step(decision.controller, self._budget, uncertainty_q16)
        return abstain

    def _watch(self, decisions: DeviceScores, i: int, abstain: bool) -> None:
        alarm, frame = self._monitor.alarm, slice(i, i + 1)
        u, f, s = decisions.uncertainty_q16, decisions.foreign_q16, decisions.score_q16
        value = alarm.values(u[frame], f[frame], s[frame], np.array([abstain]))
        fx.alarm_step(alarm.parameters, self._alarm, value, u[frame])


def start_of(monitor: Monitor) -> StreamState:
    """Where START puts a device; without a controller rate and threshold stay there (SPEC 3.2)."""
    watch = _watch_of(fx.alarm_start(monitor.alarm.parameters))
    controller = monitor.decision.controller
    if controller:
        return StreamState(0, controller.threshold_q24, watch)
    return StreamState(0, min(monitor.decision.threshold_q16 << 8, _ONE_Q24), watch)


def _watch_of(state: fx.AlarmState) -> Watch:
    """Of one stream."""
    numbers = {name: int(values[0]) for name, values in vars(state).items() if values.ndim == 1}
    pairs = state.window[0].reshape(-1, 2)
    window = (pairs[:, 0] | pairs[:, 1] << 4).astype(np.uint8).tobytes()
    return Watch(**{**numbers, "on": bool(state.on[0]), "window": window})


def _alarm_state(watch: Watch) -> fx.AlarmState:
    pairs = np.frombuffer(watch.window, np.uint8).astype(np.int64)
    window = np.stack([pairs & 15, pairs >> 4], axis=-1).reshape(1, -1)
    numbers = {k: np.array([v]) for k, v in vars(watch).items() if k != "window"}
    return fx.AlarmState(**numbers, window=window)


def check_exact(
    number: int, answer: Inference, expected: Inference, remedy: str, has_heads: bool = True
) -> None:
    """CheckError names the first value that differs; number: that of the input."""
    where = "" if has_heads else " without heads"
    found, wanted = (_named(one, has_heads) for one in (answer, expected))
    for name, got in found.items():
        want = wanted[name]
        if got != want:
            raise CheckError(
                f"not bit-exact{where}: {name} of input {number} is "
                f"{got} on the device, {want} in the reference ({number} inputs before it agree)",
                f"Build it again: {remedy}. If it stays so, the C is wrong: report it.",
            )


def _named(answer: Inference, has_heads: bool) -> dict[str, object]:
    """{what it is called: value} of all that is compared."""
    if not has_heads:
        return {name: getattr(answer, field) for field, name in _PLAIN.items()}
    named = {name: getattr(answer, field) for field, name in _ALL.items()}
    return named | {f"{field} of the alarm": v for field, v in vars(answer.watch).items()}
