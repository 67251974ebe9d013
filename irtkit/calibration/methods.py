"""Settings of the two methods of `fit`, checked where they are given, and the threads of a fit."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from irtkit.checks import check_number, check_whole, short
from irtkit.files import as_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from jax.sharding import Mesh


@dataclass(frozen=True, kw_only=True)
class EM:
    """Marginal maximum likelihood, for ``irtkit.fit(method=irtkit.EM(...))``.

    Parameters
    ----------
    tol : float, default 1e-7
        The fit has converged when a full step promises to raise the log-likelihood (with prior) by
        less than this, twice in a row, or once by a tenth of the step before.
    max_iterations : int, default 1000
        Most evaluations of the likelihood. A fit that needs more gets a finding.
    mesh : jax.sharding.Mesh, optional
        Devices that share the respondents, such as ``jax.make_mesh((jax.device_count(),),
        ("all",))``. Default: NumPy, or the default device of JAX for large matrices.

    Raises
    ------
    TypeError, ValueError
        If an argument has another type or is out of range.

    Notes
    -----
    Estimates are within about √(2·tol) standard errors of the maximum, 0.0004 by default. Of
    several processes (after ``jax.distributed.initialize``) each calls ``fit`` with the same
    arguments and the whole matrix, and gets the same result.

    Examples
    --------
    >>> import irtkit
    >>> irtkit.fit([[1, 0], [0, 1], [1, 1], [0, 0]] * 20, method=irtkit.EM(tol=1e-9)).converged
    True
    """

    tol: float = 1e-7
    max_iterations: int = 1000
    mesh: Mesh | None = None

    name = "em"
    batch = None

    def __post_init__(self) -> None:
        _check(self.tol, self.max_iterations, self.mesh)


@dataclass(frozen=True, kw_only=True)
class Variational:
    """Variational posterior, for ``irtkit.fit(method=irtkit.Variational(...))``.

    Parameters
    ----------
    tol : float, default 0.03
        The fit has converged when the smoothed evidence lower bound has stopped rising and the
        Monte-Carlo error of posterior means is below this many posterior SDs.
    max_iterations : int, default 1000
        Most steps. A fit that needs more gets a finding.
    batch : int, optional
        Respondents of a step, drawn without replacement in passes through all. Default: all.
    checkpoint : path, optional
        File for the state of the optimisation, written after every step. If it exists, the fit
        continues from there and ends with the numbers of an uninterrupted one. The file stays.
    mesh : jax.sharding.Mesh, optional
        Devices that share the respondents, as for :class:`EM`.

    Raises
    ------
    TypeError, ValueError
        If an argument has another type or is out of range.
    FileNotFoundError
        If the folder of `checkpoint` does not exist.

    Notes
    -----
    In the result, discrimination, intercept and guessing are posterior means, and their ``_se``
    columns posterior SDs. The posterior of difficulty need not have a mean: difficulty is that of
    the means, and its error follows by the delta method. ``ability_se`` includes the uncertainty of
    the items. ``result.posterior`` gives draws and intervals. An :class:`irtkit.ItemPrior` needs
    all its densities.

    Examples
    --------
    >>> import irtkit
    >>> responses = irtkit.ResponseMatrix([[1, 0], [0, 1], [1, 1], [0, 0]] * 20)
    >>> result = irtkit.fit(responses, method=irtkit.Variational(batch=40))
    >>> result.method, result.settings.batch
    ('vi', 40)
    """

    tol: float = 0.03
    max_iterations: int = 1000
    batch: int | None = None
    checkpoint: str | PathLike[str] | None = None
    mesh: Mesh | None = None

    name = "vi"

    def __post_init__(self) -> None:
        _check(self.tol, self.max_iterations, self.mesh)
        if self.batch is not None:
            check_whole("batch", self.batch, 1)
        if self.checkpoint is None:
            return
        path = as_path(self.checkpoint, "checkpoint")
        if path.is_dir():
            raise ValueError(f"checkpoint must be a file, and {path} is a folder")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"checkpoint must be in a folder, and {path.parent} is missing")


def method_of(given: object) -> EM | Variational:
    """Return the settings of a method from its name, or as they are."""
    if isinstance(given, EM | Variational):
        return given
    if not isinstance(given, str) or given not in {"em", "vi"}:
        rule = "method must be 'em', 'vi', an irtkit.EM or an irtkit.Variational"
        raise ValueError(f"{rule}, got {short(given)}")
    return EM() if given == "em" else Variational()


def _check(tol: object, max_iterations: object, mesh: object) -> None:
    check_number("tol", tol, above=0)
    check_whole("max_iterations", max_iterations, 1)
    if mesh is None:
        return
    from jax.sharding import Mesh

    if not isinstance(mesh, Mesh):
        raise TypeError(f"mesh must be a jax.sharding.Mesh or None, got {type(mesh).__name__}")
    if not mesh.local_devices:
        raise ValueError("mesh must hold at least one device of this process")
    if len(set(mesh.devices.flat)) < mesh.size:
        raise ValueError("mesh must hold every device once only")


_changing = Lock()
_held: list[Any] = []
"""What puts threads back as they were, once for each that holds them to one."""


@contextmanager
def one_thread(user_api: str | None = "blas") -> Iterator[None]:
    """Hold the linear algebra of NumPy to one thread, until all that ask for it at once have ended.

    With ``user_api=None`` all libraries that are loaded and known to have threads. Products are too
    small for threads to help, and waiting for one another they take up to 2.6 times as long
    (``benchmarks/threads.py``). The limit is that of the process: the first fit sets it, the last
    one lifts it.
    """
    with _changing:
        _held.append(_held[0] if _held else _libraries(user_api).limit(limits=1))
    try:
        yield
    finally:
        with _changing:
            limit = _held.pop()
            if not _held:
                limit.restore_original_limits()


@cache
def _libraries(user_api: str | None) -> Any:
    """Libraries with threads, looked up once: it takes longer than many fits."""
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController()
    return found if user_api is None else found.select(user_api=user_api)
