"""The energy of a head's likelihood as C, whichever kernel set computed its residuals."""

from dataclasses import fields

from snapcli.emit import names
from snapcli.emit.lowering import HeadSite, KernelSet, LoweredHead
from snapcli.emit.text import constant_bytes, struct, struct_type


def lower_head(kernels: KernelSet, site: HeadSite) -> LoweredHead:
    """Residuals by the kernel set, then the energy."""
    residual, energy = kernels.lower_residual(site), site.head.energy
    declarations = [f"extern const {residual.ctype} {site.name};"]
    definitions = [residual.definitions]
    if fields(energy):
        declarations.append(f"extern const {struct_type(energy)} {site.energy};")
        given = {"log2_q15": names.LOG2} if energy.takes_logarithms else {}
        definitions.append(struct(energy, site.energy, given, static=False))
    return LoweredHead(
        tuple(declarations),
        "\n".join(definitions),
        (residual.call, f"{site.result} =\n        {_call(site)};"),
        residual.constant_bytes + constant_bytes(energy),
        site.buffers,
    )


def _call(site: HeadSite) -> str:
    energy, head = site.head.energy, site.head.residual
    arguments = [f"&{site.energy}"] if fields(energy) else []
    arguments.append(site.u.name)
    if site.inverse_sigma:
        arguments.append(site.inverse_sigma.name)
    arguments.append(str(head.channels))
    if site.work:
        arguments.append(site.work.name)
    if energy.takes_latent:
        arguments.append(site.scratch.name)
    return f"{energy.function}({', '.join(arguments)})"
