"""A process that fits with one package and times nothing but the call that fits.

Packages may live in different virtual environments, so this file needs numpy alone. A process
started as ``python benchmarks/worker.py PACKAGE MODEL`` first says which version it runs; then
every line it reads names a file of responses and a file for the parameters, and it answers with
the seconds of one fit, on the clock and on the processors. :class:`Worker` is the other end.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from threading import Timer

import numpy as np

Items = namedtuple("Items", "discrimination intercept guessing")
Package = namedtuple("Package", "module prepare fit parameters distribution", defaults=(None,))
"""How one package is used: ``fit(prepare(values, model), model)``, then ``parameters``.

`prepare` takes responses (int8, respondents × items) to what the package takes. It is not timed,
and neither is `parameters`: discrimination, intercept and guessing. The distribution is the name in
the package index where it is not that of the module.
"""


def _irtkit(**settings):
    def parameters(result):
        return result.items["discrimination"], result.items["intercept"], result.items["guessing"]

    return Package(
        "irtkit",
        lambda values, _: import_module("irtkit").ResponseMatrix(values),
        lambda responses, model: import_module("irtkit").fit(responses, model, **settings),
        parameters,
    )


def _compare():
    fitting = _irtkit()

    def prepare(values, model):
        return fitting.fit(fitting.prepare(values, model), model)

    def compare(result, _):
        import_module("irtkit").compare_difficulties(result)
        return result

    return fitting._replace(prepare=prepare, fit=compare)


def _mirt(**settings):
    def parameters(result):
        found = result.model.parameters
        return _from_difficulty(found["discrimination"], found["difficulty"], found.get("guessing"))

    return Package(
        "mirt",
        lambda values, _: np.array(values, dtype=np.int64),
        lambda values, model: import_module("mirt").fit_mirt(values, model=model, **settings),
        parameters,
    )


_THETA = Package(
    "theta",
    lambda values, _: np.where(values < 0, np.nan, values),
    lambda values, model: import_module("theta").fit(values, model),
    lambda result: _from_difficulty(result.a, result.b, result.c),
    "theta-irt",
)
_GIRTH_METHODS = {"1PL": "onepl_mml", "2PL": "twopl_mml", "3PL": "threepl_mml"}
_GIRTH = Package(
    "girth",
    lambda values, _: np.array(values.T, dtype=np.int64),  # items × respondents; int8 overflows
    lambda values, model: getattr(import_module("girth"), _GIRTH_METHODS[model])(values),
    lambda of: _from_difficulty(of["Discrimination"], of["Difficulty"], of.get("Guessing")),
)


def _py_irt():
    def prepare(values, model):
        import pyro
        from py_irt.config import IrtConfig
        from py_irt.dataset import Dataset
        from py_irt.training import IrtModelTrainer

        pyro.set_rng_seed(0)
        rows, columns = (index.ravel().tolist() for index in np.indices(values.shape))
        subjects, items = ([f"{k}" for k in range(n)] for n in values.shape)
        dataset = Dataset(
            item_ids=set(items),
            subject_ids=set(subjects),
            item_id_to_ix={name: k for k, name in enumerate(items)},
            ix_to_item_id=dict(enumerate(items)),
            subject_id_to_ix={name: k for k, name in enumerate(subjects)},
            ix_to_subject_id=dict(enumerate(subjects)),
            observation_subjects=rows,
            observation_items=columns,
            observations=values.ravel().tolist(),
            training_example=[True] * values.size,
        )
        return IrtModelTrainer(
            data_path=None,
            config=IrtConfig(model_type=model.lower()),
            dataset=dataset,
            verbose=False,
        )

    def fit(trainer, _):
        trainer.train()
        return trainer.last_params

    def parameters(found):
        difficulty = np.array(found["diff"])
        slope = np.array(found.get("disc", np.ones_like(difficulty)))
        if "lambdas" in found:  # its 3PL estimates mean and SD of ability, the others fix them
            ability = np.array(found["ability"])
            slope, difficulty = slope * ability.std(), (difficulty - ability.mean()) / ability.std()
        return _from_difficulty(slope, difficulty, found.get("lambdas"))

    return Package("py_irt", prepare, fit, parameters)


def _from_difficulty(slope, difficulty, guessing):
    """Discrimination a, intercept −ab and guessing, one each per item."""
    location = np.asarray(difficulty, dtype=float).ravel()
    slope = np.broadcast_to(np.asarray(slope, dtype=float).ravel(), location.shape)
    guessing = np.zeros_like(location) if guessing is None else np.asarray(guessing, dtype=float)
    return slope, -slope * location, guessing.ravel()


PACKAGES = {
    "irtkit, prior=None": _irtkit(prior=None, standard_errors=False),
    "irtkit": _irtkit(standard_errors=False),
    "mirt": _mirt(compute_standard_errors=False),
    "girth": _GIRTH,
    "py-irt": _py_irt(),
}
"""Those that are compared by their point estimates."""
DEFAULT_CALLS = {
    "irtkit, default call": _irtkit(),
    "mirt, default call": _mirt(),
    "theta-irt": _THETA,
}
"""The call that people type; theta-irt leaves standard errors to a further one."""
COMPARISONS = {"irtkit, compare": _compare()}
"""What comes after a fit, which is not timed."""


def _answer(package, model, request):
    """Fit once; seconds, and peak memory of this process so far.

    ``cpu_seconds`` are those of the fit, all threads together, and ``process_cpu_seconds`` those
    of the process from its start to the end of the fit.
    """
    data = package.prepare(np.load(request["responses"], mmap_mode="r"), model)
    began, used = time.perf_counter(), time.process_time()
    result = package.fit(data, model)
    seconds, process = time.perf_counter() - began, time.process_time()
    slope, intercept, guessing = package.parameters(result)
    np.savez(request["parameters"], discrimination=slope, intercept=intercept, guessing=guessing)
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    times = {"seconds": seconds, "cpu_seconds": process - used, "process_cpu_seconds": process}
    return {**times, "peak_bytes": peak}


def serve(name, model):
    """Answer requests from standard input until it ends; what packages print goes to stderr."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as channel:
        os.dup2(2, 1)

        def say(answer):
            print(json.dumps(answer), file=channel, flush=True)

        if name.startswith("irtkit"):  # peers may run in an older Python
            from machine import note_files

            note_files()
        package = (PACKAGES | DEFAULT_CALLS | COMPARISONS)[name]
        if find_spec(package.module) is None:
            say({"error": "not installed"})
            return
        try:
            say({"version": version(package.distribution or package.module)})
        except PackageNotFoundError:
            say({"version": "not known"})
        for line in sys.stdin:
            try:
                say(_answer(package, model, json.loads(line)))
            except Exception as error:  # noqa: BLE001  # a peer may fail in any way
                say({"error": f"{type(error).__name__}: {error}"})


