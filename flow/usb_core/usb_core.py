#!/usr/bin/env python3
# SPDX-License-Identifier: CERN-OHL-P-2.0
"""Writes usb_core.v: the USB 2.0 device of docs/reference/host-protocol.md, made of LUNA's device core, on a ULPI PHY;
or usb_core_pins.v, the same at full speed for a board that has no PHY, with the bus at two pins.

usage: usb_core.py OUT [--pins] [--serial TEXT] [--product TEXT]

One configuration, one vendor-class interface, one bulk OUT and one bulk IN endpoint; high speed (512-byte packets), or
full speed (64) under a host that does not chirp. Numbers come from spec/host.toml.

  clk_i, rst_ni       60 MHz of the PHY; synchronous, active low
  ulpi_*              ULPI 1.1, the bus split into _i, _o and _oe_o; ulpi_rst_o is active high
  connect_i           shows the pull-up; low: as if unplugged
  high_speed_o, configured_o, suspended_o
  restart_o           one cycle: bus reset or SET_CONFIGURATION. Both endpoints are empty and at DATA0 behind it
  out_*               bytes from the host: valid/ready, in order, each once. Nothing marks the end of a transfer
  in_*                bytes to the host: valid/ready. in_last_i ends the transfer with a short or zero-length packet
Back-pressure: an OUT packet is taken while 512 bytes are free of OUT_BUFFER, else NAK; two IN packets are held.

With --pins, in place of ulpi_*:
  clk_i               48 MHz. The core runs in every fourth cycle
  usb_dp_*, usb_dn_*  D+ and D-, split into _i (as they come, in nobody's clock) and _o; usb_oe_o drives both
  usb_pullup_o        the pull-up of D+
  high_speed_o        is always 0

LUNA 0.2.3 is used with ten repairs, each marked "Repair" below.
"""
import argparse
import pathlib
import tomllib
import types

from amaranth import (Cat, ClockDomain, ClockSignal, Const, Elaboratable, EnableInserter, Module, Mux, ResetInserter,
                      ResetSignal, Signal)
from amaranth.back import verilog
from amaranth.lib.cdc import FFSynchronizer
from luna.gateware.interface import ulpi as luna_ulpi
from luna.gateware.interface.gateware_phy import GatewarePHY
from luna.gateware.interface.ulpi import (ULPIControlTranslator, ULPIRxEventDecoder, ULPITransmitTranslator,
                                          UTMITranslator)
from luna.gateware.usb.usb2 import device as luna_device
from luna.gateware.usb.usb2 import packet as luna_packet
from luna.gateware.usb.usb2 import USBSpeed
from luna.gateware.usb.usb2.control import USBControlEndpoint
from luna.gateware.usb.usb2.packet import USBInterpacketTimer, USBTokenDetector
from luna.gateware.usb.usb2.reset import USBResetSequencer
from luna.gateware.usb.request.standard import StandardRequestHandler
from luna.usb2 import USBDevice, USBStreamInEndpoint, USBStreamOutEndpoint
from usb_protocol.emitters import DeviceDescriptorCollection
from usb_protocol.types import USBStandardRequests, USBTransferType

HOST_TOML = pathlib.Path(__file__).parents[2] / "spec/host.toml"
HOST = {k: v["value"] for k, v in tomllib.loads(HOST_TOML.read_text())["constants"].items()}
HIGH_SPEED_PACKET = 512
FULL_SPEED_PACKET = 64
OUT_BUFFER = 2048  # two packets wait while a third is read
NOWHERE = 16       # an endpoint number that no token has
PIN_CLOCKS = 4     # of the pins' clock, for one of the core's at the pins
BCD_USB = 2.00
DEVICE_QUALIFIER, OTHER_SPEED = 6, 7


# ---- what the device says of itself ----
def configuration(collection, packet):
    with collection.ConfigurationDescriptor() as c:
        c.bmAttributes, c.bMaxPower = 0x80, 250  # bus powered, 500 mA
        with c.InterfaceDescriptor() as i:
            i.bInterfaceNumber = 0
            i.bInterfaceClass, i.bInterfaceSubclass, i.bInterfaceProtocol = HOST["USB_CLASS"], HOST["USB_SUBCLASS"], 0
            for address in (HOST["USB_OUT"], HOST["USB_IN"]):
                with i.EndpointDescriptor() as e:
                    e.bEndpointAddress, e.bmAttributes, e.wMaxPacketSize = address, USBTransferType.BULK, packet


