"""Kernel sets by name, and the files of theirs that generated code calls."""

import re
from collections.abc import Mapping
from pathlib import Path

from snapcli import used
from snapcli.config import CMSIS_NN, SNAP
from snapcli.emit import KernelSet, Reference
from snapcli.emit.closure import needed_files
from snapcli.emit.cmsis_nn import CmsisNn
from snapcli.emit.folder import (
    KERNELS,
)
from snapcli.emit.snap import Snap
from snapcli.errors import ArtifactError
from snapcli.kernels import (
    CMSIS_NN_VERSION,
    LICENCE,
    cmsis_nn_dir,
    cmsis_nn_files,
    snapnn_files,
    snapuq_files,
)

_ARM_CALL = re.compile(r"^ +(arm_\w+)\(", re.MULTILINE)


def kernels_named(name: str, has_dsp: bool = True) -> KernelSet:
    """The set of that name. Packed weights are of no use to a core without the DSP extension: its
    `snap` is `reference`."""
    if name == CMSIS_NN:
        return CmsisNn(Reference())
    return Snap(Reference()) if name == SNAP and has_dsp else Reference()


def kernel_set(
    name: str, cmsis_nn: Path | None, has_dsp: bool = True
) -> tuple[KernelSet, dict[str, str]]:
    """The set of that name, and the files that its calls may need: {path in KERNELS: text}."""
    kernels, library = kernels_named(name, has_dsp), snapuq_files()
    if kernels.name == CMSIS_NN:
        library |= cmsis_nn_files(cmsis_nn_dir(cmsis_nn))
    elif kernels.name == SNAP:
        library |= snapnn_files()
    used.note("kernels", version=kernels.name)
    return kernels, library


def kernel_files(library: Mapping[str, str], generated: Mapping[str, str]) -> dict[str, str]:
    """{path in the exported folder: text} of the kernels that the generated files need."""
    picked = needed_files(library, generated.values())
    known = {Path(path).stem for path in picked}
    called = {name for text in generated.values() for name in _ARM_CALL.findall(text)}
    if missing := sorted(called - known):
        raise ArtifactError(
            f"this CMSIS-NN has no {missing[0]}", f"Use version {CMSIS_NN_VERSION}."
        )
    if any(path.startswith(f"{CMSIS_NN}/") for path in picked) and LICENCE in library:
        picked.append(LICENCE)
    return {f"{KERNELS}/{path}": library[path] for path in picked}
