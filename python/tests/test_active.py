"""Labels bought from a pool: the tool's choices, labels on demand, runs that go on."""

from __future__ import annotations

import subprocess
from pathlib import Path

import gaussmith as gs
import numpy as np
import pytest

RNG = np.random.default_rng(2)
ROWS = np.round(RNG.normal(size=(300, 4)), 3)
LABELS = np.where(ROWS @ [1.0, -2.0, 0.5, 0.0] + 0.5 * RNG.normal(size=300) > 0, 1.0, -1.0)
POOL, TEST = (ROWS[:200], LABELS[:200]), (ROWS[200:], LABELS[200:])
FEW = {"initial": 10, "block": 4, "count": 30}


def test_the_tool_chooses_the_same_rows(tool: Path, tmp_path: Path) -> None:
    for name, (rows, labels) in (("pool", POOL), ("test", TEST)):
        lines = [f"{y:g} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row)) for row, y in zip(rows, labels)]
        (tmp_path / f"{name}.svm").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = ["--score", "information-gain", "--initial", "10", "--block", "4", "--labels", "30", "--selected", "s.csv"]
    subprocess.run([tool, "design", "active", "--train", "pool.svm", "--test", "test.svm", *words],
                   cwd=tmp_path, check=True, capture_output=True)  # fmt: skip
    theirs = np.genfromtxt(tmp_path / "s.csv", delimiter=",", names=True)
    mine = gs.learn_actively(*POOL, test=TEST, score="information-gain", **FEW)
    assert (mine.selected + 1).tolist() == theirs["line"].astype(int).tolist()
    assert mine.curve[-1].labels == 30 and mine.curve[-1].test_error < 0.15 and "30" in str(mine)


def test_labels_are_asked_for_when_they_are_bought() -> None:
    asked: list[int] = []

    def label(row: int) -> float:
        asked.append(row)
        return float(POOL[1][row])

    run = gs.learn_actively(POOL[0], label, **FEW)
    assert run.selected.tolist() == asked and len(set(asked)) == 30
    assert np.array_equal(run.labels, POOL[1][run.selected])
    part = gs.learn_actively(*POOL, **{**FEW, "count": 18})
    whole = gs.learn_actively(*POOL, **FEW, resume=part)
    assert np.array_equal(whole.selected, run.selected) and whole.curve[-1].labels == 30


def test_a_false_answer_stops_and_keeps_what_there_is() -> None:
    seen: list[int] = []

    def enough(step: gs.Iteration) -> bool:
        seen.append(step.number)
        return len(seen) < 3

    assert len(gs.learn_actively(*POOL, **FEW, progress=enough).selected) == seen[-1] == 18


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": LABELS[:5]}, "labels: expected 200 of them"),
        ({"labels": lambda row: 3}, "label 3; -1 and 1 are accepted"),
        ({"score": "best"}, "score"),
        ({"prior": "flat"}, "prior: expected gaussian or laplace"),
        ({"initial": 2.5}, "initial: expected a whole number"),
        ({"count": 10000}, "labels"),
        ({"method": "nope"}, "there is no method"),
        ({"test": (ROWS[:, :2], LABELS)}, "the pool has 4 columns"),
    ],
)
def test_a_mistake_is_one_error(change: dict[str, object], message: str) -> None:
    arguments = {"labels": POOL[1], **FEW, **change}
    with pytest.raises(ValueError, match=message):
        gs.learn_actively(POOL[0], **arguments)  # type: ignore[arg-type]
