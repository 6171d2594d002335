"""The kernel set `reference`: portable C, every operator."""

from snapcli.emit.lowering import Lowered
from snapcli.emit.overlap import slack
from snapcli.emit.text import constant_bytes, struct
from snapcli.graph.graph import Graph, Layer


class Reference:
    name = "reference"
    headers: tuple[str, ...] = ()

    def lower(self, layer: Layer, graph: Graph, pointers: dict[str, str], scratch: str) -> Lowered:
        parameters = f"{pointers[layer.target]}_layer"
        sources = ", ".join(pointers[name] for name in layer.sources)
        if layer.operator == "CONCATENATION":
            sources = f"(const int8_t *const[]){{{sources}}}"
        return Lowered(
            definitions=struct(layer.kernel, parameters, {}),
            call=f"{layer.c_function}(&{parameters}, {sources}, {pointers[layer.target]});",
            kernels=frozenset({f"{layer.c_function}.c"}),
            constant_bytes=constant_bytes(layer.kernel),
            scratch_bytes=0,
            slack=slack(layer),
        )
