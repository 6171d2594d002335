"""What methods must know of a network whose outputs they score."""

from typing import Protocol

from snapcli.methods.method import SURPRISAL
from snapcli.methods.shaped_features import LastLayer


class ObservedNetwork(Protocol):
    """taps: the blocks whose pooled channels it shows; last: None where its logits do not come
    from a plain layer of weights; own_head: the kind of the run's heads, has_heads: whether the
    monitor has them, heads: the kinds of further ones that it shows surprisals of. is_integer:
    whether it shows U and F as the device has them; shows_activations: whether more comes out of
    it than these, logits and surprisals."""

    @property
    def taps(self) -> tuple[str, ...]: ...
    @property
    def last(self) -> LastLayer | None: ...
    @property
    def own_head(self) -> str: ...
    @property
    def heads(self) -> tuple[str, ...]: ...
    @property
    def has_heads(self) -> bool: ...
    @property
    def is_integer(self) -> bool: ...
    @property
    def shows_activations(self) -> bool: ...


def surprisal_by(kind: str) -> str:
    """The output that holds the surprisals of further heads of that kind."""
    return f"{SURPRISAL} {kind}"
