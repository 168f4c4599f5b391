"""What several test files need."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


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
