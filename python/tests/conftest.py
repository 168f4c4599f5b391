"""What several test files need."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def interrupts() -> Iterator[None]:
    """Ctrl-C is heard, also where the tests run in the background of a shell, which has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def data() -> Path:
    """The tables of the repository."""
    return ROOT / "data"


@pytest.fixture(scope="session")
def tool() -> Path:
    """The command-line tool that was built beside the extension."""
    path = Path(os.environ.get("GAUSSMITH_TOOL", ROOT / "build" / "bin" / "gaussmith"))
    if not path.exists():
        pytest.skip("the tool is not built")
    return path
