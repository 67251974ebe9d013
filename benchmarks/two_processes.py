"""One fit by several processes, on one host or on many, and whether all come to the same items.

Start it once per process, every time with the same arguments but for ``--process``; the address is
that of process 0. Every process draws (or reads) the whole matrix, holds its share of the
respondents on its own devices, and prints the log-likelihood (and with ``--method vi`` the evidence
lower bound) and a digest of the item parameters. ``--of 1`` fits alone, for comparison.
"""

import argparse
import hashlib
from pathlib import Path

import jax
from simulated import draw, parse

import irtkit


def main():
    """Fit together with the other processes, and print what came out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--process", type=int, default=0, help="which this is, from 0")
    parser.add_argument("--of", type=int, default=1, help="number of processes")
    parser.add_argument("--coordinator", metavar="HOST:PORT", help="process 0, as others reach it")
    parser.add_argument("--shape", type=parse, default=parse("20000x100"), metavar="20000x100:2PL")
    parser.add_argument("--responses", type=Path, help="CSV file to fit instead of simulated data")
    parser.add_argument("--method", choices=["em", "vi"], default="em")
    options = parser.parse_args()
    if options.of > 1:
        jax.distributed.initialize(options.coordinator, options.of, options.process)
    if options.responses:
        responses = irtkit.read_responses(options.responses)
    else:
        responses = irtkit.ResponseMatrix(draw(options.shape, seed=0)[1])
    mesh = jax.make_mesh((jax.device_count(),), ("respondents",))
    model, method = options.shape.model, {"em": irtkit.EM, "vi": irtkit.Variational}[options.method]
    result = irtkit.fit(responses, model, method=method(mesh=mesh), standard_errors=False)
    parameters = result.items[["discrimination", "intercept", "guessing"]].to_numpy()
    digest = hashlib.sha256(parameters.tobytes()).hexdigest()[:12]
    bound = "" if result.elbo is None else f"ELBO {result.elbo:.6f}, "
    print(
        f"process {options.process} of {options.of}, {mesh.size} devices: "
        f"{bound}log-likelihood {result.log_likelihood:.6f}, items {digest}"
    )


if __name__ == "__main__":
    main()
