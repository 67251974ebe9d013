"""Logs that harnesses wrote, here or elsewhere, read as they were opened by hand."""

import math
import warnings
from pathlib import Path

import pytest

from irtkit import read_responses
from irtkit.files import head_of
from irtkit.io import harnesses, inspect_logs
from irtkit.io.logs import formats_that_fit

LOGS = Path(__file__).parents[1] / "data" / "logs"
pytestmark = pytest.mark.filterwarnings("ignore:samples that failed or did not run are missing")


def items_of(task, *names):
    return [f"{task}/{name}" for name in names]


TOYADD = items_of("toyadd", *(f"q{k}" for k in range(20)))
TOY = [*items_of("toy_gen", *range(4)), *items_of("toy_mc", *range(4))]
HELM = items_of("simple_mcqa", "id60", "id38", "id41", "id74")
CHOICES = [0, 0, 1, 0]
FLEXIBLE = {"metric": "acc", "filter": "flexible-extract"}
STRICT = FLEXIBLE | {"filter": "strict-match"}
MATCH, GRADED = ({"metric": metric, "threshold": 0.5} for metric in ("match", "graded"))
CARRIED = [
    ("samples_toy_mc_*.jsonl", {"metric": "acc"}, "i82qcls7", TOY[4:], CHOICES),
    ("samples_*", FLEXIBLE, "i82qcls7", TOY, [0, 0, 0, 0, *CHOICES]),
    ("lm_eval_0.4.5", STRICT, "org/dummy", TOY, [0, 0, 0, 0, 0, 1, 0, 0]),
    ("lm_eval_0.4.5", FLEXIBLE, "org/dummy", TOY, [1, 0, 0, 0, 0, 1, 0, 0]),
    ("*.eval", MATCH | {"repeats": "last"}, "mockllm/alpha", TOYADD, [1] * 7 + [0] * 13),
    ("*.eval", GRADED | {"repeats": "first"}, "mockllm/alpha", TOYADD, [1] * 20),
    ("inspect_0.3.50/*.json", {}, "mockllm/beta", TOYADD[:4], [1, 1, 1, 0]),
    ("inspect_0.3.50/*_5Ser*.eval", {}, "mockllm/beta", TOYADD[:4], [1, 1, 1, 0]),
    ("inspect_0.3.50/*_hjPg*.eval", {}, "mockllm/beta", TOYADD[:3], [1, 1, 1]),
    ("inspect_0.3.285/*.eval", {}, "mockllm/beta", TOYADD[:4], [1, 1, 1, -1]),
    ("helm", {"metric": "exact_match"}, "simple/model1", HELM, [0, 0, 0, 0]),
]
UTILS, DEMO = "inspect_test_utils", "demo-source.demo_bench"
POPULARITY = items_of("popularity", 1, 2, 3)
SWE_BENCH = ["astropy__astropy-12907", "django__django-14752"]
SWE_BENCH += ["django__django-16139", "sympy__sympy-11400"]
OF_OTHERS = {
    "inspect/2024-11-05*.eval": ("openai/gpt-4o-mini", ["input_task/1"], [1]),
    "inspect/2025-05-12*.json": ("openai/gpt-4o-mini", POPULARITY, [1, 1, 0]),
    "inspect/log_formats.eval": ("ollama/llama3.1", ["popularity/1"], [0]),
    "inspect/log_message*.eval": ("hardcoded/hardcoded", [f"{UTILS}/guess_number/0"], [0]),
    "inspect/mmlu*.eval": ("openai/gpt-4o", ["inspect_evals/mmlu_0_shot/1"], [0]),
    "every_eval_ever/*_samples.jsonl": ("demo-org/demo-model", [f"{DEMO}/demo_0001"], [1]),
    "openml": ("constructed", items_of("59", 7, 3, 12), [1, 0, 1]),
    "swebench": ("constructed_org/model", items_of("swe-bench", *SWE_BENCH), [1, 0, 0, 0]),
    "evalplus": ("constructed", ["HumanEval/0"], [0]),
}


