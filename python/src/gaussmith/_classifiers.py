"""Classifiers for scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d, validate_data

from ._estimator_base import FloatArray, GaussmithEstimator, seed_of
from ._linear import LinearMixin
from ._process import ProcessMixin
from ._tables import _texts


class ClassifierBase(ClassifierMixin, GaussmithEstimator):  # type: ignore[misc]
    """Labels, probabilities and draws."""

    _several_classes = True

    def _likelihood(self, y: Any) -> str:
        link = "logit" if self.likelihood is None else self.likelihood
        if link not in ("logit", "probit"):
            return str(link)
        return f"bernoulli-{link}" if len(self.classes_) == 2 else f"multinomial-{link}"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Any:
        """Fits the model.

        `X` is an array, a sparse matrix (linear models) or a frame, whose columns of texts and categories become 0/1
        columns; `y` has two labels or more. `offset` is added to the latent function: one number a row, or the name
        of a column of X.
        """
        if y is None:
            validate_data(self, X, y)
        features = self._features(X, reset=True)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        check_consistent_length(X, y)
        weights = self._weights(sample_weight, len(y))
        classes = np.unique(y if weights is None else y[weights > 0])
        if len(classes) < 2:
            raise ValueError(f"{type(self).__name__} needs at least two classes; the data have one class: {classes.tolist()}")
        if len(classes) > 2 and not self._several_classes:
            raise ValueError(f"Only binary classification is supported. The labels are {classes.tolist()[:10]}.")
        self.classes_ = classes
        self._sparse_rows = hasattr(features, "tocsr")
        self._fit(features, self._labels(features, y), weights, {"offset": offset})
        place = {text: at for at, text in enumerate(self._fitted.saved.coding["classes"])}
        texts = self._label_texts(self._sparse_rows)
        self._places = np.array([place[text] for text in texts])
        return self

    def _label_texts(self, sparse: bool) -> list[str]:
        if sparse:
            return [str(at) for at in range(len(self.classes_))]
        return _texts(self.classes_.tolist())

    def _labels(self, features: Any, y: npt.NDArray[Any]) -> Any:
        """Labels under their own names; places among them beside sparse features, which have numbers for labels."""
        places = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        if hasattr(features, "tocsr"):
            return places.astype(np.float64)
        texts = self._label_texts(False)
        return [texts[at] for at in places]

    def _shared(self) -> dict[str, Any]:
        options: dict[str, Any] = {"latent_covariance": self.latent_covariance or ""}
        if self._likelihood(None).startswith("multinomial"):
            options["classes"] = self._label_texts(self._sparse_rows)
        return options

    def predict_proba(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Probabilities of the classes, in the order of `classes_`, averaged over the posterior."""
        return self._probabilities(self._table_prediction(X, {"offset": offset}))

    def _probabilities(self, prediction: Any) -> FloatArray:
        found: FloatArray = prediction.probability
        if found.ndim == 1:
            found = np.column_stack([1.0 - found, found])
        return found[:, self._places]

    def predict(self, X: Any, *, offset: Any = None) -> npt.NDArray[Any]:
        """The likeliest class of every row."""
        proba = self.predict_proba(X, offset=offset)
        # Of equally likely classes the first in the order of the library, as the tool has it.
        first = np.argmax(proba[:, np.argsort(self._places)], axis=1)
        labels: npt.NDArray[Any] = self.classes_[np.argsort(self._places)[first]]
        return labels

    def predict_log_proba(self, X: Any, *, offset: Any = None) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, offset=offset))

    def predict_latent(self, X: Any, return_std: bool = False, *, offset: Any = None) -> Any:
        """Mean (and sd) of the latent function: positive for the second class; of several classes a column each."""
        return self._latent(self._table_prediction(X, {"offset": offset}), return_std)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0, *, offset: Any = None) -> npt.NDArray[Any]:
        """Draws of labels, independent between rows: rows x n_samples."""
        draws = self._table_prediction(X, {"offset": offset}).sample(n_samples, seed_of(random_state))
        places = np.where(draws > 0, 1, 0) if len(self.classes_) == 2 and self._two_signs else draws.astype(int)
        labels: npt.NDArray[Any] = self.classes_[np.argsort(self._places)[places]]
        return labels

    @property
    def _two_signs(self) -> bool:
        return str(self._fitted.saved.likelihood.name).startswith("bernoulli")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.classifier_tags.multi_class = self._several_classes
        return tags


class GaussianProcessClassifier(ProcessMixin, ClassifierBase):
    """Classification by a latent Gaussian process; of several classes one for each.

    The kernel's parameters are learned by maximising the evidence under weak hyperpriors around values from the scale
    of the data, so that raw tables work as they are. `kernel` is a text as on the command line ("se-ard",
    "matern32(age)+linear") or a :class:`gaussmith.Kernel`, whose values are then where learning starts.

    Parameters
    ----------
    kernel : text or Kernel
    likelihood : "logit" (None), "probit" or the name of a likelihood of classes
    method : "laplace", "kl", "ep", "vb", ... or a method object; None takes the default of the tool
    formula : additive terms instead of a kernel: "age + (1|ward) + gp(time)"
    standardize : numeric features to mean 0 and sd 1
    categorical : columns of numbers that are categories
    drop_missing : leave rows with missing cells in X out of the fit instead of refusing them
    latent_covariance : of several classes, how their functions are related; "" for independent ones
    inducing : how many inputs the rows are seen through, for many rows (two classes, "kl"); None is all of them
    parameters : starting values, or fixed ones, by name: {"kernel.lengthscale": 2}
    learn, integrate : maximise the evidence; also average over the parameters around its maximum
    hyperpriors : "weak", a mapping of names to (median, sd), or None
    fixed, bounds, restarts, max_evaluations, tolerance : of learning
    form : of the Gaussian core
    random_state : seed of restarts and draws; None is 0
    n_jobs : threads; None is 1, -1 all cores
    progress : True for a bar, or a function that is given every iteration

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as everywhere in scikit-learn
    kernel_ : the kernel with its learned parameters
    log_evidence_, evidence_kind_ : of the fit; log_marginal_likelihood_value_ is another name
    parameters_, report_, learning_report_, method_, converged_ : what the fit found and how
    loo_ : leave-one-out predictions
    """


class BayesianLinearClassifier(LinearMixin, ClassifierBase):
    """Logistic or probit regression with the posterior of its coefficients; of several classes coefficients of each.

    Coefficients are independent with priors from the scale of the data, N(0, (prior_scale / sd of the column)^2), and
    `prior_scale` is learned under its hyperprior where `hyperpriors` gives one. The other parameters are those of
    :class:`GaussianProcessClassifier`.

    Attributes
    ----------
    coef_, intercept_ : means on the scale of the columns, as LogisticRegression has them
    coef_std_, coefficients_ : their standard deviations; all of it by name with intervals
    """

    _prior = "linear"
