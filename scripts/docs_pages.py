#!/usr/bin/env python3
"""Gathers the pages of the site: docs_pages.py TARGET.

Pages keep the folders that they have in the repository, so that their links hold as they are. Links to folders become
links to a list of their pages, or programs; other files that pages link to are copied. Every script in examples/python is run, and
becomes a page of the gallery with its text, its picture, what it prints and its code.
"""

from __future__ import annotations

import ast
import io
import re
import runpy
import shutil
import sys
import warnings
from contextlib import redirect_stdout
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
# In the order of the gallery; scripts that are not named come after these.
ORDER = [
    "classifier",
    "counts",
    "robust_curve",
    "survival",
    "sparse_text",
    "custom_likelihood",
    "compare_methods",
    "from_sklearn",
]


def copied(path: Path, target: Path) -> None:
    copy = target / path.relative_to(ROOT)
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, copy)


def title_of(page: Path) -> str:
    if page.suffix != ".md":
        return page.name
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            return line[2:].strip()
    return page.stem


def list_of(folder: Path, target: Path) -> None:
    """A page that lists those of a folder, where it has none."""
    index = target / folder / "index.md"
    if index.exists() or (target / folder / "README.md").exists():
        return
    pages = sorted((ROOT / folder).glob("*.md"))
    if not pages:
        pages = sorted((ROOT / folder).glob("*.cpp"))
        for page in pages:
            copied(page, target)
    names = {"engines": "Methods", "reproduce": "Reproduced results", "examples": "Examples in C++"}
    lines = [f"# {names.get(folder.name, folder.name.capitalize())}", ""]
    lines += [f"- [{title_of(page)}]({page.name})" for page in pages]
    index.parent.mkdir(parents=True, exist_ok=True)
    index.write_text("\n".join(lines) + "\n", encoding="utf-8")


def gather(page: Path, target: Path) -> None:
    """Copies a page, and what it links to that is no page."""

    def linked(match: re.Match[str]) -> str:
        to = match[2]
        if "://" in to or to.startswith("mailto:"):
            return match[0]
        path = (page.parent / to).resolve()
        if not path.is_relative_to(ROOT) or not path.exists():
            raise SystemExit(f"docs_pages: {page.relative_to(ROOT)}: there is no {to}")
        if path == ROOT / "examples" / "python":
            up = "../" * len(page.parent.relative_to(ROOT).parts)
            return f"{match[1]}{up}gallery/index.md{match[4]}"
        if path.is_dir():
            list_of(path.relative_to(ROOT), target)
            return f"{match[1]}{to.rstrip('/')}/index.md{match[4]}"
        if path.suffix != ".md":
            copied(path, target)
        return match[0]

    made = target / page.relative_to(ROOT)
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(LINK.sub(linked, page.read_text(encoding="utf-8")), encoding="utf-8")


def run(script: Path, picture: Path) -> str:
    """Runs an example; its picture goes to a file, what it prints is returned."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.show = lambda: None  # type: ignore[assignment]
    printed = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(printed):
        warnings.simplefilter("error")
        runpy.run_path(str(script))
    plt.gcf().savefig(picture, dpi=110)
    plt.close("all")
    return printed.getvalue().strip()


def gallery(target: Path) -> None:
    folder = target / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    scripts = sorted(
        (ROOT / "examples" / "python").glob("*.py"),
        key=lambda path: (ORDER.index(path.stem) if path.stem in ORDER else len(ORDER), path.stem),
    )
    cards = []
    for script in scripts:
        source = script.read_text(encoding="utf-8")
        text = ast.get_docstring(ast.parse(source)) or script.stem
        title, _, story = text.partition("\n")
        code = source.split('"""\n', 2)[-1].strip() if source.startswith('"""') else source
        printed = run(script, folder / f"{script.stem}.png")
        page = [
            f"# {title}",
            story.strip(),
            f"[![{title}]({script.stem}.png)]({script.stem}.png)",
            f"```python title=\"examples/python/{script.name}\"\n{code}\n```",
            f"It prints\n\n```text\n{printed}\n```",
        ]
        (folder / f"{script.stem}.md").write_text("\n\n".join(page) + "\n", encoding="utf-8")
        cards.append(f'<a href="{script.stem}.html"><img src="{script.stem}.png" alt=""><strong>{title}</strong></a>')
        print(f"  {script.stem}", flush=True)
    index = [
        "# Gallery",
        "Worked examples on the data of the repository. Each is a script of `examples/python` that was run to make its page.",
        '<div class="gallery">\n' + "\n".join(cards) + "\n</div>",
    ]
    (folder / "index.md").write_text("\n\n".join(index) + "\n", encoding="utf-8")


def reference(target: Path) -> None:
    """The package, module by module, in its own words."""
    page = """# Python reference

