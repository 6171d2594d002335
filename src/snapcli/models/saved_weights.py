"""The HDF5 file of a model's weights, checked before a library reads it."""

import io
from typing import Any

from snapcli.limits import check_held

_MEMBERS_MAX = 100_000


def refuse_reaching(content: bytes) -> None:
    """Raises ValueError if anything in the file lies in another file, or all of it together is
    too large; HDF5 follows links to any path, and packs zeros to nothing."""
    import h5py

    total, count = 0, 0
    with h5py.File(io.BytesIO(content), "r") as file:
        waiting: list[Any] = [file]
        seen = set()
        while waiting:
            group = waiting.pop()
            # Two links may lead to one group, or to one above.
            place = h5py.h5o.get_info(group.id).addr
            if place in seen:
                continue
            seen.add(place)
            for name in group:
                count += 1
                if count > _MEMBERS_MAX:
                    raise ValueError(f"it has more than {_MEMBERS_MAX:,} members")
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    raise ValueError(f"its member '{name}' is a link to elsewhere")
                part = group[name]
                if isinstance(part, h5py.Group):
                    waiting.append(part)
                elif isinstance(part, h5py.Dataset):
                    _refuse_outside(part, name)
                    total += part.size * max(part.dtype.itemsize, 1)
                    check_held(total, "what it unpacks to")


def _refuse_outside(dataset: Any, name: str) -> None:
    if dataset.external or dataset.is_virtual:
        raise ValueError(f"its member '{name}' lies in another file")
    if dataset.size is None:
        raise ValueError(f"its member '{name}' has no shape")
