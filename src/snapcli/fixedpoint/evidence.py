"""Inputs that are kept (SPEC 1.11) <-> snapuq_evidence.c."""

from dataclasses import dataclass, field


@dataclass
class Evidence:
    """values[i]: of the input at places[i], in no order; free: where the next input goes."""

    capacity: int
    values: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    free: int = 0


def evidence_offer(evidence: Evidence, value_q16: int) -> bool:
    """Whether the input at the free place is kept."""
    count, place = len(evidence.values), evidence.free
    if count < evidence.capacity:
        evidence.values.append(value_q16)
        evidence.places.append(place)
        evidence.free = count + 1
        return True
    if not count or value_q16 <= min(evidence.values):
        return False
    at = evidence.values.index(min(evidence.values))
    evidence.free = evidence.places[at]
    evidence.values[at], evidence.places[at] = value_q16, place
    return True