def holds(path, settings, respondent, items, marks):
    responses = read_responses(path, **settings)
    assert (responses.respondents, list(responses.items)) == ((respondent,), items)
    assert responses.values.tolist() == [marks]


@pytest.mark.parametrize(("path", "settings", "respondent", "items", "marks"), CARRIED)
def test_a_carried_log_holds_what_its_maker_put_in(path, settings, respondent, items, marks):
    holds(LOGS / path, settings, respondent, items, marks)


@pytest.mark.parametrize("path", OF_OTHERS)
def test_a_log_of_others_holds_what_was_read_by_hand(shared_samples, path):
    holds(shared_samples / path, {}, *OF_OTHERS[path])


@pytest.mark.parametrize("by", ["strict-match", "flexible-extract"])
@pytest.mark.parametrize(("version", "more", "logs"), [
    ("0.2.2", ([], []), "samples_toy_gen_*"),
    ("0.3.0", (["accuracy"], ["none"]), "samples_toy_*"),
])  # fmt: skip
def test_what_every_eval_ever_converted_reads_as_the_log_that_it_was(version, more, logs, by):
    converted = read_responses(LOGS / f"every_eval_ever_{version}", filter=[by, *more[0]])
    log = read_responses(LOGS / logs, metric=["acc"] if more[1] else None, filter=[by, *more[1]])
    assert converted.respondents == ("org/dummy",)
    assert converted.items == log.items
    assert converted.values.tolist() == log.values.tolist()


# Logs of seven more harnesses, read as their samples were made


FOLDERS = {
    "openai-evals": "openai_evals",
    "simple-evals": "simple_evals",
    **{name: name for name in ("promptfoo", "livebench", "livecodebench", "opencompass")},
    "bigcodebench": "bigcodebench",
}
SYSTEMS = {
    "promptfoo": ["toy/good", "toy/weak"],
    "livecodebench": ["Toy-Large", "Toy-Small"],
    "bigcodebench": ["toy/large", "toy/small"],
}
TASKS = {
    "openai-evals": "sums.dev.v0",
    "promptfoo": "toy sums",
    "livecodebench": "livecodebench-codegeneration",
    "bigcodebench": "bigcodebench-instruct",
}
ITEMS = {
    "simple-evals": ["83be33e50f65601c", "3a2faf05276e94aa", "8460ae94b6555cb0"],
    "promptfoo": ["47880b8207305f89", "60e18bd8a0b97c45", "dd13232c622705d6"],
    "livebench": ["3fc4", "7692", "8b5b"],  # questions two, one and three
    "livecodebench": ["toy0_a", "toy1_a", "toy2_a"],
}
MATRICES = [
    ("openai-evals", {}, [[1, 1, -1], [1, 0, 1]]),
    ("simple-evals", {}, [[1, 1, 1], [1, 0, 0]]),
    ("simple-evals", {"errors": "missing"}, [[1, 1, 1], [1, 0, -1]]),
    ("promptfoo", {}, [[1, 1, 0], [1, 0, -1]]),
    ("promptfoo", {"metric": "score", "threshold": 0.5}, [[1, 1, 1], [1, 0, -1]]),
    ("livebench", {"threshold": 0.75}, [[1, 1, 0], [0, 1, -1]]),
    ("livecodebench", {"repeats": "first"}, [[1, 1, 1], [0, 0, 0]]),
    ("livecodebench", {"repeats": "last", "errors": "missing"}, [[1, 0, 1], [1, 0, -1]]),
    ("opencompass", {"repeats": "first"}, [[1, 1, 1], [1, 0, 0]]),
    ("opencompass", {"repeats": "last"}, [[1, 0, 1], [0, 0, 1]]),
    ("bigcodebench", {"repeats": "first"}, [[1, 1, 1], [0, 0, -1]]),
    ("bigcodebench", {"repeats": "last"}, [[1, 0, 1], [1, 0, -1]]),
]


