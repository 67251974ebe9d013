"""Run Inspect with models that answer by a table: ``python docs/example_inspect.py eval quiz.py``.

``example/NAME`` answers a question as ``answers.json`` says. It stands for a model of the reader.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from inspect_ai._cli.main import main
from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, modelapi

ANSWERS = json.loads(Path("answers.json").read_text(encoding="utf-8"))


@modelapi(name="example")
class Example(ModelAPI):
    """A model with known answers."""

    async def generate(self, input: list[Any], **_: Any) -> ModelOutput:  # noqa: A002
        """Answer a question."""
        right = ANSWERS[self.model_name][input[-1].text]
        output = ModelOutput.from_content(self.model_name, "yes" if right else "no")
        output.usage = ModelUsage()  # or Inspect counts tokens with a file from the internet
        return output


if __name__ == "__main__":
    main()
