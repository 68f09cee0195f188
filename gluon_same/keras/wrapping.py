"""Whole numbers that a net would change: what is too large for float32, and what wraps around in Keras.

Some layers compute in float32, which lacks whole numbers above 2**24, where Keras' results are whole.

Keras lets arithmetic of 8-, 16- and unsigned 32-bit integers wrap around. A net stores them as int32 and
int64, in which nothing wraps around before Keras' results have. So the arithmetic is refused until the
numbers are converted. Other layers hand on what Keras' dtype is.
"""

from typing import Any, Optional, Sequence

from .arguments import Unsupported, words
from .graph import arrays_in
from .values import Value

#: Functions and layers whose results may not fit the dtype of their inputs.
_WRAPPING = words("""
    Add Average Dot Multiply Subtract abs add add_n bitwise_not cumsum diff dot einsum inner matmul
    multiply negative power square squared_difference subtract tensordot
""")
_WRAPPING_IN_KERAS_2 = ("prod", "sum")  # Keras 3 computes in 32 bits

#: Functions and layers that compute in float32, although Keras' results of whole numbers are whole.
_ROUNDING = words("""
    AdaptiveMaxPooling Dot Dropout GlobalMaxPooling Masking MaxPooling ReLU SpatialDropout
    UpSampling ZeroPadding dot einsum extract_patches inner matmul max_pool relu rgb_to_grayscale round
    tensordot trunc
""")

#: Whole numbers that float32 may not have.
_LARGE = ("int32", "int64", "uint32")

#: Functions and layers whose results have a dtype of their own.
_CONVERTING = words("""
    CategoryEncoding Discretization Hashing IntegerLookup Normalization Rescaling cast divide linspace
    logspace mean multi_hot one_hot prod saturate_cast sum
""")


def dtype_after(name: str, inputs: Sequence[Value], given: Any, keras3: bool) -> Optional[str]:
    """Return the narrow dtype of a function's or layer's results; None if they have another.

    Parameters
    ----------
    name : str
        Of the function in the table, or Keras' class.
    inputs : sequence of Value
    given : object
        The arguments of the call.
    keras3 : bool

    Raises
    ------
    Unsupported
        If the results may wrap around or be rounded.
    """
    dtypes = [x.narrow or x.dtype for x in inputs]
    if "float32" in dtypes or list(arrays_in(given, float)):
        return None
    large = [dtype for dtype in dtypes if dtype in _LARGE]
    if large and name.rstrip("123D") in _ROUNDING:
        raise Unsupported(
            f"{name} of {large[0]}, which is computed in float32 and would lose digits of numbers "
            "above 2**24: cast its input to float32 in the model, or give the model's Input that dtype"
        )
    kinds = [x.narrow for x in inputs if x.narrow]
    if not kinds:
        return None
    if name in _WRAPPING or (name in _WRAPPING_IN_KERAS_2 and not keras3):
        raise Unsupported(
            f"{name} of {kinds[0]}, which may wrap around in Keras: cast its input to int32 or float32 "
            "in the model, or give the model's Input that dtype"
        )
    return None if name in _CONVERTING else kinds[0]


def with_dtype(narrow: Optional[str], y: Value, inputs: Sequence[Value], weights: Any) -> Value:
    """Return a result with its narrow dtype. Those of layers with weights are real numbers."""
    if y.narrow:
        return y
    same = y.dtype == "float32" or any(x.dtype == y.dtype for x in inputs)
    return y._replace(narrow=narrow if same and not weights else None)
