"""Every value of every answer is compared, and the stream is one from its start on."""

from dataclasses import fields, replace

import numpy as np
import pytest

from snapcli.device import Inference, Watch
from snapcli.errors import CheckError
from snapcli.measuring.exact import Reference, check_exact
from snapcli.monitor.monitor import Monitor

from ..stages.fake_device import FakeDevice, controlled
from ..tiny_monitor import random_inputs, tiny_monitor

INPUTS = random_inputs(60, seed=3)


@pytest.mark.parametrize("monitor", [tiny_monitor(), controlled()], ids=["still", "controlled"])
def test_the_reference_is_that_of_the_monitor(monitor: Monitor) -> None:
    expected = monitor.replay(monitor.run(INPUTS))
    answers = Reference(monitor).answers(INPUTS)
    assert [a.abstain for a in answers] == expected.abstain.tolist()
    assert [a.predicted for a in answers] == expected.predicted.tolist()
    assert [a.uncertainty_q16 for a in answers] == expected.uncertainty_q16.tolist()
    assert [a.foreign for a in answers] == expected.foreign.tolist()
    assert [a.foreign_q16 for a in answers] == expected.foreign_q16.tolist()
    assert [a.score_q16 for a in answers] == expected.score_q16.tolist()
    assert [list(a.surprisal_q16) for a in answers] == expected.surprisal_q16.tolist()
    assert [list(a.logits) for a in answers] == expected.logits.tolist()


def test_a_controller_decides_otherwise_than_a_threshold_that_stands_still() -> None:
    still, moving = (Reference(m).answers(INPUTS) for m in (tiny_monitor(), controlled()))
    assert [a.abstain for a in still] != [a.abstain for a in moving]
    assert len({a.threshold_q24 for a in still}) == 1
    assert len({a.threshold_q24 for a in moving}) > 10


@pytest.mark.parametrize("cut", [0, 1, 37])
def test_a_stream_goes_on_from_its_state(cut: int) -> None:
    monitor = controlled()
    whole = Reference(monitor).answers(INPUTS)
    state = whole[cut - 1].state if cut else None
    assert Reference(monitor, state).answers(INPUTS[cut:]) == whole[cut:]


def test_batches_are_one_stream() -> None:
    reference = Reference(controlled())
    found = []
    for i in range(0, len(INPUTS), 7):
        found += reference.answers(INPUTS[i : i + 7])
    assert found == Reference(controlled()).answers(INPUTS)


def test_the_start_is_the_devices() -> None:
    for monitor in (tiny_monitor(), controlled()):
        device = FakeDevice(monitor)
        device.start()
        got = [replace(device.infer(x.tobytes()), count=0) for x in INPUTS]
        assert got == Reference(monitor).answers(INPUTS)


def changed(answer: Inference, name: str) -> Inference:
    value = getattr(answer, name)
    if isinstance(value, tuple):
        return replace(answer, **{name: (*value[:-1], value[-1] + 1)})
    if isinstance(value, Watch):
        return replace(answer, watch=replace(value, offset_q16=value.offset_q16 + 1))
    return replace(answer, **{name: not value if isinstance(value, bool) else value + 1})


@pytest.mark.parametrize("name", [f.name for f in fields(Inference) if f.name != "count"])
def test_one_bit_of_any_value_is_found(name: str) -> None:
    answer = Reference(tiny_monitor()).answers(INPUTS[:1])[0]
    check_exact(0, answer, answer, "")
    with pytest.raises(CheckError, match=r"not bit-exact: [\w ]+ of input 7 is .* on the device"):
        check_exact(7, changed(answer, name), answer, "snap flash")
    if name in ("logits", "predicted"):
        with pytest.raises(CheckError, match="without heads"):
            check_exact(7, changed(answer, name), answer, "", has_heads=False)
    else:
        check_exact(7, changed(answer, name), answer, "", has_heads=False)


def test_counts_are_not_compared() -> None:
    answer = Reference(tiny_monitor()).answers(INPUTS[:1])[0]
    check_exact(0, replace(answer, count=np.iinfo(np.int64).max), answer, "")
