"""What callers hand over, looked at before any work: one line says what was found and what would be accepted."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from . import _core


#: What the library has room for.
most_whole = 2**31 - 1


def whole(name: str, value: Any, least: int = 0, most: int | None = most_whole) -> int:
    """An integer of Python or numpy."""
    try:
        found = operator.index(value)
    except TypeError:
        raise _core.InvalidOption(f"{name}: expected a whole number, found {value!r}") from None
    if found < least:
        raise _core.InvalidOption(f"{name}: expected {least} or more, found {found}")
    if most is not None and found > most:
        raise _core.InvalidOption(f"{name}: expected {most} or less, found {found}")
    return found


def to_seed(seed: Any) -> int:
    """A whole number, 0 or more, of which the last 64 bits count."""
    return whole("seed", seed, most=None) % 2**64


def threads_and_seed(threads: Any, seed: Any) -> tuple[int, int]:
    """0 threads are all cores."""
    if isinstance(threads, int) and threads < 0:
        raise _core.InvalidOption(f"threads: expected 0 (all cores) or more, found {threads}")
    return min(whole("threads", threads, most=None), most_whole), to_seed(seed)


def points(inputs: Any, design: Any) -> None:
    if inputs is None and design is None:
        raise _core.InvalidOption("predict: expected inputs=... (of a process) or design=... (rows of a linear model), found neither")


def instance(name: str, value: Any, kind: type[Any], maker: str) -> None:
    if not isinstance(value, kind):
        raise _core.InvalidModel(f"{name}: expected {maker}, found {type(value).__name__}")


def method(value: _core.Method | str) -> _core.Method:
    if isinstance(value, str):
        return _core.make_method(value)
    if isinstance(value, _core.Method):
        return value
    raise _core.InvalidOption(f'method: expected a name such as "ep", or gs.Ep(...), found {value!r}')


def names(name: str, values: str | Sequence[str] | None) -> list[str]:
    """Names, one of them as a text."""
    if values is None:
        return []
    if isinstance(values, str):
        return [values]
    if isinstance(values, Mapping) or not hasattr(values, "__iter__"):
        raise _core.InvalidOption(f"{name}: expected names, found {values!r}")
    return [str(value) for value in values]


def mapping(name: str, values: Mapping[str, Any] | None) -> dict[str, Any]:
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise _core.InvalidOption(f"{name}: expected a mapping, found {values!r}")
    return {str(key): value for key, value in values.items()}
