"""The files of a C library that a program needs, and no others."""

import re
from collections.abc import Iterable, Mapping

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|else|elif|endif)\b\s*(.*)")
_INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)
_NEEDS_MVE = re.compile(r"defined\(ARM_MATH_MVEI\)(?!.*\|\|)|ARM_MATH_MVEI$")
# Functions and tables at the start of a line that other files see.
_START = r"^(?!static|__STATIC|typedef|enum)\w[\w\s*]*?\b(\w+)\s*"
_FUNCTION = re.compile(_START + r"\([^;{}]*\)\s*\{", re.MULTILINE)
_TABLE = re.compile(_START + r"\[\w*\]\s*=", re.MULTILINE)
# A function may have the name of a structure: only a call needs it.
_CALL = re.compile(r"\b(\w+)\s*\(")
_WORD = re.compile(r"\b\w+\b")


def needed_files(library: Mapping[str, str], texts: Iterable[str]) -> list[str]:
    """library: {path: C text}. Paths of the sources whose functions the texts call and of the
    headers they include, and of all that those need in turn.

    What only cores with MVE call is left out: snap computes scratch sizes for those without.
    """
    bare = {path: _without_mve(text) for path, text in library.items()}
    headers = {path: path for path in bare if path.endswith(".h")}
    headers |= {path.rpartition("/")[2]: path for path in headers}
    sources = {path: text for path, text in bare.items() if path.endswith(".c")}
    functions = {name: path for path, text in sources.items() for name in _FUNCTION.findall(text)}
    tables = {name: path for path, text in sources.items() for name in _TABLE.findall(text)}

    def wanted(text: str, is_header: bool) -> set[str]:
        needed = {
            headers.get(name) or headers.get(name.rpartition("/")[2], "")
            for name in _INCLUDE.findall(text)
        }
        # A header only promises functions; what calls them is in the sources.
        if not is_header:
            needed |= {functions.get(name, "") for name in _CALL.findall(text)}
            needed |= {tables.get(name, "") for name in _WORD.findall(text)}
        return needed - {""}

    needed: set[str] = set()
    waiting = {path for text in texts for path in wanted(_without_mve(text), False)}
    while waiting:
        path = waiting.pop()
        needed.add(path)
        waiting |= wanted(bare[path], path.endswith(".h")) - needed
    return sorted(needed)


def _without_mve(text: str) -> str:
    """C without comments and without the branches that need MVE."""
    lines: list[str] = []
    skipped: list[bool] = []  # per open #if: whether the branch that we are in needs MVE
    for line in _COMMENT.sub("", text).splitlines():
        directive = _DIRECTIVE.match(line)
        if directive is None:
            lines += [] if any(skipped) else [line]
        elif directive[1] == "endif":
            skipped.pop()
        else:
            if directive[1] in ("else", "elif"):
                skipped.pop()
            skipped.append(_NEEDS_MVE.match(directive[2]) is not None)
    return "\n".join(lines)
