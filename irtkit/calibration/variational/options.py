"""Options of the variational path, checked where they are given."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irtkit.checks import check_whole, is_whole, short
from irtkit.files import as_path

if TYPE_CHECKING:
    from os import PathLike


@dataclass(frozen=True, kw_only=True)
class Variational:
    """The variational path: a posterior of items and abilities, for ``irtkit.fit(method=...)``.

    In the result, discrimination, intercept and guessing are posterior means and their ``_se``
    columns posterior SDs; difficulty, whose posterior need not have a mean, is that of the means,
    its error by the delta method. ability_se holds what is not known of the items as well, on the
    scale of this sample. ``result.posterior`` gives draws and intervals. An
    :class:`irtkit.ItemPrior` needs all its densities.

    Parameters
    ----------
    batch
        How many respondents a step sees, drawn without replacement in passes through all of them;
        None (default), or as many as there are or more, for all.
    checkpoint, every
        A file for the state of the optimisation, written whole after every ``every`` steps. If it
        exists, the fit continues from there and ends with the numbers of one that was not
        interrupted; the file stays. One that is further on than ``tol`` or ``max_iterations`` of
        the fit ask for is taken as it is.

    Raises
    ------
    TypeError
        If ``checkpoint`` is not a path.
    ValueError
        If another argument is outside what is named above.
    FileNotFoundError
        If the folder of ``checkpoint`` does not exist.

    Examples
    --------
    >>> import irtkit
    >>> responses = irtkit.ResponseMatrix([[1, 0], [0, 1], [1, 1], [0, 0]] * 20)
    >>> result = irtkit.fit(responses, method=irtkit.Variational(batch=40))
    >>> result.method, result.settings["batch"]
    ('vi', 40)
    """

    batch: int | None = None
    checkpoint: str | PathLike[str] | None = None
    every: int = 10  # an interruption then costs half of the 19 steps that a fit takes at least

    def __post_init__(self) -> None:
        if self.batch is not None and not (is_whole(self.batch) and self.batch >= 1):
            raise ValueError(
                "batch must be a whole number of respondents from 1, or None; "
                f"got {short(self.batch)}"
            )
        check_whole("every", self.every, 1)
        if self.checkpoint is not None:
            _check_checkpoint(self.checkpoint)

    @property
    def size(self) -> int | None:
        """Respondents of a step as a plain number, or None for all."""
        return None if self.batch is None else int(self.batch)


def _check_checkpoint(checkpoint: object) -> None:
    """Refuse a path that no file can be written to, before any work is done."""
    if not isinstance(checkpoint, str | os.PathLike):
        raise TypeError(f"checkpoint must be a path or None, got {type(checkpoint).__name__}")
    path = as_path(checkpoint, "checkpoint")
    if path.is_dir():
        raise ValueError(f"checkpoint must be a file, and {path} is a folder")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"checkpoint must lie in a folder, and there is no {path.parent}")
