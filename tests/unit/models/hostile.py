"""Model files that would run code, or read what is not theirs, each in its own way.

Code that runs leaves a file `trace` in the current folder.
"""

import base64
import io
import json
import marshal
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .small_models import library

TRACE = Path("trace")
SHAPE, CLASSES = (8, 8, 1), 10
MODULE = "from pathlib import Path\nPath('trace').touch()\nclass Odd: pass\ndef relu(x): return x\n"
Config = dict[str, Any]
Change = Callable[[Config], None]

# Its code goes into the file, so it can use nothing from here.
_code = (lambda x: (__import__("pathlib").Path("trace").touch(), x)[1]).__code__
CODE = base64.b64encode(marshal.dumps(_code)).decode()
LAMBDA = {
    "class_name": "Lambda",
    "config": {
        "name": "sly",
        "trainable": True,
        "dtype": "float32",
        "function": [CODE, None, None],
        "function_type": "lambda",
        "module": __name__,
        "output_shape": None,
        "output_shape_type": "raw",
        "output_shape_module": None,
        "arguments": {},
    },
}
# As the newer format writes it.
FUNCTION = {"class_name": "__lambda__", "config": {"value": [CODE, None, None]}}


class _Touching:
    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (TRACE,)


PICKLE = pickle.dumps(_Touching()).decode("latin-1")


def plain_model(version: str = "2", *extra: Any) -> Any:
    """Two convolutions, c1 and c2, and ten classes: what `snap train --backbone` takes."""
    keras = library(version)
    layers = keras.layers
    first = keras.Input(SHAPE)
    x = layers.Conv2D(4, 3, padding="same", activation="relu", name="c1")(first)
    x = layers.Conv2D(4, 3, padding="same", activation="relu", name="c2")(x)
    for layer in extra:
        x = layer(x)
    x = layers.GlobalAveragePooling2D(name="pool")(x)
    return keras.Model(first, layers.Dense(CLASSES, name="last")(x))


def _named(config: Config, name: str) -> Config:
    (found,) = (x for x in config["config"]["layers"] if x["config"].get("name") == name)
    return found


def in_place_of_pool(part: Config) -> Change:
    """A layer of another kind stands where the pooling was."""

    def change(config: Config) -> None:
        layer = _named(config, "pool")
        kept = {key: layer[key] for key in ("inbound_nodes", "name") if key in layer}
        layer.clear()
        layer.update({**part, **kept})

    return change


def as_activation(part: Any) -> Change:
    def change(config: Config) -> None:
        _named(config, "c2")["config"]["activation"] = part

    return change


def with_key(layer: str, key: str, value: Any) -> Change:
    def change(config: Config) -> None:
        _named(config, layer)[key] = value

    return change


def nested(part: Config) -> Config:
    layers = [{"class_name": "InputLayer", "config": {"batch_input_shape": [None, 8, 8, 4]}}, part]
    return {"class_name": "Sequential", "config": {"name": "inner", "layers": layers}}


def _function(module: str, name: str, registered: str | None = None) -> Config:
    return {
        "class_name": "function",
        "module": module,
        "config": name,
        "registered_name": registered or name,
    }


def _class(module: str | None, name: str, config: Config, **more: Any) -> Config:
    return {"class_name": name, "module": module, "config": config, "registered_name": None, **more}


_WRITE = {
    "class_name": "TFOpLambda",
    "config": {"name": "sly", "trainable": True, "dtype": "float32", "function": "io.write_file"},
}
# What is changed in the configuration of an honest file, in both of its forms.
CHANGES: dict[str, Change] = {
    "lambda": in_place_of_pool(LAMBDA),
    "lambda by its module": in_place_of_pool(
        {**LAMBDA, "module": "keras.layers", "registered_name": None}
    ),
    "lambda by its inner module": in_place_of_pool(
        {**LAMBDA, "module": "tf_keras.src.layers.core.lambda_layer", "registered_name": "Lambda"}
    ),
    "lambda in a nested model": in_place_of_pool(nested(LAMBDA)),
    "lambda two models down": in_place_of_pool(nested(nested(LAMBDA))),
    "lambda in a wrapper": in_place_of_pool(
        {"class_name": "TimeDistributed", "config": {"name": "t", "layer": LAMBDA}}
    ),
    "lambda as a cell": in_place_of_pool(
        {"class_name": "RNN", "config": {"name": "r", "cell": LAMBDA}}
    ),
    "lambda as an activation": as_activation(FUNCTION),
    "lambda as an initializer": with_key(
        "c1",
        "config",
        {"name": "c1", "filters": 4, "kernel_size": 3, "kernel_initializer": FUNCTION},
    ),
    "lambda among what a layer was built with": with_key(
        "c1", "build_config", {"input_shape": FUNCTION}
    ),
    "lambda in what a nested model was trained with": in_place_of_pool(
        {**nested(LAMBDA), "compile_config": {"loss": FUNCTION}}
    ),
    "a class of a module": in_place_of_pool(_class("their_code", "Odd", {})),
    "a function of a module": as_activation(_function("their_code", "relu")),
    "a module that only begins like keras": as_activation(_function("keras_their_code", "relu")),
    "a class that stands in a registry": with_key("c1", "registered_name", "their>Conv2D"),
    "a function behind another's name": as_activation(_function("keras.utils", "relu", "get_file")),
    "a function of the system": as_activation(_function("os", "system")),
    "a function of Python": as_activation(_function("builtins", "exec")),
    "a function that fetches": as_activation(_function("keras.utils", "get_file")),
    "a type of the system": as_activation(
        {
            "class_name": "__typespec__",
            "module": "subprocess",
            "spec_name": "Popen",
            "registered_name": None,
            "config": ["touch trace"],
        }
    ),
    "a call by name": in_place_of_pool(_WRITE),
    "a graph in a layer": in_place_of_pool(
        {"class_name": "TensorFlowOpLayer", "config": {"name": "sly", "node_def": "WriteFile"}}
    ),
    "a SavedModel in a layer": in_place_of_pool(
        _class("keras.layers", "TFSMLayer", {"name": "sly", "filepath": "saved"})
    ),
    "torch in a layer": in_place_of_pool(
        _class(
            "keras.layers",
            "TorchModuleWrapper",
            {"name": "sly", "module": {"class_name": "__bytes__", "config": {"value": PICKLE}}},
        )
    ),
    "jax in a layer": in_place_of_pool(
        _class("keras.layers", "JaxLayer", {"name": "sly", "call_fn": FUNCTION})
    ),
    "words from a file": in_place_of_pool(
        _class("keras.layers", "TextVectorization", {"name": "sly", "vocabulary": "/etc/passwd"})
    ),
    "a table from a file": in_place_of_pool(
        _class("keras.layers", "StringLookup", {"name": "sly", "vocabulary": "/etc/passwd"})
    ),
    "a layer of ours": in_place_of_pool(
        _class("snapcli.methods.trained.mc_dropout", "ChannelDropout", {"name": "sly"})
    ),
}


