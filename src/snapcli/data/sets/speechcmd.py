"""Speech Commands as the twelve-class keyword set, with unseen words and ESC-50 as foreign sounds.

Ten keywords, `unknown` from ten of the other words, `silence` cut from the background noises.
The remaining words are never trained on. The splits are the official ones, which keep speakers
apart; the noises are dealt out by file, so that none is heard in two splits.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from snapcli.data.corruptions.speech import speech_corruptions
from snapcli.data.dataset import Dataset, Raw, Split
from snapcli.data.files import catalogue
from snapcli.data.files.reading import broken_note, listing, read_all
from snapcli.data.request import Request
from snapcli.data.sound.clips import (
    CLIP_SAMPLES,
    INT16,
    clip_augment,
    clip_shape,
    cuts,
    read_clip,
    read_signal,
)
from snapcli.data.sound.logmel import FrontEnd, log_mel
from snapcli.errors import ArtifactError

KEYWORDS = ("yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go")
UNKNOWN = ("bed", "cat", "eight", "four", "house", "marvin", "seven", "sheila", "three", "wow")
CLASSES = (*KEYWORDS, "unknown", "silence")
NOISE_FOLDER = "_background_noise_"
_LISTS = {"dev": "validation_list.txt", "test": "testing_list.txt"}
# Of the published noises these two are heard in dev and test only.
_NOISE_OF = {"running_tap": "dev", "pink_noise": "test"}
_FOREIGN_CUTS = 4
_SEED = 0


def speaker(origin: str) -> str:
    """Who speaks: the part of the file name that the publisher made from the person."""
    return Path(origin).name.partition("_nohash_")[0]


def load_speechcmd(request: Request) -> Dataset:
    """Keywords: all of their clips; unknown and silence: as many as a keyword has on average."""
    store = request.store
    versions = (catalogue.SPEECH_V2, catalogue.SPEECH_V1)
    source = store.nearest(*versions) or catalogue.SPEECH_V2
    (folder,) = store.require(source, on_progress=request.on_progress)
    words = {p.name: p for p in sorted(folder.iterdir()) if p.is_dir() and p.name[0] not in "_."}
    lacking = [word for word in KEYWORDS if word not in words]
    if lacking:
        raise ArtifactError(
            f"{folder} has no folder '{lacking[0]}': it is not Speech Commands",
            f"Put the content of {source.files[0].name} there.",
        )
    files = [path for place in words.values() for path in sorted(place.glob("*.wav"))]
    names = np.array([f"{path.parent.name}/{path.name}" for path in files])
    identity = {"clips": listing(files, folder), **clip_shape()}
    reading = read_all(files, read_clip, (CLIP_SAMPLES,), INT16, identity, request.on_progress)
    names = names[reading.kept]
    where, listed = _official(names, folder)
    missing = listed - set(names.tolist())
    recordings = _noises(folder)
    splits = {s: _split(reading.x, names, where == s, recordings[s]) for s in recordings}
    noise = {split: tuple(signals.values()) for split, signals in recordings.items()}
    unseen = np.array([n.split("/")[0] not in (*KEYWORDS, *UNKNOWN) for n in names], bool)
    # Nor are their speakers: clips of the training list stay out.
    rows = np.flatnonzero(unseen & (where != "train"))
    foreign, halves = {"unseen-words": reading.x[rows]}, {"unseen-words": where[rows]}
    sounds = store.locate(catalogue.ESC50)
    if sounds:
        foreign["esc50"], halves["esc50"] = _foreign(sounds)
    front_end = FrontEnd()
    augment, augment_inputs = clip_augment(request, noise["train"])
    beside = [*_noise_files(folder), *(folder / name for name in _LISTS.values())]
    content = {**identity, "front end": asdict(front_end), "beside": listing(beside, folder)}
    content["esc50"] = listing(sorted(sounds.glob("*.wav")), sounds) if sounds else ""
    notes = broken_note(reading.broken, request.strict)
    if missing:
        notes += (f"the official lists name {len(missing):,} clips that are not in {folder}",)
    if not sounds:
        notes += ("ESC-50 is not here: unseen words are the only foreign sounds",)
    return Dataset(
        name="speechcmd",
        class_names=CLASSES,
        train=splits["train"],
        dev=splits["dev"],
        test=splits["test"],
        corruptions=speech_corruptions(noise["test"]),
        dev_corruptions=speech_corruptions(noise["dev"]),
        ood=foreign,
        ood_splits=halves,
        front_end=lambda x: log_mel(x, front_end),
        augment=augment,
        augment_inputs=augment_inputs,
        identity=hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest(),
        notes=notes,
    )


def _official(names: np.ndarray, folder: Path) -> tuple[np.ndarray, set[str]]:
    """(the split of each clip, all that the lists name)."""
    where = np.full(len(names), "train", dtype="<U5")
    everything: set[str] = set()
    for split, file in _LISTS.items():
        try:
            listed = set((folder / file).read_text("utf-8").split())
        except (OSError, UnicodeDecodeError):
            raise ArtifactError(
                f"{folder / file} cannot be read", "It comes with Speech Commands: put it there."
            ) from None
        where[np.isin(names, list(listed))] = split
        everything |= listed
    return where, everything


def _noise_files(folder: Path) -> list[Path]:
    return sorted((folder / NOISE_FOLDER).glob("*.wav"))


def _noises(folder: Path) -> dict[str, dict[str, np.ndarray]]:
    """{split: {file: signal}}; no file is in two of them."""
    by_split: dict[str, dict[str, np.ndarray]] = {"train": {}, "dev": {}, "test": {}}
    for path in _noise_files(folder):
        signal = read_signal(path)
        if len(signal) >= CLIP_SAMPLES:
            by_split[_NOISE_OF.get(path.stem, "train")][path.name] = signal
    if not all(by_split.values()):
        raise ArtifactError(
            f"{folder / NOISE_FOLDER} lacks noises",
            "Put the folder there that comes with Speech Commands.",
        )
    return by_split


def _split(x: Raw, names: np.ndarray, mine: np.ndarray, noise: dict[str, np.ndarray]) -> Split:
    """The clips of one split, in an order without a pattern."""
    rng = np.random.default_rng(_SEED)
    word = np.array([name.partition("/")[0] for name in names])
    rows, labels = [], []
    for label, keyword in enumerate(KEYWORDS):
        of_keyword = np.flatnonzero(mine & (word == keyword))
        if not len(of_keyword):
            raise ArtifactError(
                f"the official lists leave a split without a clip of '{keyword}'",
                "Put the lists there that come with Speech Commands.",
            )
        rows.append(of_keyword)
        labels.append(np.full(len(of_keyword), label))
    share = round(np.mean([len(known) for known in rows]))
    others = np.flatnonzero(mine & np.isin(word, UNKNOWN))
    others = np.sort(rng.permutation(others)[:share])
    rows.append(others)
    labels.append(np.full(len(others), CLASSES.index("unknown")))
    silence, places = cuts(tuple(noise.values()), share, rng)
    chosen = np.concatenate(rows)
    files = list(noise)
    cut = [f"{NOISE_FOLDER}/{files[i]}@{start}" for i, start in places]
    y = np.concatenate([*labels, np.full(share, CLASSES.index("silence"))]).astype(np.int64)
    order = rng.permutation(len(y))
    return Split(
        np.concatenate([x[chosen], silence])[order],
        y[order],
        np.concatenate([names[chosen], np.array(cut)])[order],
    )


def _foreign(folder: Path) -> tuple[Raw, np.ndarray]:
    """A few clips from random places of every sound, and whether dev or test streams show them:
    those of one sound stay together."""
    signals = tuple(read_signal(path) for path in sorted(folder.glob("*.wav")))
    signals = tuple(s for s in signals if len(s) >= CLIP_SAMPLES)
    if not signals:
        raise ArtifactError(
            f"{folder} has no .wav files of a second or more", "Put ESC-50's there, or remove it."
        )
    clips, places = cuts(signals, _FOREIGN_CUTS * len(signals), np.random.default_rng(_SEED))
    return clips, np.array([("dev", "test")[signal % 2] for signal, _ in places])
