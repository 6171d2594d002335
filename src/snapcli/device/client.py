"""The host's side of the wire protocol of SPEC.md, section 3."""

import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeVar

import serial

from snapcli.device import messages
from snapcli.device.exchange import Exchange
from snapcli.device.failure import DISTURBED, LinkError, Reason
from snapcli.device.frame import PAYLOAD_LIMIT
from snapcli.device.messages import (
    PROTOCOL_VERSION,
    AlarmAction,
    Evidence,
    Hello,
    ImageCheck,
    Inference,
    Profile,
    Selftest,
    Stack,
    StreamState,
    Type,
    Watch,
)
from snapcli.device.transport import BAUD, Link
from snapcli.errors import DeviceError

T = TypeVar("T")

RATES = (921600, 460800, 230400)
# The device leaves a higher rate when it has had no good frame for this long.
RATE_HOLDS_S = 3.0
_RATE_MARGIN_S = 0.5
# HELLOs in a row, none of them repeated, that prove a rate.
_PROOFS = 4
_RECOVERIES = 2
_FORGET = 2**32 - 1  # in place of an index
_LEAST_BUFFER_BYTES = 2048


class Client:
    """Asks a device, and goes on where a line, a device or a cable fails for a moment.

    timeout_s is the longest silence of a device that has nothing to compute or is in the
    middle of an answer; work_timeout_s is the time that an inference, or the whole
    self-test, may take; reconnect_s is how long to wait for a port that went away. Use as a
    context manager to close the port.

    A request is sent three times at most before the line counts as failing. Where the device
    has restarted, has left the rate it was at, or was unplugged, its identity is checked, the
    stream goes on from its last known state, and the request is made again.
    """

    def __init__(
        self,
        port: Link | serial.Serial | str,
        timeout_s: float = 2.0,
        work_timeout_s: float = 60.0,
        reconnect_s: float = 0.0,
    ) -> None:
        self._link = port if isinstance(port, Link) else Link(port)
        self._exchange = Exchange(self._link, timeout_s)
        self._timeout_s = timeout_s
        self._work_timeout_s = work_timeout_s
        self._reconnect_s = reconnect_s
        self._longest_s: dict[Type, float] = {}  # of what takes work, as seen so far
        self._hello: Hello | None = None
        self._has_stream = False
        self._state: StreamState | None = None  # None: as START makes it
        self._rates: tuple[int, ...] = ()
        self.restarts = 0  # how often the device was seen to have lost its stream

    @property
    def repeats(self) -> int:
        """How many requests were sent again; the device carries each out once."""
        return self._exchange.repeats

    @property
    def baud(self) -> int:
        return self._link.baud

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Who comes next finds the device at the rate it has after a reset.
        with suppress(DeviceError):
            if kind is None:
                self._leave_rate()
        self._link.close()

    # ---- Requests ----------------------------------------------------------

    def hello(self) -> Hello:
        """Who is there. Called before anything else by itself."""
        return self._introduced(self.request(Type.HELLO))

    def start(self, state: StreamState | None = None) -> None:
        """Begin a stream, or go on with one that stood at `state`."""
        answer = self.request(Type.START, messages.pack_state(state))
        self._unpack(messages.parse_nothing, answer)
        self._has_stream, self._state = True, state

    def infer(self, data: bytes) -> Inference:
        """The next input of the stream, int8, Hello.input_bytes of them."""
        hello = self._checked(data)
        answer = self._work(Type.INFER, data)
        result = self._unpack(lambda p: messages.parse_inference(p, hello), answer)
        self._state = result.state
        return result

    def alarm(self, action: AlarmAction = AlarmAction.LOOK) -> Watch:
        """Where the stream's alarm stands, after the action."""
        answer = self.request(Type.ALARM, messages.pack_word(action))
        self._state = self._unpack(messages.parse_state, answer)
        return self._state.watch

    def evidence(self, index: int) -> Evidence:
        """An input that the device kept, by its place from 0 on."""
        return self._evidence(index)

    def forget_evidence(self) -> None:
        """Make room for other inputs."""
        self._evidence(_FORGET)

    def _evidence(self, index: int) -> Evidence:
        hello = self._hello or self.hello()
        answer = self.request(Type.EVIDENCE, messages.pack_word(index))
        return self._unpack(lambda p: messages.parse_evidence(p, hello), answer)

    def telemetry(self, take: bool, now_s: int = 0, device: int = 0) -> bytes:
        """The record of the stream so far (SPEC 4), none from an image without monitor. take: the
        next one begins. now_s: seconds since 1970, 0: nobody knows; device: a number for it."""
        answer = self.request(Type.TELEMETRY, messages.pack_telemetry(take, now_s, device))
        return self._unpack(messages.parse_record, answer)

    def profile(self, data: bytes) -> Profile:
        """An input beside the stream, with the count of every step."""
        hello = self._checked(data)
        answer = self._work(Type.PROFILE, data)
        return self._unpack(lambda p: messages.parse_profile(p, hello), answer)

    def stack(self) -> Stack:
        """Stack use since boot."""
        return self._unpack(messages.parse_stack, self.request(Type.STACK))

    def selftest(self) -> Selftest:
        """Run the golden vectors that the firmware carries."""
        return self._unpack(messages.parse_selftest, self._work(Type.SELFTEST))

    def check(self) -> ImageCheck:
        """The CRC of the image as it was linked and as it is now."""
        return self._unpack(messages.parse_check, self._work(Type.CHECK))

    def push_settings(self, block: bytes) -> int:
        """Replace the settings, which ends the stream; the check of those in use now."""
        check = self._unpack(messages.parse_word, self._work(Type.SETTINGS, block))
        self._has_stream, self._state = False, None
        self.hello()
        return check

    def speed_up(self, rates: Sequence[int] = RATES) -> int:
        """Take the first rate that works, 115200 if none does; which one it is.

        Where the device leaves it later, the same rates are tried again.
        """
        if self._hello is None:
            self.hello()  # a device that does not even say hello is not worth waiting for
        self._rates = tuple(rates)
        self._negotiate()
        return self._link.baud

    def restart(self) -> None:
        """Start the firmware anew and wait for it."""
        self._unpack(messages.parse_nothing, self.request(Type.RESTART))
        self._link.baud = BAUD
        with suppress(LinkError):  # what it says when it boots may get lost
            self._exchange.lines(self._timeout_s)
        self.hello()
        self._negotiate()

    def text(self, command: str) -> list[str]:
        """The lines that answer a command of MLPerf Tiny, at 115200 baud; no checksum.

        A higher rate is taken again afterwards.
        """
        self._leave_rate()
        self._link.drop_input(0.0, self._timeout_s)
        self._link.write(command.removesuffix("%").encode("ascii") + b"%")
        answer = self._exchange.lines(self._work_timeout_s)
        self._negotiate()
        return answer

    def request(self, kind: int, payload: bytes = b"", timeout_s: float | None = None) -> bytes:
        """The payload of the answer to one request."""
        request = self._exchange.request(kind, payload)
        problem: LinkError | None = None
        for _ in range(1 + _RECOVERIES):
            try:
                if problem is None:
                    self._renew_rate()
                else:
                    self._recover(problem)
                return self._exchange.ask(request, timeout_s)
            except LinkError as error:
                problem = error
        assert problem is not None
        raise problem

    def _work(self, kind: Type, payload: bytes = b"") -> bytes:
        """As request, for what the device computes at. How long that takes is learned, so
        that only the first one that gets lost costs the whole time-out."""
        known = self._longest_s.get(kind)
        patience = self._work_timeout_s
        if known is not None:
            patience = min(patience, self._timeout_s + 4 * known)
        repeats, restarts, begun = self.repeats, self.restarts, time.monotonic()
        answer = self.request(kind, payload, patience)
        if (repeats, restarts) == (self.repeats, self.restarts):
            self._longest_s[kind] = max(known or 0.0, time.monotonic() - begun)
        return answer

    # ---- Recovery ----------------------------------------------------------

    def _recover(self, problem: LinkError) -> None:
        """Make the device ready to be asked again, or raise the problem."""
        if problem.reason is Reason.NO_STREAM and self._has_stream:
            self.restarts += 1
        elif problem.reason is Reason.GONE and self._reconnect_s > 0:
            self._link.reopen(self._reconnect_s)
        elif problem.reason in DISTURBED and self._link.baud != BAUD:
            self._fall_back(time.monotonic())
        else:
            raise problem
        known = self._hello
        if known and self._introduced(self._ask(Type.HELLO)) != known:
            raise DeviceError(
                f"The device at {self._link.path} is another one now, or has another firmware"
                " or other settings.",
                "Start anew with the one that is there.",
            )
        if self._has_stream:
            # Also where the device has kept it: an inference whose answer was lost is
            # done once more, from where the stream stood before it.
            self._ask(Type.START, messages.pack_state(self._state))
        self._negotiate()

    def _negotiate(self) -> None:
        for rate in self._rates:
            if rate == self._link.baud or self._proven(rate):
                return

    def _proven(self, rate: int) -> bool:
        """Change to a rate; False, and back at 115200, if it does not hold."""
        agreed = False
        try:
            self._ask(Type.BAUD, messages.pack_word(rate))
            agreed = True
            self._link.baud = rate
            for _ in range(_PROOFS):
                self._exchange.ask(self._exchange.request(Type.HELLO), repeats=0)
        except LinkError as error:
            if error.reason not in (*DISTURBED, Reason.REFUSED):
                raise
            if agreed or error.reason is not Reason.REFUSED:
                # Unless it refused, the device has changed, or may have.
                self._fall_back(time.monotonic())
            return False
        return True

    def _fall_back(self, last_frame_at: float) -> None:
        """Back to 115200, where the device goes when it has had no frame for a while."""
        self._link.baud = BAUD
        left = last_frame_at + RATE_HOLDS_S + _RATE_MARGIN_S - time.monotonic()
        time.sleep(max(0.0, left))
        self._link.drop_input(0.0, self._timeout_s)
        self._ask(Type.HELLO)

    def _renew_rate(self) -> None:
        """A rate lapses while nobody asks: come to terms again before it matters."""
        idle_s = time.monotonic() - self._exchange.answered_at
        if self._link.baud != BAUD and idle_s > RATE_HOLDS_S / 2:
            self._fall_back(self._exchange.answered_at)
            self._negotiate()

    def _leave_rate(self) -> None:
        if self._link.baud != BAUD:
            self._ask(Type.BAUD, messages.pack_word(BAUD))
            self._link.baud = BAUD

    # ---- Pieces ------------------------------------------------------------

    def _ask(self, kind: int, payload: bytes = b"") -> bytes:
        return self._exchange.ask(self._exchange.request(kind, payload))

    def _introduced(self, payload: bytes) -> Hello:
        version = messages.parse_version(payload)
        if version != PROTOCOL_VERSION:
            raise DeviceError(
                f"The device at {self._link.path} speaks protocol {version},"
                f" this snap speaks {PROTOCOL_VERSION}.",
                "Build and flash the firmware again.",
            )
        hello = self._unpack(messages.parse_hello, payload)
        room = max(hello.arena_bytes, _LEAST_BUFFER_BYTES)
        self._exchange.longest_payload = min(room, PAYLOAD_LIMIT)
        self._hello = hello
        return hello

    def _checked(self, data: bytes) -> Hello:
        hello = self._hello or self.hello()
        if len(data) != hello.input_bytes:
            raise DeviceError(
                f"The device wants inputs of {hello.input_bytes} bytes, not {len(data)}.",
                "Build and flash the firmware of this run.",
            )
        return hello

    def _unpack(self, parse: Callable[[bytes], T], payload: bytes) -> T:
        try:
            return parse(payload)
        except (struct.error, ValueError, IndexError) as error:
            raise DeviceError(
                f"The device at {self._link.path} sent an answer of the wrong form.",
                "Build and flash the firmware again.",
            ) from error
