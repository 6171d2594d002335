"""How long `snap fleet` takes for a million records, what memory, and what it finds in them.

    make fleet-speed

2,000 devices write nine records a day for 60 days: 1,080,000 of them. Frames come in runs of ten
that are alike, and every device has inputs of its own. Twenty of them shift on day 40, and all of
the fleet on day 55.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import typer

from snapcli import console

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.unit.fleet.made_fleet import Made, joined

PARTS, DAYS = 4, 60
PART = Made(devices=500, days=40, each=9, frames=1200, block=10, spread=0.15)
SECONDS, MEGABYTES = 60.0, 1024.0


def records(part: int) -> bytes:
    """Of 500 devices: usual ones, then some that shift, then all that do."""
    first = replace(PART, number=1 + 500 * part)
    some = replace(first, days=15, first=40, shifted=tuple(range(5)))
    every = replace(first, days=DAYS - 55, first=55, shifted=tuple(range(500)), by=0.6)
    return joined(part, first, some, every).tobytes()


def main(into: Path | None = None) -> None:
    """into: a folder to write the records to, and nothing else: a process of its own, whose memory
    does not count."""
    if into is not None:
        for part in range(PARTS):
            (into / f"{part}.snpt").write_bytes(records(part))
        return
    with tempfile.TemporaryDirectory(prefix="snap-") as name:
        folder = Path(name)
        subprocess.run([sys.executable, __file__, "--into", name], check=True)
        command = [sys.executable, "-m", "snapcli", "fleet", str(folder), "--json"]
        command += ["--out", str(folder / "fleet.html")]
        start = time.perf_counter()
        with (folder / "report.json").open("w") as out:
            process = subprocess.Popen(command, stdout=out)
            _, status, used = os.wait4(process.pid, 0)
        took, peak = time.perf_counter() - start, used.ru_maxrss / 1024
        assert status == 0
        page_kb = (folder / "fleet.html").stat().st_size / 1024
        report = json.loads((folder / "report.json").read_text())
    shifted = {str(1 + 500 * part + i) for part in range(PARTS) for i in range(5)}
    drifting = {row["name"] for row in report["devices"]["rows"] if row["drift"]["found"]}
    days = sorted(row["name"] for row in report["days"]["rows"] if row["drift"]["found"])
    rows = [
        ("records", f"{report['total']['records']:,} of {report['total']['devices']:,} devices"),
        ("seconds", f"{took:.1f} (limit {SECONDS:.0f})"),
        ("peak memory", f"{peak:,.0f} MB (limit {MEGABYTES:,.0f})"),
        ("page", f"{page_kb:.0f} KB"),
        ("devices that shift, found", f"{len(drifting & shifted)} of {len(shifted)}"),
        ("other devices, flagged", str(len(drifting - shifted))),
        ("days flagged", f"{len(days)}, from {days[0] if days else '-'} (the shift: 2026-02-25)"),
    ]
    console.pairs("snap fleet", rows)
    is_well = took < SECONDS and peak < MEGABYTES and drifting == shifted and len(days) == 5
    raise typer.Exit(0 if is_well else 7)


if __name__ == "__main__":
    typer.run(main)
