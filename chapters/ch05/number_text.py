"""Numbers as text and back, by the rules of JavaScript, which most schemas have in mind.

Python's own `float()` and `int()` take `1_000`, `inf` and the digits of every script, and refuse
`0x10`; its `str()` writes `5.0` where JavaScript writes `5`.
"""

from __future__ import annotations

import math
import re

SPACE = " \t\n\v\f\r\u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    chr(code) for code in range(0x2000, 0x200B)
)
DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
OTHER_BASE = re.compile(r"0(?:[xX][0-9a-fA-F]+|[oO][0-7]+|[bB][01]+)")
EXACT = 2**53  # above it, two whole numbers may be one float


def number_of(text: str) -> int | float | None:
    """The number that `text` is, or None: " 5 " is 5, "1e3" is 1000, "" and "NaN" are none."""
    text = text.strip(SPACE)
    try:
        if OTHER_BASE.fullmatch(text):
            whole = int(text, 0)
            return whole if math.isfinite(float(whole)) else None
        if not DECIMAL.fullmatch(text):
            return None
        number = float(text)
    except OverflowError:
        return None
    if not math.isfinite(number):
        return None
    if number.is_integer() and abs(number) < EXACT:
        return int(number)
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,400}", text) else number


def text_of(number: int | float) -> str:
    """`number` as JavaScript writes it: 5.0 is "5", 1e21 is "1e+21", 1e-7 is "1e-7"."""
    if isinstance(number, int):
        return str(number)
    if not math.isfinite(number):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(number, "NaN")
    if number.is_integer() and abs(number) < 1e21:
        return str(int(number))
    written = repr(number)
    if "e" in written:
        digits, _, exponent = written.partition("e")
        power = int(exponent)
        if -7 < power < 0:
            return f"{number:.{len(digits.replace('.', '').lstrip('-')) - 1 - power}f}"
        return f"{digits}e{power:+d}"
    return written
