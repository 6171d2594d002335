import zlib

from hypothesis import assume, given
from hypothesis import strategies as st

from snapcli.device.frame import MAGIC, Decoder, Frame, encode

payloads = st.binary(max_size=300)
frames = st.builds(Frame, st.integers(0, 255), st.integers(0, 255), payloads)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """The data, cut at these places."""
    ends = sorted({cut % (len(data) + 1) for cut in cuts})
    return [data[a:b] for a, b in zip([0, *ends], [*ends, len(data)], strict=True)]


def test_the_bytes_of_a_frame():
    # 0x2144DF1C is the well-known CRC-32 of four zero bytes.
    assert encode(Frame(0, 0, b"")) == b"\xa5\x5a" + bytes(4) + b"\x1c\xdf\x44\x21"
    assert encode(Frame(0x02, 0x07, b"AB"))[:8] == b"\xa5\x5a\x02\x07\x02\x00AB"


@given(st.lists(frames, max_size=4), st.binary(max_size=20), st.integers(1, 50))
def test_frames_survive_any_cutting_and_leading_noise(sent, noise, step):
    # Noise that happens to hold a magic may rightly swallow what follows it.
    noise = noise.replace(b"\xa5", b"")
    stream = noise + b"".join(map(encode, sent))
    decoder = Decoder()
    received = [
        frame
        for start in range(0, len(stream), step)
        for frame in decoder.feed(stream[start : start + step])
    ]
    assert received == sent
    assert decoder.text == noise
    assert decoder.damaged == 0


@given(st.binary(max_size=2000), st.lists(st.integers(0, 2000), max_size=6))
def test_anything_at_all_gives_the_same_however_it_is_cut(data, cuts):
    whole, cut = Decoder(), Decoder()
    found = whole.feed(data) + whole.abandon()
    again = [frame for piece in pieces(data, cuts) for frame in cut.feed(piece)] + cut.abandon()
    assert found == again
    assert (whole.damaged, whole.text) == (cut.damaged, cut.text)
    assert not whole.inside_frame
    # Whatever is found was there, with the right CRC.
    for frame in found:
        assert encode(frame) in data


@given(st.lists(st.one_of(frames.map(encode), st.just(MAGIC), payloads), max_size=8))
def test_no_frame_is_made_up(parts):
    data = b"".join(parts)
    decoder = Decoder()
    for frame in decoder.feed(data) + decoder.abandon():
        body = encode(frame)[2:-4]
        assert zlib.crc32(body).to_bytes(4, "little") in data
        assert body in data


@given(frames, st.data())
def test_a_frame_is_found_behind_a_damaged_one(frame, data):
    broken = bytearray(encode(frame))
    position = data.draw(st.sampled_from([0, 1, 2, 3, *range(6, len(broken))]))
    broken[position] ^= 1 << data.draw(st.integers(0, 7))
    assume(MAGIC not in broken[2:])  # a magic inside may rightly swallow what follows it
    last = Frame(0x84, 9, b"fine")
    assert last in Decoder().feed(bytes(broken) + encode(last))


@given(st.integers(0, 0xFFFF), frames)
def test_a_frame_behind_a_false_start_is_found_when_nothing_more_comes(length, frame):
    noise = MAGIC + b"\x01\x01" + length.to_bytes(2, "little")
    decoder = Decoder()
    assert frame in decoder.feed(noise + encode(frame)) + decoder.abandon()
    assert decoder.damaged == 1
