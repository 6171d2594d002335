"""The arrows of the architecture, read from the source."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TypeGuard

import pytest

import snapcli

PACKAGE = Path(snapcli.__file__).parent
# From the top down: a part imports only itself and what stands below it.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"__main__"}),
    frozenset({"cli"}),
    frozenset({"console"}),
    frozenset({"stages"}),
    frozenset({"report"}),
    frozenset({"judging"}),
    frozenset({"measuring"}),
    frozenset({"results"}),
    frozenset({"pricing"}),
    frozenset({"origin"}),
    frozenset({"methods"}),
    frozenset({"models", "emit", "device", "flashers", "kernels"}),
    frozenset({"monitor"}),
    frozenset({"heads"}),
    frozenset({"data", "graph"}),
    frozenset({"fleet", "score"}),
    frozenset({"metrics", "fixedpoint"}),
    frozenset({"runs"}),
    frozenset({"versions"}),
    frozenset({"toolchain"}),
    frozenset({"config"}),
    frozenset({"targets", "usercode"}),
    frozenset({"trusted"}),
    frozenset({"object_cache"}),
    frozenset({"assets", "cache", "jsontext", "progress", "stack", "stored", "used"}),
    frozenset({"array", "errors", "limits"}),
)
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
MODULES = {str(path.relative_to(PACKAGE)): path for path in sorted(PACKAGE.rglob("*.py"))}
TENSORFLOW = {"tensorflow", "tf_keras", "keras", "tensorflow_model_optimization"}


def part_of(module: str) -> str:
    return module.partition("/")[0].removesuffix(".py")


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text("utf-8"))


def imported(node: ast.AST) -> list[str]:
    """Dotted names that one statement imports; `from snapcli import runs` is snapcli.runs."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute here"
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return []


def imports(module: str) -> list[str]:
    """Everywhere in the module, also inside of functions."""
    return [name for node in ast.walk(parsed(module)) for name in imported(node)]


