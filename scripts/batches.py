#!/usr/bin/env python3
"""Groups source files that can be compiled together, as one file that includes them: half the time of compiling each.

Files whose unnamed namespaces have a name in common go into different batches.

  scripts/batches.py SIZE FILE...    prints the number of each file's batch and the file, one a line
"""

import pathlib
import re
import sys

UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.MULTILINE | re.DOTALL)
# What starts in the first column there: types, aliases, functions and constants. Members are indented; a name taken from
# another namespace may be taken twice.
DECLARED = re.compile(
    r"^(?:class|struct|enum|enum class) (\w+)|^(?:\[\[\w+\]\] )?(?!using [\w:]+;)[\w:][^\n(={;]*?[ *&](\w+)(?=\(| =|\{|\[|;)",
    re.MULTILINE,
)


def own_names(path):
    """The names in a file's unnamed namespaces."""
    found = DECLARED.findall("".join(UNNAMED.findall(path.read_text())))
    return {name for either in found for name in either if name}


def batches_of(files, size):
    """The files, in batches of at most `size` in which no file has a name of another."""
    batches = []
    for path in files:
        names = own_names(path)
        for batch, taken in batches:
            if len(batch) < size and not names & taken:
                break
        else:
            batch, taken = [], set()
            batches.append((batch, taken))
        batch.append(path)
        taken |= names
    return [batch for batch, taken in batches]


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("batches: usage: scripts/batches.py SIZE FILE...")
    for number, batch in enumerate(batches_of([pathlib.Path(name) for name in sys.argv[2:]], int(sys.argv[1]))):
        for path in batch:
            print(number, path)
