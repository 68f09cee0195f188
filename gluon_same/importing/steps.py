"""Loops over an axis, with a net for each step."""

from typing import Any, NamedTuple, Optional, Sequence

import mxnet as mx
from mxnet.gluon import HybridBlock

from ..arrays import apart, flat, foreach
from .functions import flip


class Scanned(NamedTuple):
    """How the steps go along an array."""

    axis: int
    backwards: bool
    rank: int  # number of axes; a step has one element of an array with one axis


class Steps(HybridBlock):
    """Loop that calls a net for each index of an axis, like ONNX's Scan.

    Parameters
    ----------
    body : HybridBlock
        Called with the states, a part of each scanned array, and all further inputs. Returns the new
        states and what to stack.
    states : int
        Number of states.
    scanned, stacked : sequence of Scanned
        How the steps go along each scanned array, and along each array that is stacked.

    Inputs:
        - **\\*arrays**: states, scanned arrays, and further inputs of the net.

    Outputs:
        - **out**: list of the last states and of the stacked arrays.
    """

    def __init__(
        self, body: HybridBlock, states: int, scanned: Sequence[Scanned], stacked: Sequence[Scanned],
        prefix: Optional[str] = None,
    ):  # fmt: skip
        super().__init__(prefix=prefix)
        self.body = body
        self._states, self._scanned, self._stacked = states, tuple(scanned), tuple(stacked)

    def hybrid_forward(self, F: Any, *arrays: Any) -> Any:
        begin, end = self._states, self._states + len(self._scanned)
        states, outer = list(arrays[:begin]), apart(F, arrays[end:])
        parts = [_first(F, *each) for each in zip(arrays[begin:end], self._scanned)]

        def one(parts, states):
            # The loop rejects results that are one node, and a step without results.
            results = [F.identity(y) for y in flat(self.body(*states, *parts, *outer))]
            read = mx.sym.Group(results).list_inputs() if F is mx.sym else []
            more = [F.identity(x) for x in parts if F is mx.sym and x.name not in read]  # as it requires
            return results[begin:] + more or [F.identity(states[0])], results[:begin]

        results, last = foreach(F, one, parts, states)
        last = [*last, *(_last(F, *each) for each in zip(flat(results), self._stacked))]
        return last if len(last) > 1 else last[0]  # as MXNet returns one result of a hybridized block


def _first(F, x, how):
    """Bring the scanned axis to the front."""
    if how.rank == 1:
        x = F.expand_dims(x, axis=1)
    elif how.axis:
        x = F.transpose(x, axes=(how.axis, *(i for i in range(how.rank) if i != how.axis)))
    return flip(F, x, (0,)) if how.backwards else x


def _last(F, x, how):
    """Bring the axis of the steps from the front to its place."""
    x = flip(F, x, (0,)) if how.backwards else x
    if how.rank == 1:
        return F.reshape(x, shape=(-1,))
    order = [*range(1, how.rank)]
    order.insert(how.axis, 0)
    return F.transpose(x, axes=order) if how.axis else x
