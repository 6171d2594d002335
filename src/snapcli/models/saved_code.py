"""What a saved Keras model would run while it is loaded, read from its configuration.

Keras turns every {"class_name": ...} in the configuration into an object; depending on the file
that imports a module, unpickles a lambda or opens a file. So only classes that are known to do
nothing but compute are let through, whatever library would load them.
"""

import importlib
import os
from collections.abc import Iterator
from typing import Any

from snapcli.errors import UsageError, shown
from snapcli.usercode import ALLOW_CODE, import_from


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Libraries whose classes the lists below name; files of Keras 2 say keras, too.
_PACKAGES = ("keras", "tf_keras")
_MODELS = "Functional Model Sequential"
_LAYERS = """
    Activation ActivityRegularization Add AdditiveAttention AlphaDropout Attention Average
    AveragePooling1D AveragePooling2D AveragePooling3D BatchNormalization Bidirectional
    CategoryEncoding CenterCrop Concatenate Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D
    Conv3DTranspose ConvLSTM1D ConvLSTM2D Cropping1D Cropping2D Cropping3D Dense DepthwiseConv1D
    DepthwiseConv2D Dot Dropout ELU EinsumDense Embedding Flatten GRU GRUCell GaussianDropout
    GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D
    GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D GroupNormalization
    GroupQueryAttention Identity InputLayer LSTM LSTMCell LayerNormalization LeakyReLU Masking
    MaxPooling1D MaxPooling2D MaxPooling3D Maximum Minimum MultiHeadAttention Multiply
    Normalization PReLU Permute RMSNormalization RNN RandomBrightness RandomContrast RandomCrop
    RandomFlip RandomHeight RandomRotation RandomTranslation RandomWidth RandomZoom ReLU
    RepeatVector Rescaling Reshape Resizing SeparableConv1D SeparableConv2D SimpleRNN
    SimpleRNNCell Softmax SpatialDropout1D SpatialDropout2D SpatialDropout3D
    SpectralNormalization StackedRNNCells Subtract ThresholdedReLU TimeDistributed UnitNormalization
    UpSampling1D UpSampling2D UpSampling3D ZeroPadding1D ZeroPadding2D ZeroPadding3D
"""
_PARTS = """
    Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity LecunNormal LecunUniform Ones
    Orthogonal RandomNormal RandomUniform TruncatedNormal VarianceScaling Zeros
    L1 L2 L1L2 OrthogonalRegularizer MaxNorm MinMaxNorm NonNeg UnitNorm
    DTypePolicy FloatDTypePolicy Policy SeedGenerator
"""
# A model inside of the model may still have what it was trained with.
_TRAINING = """
    Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Lion Nadam RMSprop SGD
    CosineDecay CosineDecayRestarts ExponentialDecay InverseTimeDecay PiecewiseConstantDecay
    PolynomialDecay BinaryCrossentropy CategoricalCrossentropy CategoricalFocalCrossentropy
    KLDivergence MeanAbsoluteError MeanSquaredError SparseCategoricalCrossentropy Accuracy
    CategoricalAccuracy Mean SparseCategoricalAccuracy TopKCategoricalAccuracy
"""
# Numbers, shapes and places in the model rather than objects.
_VALUES = "__ellipsis__ __keras_tensor__ __numpy__ __slice__ __tensor__ __tuple__"
_CLASSES = words(" ".join((_MODELS, _LAYERS, _PARTS, _TRAINING, _VALUES)))
_FUNCTIONS = words("""
    celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh
    leaky_relu linear log_sigmoid log_softmax mish relu relu6 selu sigmoid silu softmax softplus
    softsign sparse_plus squareplus swish tanh tanh_shrink threshold
""")
# Keras 3 has an object for each operation between layers; none of them reaches outside.
_OPERATIONS = ("keras.ops", "keras.src.ops")
# tf_keras looks up the function of such a layer by its name in TensorFlow.
_BY_NAME = ("TFOpLambda", "SlicingOpLambda")
_PURE = ("math.", "nn.", "__operators__.")
_RESHAPING = words("""
    cast clip_by_value concat expand_dims identity pad reshape shape slice split squeeze stack
    strided_slice tile transpose unstack
""")


