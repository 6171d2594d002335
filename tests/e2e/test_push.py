"""snap calibrate --push: settings over the link, on a device whose image stays as it is."""

from collections.abc import Iterator

import pytest

from snapcli.device import Client, Emulator
from snapcli.monitor.monitor import load_monitor
from snapcli.monitor.settings import pack_settings
from snapcli.targets import load_target

from ..conftest import Workspace

TARGET = "qemu-m4"


@pytest.fixture
def device(workspace: Workspace) -> Iterator[str]:
    """The port of an emulated board that runs the workspace's firmware."""
    image = workspace.run / "build" / TARGET / "firmware.elf"
    with Emulator(load_target(TARGET), image) as emulator:
        yield emulator.port


def test_other_settings_rule_until_another_image_is_flashed(
    workspace: Workspace, device: str
) -> None:
    built_with = load_monitor(workspace.run / "quantize")
    with Client(device) as client:
        before = client.hello()
    assert before.settings_check == before.own_settings_check

    pushed = workspace.snap(
        "calibrate", "--target", "0.6", "--controller", "--push", "--port", device, "--json"
    )
    assert pushed.code == 0, pushed.err
    report = pushed.json["push"]
    with Client(device) as client:
        after = client.hello()
        assert f"{after.settings_check:08x}" == report["settings"] != report["before"]
        assert (after.model_id, after.image_crc) == (before.model_id, before.image_crc)
        assert after.own_settings_check == before.own_settings_check
        client.restart()
        assert client.hello() == after

    # Every decision of the controller, which the image was not built with, is the run's.
    bench = workspace.snap("bench", "--port", device, "--inputs", "20", "--json")
    assert bench.code == 0, bench.err
    measured = bench.json
    assert measured["bit_exact"] == 20
    # At a port there is one image: what it would take without heads is not known.
    assert measured["timing_without_heads"] is None
    assert measured["heads_overhead"] is None
    assert measured["settings_check"] == after.settings_check

    # The image that was built behind it carries these settings itself, and is the same image.
    image = workspace.run / "build" / TARGET / "firmware.elf"
    with Emulator(load_target(TARGET), image) as rebuilt, Client(rebuilt.port) as client:
        hello = client.hello()
    assert (hello.image_crc, hello.own_settings_check) == (before.image_crc, after.settings_check)

    # Back to those of the image on the device: nothing stands in for them any more.
    with Client(device) as client:
        own = pack_settings(built_with, before.model_id, replaces=before.own_settings_check)
        assert client.push_settings(own) == before.own_settings_check
        client.restart()
        assert client.hello() == before


def test_a_map_that_needs_other_code_is_refused(workspace: Workspace, device: str) -> None:
    refused = workspace.snap("calibrate", "--map", "percentile", "--push", "--port", device)
    assert refused.code == 7
    assert "a map that needs other code" in refused.err
    with Client(device) as client:
        hello = client.hello()
    assert hello.settings_check == hello.own_settings_check


def test_a_device_that_is_not_there_changes_nothing(workspace: Workspace) -> None:
    content = workspace.content()
    missing = workspace.snap("calibrate", "--push", "--port", "/dev/no-such-port")
    assert missing.code == 6
    assert "does not exist" in missing.err
    assert workspace.content() == content


def test_a_port_without_push_is_a_mistake(workspace: Workspace) -> None:
    refused = workspace.snap("calibrate", "--port", "/dev/no-such-port")
    assert refused.code == 2
    assert "--push" in refused.err
