"""Hashes of whole numbers as TensorFlow computes them, from their decimal digits.

FarmHash and SipHash compute in unsigned words of 64 bits. MXNet's int64 has the same bits, and wraps
around in sums and products. Shifts are divisions that round down, and an exclusive or looks up four bits
at a time.
"""

from typing import Any, List, NamedTuple, Optional, Sequence

import numpy as np

from .indexing import indices_along
from .pairs import of_two

_PLACES = 20  # the most characters of an int64, with its sign

#: Constants of FarmHash, the factor and first hash of crosses, and the first state of SipHash.
_FARM = (0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F)
_CROSS = (0xC6A4A7935BD1E995, 0xDECAFCAFFE)
_SIP = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


def _signed(words: Any) -> np.ndarray:
    return np.array([int(word) % 2**64 for word in words], "uint64").view("int64")


def hash_constants(salt: Optional[Sequence[int]]) -> List[np.ndarray]:
    """Return powers of 10 and of 16, exclusive ors, and the constants of the hash."""
    four = np.arange(16)
    own = _FARM if salt is None else [word ^ salt[i % 2] % 2**64 for i, word in enumerate(_SIP)]
    tens, sixteens = [10**i for i in range(_PLACES - 1)], [16**i for i in range(16)]
    xor = (four[:, None] ^ four).ravel().astype("int64")
    return [_signed(tens), _signed(sixteens), xor, _signed(own)]


def cross_constants() -> List[np.ndarray]:
    """Return powers of 16, exclusive ors, and the constants of :func:`cross_numbers`."""
    return [*hash_constants(None)[1:3], _signed(_CROSS)]


class _Words(NamedTuple):
    """Arithmetic of unsigned words in arrays of shape (n, 1)."""

    F: Any
    sixteens: Any
    table: Any  # of x ^ y at 16 * x + y

    def right(self, x: Any, bits: int) -> Any:
        """Shift by 1 to 62 bits towards the last one."""
        quotient = x / 2**bits  # rounded towards zero
        return quotient - (quotient * 2**bits > x) + (x < 0) * 2 ** (64 - bits)

    def rotated(self, x: Any, bits: int) -> Any:
        """Rotate towards the last bit."""
        return self.right(x, bits) + x * 2 ** (64 - bits)

    def xor(self, x: Any, y: Any) -> Any:
        """Return the exclusive or."""
        F = self.F
        quotients = 16 * self._quotients(x) + self._quotients(y)
        next_ones = F.slice_axis(quotients, axis=-1, begin=1, end=None)
        above = F.concat(next_ones, (x < 0) * -16 - (y < 0), dim=-1)
        parts = F.reshape(F.take(self.table, quotients - 16 * above), shape=(0, 2, 8))
        # Sums of more than 53 bits are rounded in onnxruntime.
        weights = F.slice_axis(self.sixteens, axis=0, begin=0, end=8)
        halves = F.sum(F.broadcast_mul(parts, weights), axis=-1)
        low, high = (F.slice_axis(halves, axis=-1, begin=i, end=i + 1) for i in range(2))
        return low + high * 2**32

    def _quotients(self, x):
        """Return the words without their last fours of bits."""
        F = self.F
        quotients = F.broadcast_div(x, self.sixteens)
        return quotients - F.broadcast_greater(F.broadcast_mul(quotients, self.sixteens), x)

    def remainder(self, x: Any, count: int) -> Any:
        """Return the remainder of the unsigned word."""
        rest = of_two(self.F, x, x * 0 + count, "mod", whole=True) + (x < 0) * (2**64 % count)
        return rest - (rest >= count) * count


class _Text(NamedTuple):
    """Decimal characters of numbers."""

    F: Any
    length: Any  # of shape (n, 1)
    last: Any  # characters from the last to the first, of shape (n, 20), with zeros behind
    first: Any  # from the first to the last

    def at(self, place: int) -> Any:
        """Return a character, counted from the first, or from the last if negative."""
        source, begin = (self.first, place) if place >= 0 else (self.last, -1 - place)
        return self.F.slice_axis(source, axis=1, begin=begin, end=begin + 1)

    def word(self, begin: int, count: int = 8) -> Any:
        """Return the word of characters from a place, the first of which is its last byte."""
        y = self.at(begin)
        for i in range(1, count):
            y = y + self.at(begin + i) * 256**i if i < 7 else y + self.at(begin + i) * 2**56
        return y


def _written(F: Any, x: Any, tens: Any) -> _Text:
    """Return the characters of numbers of shape (n, 1)."""
    quotients = F.broadcast_div(x, tens)  # towards zero, like the digits of negative numbers
    more = F.concat(F.slice_axis(quotients, axis=-1, begin=1, end=None), x * 0, dim=-1)
    digits = F.concat(F.abs(quotients - 10 * more), x * 0, dim=-1)
    negative = x < 0
    count = F.sum(quotients != 0, axis=-1, keepdims=True) + (x == 0)
    places = indices_along(F, digits, 1, 2)
    last = F.broadcast_mul(digits + 48, F.broadcast_lesser(places, count))
    last = last + 45 * F.broadcast_mul(F.broadcast_equal(places, count), negative)
    length = count + negative
    # The character at place j from the first is that at length - 1 - j from the last.
    wanted = F.expand_dims(F.broadcast_sub(length - 1, places), axis=2)
    same = F.broadcast_equal(wanted, F.expand_dims(places, axis=1))
    first = F.sum(F.broadcast_mul(same, F.expand_dims(last, axis=1)), axis=2)
    return _Text(F, length, last, first)


