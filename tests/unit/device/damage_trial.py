"""A small bench over a line that is damaged: right, a clear error, or wrong."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from snapcli.device import Client, Inference, LinkError
from snapcli.device.frame import CRC_BYTES, HEADER_BYTES
from snapcli.errors import DeviceError
from snapcli.fixedpoint import budget_start, budget_step
from tests.unit.device.line import Line, random_damage
from tests.unit.firmware import tiny_model

RIGHT, REPEATED, WRONG, LATE = "right at once", "right after repeats", "wrong", "too late"
INFERENCES = 5
# A request is sent three times; between them the line gets as long to become quiet, or the
# device a second to forget half a frame.
_WAITS = 5
_FORGETTING_S = 2 * 1.1
_SLACK_S = 30.0  # for a machine with more to do; repeats are counted, which takes no clock
_REPEATS = 2

_FRAME = HEADER_BYTES + CRC_BYTES
_TO_DEVICE = 7 * _FRAME + (INFERENCES + 1) * (_FRAME + tiny_model.INPUT_BYTES)
_TO_HOST = 500  # a HELLO, a few results, and less


@dataclass(frozen=True)
class Trial:
    """outcome: one of the words above, or the reason of the error; slowest_s: of one request."""

    seed: int
    outcome: str
    detail: str
    slowest_s: float


def stream(inputs: Sequence[bytes]) -> list[Inference]:
    """What the tiny model answers to a stream, but for the counts."""
    controller = tiny_model.OWN.controller
    assert controller is not None
    state, answers = budget_start(controller), []
    watches = tiny_model.watched(inputs)
    for data, watch in zip(inputs, watches, strict=True):
        alone = tiny_model.expected(data)
        abstain, state = budget_step(controller, state, alone.uncertainty_q16)
        answers.append(
            replace(
                alone,
                abstain=abstain,
                rate_q24=state.rate_q24,
                threshold_q24=state.threshold_q24,
                watch=watch,
            )
        )
    return answers


def limit_s(timeout_s: float) -> float:
    """The longest that a request may take."""
    return _WAITS * timeout_s + _FORGETTING_S + _SLACK_S


def trial(device_path: str, seed: int, timeout_s: float) -> Trial:
    """One bench through a line that the seed damages."""
    rng = random.Random(seed)
    inputs = [rng.randbytes(tiny_model.INPUT_BYTES) for _ in range(INFERENCES)]
    expected = stream(inputs)
    damages = random_damage(seed, _TO_DEVICE, _TO_HOST, ms=round(3000 * timeout_s))
    slowest, most_repeats = 0.0, 0
    detail = f"{damages}"
    outcome = RIGHT
    with (
        Line(device_path, damages) as line,
        Client(line.path, timeout_s, work_timeout_s=timeout_s) as client,
    ):
        questions = _questions(client, inputs, expected)
        while True:
            begun, repeats = time.monotonic(), client.repeats
            try:
                problem = next(questions, None)
            except DeviceError as error:
                reason = error.reason if isinstance(error, LinkError) else error.message
                outcome = str(reason)
                break
            finally:
                slowest = max(slowest, time.monotonic() - begun)
                most_repeats = max(most_repeats, client.repeats - repeats)
            if problem is None:
                outcome = REPEATED if client.repeats else RIGHT
                break
            if problem:
                outcome, detail = WRONG, f"{problem}; {detail}"
                break
    if slowest > limit_s(timeout_s) or most_repeats > _REPEATS:
        outcome = LATE
    return Trial(seed, outcome, detail, slowest)


def _questions(client: Client, inputs: Sequence[bytes], expected: Sequence[Inference]):
    """Asks one thing after the other; yields what is wrong with each answer, or nothing."""
    hello = client.hello()
    found = (hello.model_id, hello.input_bytes, hello.classes, hello.taps, hello.settings_check)
    model = (tiny_model.MODEL_ID, tiny_model.INPUT_BYTES, tiny_model.CLASSES, tiny_model.TAPS)
    yield _differs("hello", found, (*model, tiny_model.OWN.check))
    yield client.start() or ""
    for data, wanted in zip(inputs, expected, strict=True):
        yield _differs("inference", replace(client.infer(data), count=0), wanted)
    profile = client.profile(inputs[0])
    beside = replace(
        tiny_model.expected(inputs[0]),
        rate_q24=expected[-1].rate_q24,
        threshold_q24=expected[-1].threshold_q24,
        watch=expected[-1].watch,
    )
    yield _differs("profile", replace(profile.inference, count=0), beside)
    yield _differs("steps", len(profile.step_counts), tiny_model.STEPS)
    image = client.check()
    yield _differs("check", image.computed_crc, image.linked_crc)
    stack = client.stack()
    yield _differs("stack", stack.used_bytes <= stack.reserved_bytes, True)
    selftest = client.selftest()
    yield _differs("selftest", (selftest.count, selftest.first_mismatch), (3, None))


def _differs(name: str, found: object, wanted: object) -> str:
    return "" if found == wanted else f"{name}: {found}, not {wanted}"
