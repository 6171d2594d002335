"""Settings on a flash that loses power at every byte (firmware/test/power_cut.c)."""

import subprocess

import pytest

from snapcli.toolchain import app_sources
from tests.conftest import need

from .tiny_model import FIRMWARE, sources

pytestmark = pytest.mark.slow

PAGE_BYTES, WRITTEN_BYTES, PUSHES = 96, 88, 5


def test_a_power_loss_leaves_the_old_settings_or_the_new(tmp_path):
    need(host=True)
    program = tmp_path / "power_cut"
    files, folders = sources()
    app = [path for path in app_sources() if path.name != "main.c"]
    port = FIRMWARE / "port"
    files += [*app, port / "defaults.c", FIRMWARE / "test" / "power_cut.c"]
    flags = ["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wmissing-prototypes"]
    flags += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    flags += [f"-I{folder}" for folder in (*folders, port, FIRMWARE / "app")]
    flags += ['-DPORT_TARGET_NAME="cut"']
    subprocess.run(["cc", *flags, *map(str, files), "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    old, new = map(int, done.stdout.split())
    # Two ways to erase a page, and one that takes two steps for each byte.
    assert old + new == PUSHES * (4 * PAGE_BYTES + 3 * WRITTEN_BYTES)
    # Only a cut inside of the very last byte can leave the new ones already.
    assert new <= 3 * PUSHES
    assert old > 0