def _either(condition: Any, x: Any, y: Any) -> Any:
    return condition * (x - y) + y


def _farm(words: _Words, text: _Text, constants: List[Any]) -> Any:
    """Return FarmHash's Fingerprint64 of 1 to 20 characters."""
    zero = text.length * 0
    k0, k1, k2 = (words.F.broadcast_add(zero, each) for each in constants)
    n, rotated = text.length, words.rotated
    factor = k2 + n * 2
    # 17 to 20 characters
    a, b = text.word(0) * k1, text.word(8)
    c, d = text.word(-8) * factor, text.word(-16) * k2
    long = rotated(a + b, 43) + rotated(c, 30) + d, a + rotated(b + k2, 18) + c
    # 8 to 16
    a, b = text.word(0) + k2, text.word(-8)
    middle = rotated(b, 37) * factor + a, (rotated(a, 25) + b) * factor
    # 4 to 7
    short = n + text.word(0, 4) * 8, text.word(-4, 4)
    # 1 to 3: both characters between are the second one
    second = _either(n > 1, text.at(1), text.at(0))
    least = (text.at(0) + second * 256) * k2, (n + text.at(-1) * 4) * k0
    pairs = zip(long, middle, short, least)
    u, v = (_either(n > 16, w, _either(n > 7, x, _either(n > 3, y, z))) for w, x, y, z in pairs)
    factor = _either(n > 3, factor, k2)
    mixed = words.xor(u, v)
    a = mixed * factor
    a = words.xor(a, words.right(a, 47))
    b = _either(n > 3, words.xor(v, a) * factor, mixed)
    return words.xor(b, words.right(b, 47)) * factor


def _sip(words: _Words, text: _Text, constants: List[Any]) -> Any:
    """Return SipHash-2-4 of up to 23 characters, whose key is in the constants."""
    zero, xor = text.length * 0, words.xor
    state = [words.F.broadcast_add(zero, each) for each in constants]
    whole = (text.length - text.length % 8) / 8
    for block in range(3):
        count = min(8, _PLACES - 8 * block)
        word = text.word(8 * block, count) + (whole == block) * text.length * 2**56
        new = [*state[:3], xor(state[3], word)]
        new = _rounds(words, new, 2)
        new[0] = xor(new[0], word)
        state = [_either(whole >= block, *pair) for pair in zip(new, state)]
    state[2] = xor(state[2], zero + 255)
    one, two, three, four = _rounds(words, state, 4)
    return xor(xor(one, two), xor(three, four))


def _rounds(words: _Words, state: List[Any], count: int) -> List[Any]:
    a, b, c, d = state
    left = lambda x, bits: words.rotated(x, 64 - bits)  # noqa: E731
    for _ in range(count):
        a, c = a + b, c + d
        b, d = words.xor(left(b, 13), a), words.xor(left(d, 16), c)
        a, c = left(a, 32) + d, c + b
        b, d = words.xor(left(b, 17), c), words.xor(left(d, 21), a)
        c = left(c, 32)
    return [a, b, c, d]


def hash_numbers(
    F: Any, x: Any, *constants: Any, bins: int, salted: bool, mask: Optional[int] = None
) -> Any:
    """Return the bin of each whole number, by the hash of its decimal digits.

    Parameters
    ----------
    *constants
        The :func:`hash_constants`.
    bins : int
        At most 2**62.
    salted : bool
        Whether the hash is SipHash, and not FarmHash.
    mask : int, optional
        A number for the bin 0, which is for it alone.
    """
    tens, sixteens, table, own = constants
    column = F.reshape(F.cast(x, dtype="int64"), shape=(-1, 1))
    words, text = _Words(F, sixteens, table), _written(F, column, tens)
    count = len(_SIP if salted else _FARM)
    numbers = [F.slice_axis(own, axis=0, begin=i, end=i + 1) for i in range(count)]
    hashed = (_sip if salted else _farm)(words, text, numbers)
    special = mask is not None and bins > 1
    y = words.remainder(hashed, bins - special)
    if special:
        y = (y + 1) * (column != mask)
    return F.reshape_like(y, x)


def cross_numbers(F: Any, x: Any, *arrays: Any, bins: int) -> Any:
    """Return the bin of each combination of numbers in arrays of the same shape.

    The constants, which follow the arrays, are the :func:`cross_constants`.
    """
    *others, sixteens, table, own = arrays
    words = _Words(F, sixteens, table)
    columns = [F.reshape(F.cast(each, dtype="int64"), shape=(-1, 1)) for each in (x, *others)]
    numbers = (F.slice_axis(own, axis=0, begin=i, end=i + 1) for i in range(2))
    factor, y = (F.broadcast_add(columns[0] * 0, each) for each in numbers)

    def mixed(z):
        return words.xor(z, words.right(z, 47))

    for column in columns:
        y = words.xor(words.xor(y, factor), mixed(column * factor) * factor)
        y = mixed(mixed(y * factor) * factor)
    return F.reshape_like(words.remainder(y, bins), x)
