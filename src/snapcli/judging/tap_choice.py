"""Which candidates of a finished model become taps: the rule of `snap taps`, and what to do where
dev data cannot tell."""

from dataclasses import dataclass

from snapcli.judging.dev_scores import DevScores
from snapcli.monitor.body import Body
from snapcli.pricing.heads import Prices
from snapcli.score.choice import MIN_ERRORS
from snapcli.score.selection import FLASH, Limits, TapCost, greedy

_WITHOUT_ERRORS = f"fewer than {MIN_ERRORS} known errors on dev data to choose by"
_WITHOUT_GAIN = "on dev data no tap within the limits finds more errors than confidence alone"


@dataclass(frozen=True)
class TapChoice:
    """chosen: columns of the candidates, by depth; reason: why these."""

    chosen: tuple[int, ...]
    reason: str


def choose_taps(body: Body, dev: DevScores, prices: Prices, max_overhead: float) -> TapChoice:
    """max_overhead: percent of the backbone's instructions that all of them may add. One tap is
    always taken, if need be beyond that."""
    names = [tap.after for tap in body.taps]
    limits = Limits(instructions=max_overhead / 100 * prices.backbone)

    def cost(chosen: tuple[str, ...]) -> TapCost:
        return prices.of(body, [names.index(name) for name in chosen])

    allowed = [name for name in names if limits.allow(cost((name,)))]
    auprc = dev.auprc_of(names)
    known = dev.errors >= MIN_ERRORS
    if known and (steps := greedy(names, auprc, cost, FLASH, limits)):
        gain = steps[-1].auprc - auprc(())
        taken = tuple(sorted(names.index(step.tap) for step in steps))
        return TapChoice(taken, f"the most AUPRC of dev errors per KB: {gain:+.3f} in all")
    if not allowed:
        worth = greedy(names, auprc, cost, FLASH, Limits()) if known else []
        best = names.index(worth[0].tap) if worth else len(names) - 1
        return TapChoice((best,), f"every tap costs more than --max-overhead {max_overhead:g}")
    why = _WITHOUT_GAIN if known else _WITHOUT_ERRORS
    # The paper's M and P, of those that are allowed.
    middle, last = allowed[(len(allowed) - 1) // 2], allowed[-1]
    pair = tuple(dict.fromkeys((middle, last)))
    if limits.allow(cost(pair)):
        where = "the middle and the last block" if len(pair) > 1 else "the only block"
        return TapChoice(tuple(names.index(name) for name in pair), f"{why}: {where}")
    within = "the last block, as two cost more than --max-overhead"
    return TapChoice((names.index(last),), f"{why}: {within}")
