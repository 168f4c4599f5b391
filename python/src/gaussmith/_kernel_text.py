"""Kernel objects as the text that tables take, with their values as starting values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core


def _index_free(name: str) -> str:
    return name.split("[")[0]


def _written(kernel: _core.Kernel, names: Sequence[str], seen: Sequence[int], prefix: str, values: dict[str, Any]) -> str:
    columns = [seen[j] for j in kernel.columns] if kernel.columns else list(seen)
    if kernel.terms:
        sign = "*" if kernel.name == "product" else "+"
        parts = []
        for i, term in enumerate(kernel.terms):
            text = _written(term, names, columns, f"{prefix}terms[{i}].", values)
            # Sums in sums and products in products keep their brackets: parameters are called by their places in them.
            parts.append(f"({text})" if term.terms and (sign, term.name) != ("+", "product") else text)
        return sign.join(parts)
    own: dict[str, list[float]] = {}
    for name, value in kernel.parameters.items():
        own.setdefault(_index_free(name), []).append(value)
    values.update({prefix + name: numbers for name, numbers in own.items()})
    by_column = any(len(numbers) > 1 for numbers in own.values())
    text = kernel.name + ("-ard" if by_column else "")
    # Of all columns only one with numbers for each of them minds their order.
    if (columns if by_column else sorted(columns)) != list(range(len(names))):
        text += "(" + ", ".join(f"`{names[j]}`" for j in columns) + ")"
    return text


def kernel_text(kernel: Any, names: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The text of a kernel over the columns of these names, and the values of its parameters."""
    if isinstance(kernel, str):
        return kernel, {}
    if not isinstance(kernel, _core.Kernel):
        raise _core.InvalidOption(f'kernel: expected a text such as "se-ard" or a Kernel, found {type(kernel).__name__}')
    values: dict[str, Any] = {}
    return _written(kernel, names, range(len(names)), "kernel.", values), values
