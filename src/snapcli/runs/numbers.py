"""Names that end in a number, and the next one that is free."""

import re
from pathlib import Path


def next_number(folder: Path, prefix: str, suffix: str = "") -> int:
    """One more than the largest NNN among <prefix>-NNN<suffix> in the folder."""
    pattern = re.compile(re.escape(prefix) + r"-(\d+)" + re.escape(suffix))
    matches = (pattern.fullmatch(p.name) for p in folder.iterdir())
    return max((int(f.group(1)) for f in matches if f), default=0) + 1
