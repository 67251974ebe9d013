"""Runs of Inspect for the tests: ``python tests/inspect_runs.py FOLDER`` runs FOLDER/plan.json.

They have a process of their own, since Inspect changes logging and leaves streams to be collected.
The mock model answers by the table of a system that is not in the fit.
"""

import asyncio
import json
import sys
from pathlib import Path

import numpy as np
from inspect_ai import Task, eval_async
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, includes, match, scorer

import irtkit

TASKS = ("quiz", "exam")


@scorer(metrics=[accuracy()], name="match")
def half():
    """Half a mark for some right answers."""

    async def score(state, target):
        right = state.output.completion == target.text
        return Score(value=right * (1.0 if int(state.input_text) % 3 else 0.5))

    return score


SCORERS = {"match": match, "includes": includes, "half": half}


async def run(answers, managers, *, fails=(), seconds=60, scorers=("match",), **how):
    """Evaluate a system on one task per manager, and return what was asked."""
    asked = []
    most_at_once = running = 0

    async def answer(messages, *_):
        nonlocal most_at_once, running
        number = int(messages[-1].text)
        asked.append(number)
        running += 1
        most_at_once = max(most_at_once, running)
        await asyncio.sleep(number * 37 % 10 / 5000)  # so that answers change their order
        running -= 1
        if number in fails:
            raise RuntimeError("the sandbox broke")
        output = ModelOutput.from_content("mockllm/model", "yes" if answers[number - 1] else "no")
        output.usage = ModelUsage()  # or Inspect counts tokens with a file from the internet
        return output

    marks = [SCORERS[name]() for name in scorers]
    samples = [Sample(input=str(number + 1), target="yes") for number in range(len(answers))]
    tasks = [
        Task(dataset=samples, scorer=marks, name=name, early_stopping=manager)
        for name, manager in zip(TASKS, managers, strict=False)
    ]
    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    logs = []
    try:
        logs = await asyncio.wait_for(eval_async(tasks, model=model, **how), seconds)
    except TimeoutError:
        how["cancelled"] = True
    found = [log.results.early_stopping for log in logs if log.results is not None]
    return {
        "metadata": [summary.metadata for summary in found],
        "n_skipped": sum(len(summary.early_stops) for summary in found),
        "cancelled": how.get("cancelled", False),
        "errors": [log.error.message for log in logs if log.error is not None],
        "asked": asked,
        "most_at_once": most_at_once,
    }


def main(folder):
    """Run the plan with one manager, and write what was asked."""
    plan = json.loads((folder / "plan.json").read_text())
    answers = np.array(plan.pop("answers"))
    manager = irtkit.inspect_ai.Adaptive(folder / "fit.npz", **plan.pop("manager"))
    irtkit.inspect_ai._QUIET = plan.pop("quiet")
    done = []
    for number, how in enumerate(plan.pop("runs")):
        managers = [manager] * how.pop("n_tasks", 1)
        where = {"log_dir": str(folder / str(number))}
        done.append(asyncio.run(run(answers[how.pop("system", 0)], managers, **where, **how)))
    (folder / "done.json").write_text(json.dumps(done))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