@pytest.mark.parametrize(("name", "settings", "marks"), MATRICES)
def test_a_log_holds_what_its_maker_put_in(name, settings, marks):
    responses = read_responses(LOGS / FOLDERS[name], **settings)
    assert sorted(responses.respondents) == SYSTEMS.get(name, ["toy-large", "toy-small"])
    items = [f"{TASKS.get(name, 'sums')}/{item}" for item in ITEMS.get(name, ["0", "1", "2"])]
    starts = [label[: len(item)] for label, item in zip(responses.items, items, strict=True)]
    assert starts == items
    order = [responses.respondents.index(one) for one in sorted(responses.respondents)]
    assert responses.values[order].tolist() == marks


@pytest.mark.parametrize(("path", "settings", "first"), [
    ("openai_evals", {}, {"text": "What is 1 + 1?", "target": "2"}),
    ("simple_evals", {}, {"text": "Is 1 < 2?\nA) yes\nB) no", "target": "A"}),
    ("promptfoo", {}, {"sum": "2 + 2"}),
    ("livecodebench", {"repeats": "first"}, {"difficulty": "easy"}),
    ("opencompass", {"repeats": "first"}, {"target": "2"}),
    ("samples_toy_mc_*.jsonl", {"metric": "acc"}, {"text": "2+2?", "target": "1"}),
    ("helm", {"metric": "exact_match"}, {"text": "Is 70 even or odd?", "target": "Even"}),
    ("inspect_0.3.285/*.eval", {}, {"text": "What is 0+1?", "target": "1"}),
])  # fmt: skip
def test_items_keep_text_target_and_kind(path, settings, first):
    table = read_responses(LOGS / path, **settings).item_table
    assert table.iloc[0][[*first]].to_dict() == first


def test_no_file_is_of_two_formats(request):
    ours = {file: name for name, one in FOLDERS.items() for file in (LOGS / one).rglob("*.json*")}
    shared = Path(request.config.rootpath).parent / "shared" / "samples"
    for file in (one for folder in (LOGS, shared) for one in folder.rglob("*.*") if one.is_file()):
        found = {*formats_that_fit(file, head_of(file)[:4096].decode("latin-1"))}
        assert found == {ours[file]} if file in ours else not found & FOLDERS.keys(), file


# Logs read by what their writers read them with, where that is installed: the same cells


def own(name):
    """A package of a harness, which may warn of whatever it likes when it is imported."""
    with warnings.catch_warnings(action="ignore"):
        return pytest.importorskip(name)


