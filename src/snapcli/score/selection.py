"""Which taps are worth their cost: a greedy search by gain per byte or per instruction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from snapcli.config import MAX_TAPS

FLASH, INSTRUCTIONS = CURRENCIES = ("flash", "instructions")
# A tap that adds less than this to the AUPRC adds nothing that another split would confirm.
LEAST_GAIN = 0.002


@dataclass(frozen=True)
class TapCost:
    """Of a set of taps, beyond the backbone: bytes of flash, and instructions per inference."""

    flash_bytes: int
    instructions: int

    def of(self, currency: str) -> int:
        return self.flash_bytes if currency == FLASH else self.instructions


@dataclass(frozen=True)
class Limits:
    flash_bytes: float = float("inf")
    instructions: float = float("inf")

    def allow(self, cost: TapCost) -> bool:
        return cost.flash_bytes <= self.flash_bytes and cost.instructions <= self.instructions


@dataclass(frozen=True)
class TapStep:
    """One step of the search: the tap that was added, and what the set is and costs then.

    worth: gain in AUPRC per KB, or per thousand instructions.
    """

    tap: str
    auprc: float
    gain: float
    cost: TapCost
    worth: float


def greedy(
    candidates: Sequence[str],
    auprc: Callable[[tuple[str, ...]], float],
    cost: Callable[[tuple[str, ...]], TapCost],
    currency: str,
    limits: Limits,
) -> list[TapStep]:
    """Adds, as long as one is left that fits and helps, the tap with the most gain per cost.

    auprc and cost are functions of a set of taps in the order of candidates; those of no tap say
    what there is without any.
    """
    unit = 1024 if currency == FLASH else 1000
    chosen: tuple[str, ...] = ()
    reached, spent = auprc(()), cost(())
    steps: list[TapStep] = []
    while len(chosen) < MAX_TAPS:
        options = []
        for tap in candidates:
            if tap in chosen:
                continue
            together = tuple(c for c in candidates if c in (*chosen, tap))
            price = cost(together)
            gain = auprc(together) - reached
            if limits.allow(price) and gain >= LEAST_GAIN:
                more = max(price.of(currency) - spent.of(currency), 1)
                options.append((unit * gain / more, tap, together, price, gain))
        if not options:
            break
        worth, tap, chosen, spent, gain = max(options, key=lambda option: option[0])
        reached += gain
        steps.append(TapStep(tap, reached, gain, spent, worth))
    return steps
