"""Layers of a net with the weights that they own."""

from typing import List, NamedTuple, Optional, Sequence, Tuple

from mxnet.gluon import HybridBlock

from .layers import Weight


class Owner(NamedTuple):
    """Layer with its weights, or nested model with its layers."""

    name: str
    class_name: str
    trainable: bool
    weights: Tuple[Weight, ...]
    owners: Optional[List["Owner"]]  # layers of a nested model
    block: HybridBlock


def all_weights(
    owner: Owner, path: Tuple[str, ...] = (), frozen: bool = False
) -> List[Tuple[Tuple[str, ...], Weight, bool]]:
    """Return the weights of a layer or nested model, layer by layer, and whether Keras trains each."""
    path, trainable = (*path, owner.name), owner.trainable and not frozen
    if owner.owners is None:
        never = ("moving_mean", "moving_variance", "mean", "variance", "count")
        return [(path, w, trainable and w.role not in never) for w in owner.weights]
    return [each for inner in owner.owners for each in all_weights(inner, path, not trainable)]


def freeze(owners: Sequence[Owner]) -> None:
    """Drop the gradients of what Keras does not train."""
    for owner in owners:
        if not owner.trainable:
            owner.block.collect_params().setattr("grad_req", "null")
        elif owner.owners is not None:
            freeze(owner.owners)


def keep_to_inference(block: HybridBlock) -> None:
    """Change a block to compute as in inference in every mode."""

    def freeze(each):
        if hasattr(each, "running_mean"):
            each._kwargs["use_global_stats"] = True
        elif type(each).__name__ == "Dropout":
            each._rate = 0

    block.apply(freeze)
