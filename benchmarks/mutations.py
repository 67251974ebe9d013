"""Whether quick tests notice a wrong sign, factor or count in a central formula.

Each mutation is made alone in a copy of the checkout, where the tests named with it run until one
fails. Printed: the formula, the mutation, and the test that failed. The exit code is 1 if a
mutation passes them all. ``--out benchmarks/results/mutations.json`` stores the table.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from machine import arguments, depends_on, part, store

ROOT = Path(__file__).parents[1]
FIELDS = ("formula", "module", "old", "new", "tests")
MUTATIONS = """
P(right)|irf|return self.guessing + (1 -|return self.guessing + (1 +|test_irf.py
softplus|irf|z, 0.0) + xp.log1p|z, 0.0) - xp.log1p|test_irf.py quadrature
information|irf|discrimination**2 * ratio|discrimination * ratio|test_irf.py
difficulty|irf|nan, -self.intercept|nan, self.intercept|test_irf.py
from difficulty|irf|-slope * location|slope * location|test_irf.py
expected counts|quadrature/engines|*= frequency / mass|/= mass|quadrature
expected counts|quadrature/engines|right - tried * p)|right - tried * s)|quadrature
weak prior|calibration/priors|{0: -location, 1|{0: location, 1|calibration/test_priors.py
weak prior|calibration/priors|(df + 1) * np|df * np|calibration/test_priors.py
weak prior|calibration/priors|Beta(1 + right|Beta(right|calibration/test_priors.py
SE of b|calibration/standard_errors|+ 2 * locations * mixed|- 2 * locations * mixed|calibration/test_references.py
SE of c|calibration/standard_errors|by_logit**2 * cov|by_logit * cov|calibration/test_references.py
AIC|calibration/result|+ 2 * self.n_parameters|+ self.n_parameters|calibration/test_result.py
BIC|calibration/result|np.log(n)|np.log(n + 1)|calibration/test_result.py
SD of EAP|quadrature/posterior|second - self.mean**2|second + self.mean**2|scoring
WLE|scoring/abilities|weight = 0.5 * np.log(exp|weight = np.log(exp|scoring
paired SE|systems/paired|(n) / n**2|(n) / (n + 1) ** 2|systems/test_comparison.py systems/test_gate.py
paired SE|systems/paired|(n_clusters - 1, 1)|(n_clusters, 1)|systems/test_comparison.py systems/test_gate.py
Q3|diagnostics/q3|-= sums * other|+= sums * other|diagnostics/test_fit_statistics.py
z of infit|diagnostics/item_statistics|(1 - 3 * p|(1 - 2 * p|diagnostics
FDR step-up|data/slopes|y_control(p[tested])|y_control(2 * p[tested])|test_slopes.py
"""  # noqa: E501


def failed(mutation):
    """The first test that fails in a copy with the mutation, None where all pass."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("irtkit", "tests", "benchmarks"):
            shutil.copytree(ROOT / name, Path(folder) / name)
        shutil.copy(ROOT / "pyproject.toml", folder)
        module = Path(folder) / "irtkit" / f"{mutation['module']}.py"
        before, after = module.read_text(encoding="utf-8").split(mutation["old"])
        module.write_text(before + mutation["new"] + after, encoding="utf-8")
        options = ["-n0", "-x", "-q", "--tb=no", "-m", "not slow and not browser"]
        command = [sys.executable, "-m", "pytest", *options]
        command += [f"tests/{name}" for name in mutation["tests"].split()]
        here = os.environ | {"PYTHONPATH": folder}
        run = subprocess.run(
            command, check=False, cwd=folder, env=here, capture_output=True, text=True
        )
    if run.returncode > 1:
        raise RuntimeError(run.stdout + run.stderr)
    return next(iter(re.findall(r"^FAILED ([^\s[]+)", run.stdout, re.MULTILINE)), None)


if __name__ == "__main__":
    options = arguments(__doc__).parse_args()
    split = [line.split("|") for line in part(MUTATIONS.strip().splitlines(), 0)]
    rows = [dict(zip(FIELDS, row, strict=True)) for row in split]
    with ThreadPoolExecutor(2) as pool:
        for row, test in zip(rows, pool.map(failed, rows), strict=True):
            row["caught by"] = test or "no test"
            depends_on(ROOT / "irtkit" / f"{row['module']}.py", ROOT / (test or "").split(":")[0])
            print(f"{row['formula']:16}{row['old']} → {row['new']}: {row['caught by']}", flush=True)
    store(options, mutations=rows)
    sys.exit(any(row["caught by"] == "no test" for row in rows))
