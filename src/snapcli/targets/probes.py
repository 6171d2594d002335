"""The debug probes that snap knows, as they show on USB: those with a serial port."""

ST, ARM = 0x0483, 0x0D28
# V2-1 and V3, with and without a drive; every NUCLEO has one of them.
ST_LINKS = {
    0x374A: "ST-LINK/V2-1",
    0x374B: "ST-LINK/V2-1",
    0x3752: "ST-LINK/V2-1",
    0x374D: "STLINK-V3",
    0x374E: "STLINK-V3",
    0x374F: "STLINK-V3",
    0x3753: "STLINK-V3",
    0x3754: "STLINK-V3",
    0x3757: "STLINK-V3",
}
PROBES = {**{(ST, product): name for product, name in ST_LINKS.items()}, (ARM, 0x0204): "DAPLink"}
