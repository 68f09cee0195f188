"""Write the graphs of six layers that ``tests/test_portable.py`` compares with: ``portable/*.json``.

python tests/golden/make_portable.py
"""

import json
from pathlib import Path

import mxnet as mx

from gluon_same import nn

FOLDER = Path(__file__).parent / "portable"

LAYERS = {
    "conv_4x1": lambda: nn.Conv2D(64, (4, 1), padding="same"),
    "conv_3x3": lambda: nn.Conv2D(64, 3, padding="same"),
    "max_pool_2x2_stride_1": lambda: nn.MaxPool2D(2, 1, padding="same"),
    "avg_pool_1d_4_stride_1": lambda: nn.AvgPool1D(4, 1, padding="same_lower"),
    "conv_3x3_stride_2": lambda: nn.Conv2D(32, 3, 2, padding="same"),
    "max_pool_3x3_stride_2": lambda: nn.MaxPool2D(3, 2, padding="same"),
}


def graph_of(name):
    """Return the operators of a layer's graph in order: name, attributes and inputs."""
    layer = LAYERS[name]()
    with mx.name.NameManager():
        nodes = json.loads(layer(mx.sym.var("data")).tojson())["nodes"]
    names = [node["name"] for node in nodes]
    inputs = [[names[source] for source, *_ in node["inputs"]] for node in nodes]
    strip = len(layer.prefix)
    return [
        {
            "op": node["op"],
            "name": node["name"][strip:] if node["name"].startswith(layer.prefix) else node["name"],
            "attrs": node.get("attrs", {}),
            "inputs": [n[strip:] if n.startswith(layer.prefix) else n for n in sources],
        }
        for node, sources in zip(nodes, inputs)
        if node["op"] != "null"
    ]


def main():
    FOLDER.mkdir(exist_ok=True)
    for name in LAYERS:
        (FOLDER / f"{name}.json").write_text(json.dumps(graph_of(name), indent=1) + "\n")


if __name__ == "__main__":
    main()