def cells_of(samples):
    """Item and score of every sample by metric, in the order of the items' names."""
    names = list(samples.items)
    return {
        measure.metric: sorted(
            (names[position], float(value)) for position, value in zip(*kept, strict=True)
        )
        for measure, kept in samples.scores.items()
        if measure not in samples.not_marks
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", sorted([*LOGS.rglob("*.eval"), *LOGS.glob("inspect*/*.json")]), ids=lambda p: p.name
)
def test_inspect_reads_the_same_from_carried_logs(path):
    number = own("inspect_ai.scorer").value_to_float()
    expected = {}
    with warnings.catch_warnings(action="ignore"):
        log = own("inspect_ai.log").read_eval_log(str(path))
    for sample in log.samples or []:
        for scorer, score in (sample.scores or {}).items():
            expected.setdefault(scorer, []).append((str(sample.id), number(score.value)))
    (samples,) = inspect_logs.read(path, {})
    assert cells_of(samples) == {scorer: sorted(cells) for scorer, cells in expected.items()}
    assert (samples.respondent, samples.task) == (log.eval.model, log.eval.task)
    assert (samples.unfinished or "success") == log.status


def test_liac_arff_reads_the_same_predictions(tmp_path, make):
    rows = "0,0,7,a,a\n0,0, 3 ,'b',\"a\"\n% none\n0,1,5,?,a\n1,1,7,b,b\n"
    path = make.write_openml(tmp_path, rows)
    with path.open() as handle:
        table = own("arff").load(handle)
    names = [name for name, _ in table["attributes"]]
    given = [dict(zip(names, row, strict=True)) for row in table["data"]]
    expected = [
        (f"{row['row_id']:g}", float(row["prediction"] == row["correct"]))
        for row in given
        if row["prediction"] is not None
    ]
    (samples,) = harnesses.read_openml(path, {})
    read = [cell for cell in cells_of(samples)["correct"] if not math.isnan(cell[1])]
    assert read == sorted(expected)


# What evaluation logs hold of every sample besides its mark


def table(responses):
    """Values by item and metric, of one respondent."""
    metrics = responses.metrics
    assert metrics is not None
    places = zip(metrics["item"], metrics["metric"], strict=True)
    return dict(zip(places, metrics["value"], strict=True))


def test_seconds_and_tokens_of_inspect_belong_to_the_system(tmp_path, make):
    usage = {"org/gpt": {"output_tokens": 3, "total_tokens": 5}, "judge": {"total_tokens": 90}}
    effort = {"model_usage": usage, "total_time": 1.5, "working_time": 1}
    failed = make.inspect_sample("b", None, total_time=60.0)
    unmarked = make.inspect_sample("c", "no idea", total_time=60.0)
    make.write_inspect(tmp_path, [make.inspect_sample("a", "C", **effort), failed, unmarked])
    responses = read_responses(tmp_path / "log.eval")
    assert table(responses) == {
        ("sums/a", "match"): 1.0,
        ("sums/a", "output_tokens"): 3.0,
        ("sums/a", "total_tokens"): 5.0,
        ("sums/a", "total_time"): 1.5,
        ("sums/a", "working_time"): 1.0,
    }
    assert responses.values.tolist() == [[1, -1, -1]]


def test_repeats_have_the_mean_of_their_metrics(tmp_path, make):
    samples = [make.inspect_sample("a", mark, k, total_time=k) for k, mark in enumerate("CCI")]
    make.write_inspect(tmp_path, [*samples, make.inspect_sample("a", "C", 9)])
    responses = read_responses(tmp_path / "log.eval", repeats="count")
    assert table(responses) == {("sums/a", "match"): 0.75, ("sums/a", "total_time"): 1.0}


def test_tokens_and_latency_of_every_eval_ever(tmp_path, make):
    effort = {"token_usage": {"output_tokens": 2}, "performance": {"latency_ms": 2.5}}
    strange = {"token_usage": {"output_tokens": [7], "total_tokens": None}, "performance": 3}
    records = [
        make.every_eval_ever_record("a", **effort),
        make.every_eval_ever_record("b", **strange),
        make.every_eval_ever_record("c", **effort, error="timeout"),
    ]
    found = table(read_responses(make.write_every_eval_ever(tmp_path, records)))
    of_a = {"is_correct": 1.0, "score": 1.0, "output_tokens": 2.0, "latency_ms": 2.5}
    of_b = {"is_correct": 1.0, "score": 1.0}
    expected = {("sums/a", name): one for name, one in of_a.items()}
    assert found == expected | {("sums/b", name): one for name, one in of_b.items()}


def test_stats_of_helm_and_metrics_of_lm_eval_are_kept(tmp_path, make):
    make.write_helm(tmp_path)
    helm = table(read_responses(tmp_path / "per_instance_stats.json"))
    assert helm["sums:digits=2/id3", "num_references"] == 2.0
    assert ("sums:digits=2/id3", "exact_match") not in helm  # missing
    fields = {"metrics": ["acc", "acc_norm"], "acc_norm": 0.5}
    path = make.write_lm_eval(tmp_path, [make.lm_eval_record(0, acc=1.0, **fields)])
    found = table(read_responses(path, metric="acc"))
    assert found == {("sums/0", "acc"): 1.0, ("sums/0", "acc_norm"): 0.5}
