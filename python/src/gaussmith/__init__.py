"""Deterministic Bayesian inference in latent Gaussian models.

    import gaussmith as gs

    model = gs.Model(gs.GaussianProcess(x, "se"), gs.observe("poisson", y, exposure=e))
    fit = gs.learn(model, "laplace")
    print(fit)
    fit.predict(x_new, exposure=1.0).mean

The names are those of the C++ library, of problem files and of the command line.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import (
    Additive,
    Ais,
    DenseGaussian,
    Diagonal,
    Ep,
    Ess,
    Exact,
    FixedEffects,
    GaussianProcess,
    IntrinsicField,
    InvalidFile,
    InvalidFormula,
    InvalidInput,
    InvalidModel,
    InvalidOption,
    Is,
    Isotropic,
    Kernel,
    Kl,
    Laplace,
    Latents,
    MachineError,
    Method,
    Model,
    NetworkEp,
    NoGaussian,
    Nuts,
    Operator,
    RandomEffects,
    Sites,
    SparsePrecision,
    Vb,
    Vmf,
    __version__,
    convolution,
    finite_differences,
    from_matrix,
    kernel,
    kernel_catalogue,
    likelihood_catalogue,
    make_method,
    method_catalogue,
    network_options,
    parse_kernel,
    stacked,
    subsampled_fourier,
    wavelets,
)
from ._active import ActivePoint, ActiveRun, learn_actively
from ._files import Problem, SavedModel, load, read_problem
from ._compare import Comparison, calibrate, compare
from ._design import DesignSession, Proposal, random_rows, read_pgm, write_png
from ._inference import Integrated, Learned, Posterior, infer, learn
from ._network import NetworkModel, NetworkPosterior, NetworkStart, Relevance
from ._prediction import Prediction
from ._reports import ConvergenceWarning, Iteration, LearnReport, Report
from ._sites import CustomJointLikelihood, CustomLikelihood, PiecewiseQuadratic, observe
from ._tables import TableFit, TablePrediction, fit_table
from ._trust import Checks, Marginal, Marginals, TrustCard

__all__ = [
    "ActivePoint",
    "ActiveRun",
    "Additive",
    "Ais",
    "Checks",
    "Comparison",
    "ConvergenceWarning",
    "CustomJointLikelihood",
    "CustomLikelihood",
    "DenseGaussian",
    "DesignSession",
    "Diagonal",
    "Ep",
    "Ess",
    "Exact",
    "FixedEffects",
    "GaussianProcess",
    "Integrated",
    "IntrinsicField",
    "InvalidFile",
    "InvalidFormula",
    "InvalidInput",
    "InvalidModel",
    "InvalidOption",
    "Is",
    "Isotropic",
    "Iteration",
    "Kernel",
    "Kl",
    "Laplace",
    "Latents",
    "LearnReport",
    "Learned",
    "MachineError",
    "Marginal",
    "Marginals",
    "Method",
    "Model",
    "NetworkEp",
    "NetworkModel",
    "NetworkPosterior",
    "NetworkStart",
    "NoGaussian",
    "Nuts",
    "Operator",
    "PiecewiseQuadratic",
    "Posterior",
    "Prediction",
    "Problem",
    "Proposal",
    "RandomEffects",
    "Relevance",
    "Report",
    "SavedModel",
    "Sites",
    "SparsePrecision",
    "TableFit",
    "TablePrediction",
    "TrustCard",
    "Vb",
    "Vmf",
    "__version__",
    "calibrate",
    "compare",
    "convolution",
    "finite_differences",
    "fit_table",
    "from_matrix",
    "infer",
    "kernel",
    "kernel_catalogue",
    "learn",
    "learn_actively",
    "likelihood_catalogue",
    "load",
    "make_method",
    "method_catalogue",
    "network_options",
    "observe",
    "parse_kernel",
    "random_rows",
    "read_pgm",
    "read_problem",
    "stacked",
    "subsampled_fourier",
    "wavelets",
    "write_png",
]

if TYPE_CHECKING:
    from .sklearn import (
        BayesianLinearClassifier,
        BayesianLinearRegressor,
        GaussianProcessClassifier,
        GaussianProcessRegressor,
        NetworkClassifier,
        NetworkRegressor,
        SparseLinearRegressor,
    )

_ESTIMATORS = (
    "BayesianLinearClassifier",
    "BayesianLinearRegressor",
    "GaussianProcessClassifier",
    "GaussianProcessRegressor",
    "NetworkClassifier",
    "NetworkRegressor",
    "SparseLinearRegressor",
)

_METHODS = tuple(info["name"].capitalize() for info in method_catalogue())


def __getattr__(name: str) -> Any:
    """Estimators import scikit-learn, which takes a second: at their first use, and only there. Methods that the library
    has and this file does not name are there, too."""
    if name in _ESTIMATORS:
        try:
            from . import sklearn
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] not in ("sklearn", "scipy"):
                raise
            cure = "pip install 'gaussmith[sklearn]'"
            raise ModuleNotFoundError(f"{name} needs scikit-learn: {cure}", name=missing.name) from None
        return getattr(sklearn, name)
    if name == "plot":
        return import_module(".plot", __name__)
    if name in _METHODS:
        return getattr(_core, name)
    raise AttributeError(f"module 'gaussmith' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_ESTIMATORS, *_METHODS, "plot"})
