"""Small files that claim to be huge: two lines within a second, and without the memory.

Each is read in a process of its own that may not have more than a gigabyte, and that says how
long the reader took and how much memory was touched.
"""

import gzip
import io
import json
import pickle
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from .models.small_models import library

pytestmark = pytest.mark.slow

GIB = 1 << 30
# On a busy or slower machine as many times more as unpacking 64 MiB takes longer there.
SECONDS, PER_UNPACKING, MEMORY = 1.0, 8, GIB
Make = Callable[[Path], None]
# Imports do not count; the limit is on what the process may ever ask for beyond them.
TRIAL = """
import json, resource, sys, time, zlib
from pathlib import Path
from snapcli.errors import SnapError
path = Path(sys.argv[1])
{setup}
status = Path("/proc/self/status").read_text()
size = next(int(l.split()[1]) for l in status.splitlines() if l.startswith("VmSize")) << 10
resource.setrlimit(resource.RLIMIT_AS, (size + {limit}, size + {limit}))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
try:
    {call}
    told = None
except SnapError as error:
    told = [error.exit_code, error.message, error.hint]
seconds = time.process_time() - start
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
packed = zlib.compress(bytes(1 << 26), 1)
start = time.process_time()
zlib.decompress(packed)
unpacking = time.process_time() - start
print(json.dumps([told, seconds, unpacking, grown]))
"""
READERS = {
    "unpack": (
        "from snapcli.data.files.archive import unpack",
        "unpack(path, path.parent / 'out', 'set')",
    ),
    "npz": (
        "from snapcli.data.user.npz import read_npz",
        "read_npz(path, 'Give another.')",
    ),
    "stored": (
        "from snapcli.heads.head import load_heads",
        "load_heads(path)",
    ),
    "labels": (
        "from snapcli.data.user.labels import read_labels",
        "read_labels(str(path), 10)",
    ),
    "picture": (
        "from snapcli.data.images.pictures import read_picture",
        "read_picture(path, (8, 8, 3))",
    ),
    "wav": (
        "from snapcli.data.sound.clips import read_clip",
        "read_clip(path)",
    ),
    "idx": (
        "from snapcli.data.images.formats import read_idx",
        "read_idx(path, 3)",
    ),
    "mat": (
        "import scipy.io\nfrom snapcli.data.images.formats import read_svhn",
        "read_svhn(path)",
    ),
    "cifar": (
        "from snapcli.data.images.formats import read_cifar10",
        "read_cifar10(path.parent)",
    ),
    "corrupted": (
        "from snapcli.data.images.formats import read_corrupted",
        "read_corrupted(path, (10000, 32, 32, 3), 5, 1)",
    ),
    "model": (
        "import h5py\nfrom snapcli.models.saved_file import read_saved",
        "read_saved(path)",
    ),
    "tflite": (
        "from snapcli.graph.reader import model_bytes, read_tflite",
        "read_tflite(model_bytes(path))",
    ),
    "wheel": (
        "from snapcli import kernels",
        "kernels._unpack(path, path.parent / 'tree')",
    ),
    "json": (
        "from snapcli.stored import read_json",
        "read_json(path)",
    ),
    "recipe": (
        "from snapcli.config import load_recipe",
        "load_recipe(path)",
    ),
    "trace": (
        "from snapcli.metrics.power import read_trace",
        "read_trace(path)",
    ),
}


def zeros(archive: zipfile.ZipFile, name: str, size: int, head: bytes = b"") -> None:
    with archive.open(name, "w", force_zip64=True) as member:
        member.write(head)
        block = bytes(1 << 20)
        for _ in range(size >> 20):
            member.write(block)


def packed(path: Path, name: str, size: int, head: bytes = b"") -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        zeros(archive, name, size, head)


def npy_header(shape: tuple[int, ...], dtype: str = "|u1") -> bytes:
    text = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def npy(path: Path) -> None:
    path.write_bytes(npy_header((1 << 40,)))


def npz_claim(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", npy_header((1 << 20, 1 << 20)))


def npz_zeros(path: Path) -> None:
    packed(path, "x.npy", GIB, npy_header((GIB,)))


def npz_ratio(path: Path) -> None:
    packed(path, "x.npy", 200 << 20, npy_header((200 << 20,)))


def npz_lie(path: Path) -> None:
    """The table of contents says less than the stream holds."""
    npz_zeros(path)
    content = path.read_bytes()
    real = struct.pack("<Q", GIB + len(npy_header((GIB,))))
    content = content.replace(real, struct.pack("<Q", 1 << 10))
    path.write_bytes(content)


def npz_word(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", npy_header((), "<U1000000000"))


def npz_nested(path: Path) -> None:
    text = ("(" * 4000).encode()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text)


def many_members(path: Path) -> None:
    """A zip whose table of contents claims a million entries, and has the size for it."""
    entries, table = 1_000_000, bytes(1 << 10)
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    large = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, entries, entries, len(table), 0)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, len(table), 1)
    path.write_bytes(table + large + locator + end)


