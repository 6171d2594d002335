"""snap ports"""

from snapcli import console
from snapcli.cli.options import AsJson

EXAMPLES = (
    "snap ports",
    "snap ports --json",
)


def ports(json: AsJson = False) -> None:
    """List the serial ports that may be a board."""
    from snapcli.stages.ports import ports as stage

    listed = stage()
    if json:
        console.print_json(listed)
        return
    if not listed:
        console.say(
            "No serial port on USB: plug a board in, with a cable that carries data. "
            "A port of another kind can be named: --port PORT"
        )
        return
    rows = [
        (
            view.port.device,
            f"{view.port.vid:04x}:{view.port.pid:04x}",
            view.port.board or "-",
            view.port.description,
            view.port.serial_number or "-",
            view.state,
        )
        for view in listed
    ]
    columns = ("port", "VID:PID", "board", "what it says", "serial number", "state")
    console.table("serial ports on USB", columns, rows)
    for hint in dict.fromkeys(view.hint for view in listed if view.hint):
        console.say(hint)
