"""Lists as they are typed: with commas."""

from snapcli.errors import UsageError


def names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(t.strip() for t in text.split(",") if t.strip())


def whole_numbers(option: str, text: str | None, example: str) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"cannot read {option} {text}", f"Write it as {example}.") from None
