"""Numbers that know how far another correct evaluation may be off.

A formula that is written with the operators of Python and the functions of this module works on plain arrays and gives
the values alone, or on `Rounded` arrays and gives each element with a bound of its deviation.

The bound holds for every evaluation with the formula's order of operations, in which each operation rounds to nearest
or, contracted with the next into a fused multiply-add, does not round at all. By induction: let x and y be off by at
most dx and dy. Without rounding, the result of an operation is then off by what dx and dy make of it (`dx + dy` for a
sum, `|x| dy + |y| dx + dx dy` for a product, and so on). Rounding, or its absence, adds at most half a unit in the last
place on either side, so at most `2**-52` of the result's magnitude together; underflow adds `TINY`. A comparison that
deviations of this size can turn allows either of its results.
"""

# Operators need no docstrings.
# ruff: noqa: D105

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Value = Any
"""A plain array or number, or a `Rounded` one: formulas do not tell them apart."""

ULP = 2.0**-52
"""What two roundings of a result of magnitude 1 may differ by."""

_ROUNDING = ULP * (1.0 + 2.0**-20)  # makes up for the rounding of the bounds themselves
TINY = 2.0**-1070
"""What underflow may add."""


@dataclass(frozen=True)
class Comparison:
    """Which elements fulfil a condition, and for which of them rounding may decide otherwise."""

    holds: NDArray[np.bool_]
    doubtful: NDArray[np.bool_]


class Rounded:
    """Values and how much each may be off."""

    __array_ufunc__ = None  # numpy leaves operators with a `Rounded` operand to this class
    __slots__ = ("error", "value")

    def __init__(self, value: Any, error: Any = 0.0) -> None:
        """Arrays or numbers. Without an error they are what everybody agrees upon, such as a kernel's initial data."""
        self.value = value
        self.error = error

    def __getitem__(self, part: Any) -> "Rounded":
        """A part of the elements."""
        return Rounded(self.value[part], self.error[part] if isinstance(self.error, np.ndarray) else self.error)

    def __neg__(self) -> "Rounded":
        return Rounded(-self.value, self.error)

    def __abs__(self) -> "Rounded":
        return Rounded(abs(self.value), self.error)

    def __add__(self, other: Value) -> "Rounded":
        y = rounded(other)
        return _result(self.value + y.value, self.error + y.error)

    def __radd__(self, other: Value) -> "Rounded":
        return rounded(other) + self

    def __sub__(self, other: Value) -> "Rounded":
        y = rounded(other)
        return _result(self.value - y.value, self.error + y.error)

    def __rsub__(self, other: Value) -> "Rounded":
        return rounded(other) - self

    def __mul__(self, other: Value) -> "Rounded":
        y = rounded(other)
        return _result(self.value * y.value, abs(self.value) * y.error + (abs(y.value) + y.error) * self.error)

    def __rmul__(self, other: Value) -> "Rounded":
        return rounded(other) * self

    def __truediv__(self, other: Value) -> "Rounded":
        y = rounded(other)
        value = self.value / y.value
        room = abs(y.value) - y.error  # what the divisor's magnitude is at least
        error = np.where(room > 0.0, (self.error + abs(value) * y.error) / np.where(room > 0.0, room, 1.0), np.inf)
        return _result(value, error)

    def __rtruediv__(self, other: Value) -> "Rounded":
        return rounded(other) / self

    def __lt__(self, other: Value) -> Comparison:
        return self._compare(np.less, rounded(other))

    def __le__(self, other: Value) -> Comparison:
        return self._compare(np.less_equal, rounded(other))

    def __gt__(self, other: Value) -> Comparison:
        return self._compare(np.greater, rounded(other))

    def __ge__(self, other: Value) -> Comparison:
        return self._compare(np.greater_equal, rounded(other))

    def _compare(self, relation: np.ufunc, other: "Rounded") -> Comparison:
        margin = self.error + other.error
        near = (abs(self.value - other.value) <= margin) & (margin > 0.0)
        return Comparison(relation(self.value, other.value), np.asarray(near))


def rounded(number: Value) -> Rounded:
    """A number as a `Rounded` one."""
    return number if isinstance(number, Rounded) else Rounded(number)


def _result(value: Any, passed_on: Any) -> Rounded:
    """Result of an operation whose operands' errors alone make `passed_on`."""
    return Rounded(value, passed_on + (abs(value) + passed_on) * _ROUNDING + TINY)


def where(condition: Value, if_true: Value, if_false: Value) -> Value:
    """Element by element one of two values; both are allowed, if rounding may decide which."""
    if not any(isinstance(each, Rounded | Comparison) for each in (condition, if_true, if_false)):
        return np.where(condition, if_true, if_false)
    if not isinstance(condition, Comparison):
        condition = Comparison(np.asarray(condition), np.asarray(False))
    a, b = rounded(if_true), rounded(if_false)
    error = np.where(condition.holds, a.error, b.error)
    if condition.doubtful.any():
        either = np.maximum(a.error, b.error) + abs(a.value - b.value)
        error = np.where(condition.doubtful, either, error)
    return Rounded(np.where(condition.holds, a.value, b.value), error)


def square_root(x: Value) -> Value:
    """Square root, and 0 of what is negative."""
    if not isinstance(x, Rounded):
        return np.sqrt(np.maximum(x, 0.0))
    value = np.sqrt(np.maximum(x.value, 0.0))
    least = np.sqrt(np.maximum(x.value - x.error, 0.0))
    both = value + least
    # |sqrt(x') - sqrt(x)| = |x' - x| / (sqrt(x') + sqrt(x)), and never more than the root of the difference.
    passed_on = np.where(both > 0.0, x.error / np.where(both > 0.0, both, 1.0), np.sqrt(x.error))
    return _result(value, np.minimum(passed_on, np.sqrt(x.error)))


def exponential(x: Value) -> Value:
    """Exponential function, for which every library has its own implementation, 2 units in the last place off."""
    if not isinstance(x, Rounded):
        return np.exp(x)
    value = np.exp(x.value)
    return _result(value, value * (np.expm1(x.error) + 4.0 * ULP))
