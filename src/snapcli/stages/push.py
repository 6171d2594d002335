"""push: a new calibration -> a board that already runs the model, over the link."""

from dataclasses import dataclass, replace

from snapcli.device import Client, find_port, open_port
from snapcli.errors import CheckError
from snapcli.monitor.alarm import alarm_options
from snapcli.monitor.settings import check_of, pack_settings
from snapcli.origin.origin import origin_of
from snapcli.origin.recipe import run_recipe
from snapcli.progress import OnProgress, silent
from snapcli.results.alarm import alarm_report
from snapcli.results.export_c import REPORT, StoredExport
from snapcli.results.flash import SIZE_FILE, FlashReport, flash_report
from snapcli.runs import Run
from snapcli.stages.alarm import alarm
from snapcli.stages.export_c import export_c
from snapcli.stages.library import build_only
from snapcli.stages.quantize import quantize
from snapcli.stored import read_as
from snapcli.targets import load_target


@dataclass(frozen=True)
class PushReport:
    """Settings are named by their check, 8 hex digits; before: those in use until now."""

    run: str
    port: str
    target: str
    model_id: str
    before: str
    settings: str


@dataclass(frozen=True)
class Receiver:
    """A device that settings can be pushed to."""

    port: str
    target: str


def find_receiver(port: str | None) -> Receiver:
    """The device at the port, or at the only one there is; an error if it cannot be asked."""
    device = find_port(port)
    with Client(open_port(device)) as client:
        return Receiver(device, client.hello().target)


def push(run: Run, receiver: Receiver, on_progress: OnProgress = silent) -> PushReport:
    """The stages behind calibrate follow, so that the run's own image has these settings too.

    Refused unless the device holds the model that the run exports for it then.
    """
    recipe = run_recipe(run)
    built = _built(run, receiver.target)
    # A calibration that came out as it was leaves what was fitted behind it as it is.
    if origin_of(run).integer_stage == "quantize" and run.state("quantize").status != "done":
        quantize(run, recipe.quantize, on_progress)
    _renew_alarm(run, on_progress)
    exported = run.path(f"export-c/{receiver.target}") / REPORT
    kernels = recipe.export_c.kernels
    if exported.is_file():
        kernels = read_as(exported, StoredExport).kernels
    model_id = export_c(
        run, replace(recipe.export_c, target=receiver.target, kernels=kernels)
    ).model_id
    target = load_target(receiver.target)
    build_only(run, target, built.evidence if built else 0)
    monitor = origin_of(run).on_device().monitor
    with Client(open_port(receiver.port)) as client:
        hello = client.hello()
        if hello.model_id != model_id:
            raise CheckError(
                f"the device holds model {hello.model_id}, this run's is now {model_id}: "
                "another network, a map that needs other code, or F with other inputs",
                f"Flash this run: {run.remedy(f'flash/{target.name}')}; or choose the map that "
                "the device has (--map).",
            )
        if hello.is_damaged:
            raise CheckError(
                "the image in the device is damaged: its CRC is not the one it was linked with",
                f"Flash it again: {run.remedy(f'flash/{target.name}')}",
            )
        block = pack_settings(monitor, model_id, replaces=hello.own_settings_check)
        client.push_settings(block)
        after = client.hello().settings_check
    if after != check_of(block):
        raise CheckError(
            f"the device uses settings {after:08x}, not {check_of(block):08x}",
            "Push again; if it stays so, flash the board.",
        )
    return PushReport(
        run=run.name,
        port=receiver.port,
        target=receiver.target,
        model_id=model_id,
        before=f"{hello.settings_check:08x}",
        settings=f"{after:08x}",
    )


def _renew_alarm(run: Run, on_progress: OnProgress) -> None:
    """Fitted to the new calibration as it was to the last; not where it knew a clean stream, which
    nobody has kept: then exporting says that it is stale."""
    if run.record("alarm") is None or run.state("alarm").status != "stale":
        return
    folder = run.path("alarm")
    if not alarm_report(folder).clean_stream_frames:
        alarm(run, alarm_options(folder, f"Run: {run.remedy('alarm')}"), on_progress=on_progress)


def _built(run: Run, target: str) -> FlashReport | None:
    """The image that is there, which the device may hold."""
    folder = run.path(f"build/{target}")
    return flash_report(folder) if (folder / SIZE_FILE).is_file() else None
