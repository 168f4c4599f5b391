"""What pickles name: functions of Python, because those of the extension cannot be pickled."""

from __future__ import annotations

from typing import Any

from . import _core


def kernel(*state: Any) -> _core.Kernel:
    return _core._kernel_from_state(*state)


def sites(*state: Any) -> _core.Sites:
    return _core._sites_from_state(*state)


def method(name: str, options: dict[str, str]) -> _core.Method:
    return _core.make_method(name, options)


def network_ep(options: dict[str, str]) -> _core.NetworkEp:
    return _core.NetworkEp(**options)