def descriptors(packet, other_packet, product, serial):
    """Of one speed; those of the other one are reported as DEVICE_QUALIFIER and OTHER_SPEED_CONFIGURATION, as USB 2.0
    section 9.6.2 asks of both, and are not there in a device of one speed (other_packet None)."""
    d = DeviceDescriptorCollection()
    with d.DeviceDescriptor() as device:
        device.bcdUSB = BCD_USB
        device.idVendor, device.idProduct = HOST["USB_VENDOR"], HOST["USB_PRODUCT"]
        device.bcdDevice = HOST["PROTOCOL_MAJOR"] + HOST["PROTOCOL_MINOR"] / 100
        device.iManufacturer, device.iProduct, device.iSerialNumber = "moeswitch", product, serial
        device.bMaxPacketSize0, device.bNumConfigurations = 64, 1
    configuration(d, packet)
    if other_packet is None:
        return d
    other = DeviceDescriptorCollection()
    configuration(other, other_packet)
    raw = bytearray(other.get_descriptor_bytes(2, 0))
    raw[1] = OTHER_SPEED
    d.add_descriptor(bytes(raw), 0, OTHER_SPEED)
    d.add_descriptor(bytes([10, DEVICE_QUALIFIER, 0x00, 0x02, 0, 0, 0, 64, 1, 0]), 0, DEVICE_QUALIFIER)
    return d


