"""`snap verify`: equal all the way, or the first layer and element that are not."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from snapcli import toolchain
from snapcli.pricing import kernel_set
from tests.conftest import Workspace, need, snap
from tests.golden import tflite_op as op
from tests.unit.emit.test_program import separable_tflite
from tests.unit.tiny_monitor import INPUT_SHAPE, random_inputs, tiny_tflite


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "tiny.tflite"
    path.write_bytes(tiny_tflite())
    return str(path)


@pytest.mark.parametrize("target", ["qemu-m4", "qemu-m7"])
def test_every_link_is_equal_on_every_layer(model: str, target: str) -> None:
    need(host=True, compiler=True, emulator=True)
    report = snap("verify", "--model", model, "--target", target, "--inputs", "4", "--json").json
    names = ["TFLite's reference kernels", "the numpy reference", "C on this machine"]
    names.append(f"C on {target}")
    assert [(link["expected"], link["found"]) for link in report["links"]] == [*pairwise(names)]
    assert [link["steps"] for link in report["links"]] == [5, 5, 5]
    assert all(link["difference"] is None for link in report["links"])


def test_inputs_may_be_given(model: str, tmp_path: Path) -> None:
    need(host=True, compiler=True, emulator=True)
    np.save(tmp_path / "x.npy", random_inputs(3))
    outcome = snap("verify", "--model", model, "--data", str(tmp_path / "x.npy"))
    assert outcome.code == 0, outcome.err
    assert "3 inputs" in outcome.out


PLAIN = ("--kernels", "reference")


def broken(monkeypatch: pytest.MonkeyPatch, kernel: str, old: str, new: str) -> None:
    """The plain library with one line of one kernel changed."""
    original = kernel_set.snapuq_files

    def files() -> dict[str, str]:
        found = original()
        assert old in found[kernel]
        return {**found, kernel: found[kernel].replace(old, new)}

    monkeypatch.setattr(kernel_set, "snapuq_files", files)


def test_the_first_layer_that_differs_is_named_with_both_values(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From that layer on everything differs; only the first is the culprit."""
    need(host=True, compiler=True, emulator=True)
    broken(
        monkeypatch,
        "snapuq_depthwise_conv_s8.c",
        "output[o] = snapuq_output(out, o, sum);",
        "output[o] = (int8_t)(snapuq_output(out, o, sum) ^ (o == 5));",
    )
    outcome = snap("verify", "--model", model, "--inputs", "1", *PLAIN)
    assert outcome.code == 7
    message, hint = outcome.error()
    start = "C on this machine differs from the numpy reference first in layer 'spatial' "
    assert message.startswith(f"{start}(DEPTHWISE_CONV_2D), element [0, 0, 5] of input 0: ")
    values = message.rpartition(": ")[2].split(" instead of ")
    assert abs(int(values[0]) - int(values[1])) == 1
    assert "agrees" in hint
    assert "differs from layer spatial on" in outcome.out


def test_a_difference_on_the_target_alone_is_the_targets(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(host=True, compiler=True, emulator=True)
    broken(
        monkeypatch,
        "snapuq_mean_s8.c",
        "*output++ = ",
        "*output++ = (sizeof(void *) == 4) + ",
    )
    message, _ = snap("verify", "--model", model, "--inputs", "1", *PLAIN).error()
    assert message.startswith(
        "C on qemu-m4 differs from C on this machine first in layer 'layer_3'"
    )


def test_the_numpy_reference_is_checked_too(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    need(host=True, compiler=True, emulator=True)
    monkeypatch.setattr(
        "snapcli.stages.verify._by_tflite",
        lambda content, graph, inputs: {
            name: values ^ (name == "block")
            for name, values in graph.run(inputs, set(graph.tensors) - {"input"}).items()
        },
    )
    message, _ = snap("verify", "--model", model, "--inputs", "1").error()
    assert message.startswith("the numpy reference differs from TFLite's reference kernels first")
    assert "layer 'block' (CONV_2D), element [0, 0, 0] of input 0" in message


def test_a_run_is_verified_with_its_heads(workspace: Workspace) -> None:
    report = workspace.snap("verify", "--inputs", "2", "--json").json
    assert all(link["difference"] is None for link in report["links"])
    steps = [link["steps"] for link in report["links"]]
    # Two taps: three pooled tensors and two surprisals more than TFLite knows.
    assert steps[1] == steps[2] > steps[0]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            np.zeros((2, *INPUT_SHAPE), np.float32),
            "holds float32 [2, 9, 8, 3], the model takes int8",
        ),
        (np.zeros((2, 5), np.int8), "holds int8 [2, 5], the model takes int8 [n, 9, 8, 3]"),
        (np.zeros((0, *INPUT_SHAPE), np.int8), "holds int8 [0, 9, 8, 3]"),
    ],
)
def test_inputs_that_do_not_fit_are_explained(
    model: str, tmp_path: Path, values: np.ndarray, message: str
) -> None:
    np.save(tmp_path / "x.npy", values)
    outcome = snap("verify", "--model", model, "--data", str(tmp_path / "x.npy"))
    assert outcome.code == 2
    assert message in outcome.error()[0]


