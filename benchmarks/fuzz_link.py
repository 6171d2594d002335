"""Feeds the firmware's application any bytes: 10 million executions, ASan, UBSan and libFuzzer.

Run: make fuzz-link. --keep adds what was found to firmware/test/fuzz/corpus, minimised; the
tests replay that folder.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.unit.firmware.fuzz import APP, CORPUS, FOLDER, flags, seeds, target_sources

WORKERS = os.cpu_count() or 1
BYTES_MAX = 200  # of an input: two settings blocks in their frames


def build(folder: Path) -> Path:
    program = folder / "fuzz_link"
    sanitizers = ["-O2", "-g", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"]
    sources = map(str, [*target_sources(), FOLDER / "mutate.c"])
    subprocess.run(["clang", *sanitizers, *flags(), *sources, "-o", str(program)], check=True)
    return program


def start(program: Path, folder: Path, executions: int, seed: int) -> "subprocess.Popen[str]":
    """One fuzzer with a corpus of its own; it also reads the seeds and what is kept."""
    own = folder / f"corpus-{seed}"
    own.mkdir()
    options = [f"-runs={executions}", f"-seed={seed}", f"-max_len={BYTES_MAX}", "-timeout=10"]
    options += ["-print_final_stats=1", f"-artifact_prefix={folder}/", "-verbosity=1"]
    corpora = [str(own), str(folder / "seeds"), str(CORPUS)]
    log = (folder / f"log-{seed}").open("w")
    return subprocess.Popen([str(program), *options, *corpora], stderr=log, stdout=log, text=True)


def keep(program: Path, folder: Path) -> None:
    """The smallest set of inputs that reaches all that any of them reaches, and the seeds."""
    merged = folder / "merged"
    merged.mkdir()
    found = [str(path) for path in sorted(folder.glob("corpus-*"))]
    subprocess.run(
        [str(program), "-set_cover_merge=1", f"-max_len={BYTES_MAX}", str(merged), str(CORPUS),
         str(folder / "seeds"), *found],
        check=True, capture_output=True,
    )  # fmt: skip
    shutil.rmtree(CORPUS)
    shutil.copytree(merged, CORPUS)


def covered(folder: Path) -> tuple[int, int]:
    """Lines of firmware/app that the kept corpus reaches, and all that there are."""
    program, raw, profile = folder / "covered", folder / "raw", folder / "profile"
    measured = ["-g", "-fprofile-instr-generate", "-fcoverage-mapping"]
    sources = map(str, [*target_sources(), FOLDER / "replay.c"])
    subprocess.run(["clang", *measured, *flags(), *sources, "-o", str(program)], check=True)
    inputs = map(str, sorted(CORPUS.iterdir()))
    replay = {"env": {**os.environ, "LLVM_PROFILE_FILE": str(raw)}, "capture_output": True}
    subprocess.run([str(program), *inputs], check=True, **replay)
    subprocess.run(["llvm-profdata", "merge", "-o", str(profile), str(raw)], check=True)
    export = ["llvm-cov", "export", "-summary-only", f"-instr-profile={profile}", str(program)]
    told = subprocess.run([*export, str(APP)], check=True, capture_output=True).stdout
    lines = json.loads(told)["data"][0]["totals"]["lines"]
    return lines["covered"], lines["count"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executions", type=int, default=10_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    if shutil.which("clang") is None or shutil.which("llvm-cov") is None:
        print("error: clang or llvm-cov is not installed", file=sys.stderr)
        print("hint: sudo apt-get install clang llvm", file=sys.stderr)
        return 5
    CORPUS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="snap-fuzz-") as name:
        folder = Path(name)
        (folder / "seeds").mkdir()
        for number, data in enumerate(seeds()):
            (folder / "seeds" / f"{number:03}").write_bytes(data)
        program = build(folder)
        begun = time.monotonic()
        share = -(-given.executions // WORKERS)
        fuzzers = [start(program, folder, share, given.seed + k) for k in range(WORKERS)]
        statuses = [fuzzer.wait() for fuzzer in fuzzers]
        seconds = time.monotonic() - begun
        logs = [path.read_text("utf-8", "replace") for path in sorted(folder.glob("log-*"))]
        findings = [path for kind in ("crash", "timeout", "leak", "oom", "slow-unit")
                    for path in sorted(folder.glob(f"{kind}-*"))]  # fmt: skip
        done = sum(int(n) for log in logs for n in re.findall(r"executed_units: +(\d+)", log))
        print(f"executions  {done:>10}")
        print(f"a second    {done / seconds:>10.0f}")
        print(f"findings    {len(findings):>10}")
        if any(statuses) or findings:
            for path in findings:
                print(f"{path.name}: {path.read_bytes().hex()}", file=sys.stderr)
            print(next(log for log, status in zip(logs, statuses, strict=True) if status)[-4000:],
                  file=sys.stderr)  # fmt: skip
            return 1
        if given.keep:
            keep(program, folder)
        files = [path.stat().st_size for path in CORPUS.iterdir()]
        reached, total = covered(folder)
        print(f"corpus      {len(files):>10} files, {sum(files)} bytes")
        print(f"covers      {reached:>10} of {total} lines of firmware/app")
    return 0


if __name__ == "__main__":
    sys.exit(main())
