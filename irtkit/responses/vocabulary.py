"""Words that mean one thing: marks of responses and names of columns, in small letters.

Names of columns have letters and digits alone: "Subject ID" is subjectid.
"""

from __future__ import annotations

# fmt: off
MARKS = (
    ({"correct", "right"}, {"incorrect", "wrong", "not correct"}),
    ({"pass", "passed", "ok"}, {"fail", "failed", "not passed"}),
    ({"success", "successful", "succeeded"}, {"failure", "unsuccessful", "fail", "failed"}),
    ({"solved", "resolved"}, {"unsolved", "unresolved", "not solved", "not resolved"}),
    ({"yes"}, {"no"}),
    ({"c"}, {"i"}),
    ({"✓", "✔"}, {"✗", "✘"}),
)
"""Words that are right and wrong. The marks of a table are words of one pair."""
LIKELY_RIGHT = {"y", "t", "p"}
"""Letters that mean right if their contrary occurs too, unless they are answers."""
MARK_LETTERS = ("cinp", "yn", "tf", "pf")
"""Single letters that are marks rather than answers."""
COLUMNS = {
    "respondent": {
        "respondent", "respondentid", "model", "modelid", "modelname", "system", "systemid",
        "systemname", "subject", "subjectid", "student", "studentid", "user", "userid", "person",
        "personid", "participant", "participantid", "examinee", "learner", "agent", "agentid",
        "agentname", "llm", "llmname",
    },
    "item": {
        "item", "itemid", "itemname", "question", "questionid", "instance", "instanceid", "docid",
        "taskid", "problem", "problemid", "example", "exampleid", "sampleid", "prompt", "promptid",
        "qid", "variable",
    },
    "response": {
        "response", "correct", "iscorrect", "right", "isright", "score", "mark", "rating", "value",
        "accuracy", "acc", "passed", "ispassed", "success", "issuccess", "solved", "issolved",
        "resolved", "isresolved", "reward",
    },
    "answer": {
        "answer", "prediction", "predicted", "predictedanswer", "modelanswer", "modeloutput",
        "choice", "chosen", "extractedanswer",
    },
    "target": {
        "target", "key", "gold", "goldanswer", "label", "truth", "groundtruth", "correctanswer",
        "expected", "expectedanswer", "reference", "answerkey", "solution",
    },
    "judge": {
        f"{before}{judge}{after}"
        for before in ("", "model", "llm", "ai", "auto", "human", "expert")
        for judge in (
            "judge", "grader", "rater", "annotator", "evaluator", "assessor", "scorer", "reviewer",
            "marker", "examiner",
        )
        for after in ("", "id", "name", "model")
    },
}
"""Names of columns by the role that they have."""
SCORES = {"response", "score", "mark", "rating", "value", "accuracy", "acc", "reward"}
"""Names of responses that other columns of marks may be as well."""
RATINGS = {
    "helpfulness", "clarity", "fluency", "coherence", "relevance", "harmlessness", "faithfulness",
    "groundedness", "completeness", "conciseness", "correctness", "factuality", "quality",
    "safety", "style", "honesty", "exactmatch", "em", "f1", "bleu", "rouge", "rougel",
}
"""Names of marks that may be the response if one of `SCORES` is there too."""
INVERTED = {
    "error", "iserror", "errors", "wrong", "iswrong", "incorrect", "isincorrect", "fail", "failed",
    "isfailed", "failure",
}
"""Names of columns in which 1 is likely wrong."""
OUTCOMES = INVERTED | {"result", "outcome", "grade", "verdict", "pass"}
"""Names of columns that are results next to items, whose meaning is asked for."""
RESULTS = OUTCOMES | RATINGS | {"label"}
"""Names of columns that are results where all other columns are systems, items and trials."""
TASKS = (
    "task", "taskname", "dataset", "datasetname", "benchmark", "benchmarkname", "subset",
    "category", "domain", "subject", "topic", "split",
)
"""Columns of tasks, the likeliest first."""
REPEATS = {
    "trial", "trialid", "epoch", "seed", "sampleid", "sample", "run", "runid", "repeat",
    "repetition", "attempt", "rep", "replicate", "iteration",
}
"""Columns that number repeated trials."""
RUNS = {"run", "runid"}
"""Columns that name the systems where no other column does."""
METADATA = {
    "instruct", "instructiontuned", "isinstruct", "openweights", "isopenweights", "open", "isopen",
    "opensource", "chat", "ischat", "moe", "ismoe", "reasoning", "isreasoning", "thinking",
    "proprietary", "closed", "finetuned", "isfinetuned", "merged", "ismerged", "multimodal",
    "quantized", "rlhf", "base", "isbase", "api", "flagged", "vision", "hastools", "tools",
    "fewshot", "date", "day", "releasedate", "created",
}
"""Columns of 0 and 1, or of days such as 2/6, that describe systems."""
SUMMARIES = {
    "total", "sum", "mean", "average", "avg", "median", "overall", "macroavg", "microavg",
    "subtotal", "grandtotal", "overallscore", "totalscore", "meanscore", "averagescore",
}
"""Plain names of a row or column that sums up the others."""
KEY_ROWS = {"key", "answerkey", "answers", "correctanswer", "solution", "target"}
"""Plain labels of a row that holds the right answers."""
IDS = {"id", "index"}
LABELS = IDS | {"name"}
"""Names of a first column that holds labels; ids are of items as often as of systems."""
# fmt: on
RIGHT = frozenset().union(*(right for right, _ in MARKS))
WRONG = frozenset().union(*(wrong for _, wrong in MARKS))
