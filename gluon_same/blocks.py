"""The blocks of a net."""

from typing import Any, Dict, List

from . import _mxnet  # noqa: F401  isort: skip  before mxnet

from mxnet.gluon import Block


def title(block: Block) -> str:
    """Return the name of a block for messages, which is its class if the name is empty."""
    return block.name or type(block).__name__


def blocks_of(net: Block) -> List[Block]:
    """List a net's blocks, each once."""
    if not isinstance(net, Block):
        raise TypeError(f"net={net!r} is not a Gluon Block")
    blocks: Dict[Block, Any] = {}
    net.apply(blocks.setdefault)
    return list(blocks)


def check_for_graphs(net: Block) -> None:
    """Raise a ValueError if a net has blocks whose results are wrong in some of MXNet's graphs."""
    found = [block for block in blocks_of(net) if getattr(block, "eager", False)]
    if found:
        raise ValueError(
            f"{net.name} contains a {type(found[0]).__name__}, which MXNet computes right only outside "
            "of graphs: call the net itself, or export it with gluon_same.onnx.export_model"
        )
