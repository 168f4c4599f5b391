"""What pip builds the package with: scikit-build-core. Where that fails, one last line names what Debian could install."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scikit_build_core import build as core

DEPENDENCIES = Path(__file__).with_name("install_dependencies.sh")


def missing() -> list[str]:
    """Debian packages that the build would want; none where nobody can tell."""
    if not shutil.which("dpkg-query"):
        return []
    found = subprocess.run(["bash", str(DEPENDENCIES), "--missing"], capture_output=True, text=True, check=False)
    return found.stdout.split()


@contextmanager
def explained() -> Iterator[None]:
    try:
        yield
    except BaseException:
        packages = missing()
        if packages:
            print(f"gaussmith: Debian packages are missing; as root: apt-get install {' '.join(packages)}", file=sys.stderr, flush=True)
            # The reason is told: no traceback below it.
            raise SystemExit(1) from None
        raise


def build_wheel(*arguments: Any, **options: Any) -> str:
    with explained():
        return core.build_wheel(*arguments, **options)


def build_editable(*arguments: Any, **options: Any) -> str:
    with explained():
        return core.build_editable(*arguments, **options)


build_sdist = core.build_sdist
prepare_metadata_for_build_wheel = core.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = core.prepare_metadata_for_build_editable
get_requires_for_build_wheel = core.get_requires_for_build_wheel
get_requires_for_build_editable = core.get_requires_for_build_editable
get_requires_for_build_sdist = core.get_requires_for_build_sdist
