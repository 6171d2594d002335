"""Where data come from: folders in order, then a download by hash that resumes and retries."""

import hashlib
import http.server
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from snapcli.data.files.catalogue import SOURCES, PublishedFile, Source
from snapcli.data.files.store import Store, open_store
from snapcli.errors import ArtifactError

CONTENT = np.random.default_rng(0).bytes(3_000_000)
BLOCK = 1 << 18  # what is written at once: less than that is lost when a connection breaks


@dataclass
class Server:
    """Serves CONTENT under any name; breaks off after `drop` bytes as often as it is told."""

    url: str = ""
    drops: list[int] = field(default_factory=list)
    ranges: bool = True
    content: bytes = CONTENT
    asked: list[str | None] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            state.asked.append(wanted)
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
            if wanted and state.ranges and start >= len(state.content):
                self.send_error(416)
                return
            part = state.content[start:] if state.ranges else state.content
            self.send_response(206 if wanted and state.ranges else 200)
            self.send_header("Content-Length", str(len(part)))
            self.end_headers()
            self.wfile.write(part[: state.drops.pop(0)] if state.drops else part)

        def log_message(self, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        state.url = f"http://127.0.0.1:{running.server_port}"
        yield state
        running.shutdown()


def source(url: str, content: bytes = CONTENT, count: int = 1) -> Source:
    digest = hashlib.sha256(content).hexdigest()
    files = tuple(
        PublishedFile(f"part{i}.bin", f"{url}/part{i}.bin", len(content), digest)
        for i in range(count)
    )
    return Source("toy", "A toy", "toys", files, "MIT", "https://example.org/toy")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries follow each other at once."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store((tmp_path / "given", tmp_path / "cache"))


def put(store: Store, root: int, toy: Source) -> Path:
    folder = store.roots[root] / toy.folder
    folder.mkdir(parents=True)
    for file in toy.files:
        (folder / file.name).write_bytes(b"here")
    return folder


def test_the_folders_are_searched_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "given").mkdir()
    monkeypatch.setenv("SNAP_DATA_DIR", str(tmp_path / "named"))
    monkeypatch.setenv("SNAP_CACHE_DIR", str(tmp_path / "cache"))
    store = open_store(str(tmp_path / "given"))
    assert store.roots == tuple(tmp_path / p for p in ("given", "named", "cache/data"))
    toy = source("http://nowhere.invalid")
    assert store.locate(toy) is None
    for root in (2, 1, 0):
        assert store.locate(toy) != store.roots[root] / "toys"
        assert put(store, root, toy) == store.locate(toy)


def test_an_incomplete_folder_does_not_count(store: Store) -> None:
    toy = source("http://nowhere.invalid", count=2)
    folder = put(store, 0, toy)
    assert store.locate(toy) == folder
    (folder / "part1.bin").unlink()
    assert store.locate(toy) is None


def test_an_unpacked_folder_stands_in_for_the_archive(store: Store) -> None:
    toy = replace(source("http://nowhere.invalid"), unpacked=("toy_v1", "other/toy"))
    (store.roots[0] / "other" / "toy").mkdir(parents=True)
    assert store.locate(toy) is None  # empty
    (store.roots[0] / "other" / "toy" / "a").touch()
    assert store.locate(toy) == store.roots[0] / "other" / "toy"
    assert store.require(toy) == (store.roots[0] / "other" / "toy",)


def zipped(store: Store, root: int, toy: Source, text: str) -> None:
    with zipfile.ZipFile(put(store, root, toy) / "part0.bin", "w") as file:
        file.writestr("a.txt", text)


