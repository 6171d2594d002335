"""A device as the host sees it, without a line between them: answers come from the reference.

Its stream is its own: it counts on nothing that the host keeps.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from snapcli import fixedpoint as fx
from snapcli.device import Hello, ImageCheck, Inference, Profile, Stack, StreamState, Watch
from snapcli.errors import DeviceError
from snapcli.monitor.monitor import Monitor

from ..tiny_monitor import INPUT_SHAPE, tiny_alarm, tiny_body, tiny_monitor

STEP = 40
HELLO = Hello(
    protocol_version=4,
    model_id="0123456789abcdef",
    target="qemu-m4",
    input_bytes=int(np.prod(INPUT_SHAPE)),
    classes=5,
    taps=2,
    steps=3,
    arena_bytes=1000,
    is_emulator=True,
    has_heads=True,
    is_damaged=False,
    counter_unit="instructions",
    counter_step=STEP,
    counter_hz=25_000_000,
    image_crc=0x12345678,
    settings_check=0x9ABCDEF0,
    own_settings_check=0x9ABCDEF0,
)


def controlled() -> Monitor:
    """A monitor whose threshold follows a budget, and an alarm on U, a sum: the order of frames
    matters."""
    decision = tiny_monitor().decision
    controller = fx.budget_of(0.1, 0.2, 0.1, decision.threshold_q16)
    return Monitor(tiny_body(), replace(decision, controller=controller), tiny_alarm(baseline=5))


@dataclass
class FakeDevice:
    """dies_at: the inference, counted from 0, before which the line is cut for good."""

    monitor: Monitor
    dies_at: int | None = None
    repeats: int = 0
    restarts: int = 0
    asked: list[bytes] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    state: fx.BudgetState | None = None
    alarm: fx.AlarmState | None = None

    def hello(self) -> Hello:
        return HELLO

    def check(self) -> ImageCheck:
        return ImageCheck(1000, HELLO.image_crc, HELLO.image_crc)

    def stack(self) -> Stack:
        """Text takes more of it."""
        return Stack(700 if self.said else 500, 4096)

    def text(self, command: str) -> list[str]:
        assert not self.asked, "the timed runs come last"
        self.said.append(command)
        return []

    def start(self, state: StreamState | None = None) -> None:
        controller = self.monitor.decision.controller
        self.alarm = fx.alarm_start(self.monitor.alarm.parameters)
        if state is not None:
            watch = vars(state.watch)
            for name in vars(self.alarm).keys() - {"window"}:
                setattr(self.alarm, name, np.array([watch[name]]))
            self.state = fx.BudgetState(state.rate_q24, state.threshold_q24)
        elif controller is not None:
            self.state = fx.budget_start(controller)
        else:
            self.state = fx.BudgetState(0, min(self.monitor.decision.threshold_q16 << 8, 1 << 24))

    def infer(self, data: bytes) -> Inference:
        if len(self.asked) == self.dies_at:
            raise DeviceError("the port went away", "Plug it in.")
        assert self.state is not None, "START comes first"
        self.asked.append(data)
        answer = self._answer(data)
        controller = self.monitor.decision.controller
        abstain = answer.abstain
        if controller is not None:
            abstain, self.state = fx.budget_step(controller, self.state, answer.uncertainty_q16)
        u = np.array([answer.uncertainty_q16], np.uint32)
        fx.alarm_step(self.monitor.alarm.parameters, self.alarm, u, u)
        numbers = {k: v[0].item() for k, v in vars(self.alarm).items() if k != "window"}
        return replace(
            answer,
            abstain=abstain,
            rate_q24=self.state.rate_q24,
            threshold_q24=self.state.threshold_q24,
            watch=Watch(**numbers, window=bytes(32)),
        )

    def profile(self, data: bytes) -> Profile:
        return Profile(self._answer(data), (600, 300, 100))

    def _answer(self, data: bytes) -> Inference:
        x = np.frombuffer(data, np.int8).reshape(1, *INPUT_SHAPE)
        s = self.monitor.run(x)
        return Inference(
            predicted=int(s.predicted[0]),
            abstain=bool(s.abstain[0]),
            score_q16=int(s.score_q16[0]),
            uncertainty_q16=int(s.uncertainty_q16[0]),
            foreign=bool(s.foreign[0]),
            foreign_q16=int(s.foreign_q16[0]),
            count=STEP * (1000 + int(x.sum()) % 50),
            rate_q24=0,
            threshold_q24=min(self.monitor.decision.threshold_q16 << 8, 1 << 24),
            watch=Watch(0, 0, 0, 0, 0, 0, 0, False, 0, bytes(32)),
            surprisal_q16=tuple(s.surprisal_q16[0].tolist()),
            logits=tuple(s.logits[0].tolist()),
        )
