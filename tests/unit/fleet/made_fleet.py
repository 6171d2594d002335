"""Made-up records of many devices: histograms drawn at random, the same for all of them or not."""

from dataclasses import dataclass

import numpy as np

from snapcli.fixedpoint import TELEMETRY, TELEMETRY_MAGIC, TELEMETRY_VERSION, telemetry_sealed

DAY_S, START_S = 86_400, 1_767_225_600  # 2026-01-01
_BINS = np.arange(16)
# Most frames are easy, a few are not; behind a shift, many are not.
USUAL = np.stack([0.62 ** (_BINS + 1.0) + 0.004, np.full(16, 1.0)])
SHIFTED = np.stack([0.9 ** (_BINS + 1.0), 0.3 + _BINS**2 / 40.0])
USUAL, SHIFTED = (shares / shares.sum(axis=1, keepdims=True) for shares in (USUAL, SHIFTED))


@dataclass(frozen=True)
class Made:
    """each: records of a device on a day; frames of a record. block: so many frames in a row are
    alike. spread: how much devices differ among each other, 0: not at all. shifted: the devices
    whose inputs shift, by so much (1: as far as SHIFTED), from a day on."""

    devices: int = 20
    days: int = 14
    each: int = 2
    frames: int = 1000
    block: int = 1
    spread: float = 0.0
    shifted: tuple[int, ...] = ()
    by: float = 1.0
    day: int = 0
    model_id: int = 0x1122334455667788
    check: int = 0x01020304
    number: int = 1  # of the first device
    first: int = 0  # day on which all begins
    clock: bool = True

    def records(self, seed: int) -> np.ndarray:
        """TELEMETRY [devices * days * each], by device and time."""
        rng = np.random.default_rng([seed, self.first % 1000])
        shape = (self.devices, self.days, self.each)
        # The same seed makes the same devices.
        spread = np.random.default_rng(seed).lognormal(0, self.spread, (self.devices, 2, 16))
        own = USUAL * spread
        own /= own.sum(axis=2, keepdims=True)
        far = np.zeros(shape)
        far[list(self.shifted), self.day :] = self.by
        far = far.reshape(-1, 1, 1)
        owner, day, place = (index.reshape(-1) for index in np.indices(shape))
        shares = (1 - far) * own[owner] + far * SHIFTED
        records = np.zeros(len(owner), TELEMETRY)
        records["magic"], records["version"] = TELEMETRY_MAGIC, TELEMETRY_VERSION
        records["model_id"], records["settings_check"] = self.model_id, self.check
        records["device"] = self.number + owner
        records["sequence"] = (self.first % 1000 + day) * self.each + place
        seconds = (self.first + day) * DAY_S + place * (DAY_S // self.each)
        records["time"] = START_S + seconds if self.clock else 0
        blocks = self.frames // self.block
        records["frames"] = blocks * self.block
        bins = rng.multinomial(blocks, shares) * self.block
        records["uncertainty_bins"], records["foreign_bins"] = bins[:, 0], bins[:, 1]
        records["uncertainty_sum_q16"] = (bins[:, 0] * (4096 * _BINS + 2048)).sum(axis=1)
        records["abstained"] = bins[:, 0, 8:].sum(axis=1)
        records["foreign"] = bins[:, 1, 15]
        on = records["abstained"] > 0.2 * records["frames"]
        records["alarms"], records["alarm_frames"] = on, on * records["frames"] // 2
        records["flags"] = on
        right = 1 - records["uncertainty_sum_q16"] / 65536 / np.maximum(records["frames"], 1)
        records["right_q24"] = (right * (1 << 24)).astype(np.uint32)
        return telemetry_sealed(records)


def joined(seed: int, *made: Made) -> np.ndarray:
    """One behind the other, of the same devices where their number is the same."""
    return np.concatenate([one.records(seed) for one in made])
