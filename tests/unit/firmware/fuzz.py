"""The fuzz target of the application: its sources, its flags and inputs to begin with."""

from pathlib import Path

from snapcli.device import StreamState
from snapcli.device.frame import Frame, encode
from snapcli.device.messages import Type, pack_state, pack_telemetry, pack_word
from snapcli.toolchain import app_sources

from .tiny_model import FIRMWARE, INPUT_BYTES, NO_WATCH, OTHER, OWN, sources

APP = FIRMWARE / "app"
FOLDER = FIRMWARE / "test" / "fuzz"
CORPUS = FOLDER / "corpus"


def target_sources() -> list[Path]:
    """All but the mutator or the replay."""
    app = [path for path in app_sources() if path.name != "main.c"]
    return [*sources()[0], *app, FIRMWARE / "port" / "defaults.c", FOLDER / "fuzz_link.c"]


def flags() -> list[str]:
    """Without those that choose sanitizers. A million runs of `infer` are too slow here."""
    folders = [*sources()[1], APP, FIRMWARE / "port", FOLDER]
    warnings = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wmissing-prototypes"]
    defines = ['-DPORT_TARGET_NAME="fuzz"', "-DAPP_RUNS_MAX=3u", "-DAPP_EVIDENCE=2"]
    return [*warnings, *defines, *(f"-I{folder}" for folder in folders)]


def seeds() -> list[bytes]:
    """Every request and every command, good and bad."""
    x = bytes(range(INPUT_BYTES))
    state = pack_state(StreamState(5, 1 << 23, NO_WATCH))
    odd = state[:8] + b"\xff" * (len(state) - 8)
    rate = pack_word(921600)
    requests = [
        *((kind, b"") for kind in (0, *Type)),
        *((Type.INFER, x), (Type.PROFILE, x), (Type.BAUD, rate)),
        *((Type.START, state), (Type.START, odd)),
        *((kind, pack_word(n)) for kind in (Type.ALARM, Type.EVIDENCE) for n in (0, 1, 2, 3)),
        *((Type.TELEMETRY, pack_telemetry(take, 1_800_000_000, 7)) for take in (False, True)),
        *((Type.SETTINGS, OTHER.pack(OWN.check)), (Type.SETTINGS, OWN.pack())),
    ]
    frames = [encode(Frame(kind, 7, payload)) for kind, payload in requests]
    start = encode(Frame(Type.START, 1, b""))
    stream = b"".join(encode(Frame(Type.INFER, n, x)) for n in (2, 3, 3))
    asked = ((Type.ALARM, 2), (Type.EVIDENCE, 0), (Type.EVIDENCE, 2**32 - 1))
    after = b"".join(encode(Frame(k, 9 + i, pack_word(n))) for i, (k, n) in enumerate(asked))
    text = (
        "name% profile% timestamp% help% results% db load 3% db 0102% db 03% db print%"
        " db load 99% db 1% db xx% infer% infer 2 1% infer 9% infer x y% what% %"
    )
    said = [*frames, start + stream + after, text.encode(), b"x" * 81 + b"%", b"\xa5\xa5\x5a\x00"]
    heads = [bytes(3), b"\x01\x04\x0c", b"\x0e\x05\x20"]  # all well; quiet; all is broken
    return [head + data for data in said for head in heads]