def test_what_cannot_be_verified_is_told(model: str, tmp_path: Path) -> None:
    outcome = snap("verify", "--model", model, "--target", "small-mcu")
    assert outcome.code == 2
    assert outcome.error() == (
        "small-mcu is a real board, not an emulator",
        "Choose qemu-m4 or qemu-m7.",
    )
    (tmp_path / "x.npy").write_bytes(b"no array")
    outcome = snap("verify", "--model", model, "--data", str(tmp_path / "x.npy"))
    assert outcome.code == 4
    assert "cannot be read" in outcome.error()[0]


@pytest.mark.parametrize("link", ["host", "target"])
def test_an_element_is_told_by_its_place_in_the_tensor_on_every_link(
    model: str, monkeypatch: pytest.MonkeyPatch, link: str
) -> None:
    need(host=True, compiler=True, emulator=True)
    wrong = "(sizeof(void *) == 4 && o == 5)" if link == "target" else "(o == 5)"
    broken(
        monkeypatch,
        "snapuq_depthwise_conv_s8.c",
        "output[o] = snapuq_output(out, o, sum);",
        f"output[o] = (int8_t)(snapuq_output(out, o, sum) ^ {wrong});",
    )
    message, _ = snap("verify", "--model", model, "--inputs", "1", *PLAIN).error()
    assert "layer 'spatial' (DEPTHWISE_CONV_2D), element [0, 0, 5] of input 0" in message


def test_a_wrong_move_is_not_blamed_on_the_layer_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(host=True, compiler=True, emulator=True)
    path = tmp_path / "chain.tflite"
    path.write_bytes(separable_tflite(4))
    broken(monkeypatch, "snapuq_move_s8.c", "if (output < input) {", "if (1) {")
    message, _ = snap("verify", "--model", str(path), "--inputs", "1", *PLAIN).error()
    assert "(MOVE), element [" in message


@pytest.mark.parametrize(
    ("fault", "reason"), [("__builtin_trap();", "Illegal instruction"), ("for (;;) {}", "no end")]
)
def test_a_kernel_that_crashes_or_hangs_is_found(
    model: str, monkeypatch: pytest.MonkeyPatch, fault: str, reason: str
) -> None:
    need(host=True, compiler=True, emulator=True)
    monkeypatch.setattr(toolchain, "RUN_S", 5)
    old = "const int32_t channels = layer->channels;"
    broken(monkeypatch, "snapuq_mean_s8.c", old, f"{old}\n    {fault}")
    outcome = snap("verify", "--model", model, "--inputs", "1", *PLAIN)
    assert outcome.code == 7
    start = "C on this machine did not reach its end, after block CONV_2D: "
    assert outcome.error()[0].startswith(f"{start}{reason}")


def test_a_model_on_which_tflite_aborts_is_told(tmp_path: Path) -> None:
    """So does its SOFTMAX of many equal logits."""
    need(host=True, compiler=True, emulator=True)
    x = op.Tensor([1, 1000], [0.001], 0)
    path = tmp_path / "many.tflite"
    softmax = op.softmax(x, op.Tensor([1, 1000], [1 / 256], -128), 1.0)
    path.write_bytes(op.flatbuffer([softmax], {"y": 0}))
    outcome = snap("verify", "--model", str(path))
    assert outcome.code == 4
    message, hint = outcome.error()
    assert message.startswith("TFLite's own reference kernels cannot run the model (Aborted")
    assert "export-c" in hint
