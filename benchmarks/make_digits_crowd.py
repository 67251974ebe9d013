"""Make ``digits_crowd.npz``: a crowd of classifiers answers scikit-learn's handwritten digits.

Run as ``python benchmarks/make_digits_crowd.py OUTPUT``; needs scikit-learn.

Every digit is answered by a system that did not train on it: the digits are split into five
stratified folds, and a system answers each fold after training on the other four, or on a
subsample of them where its name ends in ``-n50``, ``-n150`` or ``-n500``. The subsamples are
balanced over the ten classes, nested, and the same for all systems, so two systems with the same
training size differ only in how they learn. Seeds are fixed and everything runs in one thread: on
one machine the script writes the same bytes each time. With other versions of scikit-learn or of
the linear algebra below it, a few answers may differ.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn import ensemble, linear_model, naive_bayes
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Pixels = NDArray[np.float64]

SEED = 20240
FOLDS = 5
CLASSES = 10
ALL = 1437  # digits in the smallest of the five training parts (the others have 1437 or 1438)
SIZES = (50, 150, 500, ALL)
FAMILIES = {
    "adaboost": "adaboost",
    "bayes": "naive bayes",
    "boost": "gradient boosting",
    "centroid": "nearest centroid",
    "extratrees": "extra trees",
    "forest": "random forest",
    "gp": "gaussian process",
    "guess": "guessing",
    "histboost": "gradient boosting",
    "knn": "nearest neighbours",
    "lda": "discriminant analysis",
    "logreg": "logistic regression",
    "mlp": "multilayer perceptron",
    "passive": "passive aggressive",
    "perceptron": "perceptron",
    "qda": "discriminant analysis",
    "ridge": "ridge",
    "sgd": "stochastic gradient",
    "svm": "support vector machine",
    "tree": "decision tree",
}
"""Kind of classifier, by the first word of the name."""
STOP_EARLY = {"sgd-pass1", "mlp-32-pass10"}
"""Classifiers that are meant to stop before their fit has converged; from any other a warning is
an error."""


def viewing(view: Callable[[Pixels], Pixels], classifier: BaseEstimator) -> BaseEstimator:
    """Put the classifier behind a view of the 8 × 8 pixels."""
    return make_pipeline(FunctionTransformer(view), classifier)


def region(pixels: Pixels, rows: slice = slice(8), columns: slice = slice(8)) -> Pixels:
    """Only these rows and columns."""
    return pixels.reshape(-1, 8, 8)[:, rows, columns].reshape(len(pixels), -1)


def shrunken(pixels: Pixels, size: int) -> Pixels:
    """Shrink the picture to size × size: the mean of each block of pixels."""
    blocks = pixels.reshape(-1, size, 8 // size, size, 8 // size)
    means: Pixels = blocks.mean(axis=(2, 4))
    return means.reshape(len(pixels), -1)


def black_and_white(pixels: Pixels) -> Pixels:
    """1 where the pixel is at least half covered with ink, else 0."""
    return (pixels >= 0.5).astype(np.float64)


def profile(pixels: Pixels) -> Pixels:
    """Means of the eight rows and of the eight columns."""
    pictures = pixels.reshape(-1, 8, 8)
    return np.hstack([pictures.mean(axis=2), pictures.mean(axis=1)])


knn, forest = KNeighborsClassifier(3), ensemble.RandomForestClassifier(50)
logreg = linear_model.LogisticRegression(max_iter=2000)
top, bottom = partial(region, rows=slice(0, 4)), partial(region, rows=slice(4, 8))
left, right = partial(region, columns=slice(0, 4)), partial(region, columns=slice(4, 8))
middle = partial(region, rows=slice(2, 6), columns=slice(2, 6))

CROWD: dict[str, tuple[BaseEstimator, tuple[int, ...]]] = {
    # straight boundaries between digits
    "logreg-C1": (linear_model.LogisticRegression(max_iter=2000), SIZES),
    "logreg-C0.01": (linear_model.LogisticRegression(C=0.01), (50, ALL)),
    "logreg-C100": (linear_model.LogisticRegression(C=100, max_iter=5000), (ALL,)),
    "ridge-a1": (linear_model.RidgeClassifier(alpha=1.0), (50, ALL)),
    "ridge-a100": (linear_model.RidgeClassifier(alpha=100.0), (500,)),
    "lda": (LinearDiscriminantAnalysis(), (500,)),
    "lda-shrunk": (LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3), (50, ALL)),
    "perceptron": (linear_model.Perceptron(), (50, 150, ALL)),
    "passive-aggressive": (
        linear_model.SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0),
        (50, ALL),
    ),
    "sgd-hinge": (linear_model.SGDClassifier(), (ALL,)),
    "sgd-pass1": (linear_model.SGDClassifier(loss="log_loss", max_iter=1), (50, 150)),
    # support vector machines and Gaussian processes
    "svm-linear": (SVC(kernel="linear"), (50, 150, ALL)),
    "svm-rbf-C1": (SVC(), SIZES),
    "svm-rbf-C10": (SVC(C=10.0), (ALL,)),
    "svm-rbf-narrow": (SVC(gamma=1.0), (500,)),
    "svm-poly2": (SVC(kernel="poly", degree=2), (ALL,)),
    "svm-poly5": (SVC(kernel="poly", degree=5), (500,)),
    "svm-sigmoid": (SVC(kernel="sigmoid"), (150, ALL)),
    "gp-rbf": (GaussianProcessClassifier(RBF(2.0), optimizer=None), (50, 150, 500)),
    # comparison with remembered digits or with class means
    "knn-k1": (KNeighborsClassifier(1), SIZES),
    "knn-k3": (KNeighborsClassifier(3), (50, 150, ALL)),
    "knn-k15": (KNeighborsClassifier(15), (150, ALL)),
    "knn-k40": (KNeighborsClassifier(40), (150,)),
    "knn-k200": (KNeighborsClassifier(200), (500, ALL)),
    "knn-k5-manhattan": (KNeighborsClassifier(5, metric="manhattan"), (50, ALL)),
    "knn-k5-chebyshev": (KNeighborsClassifier(5, metric="chebyshev"), (50,)),
    "knn-k5-cosine": (KNeighborsClassifier(5, metric="cosine"), (150,)),
    "centroid": (NearestCentroid(), (50, 150, ALL)),
    "centroid-manhattan": (NearestCentroid(metric="manhattan"), (ALL,)),
    # single decision trees, from a stump to fully grown
    "tree-depth1": (DecisionTreeClassifier(max_depth=1), (ALL,)),
    "tree-depth2": (DecisionTreeClassifier(max_depth=2), (50, ALL)),
    "tree-depth3": (DecisionTreeClassifier(max_depth=3), (ALL,)),
    "tree-depth4": (DecisionTreeClassifier(max_depth=4), (50, ALL)),
    "tree-depth6": (DecisionTreeClassifier(max_depth=6), (ALL,)),
    "tree-full": (DecisionTreeClassifier(), SIZES),
    "tree-random": (DecisionTreeClassifier(splitter="random"), (150,)),
    "tree-entropy": (DecisionTreeClassifier(criterion="entropy"), (ALL,)),
    # forests and boosted trees
    "forest-3": (ensemble.RandomForestClassifier(3), (50, 150, ALL)),
    "forest-100": (ensemble.RandomForestClassifier(100), SIZES),
    "forest-20-depth3": (ensemble.RandomForestClassifier(20, max_depth=3), (ALL,)),
    "extratrees-2": (ensemble.ExtraTreesClassifier(2), (50, 500)),
    "extratrees-10": (ensemble.ExtraTreesClassifier(10), (150, ALL)),
    "extratrees-100": (ensemble.ExtraTreesClassifier(100), (ALL,)),
    "boost-stumps5": (ensemble.GradientBoostingClassifier(n_estimators=5, max_depth=1), (ALL,)),
    "boost-10": (ensemble.GradientBoostingClassifier(n_estimators=10), (150,)),
    "histboost-10": (ensemble.HistGradientBoostingClassifier(max_iter=10), (500, ALL)),
    "adaboost-stumps20": (
        ensemble.AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=20),
        (ALL,),
    ),
    "adaboost-stumps100": (
        ensemble.AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=100),
        (ALL,),
    ),
    "adaboost-depth3": (ensemble.AdaBoostClassifier(DecisionTreeClassifier(max_depth=3)), (150,)),
    # naive Bayes, discriminant analysis with a covariance per class, and guessing
    "bayes-gaussian": (naive_bayes.GaussianNB(), (50, ALL)),
    "bayes-gaussian-smooth": (naive_bayes.GaussianNB(var_smoothing=0.1), (50, ALL)),
    "bayes-bernoulli": (naive_bayes.BernoulliNB(binarize=0.5), (50, 150, ALL)),
    "bayes-multinomial": (naive_bayes.MultinomialNB(), (50, ALL)),
    "bayes-complement": (naive_bayes.ComplementNB(), (50,)),
    "qda-shrunk": (QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.3), (150, ALL)),
    "guess-stratified": (DummyClassifier(strategy="stratified"), (ALL,)),
    "guess-uniform": (DummyClassifier(strategy="uniform"), (ALL,)),
    # multilayer perceptrons; those named ``pass10`` see their training digits only ten times
    "mlp-4": (MLPClassifier((4,), max_iter=3000, learning_rate_init=0.01), (500, ALL)),
    "mlp-16": (MLPClassifier((16,), max_iter=3000), (50, 150, ALL)),
    "mlp-100": (MLPClassifier((100,), max_iter=3000), (ALL,)),
    "mlp-32x32": (MLPClassifier((32, 32), max_iter=3000), (150,)),
    "mlp-32-pass10": (MLPClassifier((32,), max_iter=10), (150, 500, ALL)),
    # seeing a part or a summary of the picture
    "knn-k3-top": (viewing(top, knn), (ALL,)),
    "knn-k3-bottom": (viewing(bottom, knn), (ALL,)),
    "knn-k3-left": (viewing(left, knn), (150,)),
    "knn-k3-2x2": (viewing(partial(shrunken, size=2), knn), (ALL,)),
    "knn-k3-4x4": (viewing(partial(shrunken, size=4), knn), (150,)),
    "knn-k3-binary": (viewing(black_and_white, knn), (500,)),
    "knn-k3-pca2": (make_pipeline(PCA(2), knn), (ALL,)),
    "knn-k3-pca5": (make_pipeline(PCA(5), knn), (ALL,)),
    "forest-50-right": (viewing(right, forest), (ALL,)),
    "forest-50-middle": (viewing(middle, forest), (500,)),
    "forest-50-profile": (viewing(profile, forest), (150,)),
    "logreg-C1-top": (viewing(top, logreg), (150,)),
    "logreg-C1-4x4": (viewing(partial(shrunken, size=4), logreg), (ALL,)),
    "logreg-C1-pca1": (make_pipeline(PCA(1), logreg), (ALL,)),
    "logreg-C1-pca8": (make_pipeline(PCA(8), logreg), (ALL,)),
    "svm-rbf-C1-bottom": (viewing(bottom, SVC()), (ALL,)),
}
"""Classifiers with the numbers of digits that they train on, in the order of the data file."""


def balanced_order(labels: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.intp]:
    """Shuffle so that every beginning of the order holds the classes in equal numbers.

    The i-th digit of every class comes before the (i + 1)-th of any class.
    """
    shuffled = rng.permutation(len(labels))
    one_hot = labels[shuffled, np.newaxis] == np.arange(CLASSES)
    place_in_class = (one_hot.cumsum(axis=0) * one_hot).sum(axis=1)
    return shuffled[np.argsort(place_in_class, kind="stable")]


def folds(labels: NDArray[np.uint8]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield each fold as (digits to train on, in balanced order; digits to answer)."""
    rng = np.random.default_rng(SEED)
    split = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    for train, test in split.split(labels, labels):
        yield train[balanced_order(labels[train], rng)], test


