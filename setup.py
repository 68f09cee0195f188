"""Package metadata of gluon_same. The settings of tools are in pyproject.toml."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
VERSION = re.search(
    r'^__version__ = "(.+)"$', (HERE / "gluon_same" / "__init__.py").read_text(), re.MULTILINE
).group(1)

URL = "https://github.com/gluon-same/gluon_same"


def description():
    """Return the README, with links that work on a package index."""
    text = (HERE / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"(!\[[^]]*\])\((?!https?:)([^)]+)\)", rf"\1({URL}/raw/main/\2)", text)
    return re.sub(r"(?<!!)(\[[^]]*\])\((?!https?:|#)([^)]+)\)", rf"\1({URL}/blob/main/\2)", text)


# The metadata of MXNet 1.9.1 asks for NumPy 1, which has no wheels for Python 3.13, although MXNet works
# with NumPy 2 here. There it is installed by 'pip install --no-deps mxnet==1.9.1'.
MXNET = "mxnet>=1.6,<2; python_version < '3.13'"
MXNET_FOR_ONNX = "mxnet>=1.9.1,<2; python_version < '3.13'"

ONNX = ["onnx>=1.17,<1.24", "onnxruntime"]

# The last release of keras-mxnet.
KERAS = ["keras-mxnet==2.2.4.3"]

# For reading the files of Keras models, which requires neither Keras nor TensorFlow.
KERAS_MODELS = ["h5py>=3"]

# For running the notebooks without a browser, as the tests do.
NOTEBOOKS = [
    "ipykernel",
    "matplotlib>=3.6",
    "nbclient>=0.7",
    "nbformat>=5.2",
    "scikit-learn",  # for its handwritten digits
    "tqdm",
]

setup(
    name="gluon-same",
    version=VERSION,
    description="padding='same' for MXNet Gluon, with TensorFlow's and Keras' numbers",
    long_description=description(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    author="the gluon_same authors",
    url=URL,
    project_urls={"Changelog": f"{URL}/blob/main/CHANGELOG.md"},
    packages=find_packages(include=["gluon_same", "gluon_same.*"]),
    package_data={"gluon_same": ["py.typed", "data/*", "nn/*.pyi"]},
    entry_points={"console_scripts": ["gluon-same = gluon_same.cli.main:run_script"]},
    python_requires=">=3.8,<3.14",
    install_requires=[
        MXNET,
        # Newer versions work if gluon_same is imported before MXNet. With these, the order is free.
        "numpy>=1.20,<1.24; python_version < '3.12'",
        "numpy>=1.26,<2; python_version == '3.12'",
        # What MXNet requires, where pip does not install it.
        "numpy>=2.1; python_version >= '3.13'",
        "requests>=2.20,<3; python_version >= '3.13'",
        "graphviz>=0.8.1; python_version >= '3.13'",
        # MXNet 1.x imports distutils, which Python 3.12 dropped and setuptools brings back.
        "setuptools; python_version >= '3.12'",
    ],
    extras_require={
        "keras": KERAS,
        "keras-models": KERAS_MODELS,
        "onnx": [MXNET_FOR_ONNX, *ONNX],
        "notebooks": [MXNET_FOR_ONNX, *KERAS, *ONNX, *NOTEBOOKS, "notebook"],
        "test": [
            *KERAS,
            *KERAS_MODELS,
            *ONNX,
            "onnx<1.21",  # later packages lack ONNX's own tests of operators
            *NOTEBOOKS,
            "scipy",  # for the entropy calibration of MXNet's quantization
            "pytest>=7",
            "pytest-xdist",
            "hypothesis>=6",
            # OpenCV 4.12 requires NumPy 2, and OpenCV 5 does not read Darknet's files.
            "opencv-python-headless>=4.9,<4.12; python_version < '3.13'",
            "opencv-python-headless>=4.13,<5; python_version >= '3.13'",
        ],
        "lint": ["ruff>=0.6", "mypy>=1.8", "pyright[nodejs]", "pdoc>=14", "build", "twine"],
    },
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Developers",
        "Intended Audience :: Science/Research",
        "License :: OSI Approved :: Apache Software License",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in range(8, 14)),
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
)
