#!/usr/bin/env python3
"""Writes the tables of methods, likelihoods and kernels in README.md from the tool's own catalogues.

    scripts/update_readme.py --tool build/bin/gaussmith           rewrite what stands between the markers
    scripts/update_readme.py --tool build/bin/gaussmith --check   change nothing; exit code 1 when a table is out of date

A table stands between "<!-- begin generated: NAME -->" and "<!-- end generated: NAME -->".
"""

import argparse
import pathlib
import subprocess
import sys

CATALOGUES = ("methods", "likelihoods", "kernels")


def table(tool, catalogue):
    return subprocess.run([tool, catalogue, "--markdown"], check=True, capture_output=True, text=True).stdout.strip()


def replaced(text, catalogue, content):
    begin = f"<!-- begin generated: {catalogue} -->"
    end = f"<!-- end generated: {catalogue} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(end) < text.index(begin):
        sys.exit(f"update_readme: README.md must hold {begin} and then {end}, once each")
    return text[: text.index(begin) + len(begin)] + "\n" + content + "\n" + text[text.index(end) :]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default="build/bin/gaussmith", help="the tool whose catalogues are written")
    parser.add_argument("--check", action="store_true", help="only compare")
    arguments = parser.parse_args()

    readme = pathlib.Path(__file__).resolve().parent.parent / "README.md"
    before = readme.read_text(encoding="utf-8")
    after = before
    stale = []
    for catalogue in CATALOGUES:
        changed = replaced(after, catalogue, table(arguments.tool, catalogue))
        if changed != after:
            stale.append(catalogue)
        after = changed
    if not stale:
        return
    if arguments.check:
        sys.exit(f"README.md: out of date: {', '.join(stale)}; run scripts/update_readme.py --tool {arguments.tool}")
    readme.write_text(after, encoding="utf-8")
    print(f"README.md: rewrote {', '.join(stale)}")


if __name__ == "__main__":
    main()