def seeded(classifier: BaseEstimator) -> BaseEstimator:
    """Return an unfitted copy with every ``random_state``, nested ones too, set to the seed."""
    copy = clone(classifier)
    return copy.set_params(**{p: SEED for p in copy.get_params() if p.endswith("random_state")})


def answers(name: str, size: int, pixels: Pixels, labels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """One system's answer to every digit, each given by a copy that did not train on it."""
    predictions = np.empty_like(labels)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("error")
        # Corner pixels are blank in every digit; only decision_function divides by their spread.
        warnings.filterwarnings("ignore", message="self.within_class_std_dev_")
        if name in STOP_EARLY:
            warnings.simplefilter("ignore", ConvergenceWarning)
        for train, test in folds(labels):
            chosen = train if size == ALL else train[:size]
            classifier = seeded(CROWD[name][0]).fit(pixels[chosen], labels[chosen])
            predictions[test] = classifier.predict(pixels[test])
    return predictions


def digits() -> tuple[Pixels, NDArray[np.uint8]]:
    """Pixels, 1797 × 64 between 0 (paper) and 1 (ink), and labels."""
    pixels, labels = load_digits(return_X_y=True)
    return pixels / 16.0, labels.astype(np.uint8)


def main(output: Path) -> None:
    """Ask every system every digit and write the data file."""
    pixels, labels = digits()
    systems = [(name, size) for name, (_, sizes) in CROWD.items() for size in sizes]
    predictions = np.array([answers(*system, pixels, labels) for system in systems])
    np.savez_compressed(
        output,
        predictions=predictions,
        labels=labels,
        systems=np.array([name if n == ALL else f"{name}-n{n}" for name, n in systems]),
        family=np.array([FAMILIES[name.split("-")[0]] for name, _ in systems]),
        training_size=np.array([size for _, size in systems], dtype=np.int32),
    )
    accuracy = (predictions == labels).mean(axis=1)
    sys.stdout.write(
        f"{len(systems)} systems, accuracy {accuracy.min():.3f} to {accuracy.max():.3f}, "
        f"median {np.median(accuracy):.3f}: {output}\n"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the digits crowd.")
    parser.add_argument("output", type=Path)
    main(parser.parse_args().output)