def zip_zeros(path: Path) -> None:
    packed(path, "set/a", GIB)


def zip_in_pieces(path: Path) -> None:
    """Members that share one content: none is large, all are."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        zeros(archive, "set/a", 16 << 20)
        first = archive.filelist[0]
        for i in range(1000):
            other = zipfile.ZipInfo(f"set/{i}")
            for name in ("compress_type", "CRC", "compress_size", "file_size", "header_offset"):
                setattr(other, name, getattr(first, name))
            archive.filelist.append(other)
        archive._didModify = True


class Zeros(io.RawIOBase):
    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        return len(buffer)

    def read(self, size: int = -1) -> bytes:
        return bytes(size)


def tar_zeros(path: Path) -> None:
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        info = tarfile.TarInfo("set/a")
        info.size = GIB
        archive.addfile(info, Zeros())  # type: ignore[arg-type]


def tar_name(path: Path) -> None:
    """A name of a gigabyte."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, GIB
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(info.tobuf())
        for _ in range(1024):
            file.write(bytes(1 << 20))


def tar_holes(path: Path) -> None:
    info = tarfile.TarInfo("set/a")
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[386:398] = b"%011o\0" % 0
    header[398:410] = b"%011o\0" % 0
    header[483:495] = b"%011o\0" % ((1 << 33) - 1)
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    path.write_bytes(bytes(header) + bytes(1024))


