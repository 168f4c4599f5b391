"""The numbers of the tool and those of the package, compared as texts: every digit.

    python3 python/tests/same_bits.py build/bin/gaussmith FOLDER...

takes folders of JSON files with a "problem" and "checks" (a "method" and its "options" each), and prints what differs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gaussmith as gs
from gaussmith._files import result_json


def by_the_tool(tool: str | Path, problem: Path, method: str, options: Mapping[str, Any], words: list[str]) -> str:
    command = [str(tool), "fit", "--problem", str(problem), "--method", method, "--json", *words]
    for name, value in options.items():
        command += ["--set", f"{name}={value}"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.stdout or ran.stderr


def by_the_package(problem: Path, method: str, options: Mapping[str, Any], full: bool, threads: int) -> str:
    own = {name: str(value) for name, value in options.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.ConvergenceWarning)
        try:
            read = gs.read_problem(problem)
            fit = gs.infer(read.model, gs.make_method(method, own), threads=threads)
            return result_json(fit, read, full=full, seconds=0.0, threads=threads)
        except gs.InvalidInput as error:
            return f"gaussmith: error: {error}"


def comparable(text: str) -> str:
    """Without the seconds that it took, and without the scores of the training rows, which the tool adds."""
    if not text.lstrip().startswith("{"):
        return text.strip()
    fields = json.loads(text, parse_float=str)
    for name in ("seconds", "training"):
        fields.pop(name, None)
    return json.dumps(fields, indent=1, sort_keys=True)


def difference(tool: str | Path, problem: Path, method: str, options: Mapping[str, Any], threads: int = 0) -> str:
    """The first line that differs; empty where all are the same."""
    several = "latents" in json.loads(problem.read_text(encoding="utf-8"))["prior"]
    words = (["--full"] if several else []) + (["--threads", str(threads)] if threads else [])
    theirs = comparable(by_the_tool(tool, problem, method, options, words))
    mine = comparable(by_the_package(problem, method, options, several, threads))
    if theirs == mine:
        return ""
    pairs = zip(theirs.splitlines(), mine.splitlines())
    return next((f"tool: {a.strip()} package: {b.strip()}" for a, b in pairs if a != b), "one is longer")


def main() -> None:
    tool, *folders = sys.argv[1:]
    same, differ, problems = 0, 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        problem = Path(scratch) / "problem.json"
        for file in sorted(path for folder in folders for path in Path(folder).glob("*.json")):
            content = json.loads(file.read_text(encoding="utf-8"))
            if "problem" not in content:
                continue
            problems += 1
            problem.write_text(json.dumps(content["problem"]), encoding="utf-8")
            for check in content["checks"]:
                found = difference(tool, problem, check["method"], check["options"])
                same, differ = (same, differ + 1) if found else (same + 1, differ)
                if found:
                    print(f"{file.stem} {check['method']} {check['options']}: {found[:300]}", flush=True)
    print(f"{same} fits of {problems} problems have the same bits, {differ} differ")
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