# ---- repairs ----
class ForgetfulTokenDetector(USBTokenDetector):
    """Repair: LUNA keeps the last token until a good one comes, so that the data packet behind a damaged
    token goes to the endpoint of the token before and is acknowledged. Here whatever begins a packet, data and
    handshakes aside, forgets it."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        inside = Signal()
        pid, check = self.utmi.rx_data[:4], self.utmi.rx_data[4:]
        m.d.usb += inside.eq(self.utmi.rx_active & (inside | self.utmi.rx_valid))
        keeps = (pid == ~check) & pid[1]
        with m.If(self.utmi.rx_active & self.utmi.rx_valid & ~inside & ~keeps):
            m.d.usb += self.interface.pid.eq(0)
        return m


class AttentiveDecoder(ULPIRxEventDecoder):
    """Repair: LUNA ignores RXCMDs from the wish for a register write to its end, though the PHY may send one first;
    a line state that does not change again is then lost, and with it the pull-up that was just seen to work. dir tells
    a command from an RXCMD; only a read would not, and there is none."""

    def elaborate(self, platform):
        self.register_operation_in_progress = Const(0)
        return super().elaborate(platform)


class PromptTimer(USBInterpacketTimer):
    """Repair: at full speed LUNA waits ten clocks before it thinks of an answer, and its command is on the bus 15 to 19
    clocks behind the end of the packet. ULPI 1.1 (3.8.2.6.3) allows 7 to 18. Here they are 11 to 15."""

    _FS_RX_TO_TX_DELAY = {**USBInterpacketTimer._FS_RX_TO_TX_DELAY, 60e6: (6, 32)}


class SteadyControl(ULPIControlTranslator):
    """Repair: LUNA asks for the wish of the moment when a register's write ends, not for what it wrote: one that
    changes meanwhile counts as written, or what was written as not, and the PHY keeps the wrong value. Here a wish is
    steady until it is written."""

    def add_composite_register(self, m, address, value, *, reset_value=0):
        steady = Signal(8, init=reset_value, name=f"steady_{address:02x}")
        super().add_composite_register(m, address, steady, reset_value=reset_value)
        with m.If(~self._register_signals[address]["write_requested"]):
            m.d.usb += steady.eq(value)


class StagedTranslator(UTMITranslator):
    """Repair: LUNA has its transmit logic between registers and pads, which leaves a board no time for the pads.
    Here data and stp come from registers and from nothing else, in the cycles in which ULPI wants them; oe follows dir
    as before, as the PHY leaves the bus one cycle for it to turn around.

    The registers hold what the bus shows, and the byte behind it, so that whether they take another one of LUNA's is
    known from registers alone: the pads nxt and dir reach nothing of LUNA's transmit logic. Towards LUNA they are the
    PHY. So LUNA is a byte or two ahead of the bus, and what ULPI asks of the link at the bus is done here:
      - A register's value is LUNA's until the PHY has taken it, for dir may break the write off until then: what is
        held is dropped, and LUNA, which sees dir itself, writes again.
      - A transmit command that dir pushed aside, or that came while dir was high, is shown behind it.
      - stp comes in the cycle behind the nxt of the last byte; LUNA, which gave all bytes away earlier, has notified of
        it by then. A chirp has no last byte: stp comes at once.
      - A packet that dir cuts behind its command is over: its rest, which the PHY would read as commands,
        is taken and not shown.
    Whoever asks whether the interface is busy, before it chirps, sees dir from a register, too, a cycle late:
    the sender heeds dir itself."""

    def __init__(self, *, ulpi, **settings):
        self.pads = ulpi
        unused = types.SimpleNamespace(o=Signal())  # what LUNA would show: both of its sources are asked themselves
        data = types.SimpleNamespace(i=ulpi.data.i, o=Signal(8), oe=ulpi.data.oe)
        super().__init__(ulpi=types.SimpleNamespace(data=data, dir=ulpi.dir, nxt=ulpi.nxt, stp=unused,
                                                    rst=ulpi.rst), **settings)

    def elaborate(self, platform):
        busy, self.busy = self.busy, Signal(name="busy_with_dir")
        m = super().elaborate(platform)
        self.busy = busy
        window, sender, control = (m.submodules.register_window, m.submodules.transmit_translator,
                                   m.submodules.control_translator)
        was_away = Signal()
        m.d.usb += was_away.eq(self.pads.dir.i)
        m.d.comb += busy.eq(window.busy | sender.busy | control.busy | was_away)
        # in place of the PHY's
        window.ulpi_next, sender.ulpi_nxt = Signal(name="window_nxt"), Signal(name="sender_nxt")
        # the same as LUNA's, but that dir is heeded here: with the sender idle, the other's bus_idle
        # says that the PHY is up
        idle = Signal(name="sender_bus_idle")
        m.d.comb += idle.eq(~control.busy & control.bus_idle)
        sender.bus_idle = idle
        away, taken = self.pads.dir.i, self.pads.nxt.i & ~self.pads.dir.i
        data, stp, reported = self.pads.data.o, self.pads.stp.o, Signal()
        ahead, full = Signal(8), Signal()  # the byte behind the one that is shown
        chirp = sender.op_mode == ULPITransmitTranslator.OP_MODE_NO_BIT_STUFFING
        last = reported | sender.ulpi_stp # LUNA has no byte more

        def stop(value):
            m.d.usb += [data.eq(value), stp.eq(1), full.eq(0)]
            m.next = "STOP"

        def drop(state):
            m.d.usb += [data.eq(0), full.eq(0)]
            m.next = state

        def advance():
            with m.If(full):
                m.d.usb += [data.eq(ahead), full.eq(0)]
                m.next = "PACKET"
            with m.Elif(last):
                stop(chirp.replicate(8))
            with m.Else():
                m.d.usb += [data.eq(sender.ulpi_data_out), full.eq(0)]
                m.next = "PACKET"

        def listen():
            """What LUNA gives while the PHY takes nothing. An nxt beside its stp means nothing to it."""
            m.d.comb += sender.ulpi_nxt.eq(~full & ~reported)
            m.d.usb += reported.eq(last)
            with m.If(~full & ~last):
                m.d.usb += [ahead.eq(sender.ulpi_data_out), full.eq(1)]

        with m.FSM(domain="usb"):
            with m.State("IDLE"):
                with m.If(sender.tx_valid & sender.bus_idle):
                    m.d.comb += sender.ulpi_nxt.eq(1)
                    m.d.usb += data.eq(sender.ulpi_data_out)
                    m.next = "COMMAND"
                with m.Elif(window.ulpi_out_req & window.ulpi_data_out[7] & ~away):
                    m.d.comb += window.ulpi_next.eq(1)
                    m.d.usb += data.eq(window.ulpi_data_out)
                    m.next = "ADDRESS"
            with m.State("ADDRESS"):
                with m.If(away):
                    drop("IDLE")
                with m.Elif(taken):
                    m.d.usb += data.eq(window.ulpi_data_out)
                    m.next = "VALUE"
            with m.State("VALUE"):
                m.d.comb += window.ulpi_next.eq(taken)
                with m.If(away):
                    drop("IDLE")
                with m.Elif(taken):
                    stop(0)
            with m.State("COMMAND"):
                listen()
                with m.If(taken):
                    advance()
            with m.State("PACKET"):
                listen()
                with m.If(away & ~chirp):
                    drop("CUT")
                with m.Elif(chirp & last & ~away):
                    stop(0xff)
                with m.Elif(taken):
                    advance()
            with m.State("CUT"):
                m.d.comb += sender.ulpi_nxt.eq(~reported)
                m.d.usb += reported.eq(0)
                with m.If(last):
                    m.next = "IDLE"
            with m.State("STOP"):
                m.d.usb += [data.eq(0), stp.eq(0), reported.eq(0)]
                m.next = "IDLE"
        return m


def restartable(base):
    """Repair: LUNA's endpoints keep bytes and data toggle over a bus reset and over SET_CONFIGURATION.
    `restart` clears them.
    A class for each endpoint: of two endpoints of one class LUNA names the second by its address in memory."""

    class Restartable(base):
        restart = 0

        def elaborate(self, platform):
            return ResetInserter({"usb": self.restart})(super().elaborate(platform))

    return Restartable


class BulkOut(restartable(USBStreamOutEndpoint)):
    pass


class HighSpeedIn(restartable(USBStreamInEndpoint)):
    pass


class FullSpeedIn(restartable(USBStreamInEndpoint)):
    pass


class Requests(StandardRequestHandler):
    """Repair: in LUNA a path runs from the setup packet through the claim, which chooses the handler that answers, to
    the transmitter, and back to the address of the descriptors' ROM. A full device has no 60 MHz for it. Here the claim
    is a register, a cycle behind the setup packet; a token that asks for an answer comes many cycles later."""

    def elaborate(self, platform):
        claim, self.interface.claim = self.interface.claim, Signal(name="claim_now")
        m = super().elaborate(platform)
        m.d.usb += claim.eq(self.interface.claim)
        self.interface.claim = claim
        return m


class FullSpeedRequests(Requests):
    """A name of its own, as two endpoints of one class have."""


class SynchronousPhy(GatewarePHY):
    """Repair: LUNA's own PHY gives the line state with its two bits exchanged, so that the idle line looks like K and
    sleep is never seen, and gives it as the pins have it, in nobody's clock."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        state = Signal(2)
        m.submodules.line_state = FFSynchronizer(Cat(self._io.d_p.i, self._io.d_n.i), state, o_domain="usb_io")
        m.d.comb += self.line_state.eq(state)
        return m


