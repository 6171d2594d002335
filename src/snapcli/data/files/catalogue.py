"""The data sets that snap knows: where they are published, under which hash and licence."""

from dataclasses import dataclass

from snapcli.errors import UsageError, suggestion


@dataclass(frozen=True)
class PublishedFile:
    """sha256 of the file as its publisher ships it."""

    name: str
    url: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class Source:
    """folder: where its files lie below a data directory. unpacked: folders below a data
    directory that hold the content of the archive, any of which can stand in for it. Without
    files it has to be put there by hand from its home."""

    name: str
    title: str
    folder: str
    files: tuple[PublishedFile, ...]
    licence: str
    home: str
    unpacked: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


_MNIST = "https://storage.googleapis.com/cvdf-datasets/mnist"
_FASHION = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"
_SPEECH = "https://storage.googleapis.com/download.tensorflow.org/data"
_T10K_IMAGES, _T10K_LABELS = "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"
_TRAIN_IMAGES, _TRAIN_LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"

MNIST = Source(
    name="mnist",
    title="70,000 handwritten digits, 28x28",
    folder="mnist",
    files=(
        PublishedFile(
            _TRAIN_IMAGES,
            f"{_MNIST}/{_TRAIN_IMAGES}",
            9_912_422,
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        ),
        PublishedFile(
            _TRAIN_LABELS,
            f"{_MNIST}/{_TRAIN_LABELS}",
            28_881,
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        ),
        PublishedFile(
            _T10K_IMAGES,
            f"{_MNIST}/{_T10K_IMAGES}",
            1_648_877,
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        ),
        PublishedFile(
            _T10K_LABELS,
            f"{_MNIST}/{_T10K_LABELS}",
            4_542,
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    ),
    licence="CC BY-SA 3.0",
    home=_MNIST,
)
FASHION_MNIST = Source(
    name="fashion-mnist",
    title="foreign images for MNIST",
    folder="fashion-mnist",
    files=(
        PublishedFile(
            _T10K_IMAGES,
            f"{_FASHION}/{_T10K_IMAGES}",
            4_422_102,
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        ),
        PublishedFile(
            _T10K_LABELS,
            f"{_FASHION}/{_T10K_LABELS}",
            5_148,
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        ),
    ),
    licence="MIT",
    home=_FASHION,
)
CIFAR10 = Source(
    name="cifar10",
    title="60,000 photographs, 10 classes, 32x32",
    folder="cifar10",
    files=(
        PublishedFile(
            "cifar-10-python.tar.gz",
            "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
            170_498_071,
            "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
        ),
    ),
    licence="none stated",
    home="https://www.cs.toronto.edu/~kriz/cifar.html",
)
SVHN = Source(
    name="svhn",
    title="foreign images for CIFAR-10",
    folder="svhn",
    files=(
        PublishedFile(
            "test_32x32.mat",
            "http://ufldl.stanford.edu/housenumbers/test_32x32.mat",
            64_275_384,
            "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b",
        ),
    ),
    licence="non-commercial",
    home="http://ufldl.stanford.edu/housenumbers",
)
TINYIMAGENET = Source(
    name="tinyimagenet",
    title="110,000 photographs, 200 classes, 64x64",
    folder="tinyimagenet",
    files=(
        PublishedFile(
            "tiny-imagenet-200.zip",
            "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
            248_100_043,
            "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",
        ),
    ),
    licence="ImageNet's terms of access",
    home="http://cs231n.stanford.edu",
    unpacked=("tiny-imagenet-200",),
)
SPEECH_V2 = Source(
    name="speechcmd",
    title="105,829 spoken words, v0.02",
    folder="speechcmd",
    files=(
        PublishedFile(
            "speech_commands_v0.02.tar.gz",
            f"{_SPEECH}/speech_commands_v0.02.tar.gz",
            2_428_923_189,
            "af14739ee7dc311471de98f5f9d2c9191b18aedfe957f4a6ff791c709868ff58",
        ),
    ),
    licence="CC BY 4.0",
    home="https://arxiv.org/abs/1804.03209",
    unpacked=("speech_commands_v0.02",),
)
SPEECH_V1 = Source(
    name="speechcmd-v1",
    title="64,727 spoken words, v0.01, instead of it",
    folder="speechcmd",
    files=(
        PublishedFile(
            "speech_commands_v0.01.tar.gz",
            f"{_SPEECH}/speech_commands_v0.01.tar.gz",
            1_489_096_277,
            "743935421bb51cccdb6bdd152e04c5c70274e935c82119ad7faeec31780d811d",
        ),
    ),
    licence="CC BY 4.0",
    home="https://arxiv.org/abs/1804.03209",
    unpacked=("speech_commands_v0.01",),
)
ESC50 = Source(
    name="esc50",
    title="foreign sounds for speechcmd",
    folder="esc50",
    files=(),
    licence="CC BY-NC 3.0, some clips CC BY or CC0",
    home="https://github.com/karolpiczak/ESC-50",
    unpacked=("esc50", "ESC-50-master/audio", "ESC-50/audio"),
)
CIFAR10_C = Source(
    name="cifar10-c",
    title="corrupted test images as published",
    folder="cifar10-c",
    files=(
        PublishedFile(
            "CIFAR-10-C.tar",
            "https://zenodo.org/record/2535967/files/CIFAR-10-C.tar",
            2_918_471_680,
            "c72763e101c723b7c507b96205f7e938912a5d587376173b825850cf3cb876a7",
        ),
    ),
    licence="CC BY 4.0",
    home="https://zenodo.org/record/2535967",
    unpacked=("CIFAR-10-C",),
)
MNIST_C = Source(
    name="mnist-c",
    title="corrupted test images as published",
    folder="mnist-c",
    files=(
        PublishedFile(
            "mnist_c.zip",
            "https://zenodo.org/record/3239543/files/mnist_c.zip",
            246_661_575,
            "af9ee8c6a815870c7fdde5af84c7bf8db0bcfa1f41056db83871037fba70e493",
        ),
    ),
    licence="CC BY 4.0",
    home="https://zenodo.org/record/3239543",
    unpacked=("mnist_c",),
)

SOURCES = {
    source.name: source
    for source in (
        MNIST,
        FASHION_MNIST,
        MNIST_C,
        CIFAR10,
        SVHN,
        CIFAR10_C,
        SPEECH_V2,
        SPEECH_V1,
        ESC50,
        TINYIMAGENET,
    )
}

# The foreign images that a data set is not loaded without.
COMPANIONS = {"mnist": FASHION_MNIST, "cifar10": SVHN}


def source_named(name: str) -> Source:
    if name not in SOURCES:
        raise UsageError(f"there is no data set '{name}' to fetch", suggestion(name, SOURCES))
    return SOURCES[name]