def test_an_archive_is_unpacked_once_and_stays_where_it_is(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = replace(source("http://nowhere.invalid"), unpacked=("toy_v1",))
    assert store.find(toy) is None  # and downloads nothing
    zipped(store, 0, toy, "content")
    found = store.find(toy)
    assert found is not None
    assert found.is_relative_to(store.cache)
    assert found.name == "toy_v1"
    assert (found / "a.txt").read_text() == "content"
    monkeypatch.setattr("snapcli.data.files.store.unpack", None)
    assert (store.find(toy),) == store.require(toy) == (found,)
    assert store.locate(toy) == store.roots[0] / "toys"


def test_what_was_unpacked_from_one_archive_does_not_stand_in_for_another(store: Store) -> None:
    """The order of the folders holds: an archive of the data directory beats the cache."""
    toy = replace(source("http://nowhere.invalid"), unpacked=("toy_v1",))
    zipped(store, 1, toy, "old")
    assert (store.require(toy)[0] / "a.txt").read_text() == "old"
    zipped(store, 0, toy, "newer")
    assert (store.require(toy)[0] / "a.txt").read_text() == "newer"


def test_a_download_lands_in_the_cache_and_is_not_repeated(store: Store, server: Server) -> None:
    toy = source(server.url, count=2)
    told: list[tuple[int, int]] = []
    (folder,) = store.require(toy, on_progress=lambda done, total, _: told.append((done, total)))
    assert folder == store.cache / "toys"
    assert [(folder / f.name).read_bytes() for f in toy.files] == [CONTENT, CONTENT]
    assert told[-1] == (2 * len(CONTENT) >> 20, 2 * len(CONTENT) >> 20)
    assert told == sorted(told)
    store.require(toy)
    assert len(server.asked) == 2


def test_a_broken_connection_is_taken_up_where_it_ended(store: Store, server: Server) -> None:
    server.drops = [4 * BLOCK + 5]
    (folder,) = store.require(source(server.url))
    assert (folder / "part0.bin").read_bytes() == CONTENT
    assert server.asked == [None, f"bytes={4 * BLOCK}-"]
    assert [p.name for p in folder.iterdir()] == ["part0.bin"]


def test_what_an_earlier_attempt_got_is_kept_for_the_next(store: Store, server: Server) -> None:
    server.drops = [4 * BLOCK, 2 * BLOCK, BLOCK]
    with pytest.raises(ArtifactError, match="cannot be fetched"):
        store.require(source(server.url))
    assert [p.name for p in (store.cache / "toys").iterdir()] == ["part0.bin.part"]
    store.require(source(server.url))
    assert server.asked[-1] == f"bytes={7 * BLOCK}-"
    assert (store.cache / "toys" / "part0.bin").read_bytes() == CONTENT


def test_a_server_that_cannot_resume_starts_again(store: Store, server: Server) -> None:
    server.drops, server.ranges = [1_000_000], False
    (folder,) = store.require(source(server.url))
    assert (folder / "part0.bin").read_bytes() == CONTENT


def test_a_part_that_is_too_long_is_thrown_away(store: Store, server: Server) -> None:
    folder = store.cache / "toys"
    folder.mkdir(parents=True)
    (folder / "part0.bin.part").write_bytes(CONTENT + b"more")
    store.require(source(server.url))
    assert (folder / "part0.bin").read_bytes() == CONTENT


def test_other_bytes_than_the_published_are_refused(store: Store, server: Server) -> None:
    server.content = CONTENT[:-1] + b"!"
    with pytest.raises(ArtifactError, match="sha256 differs"):
        store.require(source(server.url))
    assert not (store.cache / "toys" / "part0.bin").exists()


def test_without_a_network_the_error_says_files_place_and_variable(store: Store) -> None:
    with pytest.raises(ArtifactError) as caught:
        store.require(source("http://127.0.0.1:9", count=2))
    hint = caught.value.hint or ""
    for word in ("part0.bin", "part1.bin", str(store.cache / "toys"), "SNAP_DATA_DIR"):
        assert word in hint


def test_one_error_names_all_that_is_missing(store: Store, server: Server) -> None:
    """What could be fetched before it is not among them."""
    near = source(server.url)
    far = [
        replace(source("http://127.0.0.1:9"), name=name, folder=name) for name in ("far", "further")
    ]
    with pytest.raises(ArtifactError, match="cannot be fetched") as caught:
        store.require(near, *far)
    hint = caught.value.hint or ""
    for one in far:
        assert str(store.cache / one.folder) in hint
    assert str(store.cache / near.folder) not in hint
    assert store.locate(near) == store.cache / "toys"


def test_the_nearest_of_several_is_that_of_the_first_folder(store: Store) -> None:
    new, old = (replace(source("http://127.0.0.1:9"), folder=name) for name in ("new", "old"))
    assert store.nearest(new, old) is None
    put(store, 1, new)
    assert store.nearest(new, old) == new
    put(store, 0, old)
    assert store.nearest(new, old) == old


def test_what_has_no_download_says_where_to_get_it(store: Store) -> None:
    with pytest.raises(ArtifactError, match="has no download") as caught:
        store.require(SOURCES["esc50"])
    assert SOURCES["esc50"].home in (caught.value.hint or "")


def test_the_catalogue_pins_every_file() -> None:
    for one in SOURCES.values():
        for file in one.files:
            assert len(bytes.fromhex(file.sha256)) == 32
            assert file.url.endswith(file.name)
            assert file.size_bytes > 1000