class SlowResetSequencer(USBResetSequencer):
    """Repair: LUNA counts microseconds in clocks of 60 MHz, whatever its clock is, so that at 12 MHz a sleeping bus
    would be noticed after 15 ms, where 10 are allowed."""


for _name in [n for n in dir(USBResetSequencer) if n.startswith("_CYCLES_")]:
    setattr(SlowResetSequencer, _name, getattr(USBResetSequencer, _name) // 5)


# ---- the core ----
class Pin:
    """A pin group as LUNA's ULPI translator takes it: fields i, o and oe of one name."""

    def __init__(self, name, width=1, **fields):
        for field, suffix in fields.items():
            setattr(self, field, Signal(width if field != "oe" else 1, name=f"{name}{suffix}"))


class Ulpi:
    def __init__(self):
        self.data = Pin("ulpi_data", 8, i="_i", o="_o", oe="_oe_o")
        self.dir, self.nxt = Pin("ulpi_dir", i="_i"), Pin("ulpi_nxt", i="_i")
        self.stp, self.rst = Pin("ulpi_stp", o="_o"), Pin("ulpi_rst", o="_o")

    def signals(self):
        return [self.data.i, self.data.o, self.data.oe, self.dir.i, self.nxt.i, self.stp.o, self.rst.o]


class Pins:
    """A bus without a PHY, as LUNA's device takes it for its own."""

    def __init__(self):
        self.d_p, self.d_n = (Pin(f"usb_{n}", i="_i", o="_o") for n in ("dp", "dn"))
        self.oe = Signal(name="usb_oe_o")
        self.d_p.oe = self.oe
        self.d_n.oe = Signal()  # the same
        self.pullup = Pin("usb_pullup", o="_o")

    def signals(self):
        return [self.d_p.i, self.d_p.o, self.d_n.i, self.d_n.o, self.oe, self.pullup.o]


class Core(Elaboratable):
    """What both have: their ports but for the bus."""

    def __init__(self, bus):
        def port(name, width=1):
            s = Signal(width, name=name)
            self.ports.append(s)
            return s

        self.bus = bus
        self.ports = bus.signals()
        self.clk_i, self.rst_ni, self.connect_i = port("clk_i"), port("rst_ni"), port("connect_i")
        self.high_speed_o, self.configured_o, self.suspended_o, self.restart_o = (
            port(n) for n in ("high_speed_o", "configured_o", "suspended_o", "restart_o"))
        self.out_valid_o, self.out_ready_i, self.out_data_o = (port("out_valid_o"), port("out_ready_i"),
                                                               port("out_data_o", 8))
        self.in_valid_i, self.in_ready_o, self.in_data_i, self.in_last_i = (port("in_valid_i"), port("in_ready_o"),
                                                                            port("in_data_i", 8), port("in_last_i"))


class UsbCore(Core):
    def __init__(self, product, serial):
        super().__init__(Ulpi())
        self.high = descriptors(HIGH_SPEED_PACKET, FULL_SPEED_PACKET, product, serial)
        self.full = descriptors(FULL_SPEED_PACKET, HIGH_SPEED_PACKET, product, serial)

    def control_endpoint(self, device):
        """Both sets of descriptors, reported by two handlers of standard requests, of which each leaves
        the other's to it."""
        high_speed = device.speed == USBSpeed.HIGH

        def of_full_speed(setup):
            return (setup.request == USBStandardRequests.GET_DESCRIPTOR) & ~high_speed

        control = USBControlEndpoint(utmi=device.utmi)
        control.add_request_handler(Requests(self.high, skiplist=[of_full_speed]))
        control.add_request_handler(FullSpeedRequests(self.full, skiplist=[lambda setup: ~of_full_speed(setup)]))
        device.add_endpoint(control)
        return control

    def elaborate(self, platform):
        m = Module()
        m.domains.usb = ClockDomain()
        m.d.comb += [ClockSignal("usb").eq(self.clk_i), ResetSignal("usb").eq(~self.rst_ni)]
        luna_device.USBTokenDetector = ForgetfulTokenDetector
        luna_ulpi.ULPIRxEventDecoder = AttentiveDecoder
        luna_ulpi.ULPIControlTranslator = SteadyControl
        luna_device.UTMITranslator = StagedTranslator
        luna_device.USBInterpacketTimer = luna_packet.USBInterpacketTimer = PromptTimer
        m.submodules.device = device = USBDevice(bus=self.bus, handle_clocking=False)
        control = self.control_endpoint(device)

        # LUNA's IN endpoint has one packet size: two of them, of which the one of the other speed hears no token.
        # Repair: asleep, and while it finds out whether a silent bus means sleep or reset, LUNA calls its speed full,
        # and what is sent then would end in the wrong one. The last packet's speed counts.
        high_speed = Signal()
        with m.If(device.utmi.rx_active):
            m.d.usb += high_speed.eq(device.speed == USBSpeed.HIGH)
        number = HOST["USB_IN"] & 0xF
        out = BulkOut(endpoint_number=HOST["USB_OUT"], max_packet_size=HIGH_SPEED_PACKET, buffer_size=OUT_BUFFER)
        high_in = HighSpeedIn(endpoint_number=Mux(high_speed, number, NOWHERE), max_packet_size=HIGH_SPEED_PACKET)
        full_in = FullSpeedIn(endpoint_number=Mux(high_speed, NOWHERE, number), max_packet_size=FULL_SPEED_PACKET)
        for endpoint in (out, high_in, full_in):
            endpoint.restart = self.restart_o
            device.add_endpoint(endpoint)

        # Repair: SE0 within the first millisecond after power-up is no bus reset but a PHY that has not seen the
        # pull-up work. LUNA's chirp would meet its own first register writes, and the ULPI side would never drive the
        # bus again. Until the line has left SE0, high speed is out of the question.
        attached = Signal()
        m.d.usb += attached.eq(self.connect_i & (attached | (device.utmi.line_state != 0)))
        m.d.comb += [
            device.connect.eq(self.connect_i),
            device.full_speed_only.eq(~attached),
            self.high_speed_o.eq(device.speed == USBSpeed.HIGH),
            self.suspended_o.eq(device.suspended),
            self.configured_o.eq(control.interface.active_config != 0),
            self.restart_o.eq(device.reset_detected | control.interface.config_changed),
            self.out_valid_o.eq(out.stream.valid),
            self.out_data_o.eq(out.stream.payload),
            out.stream.ready.eq(self.out_ready_i),
            self.in_ready_o.eq(Mux(high_speed, high_in.stream.ready, full_in.stream.ready)),
        ]
        for endpoint, chosen in ((high_in, high_speed), (full_in, ~high_speed)):
            m.d.comb += [
                endpoint.stream.valid.eq(self.in_valid_i & chosen),
                endpoint.stream.payload.eq(self.in_data_i),
                endpoint.stream.last.eq(self.in_last_i),
            ]
        return m


class PinsCore(Core):
    """All in the pins' clock, of which the core takes every fourth cycle: nothing has to cross from one clock to
    another but the pins themselves. A byte waits at the outputs, so that what is shown there stays."""

    def __init__(self, product, serial):
        super().__init__(Pins())
        self.descriptors = descriptors(FULL_SPEED_PACKET, None, product, serial)

    def slow_part(self, m):
        """LUNA's device and its endpoints, in clock domain usb."""
        luna_device.USBTokenDetector = ForgetfulTokenDetector
        luna_device.USBResetSequencer = SlowResetSequencer
        luna_device.GatewarePHY = SynchronousPhy
        m.submodules.device = device = USBDevice(bus=self.bus, handle_clocking=False)
        control = USBControlEndpoint(utmi=device.utmi)
        control.add_request_handler(Requests(self.descriptors))
        device.add_endpoint(control)
        out = BulkOut(endpoint_number=HOST["USB_OUT"], max_packet_size=FULL_SPEED_PACKET, buffer_size=OUT_BUFFER)
        full_in = FullSpeedIn(endpoint_number=HOST["USB_IN"] & 0xF, max_packet_size=FULL_SPEED_PACKET)
        restart = device.reset_detected | control.interface.config_changed
        for endpoint in (out, full_in):
            endpoint.restart = restart
            device.add_endpoint(endpoint)
        m.d.comb += device.connect.eq(self.connect_i)
        return device, control, out.stream, full_in.stream, restart

    def elaborate(self, platform):
        m, slow = Module(), Module()
        for domain in ("usb", "usb_io"):
            m.domains += ClockDomain(domain)
            m.d.comb += [ClockSignal(domain).eq(self.clk_i), ResetSignal(domain).eq(~self.rst_ni)]
        phase, tick, held = Signal(range(PIN_CLOCKS)), Signal(), Signal()
        device, control, out, full_in, restart = self.slow_part(slow)
        m.submodules.slow = EnableInserter({"usb": tick})(slow)
        m.d.usb_io += phase.eq(phase + 1)
        m.d.comb += [
            tick.eq(phase == 0),
            self.high_speed_o.eq(0),
            self.suspended_o.eq(device.suspended),
            self.configured_o.eq(control.interface.active_config != 0),
            self.restart_o.eq(tick & restart),
            self.out_valid_o.eq(held),
            out.ready.eq(~held),
            full_in.valid.eq(self.in_valid_i),
            full_in.payload.eq(self.in_data_i),
            full_in.last.eq(self.in_last_i),
            self.in_ready_o.eq(tick & full_in.ready),
        ]
        with m.If(self.restart_o):
            m.d.usb_io += held.eq(0)
        with m.Elif(held):
            m.d.usb_io += held.eq(~self.out_ready_i)
        with m.Elif(tick & out.valid):
            m.d.usb_io += [held.eq(1), self.out_data_o.eq(out.payload)]
        return m


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("out", type=pathlib.Path)
    p.add_argument("--pins", action="store_true", help="full speed at two pins")
    p.add_argument("--serial", default="sim", help="iSerialNumber, unique per device")
    p.add_argument("--product", default="moeswitch", help="iProduct")
    a = p.parse_args()
    core = (PinsCore if a.pins else UsbCore)(a.product, a.serial)
    a.out.write_text(verilog.convert(core, name="usb_core_pins" if a.pins else "usb_core", ports=core.ports,
                                     strip_internal_attrs=True))


if __name__ == "__main__":
    main()