def at_import_time(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when the module is imported: all but the insides of functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from at_import_time(child)


def calls(module: str) -> list[str]:
    """Dotted names of what is called, as it is written."""
    return [ast.unparse(n.func) for n in ast.walk(parsed(module)) if isinstance(n, ast.Call)]


def test_every_part_has_its_layer() -> None:
    assert {part_of(module) for module in MODULES} - {"__init__"} == set(LEVEL)


def test_design_names_the_layers_in_this_order() -> None:
    design = (PACKAGE.parents[1] / "DESIGN.md").read_text("utf-8")
    block = design.split("## One direction\n```\n")[1].split("```")[0]
    named = [re.findall(r"\w+", layer) for layer in block.split("->")]
    assert [frozenset(parts) for parts in named] == list(LAYERS)


@pytest.mark.parametrize("module", MODULES)
def test_arrows_never_reverse(module: str) -> None:
    part = part_of(module)
    ours = [name.split(".")[1] for name in imports(module) if name.startswith("snapcli.")]
    if part == "__init__":
        assert ours == []
        return
    upwards = [other for other in ours if other != part and LEVEL[other] <= LEVEL[part]]
    assert upwards == []


@pytest.mark.parametrize("part", ["device", "flashers", "toolchain"])
def test_the_link_to_a_board_knows_no_models(part: str) -> None:
    known = {
        name.split(".")[1]
        for module in MODULES
        if part_of(module) == part
        for name in imports(module)
        if name.startswith("snapcli.")
    }
    assert known <= {
        part,
        "toolchain",
        "targets",
        "assets",
        "object_cache",
        "stack",
        "used",
        "errors",
    }


def importers(package: str) -> set[str]:
    return {
        module
        for module in MODULES
        if any(name.split(".")[0] == package for name in imports(module))
    }


def test_only_the_console_imports_rich() -> None:
    assert importers("rich") == {"console.py"}


def test_only_the_command_line_imports_typer() -> None:
    assert {part_of(module) for module in importers("typer")} == {"cli"}


def test_only_the_toolchain_starts_processes() -> None:
    starts = ("subprocess.", "os.system", "os.popen", "os.exec", "os.spawn", "os.posix_spawn")
    guilty = {m for m in MODULES if any(call.startswith(starts) for call in calls(m))}
    assert guilty == {"toolchain.py"}
    # No way around these names: they are not imported one by one, nor other ways used.
    for module in MODULES:
        names = imports(module)
        assert not any(name.startswith(("subprocess.", "multiprocessing", "pty")) for name in names)
        assert "os.system" not in names


def test_only_the_command_line_prints_and_exits() -> None:
    loud = {"print", "sys.exit", "exit", "quit", "os._exit"}
    guilty = {part_of(m) for m in MODULES if loud & set(calls(m))}
    assert guilty <= {"cli", "console", "__main__"}


@pytest.mark.parametrize("module", MODULES)
def test_tensorflow_is_imported_inside_functions_only(module: str) -> None:
    early = [name for node in at_import_time(parsed(module)) for name in imported(node)]
    assert TENSORFLOW.isdisjoint(name.split(".")[0] for name in early)


def test_importing_everything_loads_no_tensorflow() -> None:
    names = [
        "snapcli." + module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for module in MODULES
        if module not in ("__init__.py", "__main__.py")
    ]
    script = (
        "import importlib, sys\n"
        f"for name in {names}: importlib.import_module(name)\n"
        f"print(sorted({TENSORFLOW} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.stdout == "[]\n", done.stderr


# What makes objects, code or much memory of a file, and the one room that may: the calls (by the
# end of their dotted name) and the imports.
ROOMS: dict[str, tuple[tuple[str, ...], tuple[str, ...], set[str]]] = {
    "Keras files": (("load_model",), (), {"models/saved_file.py"}),
    "SavedModels": (("saved_model.load",), (), {"models/saved_folder.py"}),
    "pickles": (
        ("Unpickler", "allow_pickle=True"),
        ("pickle", "marshal", "dill", "cloudpickle", "joblib", "shelve", "jsonpickle"),
        {"data/images/batches.py"},
    ),
    "other models": (
        ("torch.load", "jit.load", "export.load", "TFSMLayer"),
        ("torch", "jax", "onnx", "safetensors"),
        set(),
    ),
    "text as code": (("eval", "exec", "compile", "__import__"), ("yaml", "code", "runpy"), set()),
    "modules by name": (
        ("import_module",),
        (),
        {"usercode.py", "models/saved_code.py", "data/loading.py"},
    ),
    "arrays": (
        ("np.load", "np.fromfile", "open_memmap"),
        (),
        {"data/files/features.py", "data/images/formats.py"},
    ),
    "zip files": (("zipfile.ZipFile",), (), {"stored/zips.py", "models/saved_file.py"}),
    "tar files": (("tarfile.open",), (), {"data/files/archive.py"}),
    "gzip": (
        ("gzip.open", "gzip.GzipFile", "gzip.decompress", "zlib.decompress"),
        ("bz2", "lzma"),
        {"data/files/archive.py"},
    ),
    "images": (
        ("Image.open",),
        ("imageio", "cv2"),
        {"data/images/pictures.py", "data/corruptions/digital.py"},
    ),
    "JSON": (
        ("json.loads", "json.load"),
        (),
        {"stored/values.py", "models/saved_file.py", "runs/lock.py", "runs/manifest.py"},
    ),
}
OUTSIDE = [
    path
    for folder in ("benchmarks", "pipelines", "scripts")
    for path in sorted((PACKAGE.parents[1] / folder).rglob("*.py"))
]


def uses(tree: ast.Module, ends: tuple[str, ...], packages: tuple[str, ...]) -> list[str]:
    """Calls whose dotted names end so, or with such an argument, and imports from packages."""
    found = []
    own = {a.asname or a.name for n in ast.walk(tree) if is_ours(n) for a in n.names}
    for node in ast.walk(tree):
        names = imported(node) if is_import(node) and not is_ours(node) else []
        found += [name for name in names if name.split(".")[0] in packages]
        # Taken out of its module, it would be called by any name.
        dotted = [name.replace("numpy.", "np.") for name in names]
        found += [name for name in dotted if name.endswith(tuple(f".{end}" for end in ends))]
        found += [name for name in dotted if name in ends]
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        arguments = [f"{word.arg}={ast.unparse(word.value)}" for word in node.keywords]
        if called in own:
            continue  # a function of ours, whatever its name
        for end in ends:
            if called == end or called.endswith(f".{end}") or end in arguments:
                found.append(called)
    return found


def is_import(node: ast.AST) -> bool:
    return isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.level == 0)


def is_ours(node: ast.AST) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and str(node.module).startswith("snapcli")


@pytest.mark.parametrize("room", ROOMS)
def test_what_opens_a_file_stands_in_its_room(room: str) -> None:
    ends, packages, allowed = ROOMS[room]
    # Of its methods, those of re and of an estimator are others.
    harmless = {"re.compile"}
    guilty = {module for module in MODULES if set(uses(parsed(module), ends, packages)) - harmless}
    assert guilty == allowed


@pytest.mark.parametrize(
    ("room", "text"),
    [
        ("Keras files", "import tf_keras\ntf_keras.models.load_model(path)"),
        ("Keras files", "from tf_keras.models import load_model as read\nread(path)"),
        ("SavedModels", "tf.saved_model.load(path)"),
        ("pickles", "import pickle as p\np.load(file)"),
        ("pickles", "from pickle import loads"),
        ("pickles", "np.load(path, allow_pickle=True)"),
        ("other models", "import torch\ntorch.load(path)"),
        ("text as code", "eval(text)"),
        ("arrays", "from numpy import load\nload(path)"),
        ("zip files", "from zipfile import ZipFile"),
    ],
)
def test_the_rooms_see_what_they_should(room: str, text: str) -> None:
    ends, packages, _ = ROOMS[room]
    assert uses(ast.parse(text), ends, packages)


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path.name)
def test_nothing_around_the_package_runs_code_of_a_file(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    for room in ("Keras files", "SavedModels", "pickles", "other models", "text as code"):
        ends, packages, _ = ROOMS[room]
        assert set(uses(tree, ends, packages)) <= {"re.compile"}


def test_the_checks_see_what_they_should() -> None:
    """TensorFlow is used, just late: were nothing found, the tests above would prove nothing."""
    assert "models/fit.py" in importers("tensorflow")
    assert "device/emulator.py" in importers("subprocess")
