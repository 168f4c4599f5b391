#!/usr/bin/env python3
"""clang-tidy on every file of src/ and apps/, or on the files given; shows what it finds, and fails if that is anything.

Every check walks through all headers of a file, and Eigen's are far longer than ours. So files are checked together, as
one file that includes them. Files whose unnamed namespaces have a name in common go into different batches, and a batch
that still does not compile is checked file by file.

  scripts/lint.py FOLDER [file...]    FOLDER is a build folder configured with -DGAUSSMITH_PRECOMPILE=OFF, since clang
                                      cannot read the precompiled headers of gcc
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

from batches import batches_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
BATCH_SIZE = 16


def flags_of(files, commands):
    """Macros, include folders and other flags of all these files, each once, in their order."""
    flags = {}
    for path in files:
        words = iter(shlex.split(commands[path])[1:])
        for word in words:
            if word == "-isystem":
                flags[(word, next(words))] = True
            elif word.startswith(("-D", "-I", "-O", "-W", "-f", "-m", "-std=")):
                flags[(word,)] = True
    return [word for group in flags for word in group]


def tidy(path, *arguments):
    command = ["clang-tidy", "--quiet", path, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return "" if done.returncode == 0 else done.stdout


def lint(files, together, folder, commands):
    """The findings in these files; empty if there are none."""
    together.write_text("".join(f'#include "{path}"\n' for path in files))
    findings = tidy(together, "--", *flags_of(files, commands))
    if "clang-diagnostic-error" in findings and len(files) > 1:
        print(f"lint: {len(files)} files do not compile together, so one by one: {findings}", flush=True)
        findings = "".join(tidy(path, "-p", folder) for path in files)
    return findings


def main():
    if len(sys.argv) < 2:
        sys.exit("lint: the build folder is missing; usage: scripts/lint.py FOLDER [file...]")
    folder = pathlib.Path(sys.argv[1]).resolve()
    try:
        entries = json.loads((folder / "compile_commands.json").read_text())
    except OSError as error:
        sys.exit(f"lint: no compile commands in {folder} ({error.strerror}); configure it with cmake first")
    commands = {pathlib.Path(entry["file"]).resolve(): entry["command"] for entry in entries}
    files = [pathlib.Path(name).resolve() for name in sys.argv[2:]]
    files = files or [path for path in commands if path.is_relative_to(ROOT / "src") or path.is_relative_to(ROOT / "apps")]
    for path in files:
        if path not in commands:
            sys.exit(f"lint: {path} is not compiled in {folder}; accepted: the files that compile_commands.json names there")

    (folder / "lint").mkdir(exist_ok=True)
    batches = batches_of(files, BATCH_SIZE)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [
            pool.submit(lint, batch, folder / "lint" / f"batch_{number}.cpp", folder, commands)
            for number, batch in enumerate(batches)
        ]
        failed = 0
        for job in concurrent.futures.as_completed(jobs):
            if job.result():
                failed += 1
                print(job.result(), flush=True)
    print(f"lint: {len(files)} files in {len(batches)} batches, {failed} with findings")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