def tar_tail(path: Path) -> None:
    """Nothing in it, and then a gigabyte behind its end."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(1024):
            file.write(bytes(1 << 20))


def chunk(kind: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
    )


def png(path: Path, width: int = 60_000, height: int = 60_000, extra: bytes = b"") -> None:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(bytes(1 << 20))
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + extra
        + chunk(b"IDAT", rows)
        + chunk(b"IEND", b"")
    )


def png_text(path: Path) -> None:
    text = zlib.compress(bytes(512 << 20), 1)
    png(path, 8, 8, chunk(b"zTXt", b"a\0\0" + text) + chunk(b"iCCP", b"a\0\0" + text))


def bmp(path: Path) -> None:
    head = struct.pack("<IiiHHIIiiII", 40, 60_000, 60_000, 1, 24, 0, 0, 0, 0, 0, 0)
    path.write_bytes(b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + head)


def gif(path: Path) -> None:
    screen = struct.pack("<HHBBB", 8, 8, 0, 0, 0)
    frame = b"," + struct.pack("<HHHHB", 0, 0, 65535, 65535, 0) + b"\x02\x02\x4c\x01\x00;"
    path.write_bytes(b"GIF89a" + screen + frame)


def ppm(path: Path) -> None:
    path.write_bytes(b"P6 60000 60000 255\n" + bytes(100))


def tiff(path: Path) -> None:
    entries = [(256, 4, 60_000), (257, 4, 60_000), (258, 3, 8), (259, 3, 1), (262, 3, 1)]
    entries += [(273, 4, 8), (277, 3, 1), (278, 4, 60_000), (279, 4, 100)]
    table = b"".join(struct.pack("<HHII", tag, kind, 1, value) for tag, kind, value in entries)
    path.write_bytes(
        b"II*\0" + struct.pack("<I", 8) + struct.pack("<H", len(entries)) + table + bytes(4)
    )


def webp(path: Path) -> None:
    body = b"VP8X" + struct.pack("<I", 10) + bytes(4) + b"\xff\xff\xff" + b"\xff\xff\xff"
    path.write_bytes(b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body)


def jpeg(path: Path) -> None:
    frame = struct.pack(">BHHBBBB", 8, 65000, 65000, 1, 1, 0x11, 0)
    path.write_bytes(b"\xff\xd8\xff\xc0" + struct.pack(">H", len(frame) + 2) + frame + b"\xff\xd9")


def eps(path: Path) -> None:
    """Pillow would start Ghostscript for it."""
    path.write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n")


def wav(path: Path, rate: int = 16_000, samples: int = 100, claimed: int | None = None) -> None:
    data = bytes(samples)
    fmt = struct.pack("<HHIIHH", 1, 1, rate, rate & 0xFFFFFFFF, 1, 8)
    size = len(data) if claimed is None else claimed
    body = b"WAVEfmt " + struct.pack("<I", 16) + fmt + b"data" + struct.pack("<I", size) + data
    path.write_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)


def wav_rate(path: Path) -> None:
    wav(path, rate=4_294_967_291)


def wav_slow(path: Path) -> None:
    """A second of it is 16,000 samples of ours."""
    wav(path, rate=1, samples=1 << 20)


def wav_hole(path: Path) -> None:
    wav(path)
    with path.open("r+b") as file:
        file.truncate(1 << 40)


def idx_gz(path: Path) -> None:
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"\0\0\x08\x03" + struct.pack(">III", 1 << 10, 1 << 10, 1 << 10))
        for _ in range(1024):
            file.write(bytes(1 << 20))


def idx_members(path: Path) -> None:
    """Many small streams in one file."""
    path.write_bytes(gzip.compress(bytes(16 << 20)) * 200)


def mat_matrix(dims: tuple[int, ...], claimed: int) -> bytes:
    flags = struct.pack("<IIII", 6, 8, 9, 0)
    sizes = struct.pack(f"<II{len(dims)}i", 5, 4 * len(dims), *dims)
    name = struct.pack("<HH4s", 1, 1, b"X")
    return flags + sizes + name + struct.pack("<II", 2, claimed)


def mat(path: Path, content: bytes, kind: int) -> None:
    head = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H2s", 0x0100, b"IM")
    path.write_bytes(head + struct.pack("<II", kind, len(content)) + content)


def mat_claim(path: Path) -> None:
    mat(path, mat_matrix((32, 32, 3, 1 << 20), 3 << 30), 14)


def mat_zlib(path: Path) -> None:
    stream = zlib.compressobj(1)
    start = mat_matrix((32, 32, 3, 1 << 18), 768 << 20)
    parts = [stream.compress(struct.pack("<II", 14, len(start) + (768 << 20)) + start)]
    parts += [stream.compress(bytes(1 << 20)) for _ in range(768)]
    mat(path, b"".join([*parts, stream.flush()]), 15)


def cifar(path: Path, content: bytes) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"):
            info = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def cifar_memo(path: Path) -> None:
    """A pickle that remembers one object, in place two thousand million."""
    cifar(path, b"\x80\x02Nr" + struct.pack("<I", 0x7FFFFFFF) + b".")


def cifar_array(path: Path) -> None:
    """An array of a terabyte that no byte stands behind."""
    made = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nJ\0\0\0\x7fU\x01b\x87R."
    cifar(path, b"\x80\x02" + made)


def cifar_laughs(path: Path) -> None:
    """Ten lists in ten lists, thirty times."""
    found: list[object] = [1]
    for _ in range(30):
        found = [found] * 10
    cifar(path, pickle.dumps({b"data": found, b"labels": found}, 2))


def h5(path: Path, filled: bool = False) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": []})
        weights = file.create_group("model_weights")
        weights.create_dataset(
            "a", (1 << 16, 1 << 16), "f4", compression="gzip", chunks=(1 << 8, 1 << 8)
        )


def h5_groups(path: Path) -> None:
    import h5py

    with h5py.File(path, "w", libver="latest") as file:
        file.attrs["model_config"] = json.dumps({"class_name": "Sequential", "config": []})
        inner = file.create_group("a")
        inner["up"] = file  # a ring
        for i in range(30):
            inner.create_dataset(str(i), (1 << 25,), "f4", chunks=(1 << 20,))


def keras_zip(path: Path, name: str = "config.json") -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for other in {"config.json", "metadata.json", "model.weights.h5"} - {name}:
            archive.writestr(other, "{}")
        zeros(archive, name, GIB)


def keras_weights(path: Path) -> None:
    keras_zip(path, "model.weights.h5")


def deep_json(path: Path) -> None:
    path.write_text("[" * 5_000_000)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def sparse_tflite(path: Path) -> None:
    sparse(path)
    with path.open("r+b") as file:
        file.write(struct.pack("<I4s", 8, b"TFL3"))


def tflite_vectors(path: Path) -> None:
    """A vector that says it has two thousand million elements."""
    path.write_bytes(struct.pack("<I4s", 16, b"TFL3") + b"\xff\xff\xff\x7f" * 64)


def wheel(path: Path) -> None:
    packed(path, "cmsis_nn/Include/a.h", GIB)


def deep_toml(path: Path) -> None:
    path.write_text("a = " + "[" * 200_000)


BOMBS: dict[str, tuple[str, str, Make]] = {
    "zip": ("unpack", "a.zip", zip_zeros),
    "zip of one content": ("unpack", "a.zip", zip_in_pieces),
    "zip of many": ("unpack", "a.zip", many_members),
    "tar.gz": ("unpack", "a.tar.gz", tar_zeros),
    "tar.gz with a long name": ("unpack", "a.tar.gz", tar_name),
    "tar.gz with a tail": ("unpack", "a.tar.gz", tar_tail),
    "tar with holes": ("unpack", "a.tar", tar_holes),
    "npz that claims": ("npz", "a.npz", npz_claim),
    "npz of zeros": ("npz", "a.npz", npz_zeros),
    "npz packed well": ("npz", "a.npz", npz_ratio),
    "npz that lies": ("npz", "a.npz", npz_lie),
    "npz of one long word": ("npz", "a.npz", npz_word),
    "npz with a deep header": ("npz", "a.npz", npz_nested),
    "npz of many": ("npz", "a.npz", many_members),
    "heads of zeros": ("stored", "heads.npz", npz_zeros),
    "npy": ("labels", "y.npy", npy),
    "npy of a set": ("corrupted", "noise.npy", npy),
    "names": ("labels", "names.txt", sparse),
    "png": ("picture", "a.png", png),
    "png with a text": ("picture", "a.png", png_text),
    "bmp": ("picture", "a.bmp", bmp),
    "gif": ("picture", "a.gif", gif),
    "ppm": ("picture", "a.ppm", ppm),
    "tiff": ("picture", "a.tif", tiff),
    "webp": ("picture", "a.webp", webp),
    "jpeg": ("picture", "a.jpg", jpeg),
    "eps that is called png": ("picture", "a.png", eps),
    "wav of a high rate": ("wav", "a.wav", wav_rate),
    "wav of a low rate": ("wav", "a.wav", wav_slow),
    "wav with a hole": ("wav", "a.wav", wav_hole),
    "idx.gz": ("idx", "a.gz", idx_gz),
    "idx.gz in pieces": ("idx", "a.gz", idx_members),
    "mat that claims": ("mat", "a.mat", mat_claim),
    "mat of zeros": ("mat", "a.mat", mat_zlib),
    "pickle with a large memory": ("cifar", "cifar-10-python.tar.gz", cifar_memo),
    "pickle of a large array": ("cifar", "cifar-10-python.tar.gz", cifar_array),
    "pickle of lists in lists": ("cifar", "cifar-10-python.tar.gz", cifar_laughs),
    "h5": ("model", "a.h5", h5),
    "h5 with a ring": ("model", "a.h5", h5_groups),
    "keras with a large configuration": ("model", "a.keras", keras_zip),
    "keras with large weights": ("model", "a.keras", keras_weights),
    "keras of many": ("model", "a.keras", many_members),
    "tflite with a hole": ("tflite", "a.tflite", sparse_tflite),
    "tflite of large vectors": ("tflite", "a.tflite", tflite_vectors),
    "wheel": ("wheel", "a.whl", wheel),
    "json, deep": ("json", "a.json", deep_json),
    "json, large": ("json", "a.json", sparse),
    "toml, deep": ("recipe", "a.toml", deep_toml),
    "toml, large": ("recipe", "a.toml", sparse),
    "power trace": ("trace", "a.csv", sparse),
}


def trial(reader: str, path: Path) -> tuple[list[object] | None, float, int]:
    setup, call = READERS[reader]
    program = TRIAL.format(setup=setup, call=call, limit=MEMORY)
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", program, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    told, seconds, unpacking, grown = json.loads(done.stdout)
    return told, seconds / max(1.0, PER_UNPACKING * unpacking / SECONDS), grown


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_told_in_two_lines(name: str, tmp_path: Path) -> None:
    reader, file, make = BOMBS[name]
    path = tmp_path / file
    make(path)
    assert path.stat().st_blocks * 512 < 12 << 20  # small on disk
    told, seconds, grown = trial(reader, path)
    assert told is not None
    code, message, hint = told
    assert code in (2, 3, 4)
    assert isinstance(message, str)
    assert path.name in message or reader == "tflite"
    assert message.isprintable()
    assert hint
    assert seconds < SECONDS
    assert grown < MEMORY


def test_a_saved_model_that_claims(tmp_path: Path) -> None:
    """Its graph has a hole of a terabyte: told before TensorFlow reads it."""
    from snapcli.errors import ArtifactError
    from snapcli.models.saved_folder import load_folder

    from ..conftest import need

    need(tensorflow=True)
    library("2")
    sparse(tmp_path / "saved_model.pb")
    with pytest.raises(ArtifactError, match="at most 256 are read"):
        load_folder(tmp_path, allow_code=False)


HONEST = {
    "npz": ("a.npz", lambda path: np.savez_compressed(path, x=np.zeros((40, 1 << 20), np.uint8))),
    "wav": ("a.wav", wav),
    "picture": ("a.png", lambda path: _picture(path)),
}


def _picture(path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (4000, 3000)).save(path)


@pytest.mark.parametrize("reader", HONEST)
def test_what_packs_well_and_is_no_bomb_is_read(reader: str, tmp_path: Path) -> None:
    """Masks are zeros, and a photograph is larger than a network's input."""
    file, make = HONEST[reader]
    make(tmp_path / file)
    told, _, _ = trial(reader, tmp_path / file)
    assert told is None