def changed_keras(source: Path, path: Path, change: Change) -> Path:
    members = zip_members(source)
    config = json.loads(members["config.json"])
    change(config)
    members["config.json"] = json.dumps(config).encode()
    return zipped(path, list(members.items()))


def changed_h5(source: Path, path: Path, change: Change) -> Path:
    import h5py

    shutil.copyfile(source, path)
    with h5py.File(path, "r+") as file:
        config = json.loads(file.attrs["model_config"])
        change(config)
        del file.attrs["model_config"]
        file.attrs["model_config"] = json.dumps(config).encode()
    return path


def zip_members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(path: Path, members: list[tuple[str, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return path


def odd_files(keras: Path, h5: Path, folder: Path) -> dict[str, Path]:
    """Whose form deceives; keras, h5: honest files."""
    import h5py

    change = CHANGES["lambda"]
    evil_h5 = changed_h5(h5, folder / "lambda.h5", change)
    evil = zip_members(changed_keras(keras, folder / "lambda.keras", change))
    good = zip_members(keras)
    renamed = folder / "renamed.keras"
    shutil.copyfile(evil_h5, renamed)
    rest = [(name, good[name]) for name in ("metadata.json", "model.weights.h5")]
    configs = [("config.json", good["config.json"]), ("config.json", evil["config.json"])]
    found = {
        "HDF5 that is called .keras": renamed,
        "two configurations, the second evil": zipped(folder / "twice.keras", [*configs, *rest]),
        "two configurations, the first evil": zipped(
            folder / "twice2.keras", [*reversed(configs), *rest]
        ),
        "an evil HDF5 with a zip behind it": folder / "both.h5",
        "pickled weights": zipped(
            folder / "pickled.keras",
            [
                ("config.json", good["config.json"]),
                ("metadata.json", good["metadata.json"]),
                ("model.weights.npz", _pickled_npz()),
            ],
        ),
        "a folder that is called .keras": folder / "folder.keras",
    }
    found["an evil HDF5 with a zip behind it"].write_bytes(
        evil_h5.read_bytes() + keras.read_bytes()
    )
    (folder / "folder.keras").mkdir()
    (folder / "folder.keras" / "config.json").write_bytes(evil["config.json"])
    for name, reaching in REACHING.items():
        content = io.BytesIO(good["model.weights.h5"])
        with h5py.File(content, "r+") as file:
            reaching(file, folder)
        members = {**good, "model.weights.h5": content.getvalue()}
        path = folder / f"{name.replace(' ', '-')}.keras"
        found[name] = zipped(path, list(members.items()))
    return found


def _pickled_npz() -> bytes:
    content = io.BytesIO()
    np.savez(content, a=np.array([_Touching()], dtype=object), allow_pickle=True)
    return content.getvalue()


def _external_link(file: Any, folder: Path) -> None:
    import h5py

    file["elsewhere"] = h5py.ExternalLink(str(folder / "secret.h5"), "/x")


def _soft_link(file: Any, folder: Path) -> None:
    import h5py

    file["elsewhere"] = h5py.SoftLink("/no/such")


def _external_storage(file: Any, folder: Path) -> None:
    file.create_dataset("raw", (4,), "u1", external=[(b"/etc/passwd", 0, 4)])


def _virtual(file: Any, folder: Path) -> None:
    import h5py

    layout = h5py.VirtualLayout((4,), "u1")
    layout[:] = h5py.VirtualSource(str(folder / "secret.h5"), "x", (4,))
    file.create_virtual_dataset("seen", layout)


REACHING: dict[str, Callable[[Any, Path], None]] = {
    "a link to another file": _external_link,
    "a link to nowhere": _soft_link,
    "weights that lie in another file": _external_storage,
    "weights that are seen through another file": _virtual,
}
