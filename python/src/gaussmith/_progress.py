"""Progress: a bar of tqdm, or a function of the caller's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ._reports import Iteration

#: None: quiet. True: a bar. A function: it is given every iteration; False stops and keeps the result so far.
Progress = bool | None | Callable[[Iteration], Any]

_Told = Callable[..., Any]


@contextmanager
def started(progress: Progress, label: str) -> Iterator[_Told | None]:
    """What the extension calls after every step, as long as the run lasts."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        from tqdm.auto import tqdm

        with tqdm(desc=label, unit="step") as bar:

            def show(number: int, objective: float, residual: float, step: str, gap: float | None) -> None:
                bar.set_postfix(objective=f"{objective:.8g}", residual=f"{residual:.2g}", refresh=False)
                bar.update(1)

            yield show
    elif callable(progress):
        yield lambda *step: progress(Iteration(*step))
    else:
        raise TypeError(f"progress: expected True or a function, found {type(progress).__name__}")
