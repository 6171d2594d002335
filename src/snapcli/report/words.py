"""What figures are called on the page."""

# What stands for a severity where a type has but one, which is on no scale.
UNGRADED = "0"
OF_ONE_SEVERITY = "types of one severity"
_WORDS = {
    "auroc": "AUROC",
    "aupr": "AUPR",
    "auprc": "AUPRC",
    "aurc": "AURC",
    "fpr95": "FPR@95",
    "nll": "NLL",
    "ece": "ECE",
    "brier": "Brier",
    "ood": "OOD",
    "uncertainty": "U",
    "per_cell": "per cell",
    "risk_80": "risk at 80 %",
    "risk_90": "risk at 90 %",
    "risk_95": "risk at 95 %",
    "nll_90": "NLL at 90 %",
    "weighted_auprc": "event-weighted AUPRC",
}


def figure_words(key: str) -> str:
    """`errors.pooled.auroc` is `errors, pooled AUROC`: what, on which data, and by which figure."""
    key = key.replace(f"severity.{UNGRADED}.", f"{OF_ONE_SEVERITY}.")
    first, *rest = (_WORDS.get(part, part.replace("_", " ")) for part in key.split("."))
    return f"{first}, {' '.join(rest)}" if len(rest) > 1 else " ".join([first, *rest])
