"""Plays the interface firmware behind an ST-LINK's drive: `interface.py DRIVE FLASH HOW`.

Takes the first .bin that is copied to the folder DRIVE, and comes back as a new drive. HOW: well
writes it to the file FLASH; fail leaves FAIL.TXT instead; vanish never comes back; ignore does
nothing.
"""

import sys
import time
from pathlib import Path

drive, flash, how = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
print("watching", flush=True)
size = -1
while how != "ignore":
    time.sleep(0.03)
    image = next(drive.glob("*.bin"), None)
    if image is None:
        continue
    # The real one counts sectors; this one waits until no more come.
    before, size = size, image.stat().st_size
    if not size or size != before:
        continue
    data = image.read_bytes()
    gone = drive.with_name(f".{drive.name}")
    drive.rename(gone)
    next(gone.glob("*.bin")).unlink()
    if how == "vanish":
        break
    if how == "fail":
        reason = "The interface firmware FAILED to reset/halt the target MCU\r\n"
        (gone / "FAIL.TXT").write_bytes(reason.encode())
    else:
        flash.write_bytes(data)
    time.sleep(0.1)
    gone.rename(drive)
    break