class Worker:
    """A running worker process, the times of its fits, and what it found.

    ``problem`` says why it can fit no more, None if it can. A fit that takes longer than ``limit``
    seconds ends the process. It imports irtkit from ``checkout`` where that is given.
    """

    def __init__(
        self, name, model, parameters, *, python=sys.executable, checkout=None, limit=1800.0
    ):
        self.name, self.parameters, self.limit = name, parameters, limit
        self.seconds, self.cpu_seconds = [], []
        self._complaints = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115  # closed in close()
        self._process = subprocess.Popen(
            [python, str(Path(__file__).resolve()), name, model],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            env=None if checkout is None else os.environ | {"PYTHONPATH": str(checkout.resolve())},
        )
        self.problem = None
        self.version = self._hear(60).get("version")

    @property
    def is_ours(self):
        """Whether this is irtkit, with whatever settings."""
        return self.name.startswith("irtkit")

    @property
    def best(self):
        """Seconds of the shortest fit."""
        return min(self.seconds, default=0.0)

    def fit(self, responses, *, counts_from=0.0):
        """Fit once; it counts if it took that long. The answer says why if the worker gives up."""
        if self.problem is not None:
            return {"error": self.problem}
        request = {"responses": str(responses), "parameters": str(self.parameters)}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._hear(self.limit)
        if answer.get("seconds", -1.0) >= counts_from:
            self.seconds.append(answer["seconds"])
            self.cpu_seconds.append(answer["cpu_seconds"])
        return answer

    def found(self):
        """Parameters of the latest fit."""
        if not self.seconds:
            return None
        with np.load(self.parameters) as stored:
            return Items(*(stored[name].astype(float) for name in Items._fields))

    def close(self):
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._complaints.close()

    def _hear(self, limit):
        timer = Timer(limit, self._process.kill)
        timer.start()
        line = self._process.stdout.readline()
        in_time = timer.is_alive()
        timer.cancel()
        if line:
            answer = json.loads(line)
        elif not in_time:
            answer = {"error": f"over limit ({limit:.0f} s)"}
        else:
            self._complaints.seek(0)
            last = self._complaints.read().strip().splitlines()[-1:]
            answer = {"error": f"ended with code {self._process.wait()}: {' '.join(last)}"}
        self.problem = answer.get("error")
        return answer


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2])