def refuse_code(config: Any, model: str) -> None:
    """Raises UsageError, with the layer's name, if loading this configuration (as JSON gives it)
    could run code that is not Keras's own; model: for the message."""
    for layer, part in _objects(config):
        if not _computes(part):
            raise UsageError(f"{_place(layer)} of {model} {_what(part)}", ALLOW_CODE)


def import_code(config: Any, model: str) -> dict[str, Any]:
    """{name: class or function} of the model's own, from the modules that the file names. They
    are found as Python finds them from the current folder; Keras 3 does not look for them."""
    import_from(os.getcwd())
    functions = {}
    for layer, part in _objects(config):
        module = part.get("module")
        name = part.get("config") if part["class_name"] == "function" else part["class_name"]
        if not isinstance(module, str) or module == "builtins" or _is_keras(module):
            continue
        if str(name).startswith("__"):
            continue  # a value that Keras makes itself
        try:
            functions[str(name)] = getattr(importlib.import_module(module), str(name))
        except Exception as error:  # the user's module raises what it likes
            raise UsageError(
                f"{_place(layer)} of {model} needs {shown(f'{module}.{name}')}, which cannot be "
                f"imported ({type(error).__name__}: {shown(error)})",
                "Run snap in the folder where Python can import it.",
            ) from None
    return functions


def _objects(config: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """(name of the layer that it belongs to, object) of everything Keras would make."""
    waiting: list[tuple[str, Any]] = [("", config)]
    while waiting:
        layer, part = waiting.pop()
        if isinstance(part, dict):
            if "class_name" in part:
                layer = _name(part) or layer
                yield layer, part
            waiting.extend((layer, value) for value in part.values())
        elif isinstance(part, list):
            waiting.extend((layer, value) for value in part)


def _name(part: dict[str, Any]) -> str:
    config = part.get("config")
    name = config.get("name") if isinstance(config, dict) else None
    return name if isinstance(name, str) else ""


def _computes(part: dict[str, Any]) -> bool:
    name, module, config = part["class_name"], part.get("module"), part.get("config")
    # A name in a registry stands above class and module.
    registered = part.get("registered_name")
    if name == "function":
        ours = module == "builtins" or _is_keras(module)
        known = isinstance(config, str) and config in _FUNCTIONS
        return ours and known and registered in (None, name, config)
    if registered not in (None, name) or not isinstance(name, str) or not _is_keras(module):
        return False
    if isinstance(module, str) and _within(module, _OPERATIONS):
        return True
    if name in _BY_NAME:
        function = config.get("function") if isinstance(config, dict) else None
        return isinstance(function, str) and (function.startswith(_PURE) or function in _RESHAPING)
    return name in _CLASSES


def _is_keras(module: Any) -> bool:
    """Files of HDF5 name no modules: Keras looks there only among its own classes."""
    return module is None or (isinstance(module, str) and _within(module, _PACKAGES))


def _within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def _place(layer: str) -> str:
    return f"layer '{shown(layer)}'" if layer else "a part"


def _what(part: dict[str, Any]) -> str:
    name, config = part["class_name"], part.get("config")
    if name in ("Lambda", "__lambda__"):
        return "is a Lambda: Python code inside of the file"
    if name in _BY_NAME and isinstance(config, dict):
        return f"calls tf.{shown(config.get('function'))}"
    if name == "function":
        return f"needs the function {shown(config)}, which may run code"
    module = part.get("module")
    named = isinstance(module, str) and module != "builtins"
    full = f"{module}.{name}" if named else part.get("registered_name") or name
    return f"needs {shown(full)}, which may run code"
