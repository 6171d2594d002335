"""The files of a C library that a program needs, and no others."""

import re
from collections.abc import Iterable, Mapping

_COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_WORDS = re.compile(r"\b[A-Za-z_]\w+\b(?=\s*\()|(?<=include \")[^\"]+")
_DEFINITIONS = re.compile(r"^[A-Za-z_][\w \t*]*?\b(\w+)\s*\([^;{}]*\)\s*\{", re.MULTILINE)


def needed_files(library: Mapping[str, str], texts: Iterable[str]) -> list[str]:
    """library: {path: C text}. Paths of the sources whose functions the texts call and of the
    headers they include, and of all that those need in turn."""
    bare = {path: _COMMENTS.sub(" ", text) for path, text in library.items()}
    offered: dict[str, str] = {}
    for path, text in bare.items():
        if path.endswith(".h"):
            offered |= {path: path, path.rpartition("/")[2]: path}
        else:
            offered |= dict.fromkeys(_DEFINITIONS.findall(text), path)
    found: set[str] = set()
    waiting = [_COMMENTS.sub(" ", text) for text in texts]
    while waiting:
        for word in set(_WORDS.findall(waiting.pop())):
            needed = offered.get(word) or offered.get(word.rpartition("/")[2])
            if needed and needed not in found:
                found.add(needed)
                # A header only promises functions; what calls them is in the sources.
                text = bare[needed]
                waiting.append(_includes(text) if needed.endswith(".h") else text)
    return sorted(found)


def _includes(text: str) -> str:
    return "\n".join(re.findall(r"^\s*#\s*include .*$", text, re.MULTILINE))
