"""The kernel set `reference`: portable C, every operator."""

from snapcli.config import REFERENCE
from snapcli.emit.lowering import DistanceSite, HeadSite, Lowered, LoweredResidual
from snapcli.emit.overlap import slack
from snapcli.emit.text import constant_bytes, struct, struct_type
from snapcli.fixedpoint import ConvAddS8
from snapcli.graph.graph import Graph, Layer


class Reference:
    name = REFERENCE
    prelude = ""
    head_header = "snapuq.h"

    def fuses(self, layer: Layer) -> bool:
        return True

    def lower(self, layer: Layer, graph: Graph, pointers: dict[str, str], scratch: str) -> Lowered:
        parameters = f"{pointers[layer.target]}_layer"
        sources = ", ".join(pointers[name] for name in layer.sources)
        scratch_bytes = 0
        if layer.operator == "CONCATENATION":
            sources = f"(const int8_t *const[]){{{sources}}}"
        elif isinstance(layer.kernel, ConvAddS8):
            sources = f"{sources}, (int8_t *){scratch}"
            scratch_bytes = layer.kernel.conv.out_c
        return Lowered(
            definitions=struct(layer.kernel, parameters, {}),
            call=f"{layer.c_function}(&{parameters}, {sources}, {pointers[layer.target]});",
            constant_bytes=constant_bytes(layer.kernel),
            scratch_bytes=scratch_bytes,
            slack=slack(layer),
        )

    def lower_residual(self, site: HeadSite) -> LoweredResidual:
        head, inverse_sigma = site.head.residual, site.inverse_sigma
        outputs = (site.scratch.name, site.u.name, inverse_sigma.name if inverse_sigma else "0")
        arguments = f"{', '.join(site.sums)},\n        {', '.join((site.predicted, *outputs))}"
        return LoweredResidual(
            struct_type(head),
            struct(head, site.name, {"inverse_sigma_q9": site.table}, static=False),
            f"snapuq_residual_s8(&{site.name}, {arguments});",
            constant_bytes(head) - head.inverse_sigma_q9.nbytes,
        )

    def lower_distance(self, site: DistanceSite) -> Lowered:
        return site.lowered("snapuq_mahalanobis_s8", site.head)
