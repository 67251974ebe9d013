"""The state of an ascent in a file, to go on from after an interruption.

The file holds what the next step depends on, and a fingerprint of responses and settings, so that
a run is never taken up with others.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.item_distribution import ItemDistribution
from irtkit.calibration.variational.coordinates import Coordinates
from irtkit.calibration.variational.guide import Guide, Information
from irtkit.calibration.variational.inference import State, TraceRow
from irtkit.calibration.variational.target import Target
from irtkit.quadrature import Nodes
from irtkit.storage import Format, fields_of, read, with_parts, write

if TYPE_CHECKING:
    from pathlib import Path

    from irtkit.data.patterns import Patterns

_FORMAT = Format("irtkit variational checkpoint", 4)


@dataclass
class Checkpoint:
    """A file that holds the state after the last step."""

    path: Path
    fingerprint: dict[str, Any]

    def keep(self, state: State) -> None:
        """Store a state."""
        prior = state.target.prior
        record = {
            "fingerprint": self.fingerprint,
            "coordinates": state.target.coordinates,
            "learned": prior if isinstance(prior, ItemDistribution) else None,
            "state": {**fields_of(state), "target": None},
        }
        write(self.path, _FORMAT, record, compressed=False)

    def resumed(self, prior: Any) -> State | None:
        """State that was stored, or None if there is no file yet.

        ``prior`` is that of the fit; one that was learned comes from the file.

        Raises
        ------
        ValueError
            If the file is no checkpoint, is damaged, or is of other responses or settings.
        """
        if not self.path.exists():
            return None
        record = read(self.path, _FORMAT, _made)
        for name, wanted in self.fingerprint.items():
            if record["fingerprint"].get(name) != wanted:
                raise ValueError(
                    f"checkpoint {self.path} was made with other {name}; "
                    "choose another path, or delete it to begin anew"
                )
        learned = record["learned"]
        target = Target(record["coordinates"], prior if learned is None else learned)
        state: State = record["state"]
        return replace(state, target=target)


def _made(record: dict[str, Any]) -> dict[str, Any]:
    """Make again what was stored, the target of the state left out."""
    state = with_parts(record["state"], guide=Guide, information=Information, nodes=Nodes)
    state["trace"] = tuple(TraceRow(**row) for row in state["trace"])
    kinds = {"coordinates": Coordinates, "learned": ItemDistribution, "state": State}
    return with_parts({**record, "state": state}, **kinds)


def digest_of(rows: Patterns) -> str:
    """Return a digest of the responses, cell by cell: many matrices share their counts."""
    found = hashlib.sha256(str(rows.cells.shape).encode())
    parts: tuple[Any, ...] = (rows.group, rows.cells, rows.trials)
    for part in parts:
        if part is None:
            continue
        arrays = (
            (part.indptr, part.indices, part.data) if not isinstance(part, np.ndarray) else (part,)
        )
        for array in arrays:
            found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()
