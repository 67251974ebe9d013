"""The state of an ascent in a file, to go on from after an interruption.

The file is a NumPy archive without pickled objects that appears whole or not at all. It holds what
the next step depends on, and a fingerprint of responses and settings, so that a run is never taken
up with others.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from irtkit.calibration.item_distribution import ItemDistribution
from irtkit.calibration.variational.coordinates import STORED, Coordinates
from irtkit.calibration.variational.encoder import Encoder
from irtkit.calibration.variational.guide import Guide, Information
from irtkit.calibration.variational.inference import State, TraceRow
from irtkit.calibration.variational.target import Target
from irtkit.files import replacing
from irtkit.quadrature import Nodes

if TYPE_CHECKING:
    from pathlib import Path

    from irtkit.patterns import Patterns

_FORMAT, _VERSION = "irtkit variational checkpoint", 2


@dataclass
class Checkpoint:
    """A file that holds the state of every k-th step, of the first and of the last."""

    path: Path
    every: int
    fingerprint: dict[str, Any]

    def keep(self, state: State, encoder: Encoder | None) -> None:
        """Store a state if it is time to."""
        if state.converged or state.step % self.every == 0:
            self.store(state, encoder)

    def store(self, state: State, encoder: Encoder | None) -> None:
        """Store a state, and the encoder, if there is one."""
        coordinates = state.target.coordinates
        shape = {name: getattr(coordinates, name) for name in STORED}
        prior = state.target.prior
        header = {
            "format": _FORMAT,
            "version": _VERSION,
            "fingerprint": self.fingerprint,
            "coordinates": shape,
            "learned": asdict(prior) if isinstance(prior, ItemDistribution) else None,
            "step": state.step,
            "averaged": state.averaged,
        }
        parts = {
            "guide": state.guide._asdict(),
            "information": state.information._asdict(),
            "nodes": state.nodes._asdict(),
        }
        arrays = {
            f"{kind}_{name}": array
            for kind, found in parts.items()
            for name, array in found.items()
            if array is not None
        }
        if coordinates.sign is not None:
            arrays["sign"] = coordinates.sign
        if state.round_from is not None:
            arrays["round_from"] = state.round_from
        if encoder is not None:
            arrays |= encoder.arrays()
        with replacing(self.path) as temporary, temporary.open("wb") as handle:
            np.savez(
                handle,
                allow_pickle=False,
                header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
                by_slope=state.by_slope,
                trace=np.array(state.trace, dtype=np.float64).reshape(-1, len(TraceRow._fields)),
                **arrays,
            )

    def resumed(self, prior: Any) -> tuple[State, Encoder | None] | None:
        """State and encoder that were stored, or None where there is no file yet.

        ``prior`` is that of the fit; one that was learned comes from the file.

        Raises
        ------
        ValueError
            If the file is no checkpoint, is damaged, or is of other responses or settings.
        """
        if not self.path.exists():
            return None
        if not zipfile.is_zipfile(self.path):
            raise ValueError(f"checkpoint {self.path} is not one that irtkit wrote, or is damaged")
        try:
            with self.path.open("rb") as handle, np.load(handle, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            header = json.loads(bytes(arrays["header"]))
            known = (header["format"], header["version"]) == (_FORMAT, _VERSION)
            made_with = dict(header["fingerprint"]) if known else {}
        except (zipfile.BadZipFile, EOFError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"checkpoint {self.path} is not one that irtkit wrote, or is damaged"
            ) from error
        if not known:
            raise ValueError(
                f"checkpoint {self.path} is not one that irtkit wrote, or of another version of it"
            )
        for name, wanted in self.fingerprint.items():
            if made_with.get(name) != wanted:
                raise ValueError(
                    f"checkpoint {self.path} was made with other {name}; "
                    "choose another path, or delete it to begin anew"
                )
        try:
            return _state_from(header, arrays, prior)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ValueError(f"checkpoint {self.path} is not a whole one: {error}") from error


def _state_from(
    header: dict[str, Any], arrays: dict[str, Any], prior: Any
) -> tuple[State, Encoder | None]:
    def part(kind: Any, *may_lack: str) -> Any:
        names = {name: f"{kind.__name__.lower()}_{name}" for name in kind._fields}
        return kind(
            **{
                name: arrays.get(full) if name in may_lack else arrays[full]
                for name, full in names.items()
            }
        )

    coordinates = Coordinates(**header["coordinates"], sign=arrays.get("sign"))
    if header["learned"] is not None:
        prior = ItemDistribution(**header["learned"])
    state = State(
        Target(coordinates, prior),
        part(Guide),
        part(Information),
        part(Nodes, "interpolation"),
        arrays["by_slope"],
        round_from=arrays.get("round_from"),
        step=header["step"],
        averaged=header["averaged"],
        trace=tuple(
            TraceRow(int(row[0]), int(row[1]), *map(float, row[2:])) for row in arrays["trace"]
        ),
    )
    return state, Encoder.from_arrays(arrays)


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
