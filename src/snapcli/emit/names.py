"""Names of C for tensors, whatever whoever trained the model called them."""

import re
from collections.abc import Iterable

# What a tensor may be called, but a variable of the generated code may not.
_TAKEN = re.compile(
    "auto|break|case|char|const|continue|default|do|double|else|enum|extern|float|for|goto|if|"
    "inline|int|long|register|restrict|return|short|signed|sizeof|static|struct|switch|typedef|"
    "union|unsigned|void|volatile|while|asm|main|"
    "arena|result|probe|settings|base|i|tensors|scratch|confidence|map|input_q16|distance|distance_q16|context|"
    r"(snap|snapuq|arm|cmsis|mem|str|u?int|head_(scratch|u|sigma|work))[_\d]?\w*|"
    r"\w+_(layer|sum|scratch|t)|[A-Z_\d]+"
)

LOG2 = "snap_model_log2_q15"


def head_name(tap: str) -> str:
    """tap: the C name of the tensor after the block."""
    return f"snap_model_head_{tap}"


def energy_name(tap: str) -> str:
    return f"snap_model_energy_{tap}"


def table_name(tap: str) -> str:
    return f"snap_model_inverse_sigma_{tap}"


def c_names(names: Iterable[str]) -> dict[str, str]:
    """{name: identifier}, each identifier once."""
    by_name: dict[str, str] = {}
    used: set[str] = set()
    for name in names:
        word = re.sub(r"\W", "_", name, flags=re.ASCII)
        candidate, n = f"{word}_" if _TAKEN.fullmatch(word) else word, 2
        while candidate in used:
            candidate, n = f"{word}_{n}_", n + 1
        used.add(candidate)
        by_name[name] = candidate
    return by_name