## Models, inference, learning

::: gaussmith.infer
::: gaussmith.learn
::: gaussmith.observe
::: gaussmith.CustomLikelihood
::: gaussmith.CustomJointLikelihood
::: gaussmith.PiecewiseQuadratic
::: gaussmith.Posterior
::: gaussmith.Learned
::: gaussmith.Integrated
::: gaussmith.Prediction
::: gaussmith.NetworkModel
::: gaussmith.NetworkPosterior
::: gaussmith.NetworkStart
::: gaussmith.Relevance
::: gaussmith.DesignSession
::: gaussmith.Proposal
::: gaussmith.random_rows
::: gaussmith.read_pgm
::: gaussmith.write_png
::: gaussmith.learn_actively
::: gaussmith.ActiveRun
::: gaussmith.ActivePoint

## Trust and comparisons

::: gaussmith.TrustCard
::: gaussmith.Checks
::: gaussmith.Marginals
::: gaussmith.Marginal
::: gaussmith.compare
::: gaussmith.Comparison
::: gaussmith.calibrate

## Tables and files

::: gaussmith.fit_table
::: gaussmith.TableFit
::: gaussmith.TablePrediction
::: gaussmith.SavedModel
::: gaussmith.load
::: gaussmith.Problem
::: gaussmith.read_problem

## Estimators for scikit-learn

::: gaussmith.sklearn.GaussianProcessClassifier
::: gaussmith.sklearn.GaussianProcessRegressor
::: gaussmith.sklearn.BayesianLinearClassifier
::: gaussmith.sklearn.BayesianLinearRegressor
::: gaussmith.sklearn.SparseLinearRegressor
::: gaussmith.sklearn.NetworkClassifier
::: gaussmith.sklearn.NetworkRegressor

## Pictures

::: gaussmith.plot.curve
::: gaussmith.plot.class_map
::: gaussmith.plot.calibration
::: gaussmith.plot.coverage
::: gaussmith.plot.coefficients
::: gaussmith.plot.evidence
::: gaussmith.plot.leave_one_out
::: gaussmith.plot.relevance

## Reports

::: gaussmith.Report
::: gaussmith.LearnReport
::: gaussmith.Iteration
::: gaussmith.ConvergenceWarning

## Priors, kernels, methods

::: gaussmith._core
    options:
      show_root_heading: false
      members: [Model, Isotropic, Diagonal, DenseGaussian, GaussianProcess, NoGaussian, SparsePrecision, IntrinsicField, FixedEffects,
        RandomEffects, Additive, Latents, Sites, Kernel, kernel, parse_kernel, kernel_catalogue, likelihood_catalogue, Method, make_method,
        method_catalogue, Exact, Laplace, Ep, Kl, Vb, Vmf, NetworkEp, network_options, Is, Ais, Ess, Nuts, Operator, finite_differences, wavelets, convolution,
        subsampled_fourier, stacked, from_matrix, InvalidInput, InvalidModel, InvalidOption, InvalidFormula, InvalidFile, MachineError]
"""
    made = target / "reference" / "python.md"
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(page, encoding="utf-8")


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit("docs_pages: expected one argument, the folder to make")
    target = Path(sys.argv[1]).resolve()
    shutil.rmtree(target, ignore_errors=True)
    pages = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "data/README.md")]
    pages += sorted((ROOT / "docs").rglob("*.md"))
    for page in pages:
        gather(page, target)
    for folder in ("docs/engines", "docs/reproduce"):
        list_of(Path(folder), target)
    (target / "assets").mkdir(exist_ok=True)
    shutil.copyfile(ROOT / "docs" / "site.css", target / "assets" / "site.css")
    reference(target)
    gallery(target)


if __name__ == "__main__":
    main()
