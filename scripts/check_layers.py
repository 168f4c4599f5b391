#!/usr/bin/env python3
"""Shows every include that goes against the layering, and fails if there is one.

The allowed arrows are those of src/CMakeLists.txt: gaussmith_layer(model BELOW sites kernels) lets src/model include
src/sites, src/kernels and whatever lies below them. Beyond that:
  include/gaussmith/   only gaussmith/ headers, so that the installed headers stand alone;
  apps/, examples/     only gaussmith/ headers and files beside the one that includes them;
  anyone               may include gaussmith/ headers.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
LAYER = re.compile(r"^gaussmith_layer\((\w+)(?:\s+BELOW((?:\s+[a-z_]+)+))?", re.MULTILINE)


def layers_below():
    """{layer: set of the layers it may include}, closed over the arrows."""
    below = {}
    for name, arrows in LAYER.findall((ROOT / "src/CMakeLists.txt").read_text()):
        below[name] = set()
        for arrow in arrows.split():
            if arrow not in below:
                sys.exit(f"src/CMakeLists.txt: layer '{name}' stands on '{arrow}', which is not listed above it")
            below[name] |= {arrow} | below[arrow]
    return below


def includes(path):
    """(line number, quoted include) of a file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        found = INCLUDE.match(line)
        if found:
            yield number, found.group(1)


def cpp_files(folder):
    return sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in (".hpp", ".cpp", ".h", ".inc"))


def complaints():
    below = layers_below()
    for path in cpp_files("src"):
        layer = path.relative_to(ROOT / "src").parts[0]
        for number, name in includes(path):
            first = name.split("/")[0]
            if first == "gaussmith" or first == layer:
                continue
            if layer not in below:
                yield path, number, f"folder src/{layer} is not a layer of src/CMakeLists.txt"
            elif first in below and first not in below[layer]:
                accepted = ", ".join(sorted(below[layer])) or "no other layer"
                yield path, number, f'"{name}" is not below src/{layer}, which may include {accepted}'
            elif first not in below:
                yield path, number, f'"{name}" names no layer; write "layer/file.hpp" or "gaussmith/file.hpp"'
    for path in cpp_files("include"):
        for number, name in includes(path):
            if not name.startswith("gaussmith/"):
                yield path, number, f'"{name}" is not a public header'
    for folder in ("apps", "examples"):
        for path in cpp_files(folder):
            for number, name in includes(path):
                if not name.startswith("gaussmith/") and not (path.parent / name).is_file():
                    yield path, number, f'"{name}" is neither a public header nor a file beside this one'


def main():
    bad = list(complaints())
    for path, number, text in bad:
        print(f"{path.relative_to(ROOT)}:{number}: {text}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
