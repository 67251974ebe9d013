"""Make ``digits_crowd.npz``: a crowd of classifiers answers scikit-learn's handwritten digits.

Run as ``python irtkit/datasets/make_digits_crowd.py [output]``; needs scikit-learn.

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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import (
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

SEED = 20240
FOLDS = 5
CLASSES = 10
ALL = 1437  # digits in the smallest of the five training parts (the others have 1437 or 1438)
SIZES = (50, 150, 500, ALL)
OUTPUT = Path(__file__).with_name("digits_crowd.npz")


@dataclass(frozen=True)
class System:
    """One respondent of the crowd: a classifier and the number of digits it trains on.

    ``stops_early`` marks classifiers that are meant to stop before their fit has converged; from
    any other system a warning is an error.
    """

    name: str
    family: str
    training_size: int
    classifier: BaseEstimator
    stops_early: bool = False


def at_sizes(
    name: str,
    family: str,
    classifier: BaseEstimator,
    sizes: Sequence[int] = (ALL,),
    *,
    stops_early: bool = False,
) -> list[System]:
    """One system per training size; the size is part of the name unless it is all there is."""
    return [
        System(name if n == ALL else f"{name}-n{n}", family, n, classifier, stops_early)
        for n in sizes
    ]


def linear_systems() -> list[System]:
    """Classifiers that draw straight boundaries between digits."""
    logistic = "logistic regression"
    lda = LinearDiscriminantAnalysis()
    shrunk = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3)
    passive = SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0)
    one_pass = SGDClassifier(loss="log_loss", max_iter=1)
    return [
        *at_sizes("logreg-C1", logistic, LogisticRegression(max_iter=2000), SIZES),
        *at_sizes("logreg-C0.01", logistic, LogisticRegression(C=0.01), (50, ALL)),
        *at_sizes("logreg-C100", logistic, LogisticRegression(C=100, max_iter=5000)),
        *at_sizes("ridge-a1", "ridge", RidgeClassifier(alpha=1.0), (50, ALL)),
        *at_sizes("ridge-a100", "ridge", RidgeClassifier(alpha=100.0), (500,)),
        *at_sizes("lda", "discriminant analysis", lda, (500,)),
        *at_sizes("lda-shrunk", "discriminant analysis", shrunk, (50, ALL)),
        *at_sizes("perceptron", "perceptron", Perceptron(), (50, 150, ALL)),
        *at_sizes("passive-aggressive", "passive aggressive", passive, (50, ALL)),
        *at_sizes("sgd-hinge", "stochastic gradient", SGDClassifier()),
        *at_sizes("sgd-pass1", "stochastic gradient", one_pass, (50, 150), stops_early=True),
    ]


def kernel_systems() -> list[System]:
    """Support vector machines and Gaussian processes."""
    svm = "support vector machine"
    process = GaussianProcessClassifier(RBF(2.0), optimizer=None)
    return [
        *at_sizes("svm-linear", svm, SVC(kernel="linear"), (50, 150, ALL)),
        *at_sizes("svm-rbf-C1", svm, SVC(), SIZES),
        *at_sizes("svm-rbf-C10", svm, SVC(C=10.0)),
        *at_sizes("svm-rbf-narrow", svm, SVC(gamma=1.0), (500,)),
        *at_sizes("svm-poly2", svm, SVC(kernel="poly", degree=2)),
        *at_sizes("svm-poly5", svm, SVC(kernel="poly", degree=5), (500,)),
        *at_sizes("svm-sigmoid", svm, SVC(kernel="sigmoid"), (150, ALL)),
        *at_sizes("gp-rbf", "gaussian process", process, (50, 150, 500)),
    ]


def neighbour_systems() -> list[System]:
    """Classifiers that compare a digit with remembered digits or with class means."""
    knn, centroid = "nearest neighbours", "nearest centroid"
    manhattan = KNeighborsClassifier(5, metric="manhattan")
    chebyshev = KNeighborsClassifier(5, metric="chebyshev")
    cosine = KNeighborsClassifier(5, metric="cosine")
    return [
        *at_sizes("knn-k1", knn, KNeighborsClassifier(1), SIZES),
        *at_sizes("knn-k3", knn, KNeighborsClassifier(3), (50, 150, ALL)),
        *at_sizes("knn-k15", knn, KNeighborsClassifier(15), (150, ALL)),
        *at_sizes("knn-k40", knn, KNeighborsClassifier(40), (150,)),
        *at_sizes("knn-k200", knn, KNeighborsClassifier(200), (500, ALL)),
        *at_sizes("knn-k5-manhattan", knn, manhattan, (50, ALL)),
        *at_sizes("knn-k5-chebyshev", knn, chebyshev, (50,)),
        *at_sizes("knn-k5-cosine", knn, cosine, (150,)),
        *at_sizes("centroid", centroid, NearestCentroid(), (50, 150, ALL)),
        *at_sizes("centroid-manhattan", centroid, NearestCentroid(metric="manhattan")),
    ]


def tree_systems() -> list[System]:
    """Single decision trees, from a stump to fully grown."""
    tree = "decision tree"
    return [
        *at_sizes("tree-depth1", tree, DecisionTreeClassifier(max_depth=1)),
        *at_sizes("tree-depth2", tree, DecisionTreeClassifier(max_depth=2), (50, ALL)),
        *at_sizes("tree-depth3", tree, DecisionTreeClassifier(max_depth=3)),
        *at_sizes("tree-depth4", tree, DecisionTreeClassifier(max_depth=4), (50, ALL)),
        *at_sizes("tree-depth6", tree, DecisionTreeClassifier(max_depth=6)),
        *at_sizes("tree-full", tree, DecisionTreeClassifier(), SIZES),
        *at_sizes("tree-random", tree, DecisionTreeClassifier(splitter="random"), (150,)),
        *at_sizes("tree-entropy", tree, DecisionTreeClassifier(criterion="entropy")),
    ]


def ensemble_systems() -> list[System]:
    """Forests and boosted trees."""
    forest, extra, boosting = "random forest", "extra trees", "gradient boosting"
    stump, shallow = DecisionTreeClassifier(max_depth=1), DecisionTreeClassifier(max_depth=3)
    stumps5 = GradientBoostingClassifier(n_estimators=5, max_depth=1)
    histogram = HistGradientBoostingClassifier(max_iter=10)
    return [
        *at_sizes("forest-3", forest, RandomForestClassifier(3), (50, 150, ALL)),
        *at_sizes("forest-100", forest, RandomForestClassifier(100), SIZES),
        *at_sizes("forest-20-depth3", forest, RandomForestClassifier(20, max_depth=3)),
        *at_sizes("extratrees-2", extra, ExtraTreesClassifier(2), (50, 500)),
        *at_sizes("extratrees-10", extra, ExtraTreesClassifier(10), (150, ALL)),
        *at_sizes("extratrees-100", extra, ExtraTreesClassifier(100)),
        *at_sizes("boost-stumps5", boosting, stumps5),
        *at_sizes("boost-10", boosting, GradientBoostingClassifier(n_estimators=10), (150,)),
        *at_sizes("histboost-10", boosting, histogram, (500, ALL)),
        *at_sizes("adaboost-stumps20", "adaboost", AdaBoostClassifier(stump, n_estimators=20)),
        *at_sizes("adaboost-stumps100", "adaboost", AdaBoostClassifier(stump, n_estimators=100)),
        *at_sizes("adaboost-depth3", "adaboost", AdaBoostClassifier(shallow), (150,)),
    ]


def bayes_systems() -> list[System]:
    """Naive Bayes, discriminant analysis with a covariance per class, and guessing."""
    bayes = "naive bayes"
    quadratic = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.3)
    return [
        *at_sizes("bayes-gaussian", bayes, GaussianNB(), (50, ALL)),
        *at_sizes("bayes-gaussian-smooth", bayes, GaussianNB(var_smoothing=0.1), (50, ALL)),
        *at_sizes("bayes-bernoulli", bayes, BernoulliNB(binarize=0.5), (50, 150, ALL)),
        *at_sizes("bayes-multinomial", bayes, MultinomialNB(), (50, ALL)),
        *at_sizes("bayes-complement", bayes, ComplementNB(), (50,)),
        *at_sizes("qda-shrunk", "discriminant analysis", quadratic, (150, ALL)),
        *at_sizes("guess-stratified", "guessing", DummyClassifier(strategy="stratified")),
        *at_sizes("guess-uniform", "guessing", DummyClassifier(strategy="uniform")),
    ]


def network_systems() -> list[System]:
    """Multilayer perceptrons; those named ``pass10`` see their training digits only ten times."""
    mlp = "multilayer perceptron"
    tiny = MLPClassifier((4,), max_iter=3000, learning_rate_init=0.01)
    deep = MLPClassifier((32, 32), max_iter=3000)
    hasty = MLPClassifier((32,), max_iter=10)
    return [
        *at_sizes("mlp-4", mlp, tiny, (500, ALL)),
        *at_sizes("mlp-16", mlp, MLPClassifier((16,), max_iter=3000), (50, 150, ALL)),
        *at_sizes("mlp-100", mlp, MLPClassifier((100,), max_iter=3000)),
        *at_sizes("mlp-32x32", mlp, deep, (150,)),
        *at_sizes("mlp-32-pass10", mlp, hasty, (150, 500, ALL), stops_early=True),
    ]


def partial_view_systems() -> list[System]:
    """Classifiers that see a part or a summary of the picture."""
    near, trees, logistic = "nearest neighbours", "random forest", "logistic regression"
    knn = KNeighborsClassifier(3)
    forest = RandomForestClassifier(50)
    logreg = LogisticRegression(max_iter=2000)
    top, bottom = partial(region, rows=slice(0, 4)), partial(region, rows=slice(4, 8))
    left, right = partial(region, columns=slice(0, 4)), partial(region, columns=slice(4, 8))
    middle = partial(region, rows=slice(2, 6), columns=slice(2, 6))
    return [
        *at_sizes("knn-k3-top", near, viewing(top, knn)),
        *at_sizes("knn-k3-bottom", near, viewing(bottom, knn)),
        *at_sizes("knn-k3-left", near, viewing(left, knn), (150,)),
        *at_sizes("knn-k3-2x2", near, viewing(partial(shrunken, size=2), knn)),
        *at_sizes("knn-k3-4x4", near, viewing(partial(shrunken, size=4), knn), (150,)),
        *at_sizes("knn-k3-binary", near, viewing(black_and_white, knn), (500,)),
        *at_sizes("knn-k3-pca2", near, make_pipeline(PCA(2), knn)),
        *at_sizes("knn-k3-pca5", near, make_pipeline(PCA(5), knn)),
        *at_sizes("forest-50-right", trees, viewing(right, forest)),
        *at_sizes("forest-50-middle", trees, viewing(middle, forest), (500,)),
        *at_sizes("forest-50-profile", trees, viewing(profile, forest), (150,)),
        *at_sizes("logreg-C1-top", logistic, viewing(top, logreg), (150,)),
        *at_sizes("logreg-C1-4x4", logistic, viewing(partial(shrunken, size=4), logreg)),
        *at_sizes("logreg-C1-pca1", logistic, make_pipeline(PCA(1), logreg)),
        *at_sizes("logreg-C1-pca8", logistic, make_pipeline(PCA(8), logreg)),
        *at_sizes("svm-rbf-C1-bottom", "support vector machine", viewing(bottom, SVC())),
    ]


def viewing(
    view: Callable[[NDArray[np.float64]], NDArray[np.float64]], classifier: BaseEstimator
) -> BaseEstimator:
    """Put the classifier behind a view of the 8 × 8 pixels."""
    return make_pipeline(FunctionTransformer(view), classifier)


def region(
    pixels: NDArray[np.float64], rows: slice = slice(8), columns: slice = slice(8)
) -> NDArray[np.float64]:
    """Only these rows and columns."""
    return pixels.reshape(-1, 8, 8)[:, rows, columns].reshape(len(pixels), -1)


def shrunken(pixels: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Shrink the picture to size × size: the mean of each block of pixels."""
    blocks = pixels.reshape(-1, size, 8 // size, size, 8 // size)
    means: NDArray[np.float64] = blocks.mean(axis=(2, 4))
    return means.reshape(len(pixels), -1)


def black_and_white(pixels: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 where the pixel is at least half covered with ink, else 0."""
    return (pixels >= 0.5).astype(np.float64)


def profile(pixels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of the eight rows and of the eight columns."""
    pictures = pixels.reshape(-1, 8, 8)
    return np.hstack([pictures.mean(axis=2), pictures.mean(axis=1)])


def all_systems() -> list[System]:
    """List the whole crowd, in the order of the data file."""
    return [
        *linear_systems(),
        *kernel_systems(),
        *neighbour_systems(),
        *tree_systems(),
        *ensemble_systems(),
        *bayes_systems(),
        *network_systems(),
        *partial_view_systems(),
    ]


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


def answers(
    system: System, pixels: NDArray[np.float64], labels: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """One system's answer to every digit, each given by a copy that did not train on it."""
    predictions = np.empty_like(labels)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("error")
        # Corner pixels are blank in every digit; only decision_function divides by their spread.
        warnings.filterwarnings("ignore", message="self.within_class_std_dev_")
        if system.stops_early:
            warnings.simplefilter("ignore", ConvergenceWarning)
        for train, test in folds(labels):
            chosen = train if system.training_size == ALL else train[: system.training_size]
            classifier = seeded(system.classifier).fit(pixels[chosen], labels[chosen])
            predictions[test] = classifier.predict(pixels[test])
    return predictions


def digits() -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Pixels, 1797 × 64 between 0 (paper) and 1 (ink), and labels."""
    pixels, labels = load_digits(return_X_y=True)
    return pixels / 16.0, labels.astype(np.uint8)


def check_distinct(names: Sequence[str], predictions: NDArray[np.uint8]) -> None:
    """Raise ``ValueError`` if two systems share a name or give the same answers everywhere."""
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"system names must be unique, but {twice} occurs twice")
    first_with: dict[bytes, str] = {}
    for name, row in zip(names, predictions, strict=True):
        twin = first_with.setdefault(row.tobytes(), name)
        if twin != name:
            raise ValueError(
                f"systems must differ in at least one answer, but {name} repeats {twin}"
            )


def main(output: Path = OUTPUT) -> None:
    """Ask every system every digit and write the data file."""
    pixels, labels = digits()
    systems = all_systems()
    names = [system.name for system in systems]
    predictions = np.array([answers(system, pixels, labels) for system in systems])
    check_distinct(names, predictions)
    np.savez_compressed(
        output,
        predictions=predictions,
        labels=labels,
        systems=np.array(names),
        family=np.array([system.family for system in systems]),
        training_size=np.array([system.training_size for system in systems], dtype=np.int32),
    )
    accuracy = (predictions == labels).mean(axis=1)
    sys.stdout.write(
        f"{len(systems)} systems, accuracy {accuracy.min():.3f} to {accuracy.max():.3f}, "
        f"median {np.median(accuracy):.3f}: {output}\n"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Make the digits crowd.")
    parser.add_argument("output", nargs="?", type=Path, default=OUTPUT)
    main(parser.parse_args().output)
