"""GPIO and USART: the same kind on both parts."""

from collections.abc import Callable
from dataclasses import dataclass

from .machine import Machine

OUTPUT, ALTERNATE = 1, 2
IDLE_READS = 40  # looks at an empty receiver until the program counts as waiting
TOLERANCE = 0.02


@dataclass(frozen=True)
class Pin:
    """function: of the alternate mode, as the data sheet's table has it."""

    gpio: str
    number: int
    function: int = 0


class Gpio:
    """edges: (model's cycles, level) of one output pin since the last reset."""

    def __init__(self, machine: Machine, marker: Pin) -> None:
        self.machine, self.registers, self.marker = machine, machine.registers, marker
        self.edges: list[tuple[int, int]] = []
        machine.on_reset.append(self.edges.clear)
        for name in machine.registers.description:
            if name.startswith("GPIO") and name.endswith(".BSRR"):
                machine.handle(name, on_write=self._writer(name.removesuffix(".BSRR")))

    def mode(self, pin: Pin) -> int:
        return self.registers.get(f"{pin.gpio}.MODER") >> pin.number * 2 & 3

    def drives(self, pin: Pin) -> bool:
        """As a push-pull output."""
        open_drain = self.registers.get(f"{pin.gpio}.OTYPER") >> pin.number & 1
        return self.mode(pin) == OUTPUT and not open_drain

    def is_connected(self, pin: Pin) -> bool:
        """To the peripheral of its function."""
        half = "AFRL" if pin.number < 8 else "AFRH"
        selected = self.registers.get(f"{pin.gpio}.{half}") >> pin.number % 8 * 4 & 0xF
        return self.mode(pin) == ALTERNATE and selected == pin.function

    def _writer(self, gpio: str) -> Callable[[int], None]:
        def write(value: int) -> None:
            before = self.registers.get(f"{gpio}.ODR")
            after = before & ~(value >> 16) | value & 0xFFFF
            self.registers.put(f"{gpio}.ODR", after)
            bit = 1 << self.marker.number
            if gpio == self.marker.gpio and (before ^ after) & bit and self.drives(self.marker):
                self.edges.append((self.machine.cycles, int(bool(after & bit))))

        return write


class Usart:
    """The console, with a host at its other end that talks at `host_baud`.

    incoming: what the host sends, byte after byte as the program takes them. outgoing: what
    the host got.
    """

    def __init__(
        self,
        machine: Machine,
        name: str,
        gpio: Gpio,
        transmit: Pin,
        receive: Pin,
        clock_hz: Callable[[], int],
    ) -> None:
        self.machine, self.registers, self.name, self.gpio = machine, machine.registers, name, gpio
        self.transmit, self.receive, self.clock_hz = transmit, receive, clock_hz
        self.host_baud = 115200
        self.incoming, self.outgoing = bytearray(), bytearray()
        machine.on_reset.append(self._reset)
        machine.handle(f"{name}.CR1", on_write=self._write_cr1)
        machine.handle(f"{name}.BRR", on_write=self._write_brr)
        machine.handle(f"{name}.ISR", on_read=self._read_isr)
        machine.handle(f"{name}.ICR", on_write=self._write_icr)
        machine.handle(f"{name}.RDR", on_read=self._read_rdr)
        machine.handle(f"{name}.TDR", on_write=self._write_tdr)
        self._reset()

    def _reset(self) -> None:
        self.empty_reads = 0

    def _flag(self, part: str) -> int:
        return self.registers.get(f"{self.name}.ISR", part)

    def _set(self, part: str, value: int) -> None:
        self.registers.put(f"{self.name}.ISR", value, part)

    @property
    def baud(self) -> float:
        """By the model's own clock, 16 samples in a bit."""
        return self.clock_hz() / self.registers.get(f"{self.name}.BRR")

    def _on(self, direction: str, pin: Pin) -> bool:
        return (
            bool(self.registers.get(f"{self.name}.CR1", "UE"))
            and bool(self.registers.get(f"{self.name}.CR1", direction))
            and self.gpio.is_connected(pin)
        )

    def _check_line(self) -> None:
        if abs(self.baud / self.host_baud - 1) > TOLERANCE:
            self.machine.forbid(f"{self.baud:.0f} baud, the host has {self.host_baud}")
        cr1 = f"{self.name}.CR1"
        plain = self.registers.mask(cr1, "UE", "RE", "TE")
        more = self.registers.get(cr1) & ~plain
        if more or self.registers.get(f"{self.name}.CR2") or self.registers.get(f"{self.name}.CR3"):
            self.machine.forbid("the console is not 8N1")

    def arrive(self, byte: int) -> None:
        """A byte comes in, whether the last one was taken or not."""
        self._check_line()
        if self._flag("RXNE"):
            self._set("ORE", 1)
        elif not self._flag("ORE"):
            self.registers.put(f"{self.name}.RDR", byte)
            self._set("RXNE", 1)

    def _read_isr(self) -> int:
        listens = self._on("RE", self.receive)
        if self.incoming and listens and not self._flag("RXNE"):
            self.arrive(self.incoming.pop(0))
        quiet = self._flag("TC") and not self._flag("RXNE") and not self.incoming
        self.empty_reads = self.empty_reads + 1 if quiet and listens else 0
        if self.empty_reads > IDLE_READS:
            self.empty_reads = 0
            self.machine.stop()
        return self.registers.get(f"{self.name}.ISR")

    def _write_icr(self, value: int) -> None:
        if value & self.registers.mask(f"{self.name}.ICR", "ORECF"):
            self._set("ORE", 0)

    def _read_rdr(self) -> int:
        self._set("RXNE", 0)
        return self.registers.get(f"{self.name}.RDR")

    def _write_brr(self, value: int) -> None:
        if self.registers.get(f"{self.name}.CR1", "UE"):
            self.machine.forbid("BRR is written while the USART is on")
        if not 16 <= value <= 0xFFFF:
            self.machine.forbid(f"BRR cannot be {value}")
        self.registers.put(f"{self.name}.BRR", value)

    def _write_cr1(self, value: int) -> None:
        was_on = self.registers.get(f"{self.name}.CR1", "UE")
        self.registers.put(f"{self.name}.CR1", value)
        if was_on and not self.registers.get(f"{self.name}.CR1", "UE"):
            if not self._flag("TC"):
                self.machine.forbid("the USART is switched off while it sends")
            isr = f"{self.name}.ISR"
            self.registers.put(isr, self.registers.description[isr].reset)

    def _write_tdr(self, value: int) -> None:
        if not self._flag("TXE"):
            self.machine.forbid("a byte is written before the last one has gone")
        if not self._on("TE", self.transmit):
            self.machine.forbid("a byte is sent, but the transmitter or its pin is not on")
            return
        self._check_line()
        self.outgoing.append(value & 0xFF)
        self._set("TXE", 0)
        self._set("TC", 0)
        self.registers.later(f"{self.name}.ISR", "TXE", 1, reads=1)
        self.registers.later(f"{self.name}.ISR", "TC", 1, reads=4)
