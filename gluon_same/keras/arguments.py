"""Type-checked access to a layer's arguments. Arguments that nothing reads are rejected."""

import math
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from .. import arguments as checks

_MISSING = object()


def words(text: str) -> Tuple[str, ...]:
    """Return the words of a table."""
    return tuple(text.split())


#: Arguments that do not affect the numbers of a trained layer. Keras saves kernels with LoRA's updates.
_HARMLESS = words("""
    autocast batch_input_shape batch_shape batch_size dtype flash_attention fused
    has_input_vocabulary implementation init_values input_dim input_dtype input_length input_shape
    key_shape lora_alpha lora_rank max_values name oov_value optional out_type output_type
    partition_strategy power_iterations quantization_config query_shape ragged rank renorm_clipping
    renorm_momentum seed sorted synchronized trainable unit_forget_bias unroll use_cudnn
    use_cudnn_on_gpu validate_indices value_shape vocabulary_size zero_output_for_mask
""")

#: The values at which further arguments have no effect. No other value is supported unless read.
_ONLY = {
    **dict.fromkeys(("conjugate", "equal_nan", "invert", "preserve_aspect_ratio", "renorm"), False),
    **dict.fromkeys(("reverse_state_order", "rms_scaling", "sparse", "time_major", "Truncate"), False),
    **dict.fromkeys(("a_is_sparse", "adjoint_a", "adjoint_b", "b_is_sparse"), False),
    **dict(batch_dims=0, beta=1.0, fill_mode="constant", groups=1, oov_method="floormod"),
    **dict(vocabulary_dtype="int64"),
}
_HARMLESS_ENDS = ("_initializer", "_regularizer", "_constraint")


#: Most operators that a layer becomes, and most elements of arrays that are computed for it.
MOST_PARTS, MOST_ELEMENTS = 4096, 2**26


class Unsupported(ValueError):
    """Layer or argument without an equivalent in MXNet."""


class NoBuilder(Unsupported):
    """Class of a layer, or name of a function, that is not supported whatever its inputs are."""


def limit(what: str, count: int, most: int = MOST_PARTS) -> None:
    """Raise if a number in a file would take unbounded time or memory."""
    if count > most:
        raise Unsupported(f"{what}: at most {most} are supported")


class Arguments:
    """Arguments of a layer, from its configuration.

    Each method reads one argument and raises :class:`Unsupported` for a value of the wrong kind.
    """

    def __init__(self, config: Dict[str, Any]):
        self.config = config
        self.read: Set[str] = set()

    def get(self, name: str, default: Any = _MISSING) -> Any:
        """Return the argument as it is."""
        self.read.add(name)
        value = self.config.get(name, default)
        if value is _MISSING:
            raise Unsupported(f"{name} is missing")
        return value

    def whole(self, name: str, default: Any = _MISSING, least: int = 1) -> int:
        """Return the argument as an int."""
        return self._checked(checks.whole, name, self.get(name, default), least)

    def axes(self, name: str, ndim: int, default: Any = _MISSING, least: int = 1) -> Tuple[int, ...]:
        """Return the argument as one int per spatial axis."""
        return self._checked(checks.per_axis, name, self.get(name, default), ndim, least)

    def flag(self, name: str, default: bool) -> bool:
        """Return the argument as a bool."""
        value = self.get(name, default)
        if not isinstance(value, bool):
            raise Unsupported(f"{name}={value!r} is neither True nor False")
        return value

    def number(self, name: str, default: Any = _MISSING) -> float:
        """Return the argument as a finite float."""
        value = self.get(name, default)
        if isinstance(value, list) and len(value) == 1:  # an array of one element
            (value,) = value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise Unsupported(f"{name}={value!r} is not a finite number")
        return float(value)

    def optional_number(self, name: str) -> Optional[float]:
        """Return the argument as a finite float or None."""
        return None if self.get(name, None) is None else self.number(name)

    def word(self, name: str, allowed: Sequence[str], default: Any = _MISSING) -> str:
        """Return the argument as one of the allowed strings."""
        value = self.get(name, default)
        if not isinstance(value, str) or value.lower() not in allowed:
            raise Unsupported(f"{name}={value!r}: only {' or '.join(map(repr, allowed))} is supported")
        return value.lower()

    def ints(self, name: str, default: Any = _MISSING) -> List[int]:
        """Return an int or a list of ints as a list."""
        value = self.get(name, default)
        items = value if isinstance(value, list) else [value]
        if any(isinstance(item, bool) or not isinstance(item, int) for item in items):
            raise Unsupported(f"{name}={value!r} does not consist of whole numbers")
        return items

    def ignore(self, *names: str) -> None:
        """Accept any value of these arguments."""
        self.read.update(names)

    def finish(self, function: str = "") -> None:
        """Raise for unread arguments, of a function if named, that affect the numbers."""
        policy = self.config.get("dtype")
        quantized = isinstance(policy, dict) and (policy.get("config") or {}).get("mode")
        if quantized:
            raise Unsupported(f"weights in {quantized}: save the model before it is quantized")
        left = []
        for name, value in sorted(self.config.items()):
            harmless = name in (*self.read, *_HARMLESS) or name.endswith(_HARMLESS_ENDS)
            if not harmless and value is not None and value != _ONLY.get(name):
                only = f": only {_ONLY[name]!r} is supported" if name in _ONLY else " is not known"
                left.append(f"{name}={value!r}{only}")
        if left:
            raise Unsupported(f"{function} with {', '.join(left)}" if function else ", ".join(left))

    @staticmethod
    def _checked(check, *args):
        try:
            return check(*args)
        except (TypeError, ValueError) as error:
            raise Unsupported(str(error)) from None
