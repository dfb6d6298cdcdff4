"""The notebooks as documents: complete, run, free of typed-in figures and of this machine, and solved.

That they still run is checked by ``pytest --nbmake notebooks``; here they are read as they were committed.
"""

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import numpy as np
import pytest
from llama_index.core.schema import NodeWithScore, TextNode

from rungs.measure import Label, load_golden

REPOSITORY = Path(__file__).parents[1]
NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))
STUB = re.compile(r"# Exercise \d+: yours")

# What a notebook goes through, in this order (the shape of a notebook in the style guide).
SHAPE = (
    "what goes wrong without this rung",
    "the idea by hand",
    "the code",
    "predict",
    "the measurement",
    "the questions that got better and worse",
    "reported elsewhere",
    "what (it|this rung) does not fix",
    "exercises",
)

METRIC = re.compile(
    r"recall|precision|\bmrr\b|ndcg|abstain|false_weak|tokens_to_answer|cosine|\bp50\b|\brank\b|interval|threshold|share",
    re.IGNORECASE,
)
FIGURE = re.compile(r"(?<![\w.@])(?:\d+\.\d+|\d+(?:\.\d+)?\s?%|\d+\s?ms\b)(?!\w)|\b\d+ of (?:the )?\d+\b")


def typed_figures(markdown: str) -> list[str]:
    """Figures that somebody typed next to the name of something that is measured.

    A paragraph, a list item or a row of a table at a time. The level of an interval is no measurement.
    """
    found = []
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.)\s)", markdown):
        if METRIC.search(paragraph):
            found += [f for f in FIGURE.findall(paragraph) if f.replace(" ", "") != "95%"]
    return found


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def notebook(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def of_type(notebook: nbformat.NotebookNode, kind: str) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == kind]


def outputs(notebook: nbformat.NotebookNode) -> Iterator[nbformat.NotebookNode]:
    for cell in of_type(notebook, "code"):
        yield from cell.outputs


def texts(output: nbformat.NotebookNode) -> Iterator[str]:
    """What of an output can be read: printed text and every text form of what was shown."""
    yield output.get("text", "")
    yield from (str(form) for kind, form in output.get("data", {}).items() if kind.startswith("text/"))


def exercises(notebook: nbformat.NotebookNode) -> list[str]:
    last = next(cell.source for cell in reversed(notebook.cells) if "## Exercises" in cell.source)
    return re.findall(r"^(\d+)\. \*", last.partition("## Exercises")[2], re.MULTILINE)


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS][:3] == ["00_measure_first", "01_naive", "02_dense"]


def test_it_is_a_valid_notebook(notebook):
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)


def test_it_was_run_from_top_to_bottom(notebook):
    cells = of_type(notebook, "code")
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), "run: make notebooks"
    silent = [cell.source for cell in cells if not cell.outputs and not STUB.fullmatch(cell.source)]
    assert not silent, "cells that show nothing"
    assert any("image/png" in output.get("data", {}) for output in outputs(notebook)), "no figure is shown"


def test_nothing_went_wrong_in_it(notebook):
    for output in outputs(notebook):
        assert output.output_type != "error", output.get("evalue")
        assert output.get("name") != "stderr", output.get("text")


def test_it_knows_nothing_of_the_machine_it_ran_on(notebook):
    here = [re.escape(str(place)) for place in (REPOSITORY, Path.home(), sys.prefix)]
    machine = re.compile("|".join([*here, r"(?<![\w.])/(?:work|root|tmp|home|Users)/", "site-packages", "ipykernel_"]))
    for cell in notebook.cells:
        assert not machine.search(cell.source), cell.source
    for output in outputs(notebook):
        for text in texts(output):
            assert not machine.search(text), machine.search(text)


def test_its_prose_types_no_measured_figure(notebook):
    for cell in of_type(notebook, "markdown"):
        assert not typed_figures(cell.source), "let a cell print this figure"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Here `recall@8` is 0.43, much lower.", ["0.43"]),
        ("documents take 52% of the top places\n\nand the share of code is 31 %", ["31 %"]),
        ("- MRR fell\n- in 12 of 64 questions at rank 1", ["12 of 64"]),
        ("p50 is 12 ms", ["12 ms"]),
        ("Each with its 95% interval.", []),
        ("`recall@8` and `ndcg@10`: 1 / log₂(1 + rank), of 8 places", []),
        ("Windows of 1000 characters; half of the lines, or 20 of them, by the rank.", []),
        ("Version 5.7 of celery.", []),
    ],
)
def test_what_counts_as_a_typed_figure(text, found):
    assert typed_figures(text) == found


def test_it_has_the_shape_of_a_notebook(notebook):
    headings = re.findall(r"^#+ (.+)$", "\n".join(cell.source for cell in of_type(notebook, "markdown")), re.MULTILINE)
    at = -1
    for wanted in SHAPE:
        places = [i for i, heading in enumerate(headings) if re.match(wanted, heading, re.IGNORECASE)]
        assert places, f"no section {wanted!r}"
        assert places[0] > at, f"section {wanted!r} comes too early"
        at = places[0]


def test_it_says_what_it_takes(notebook):
    opening = notebook.cells[0].source
    assert re.match(r"# \d+ · ", opening)
    assert all(f"**{word}" in opening for word in ("The question", "Time", "You need"))


def test_it_asks_for_a_prediction_before_it_measures(notebook):
    asked = [i for i, cell in enumerate(notebook.cells) if all(f"**{c})**" in cell.source for c in "abc")]
    assert asked, "no prediction with choices"
    assert all(any(cell.cell_type == "code" for cell in notebook.cells[i + 1 : i + 4]) for i in asked)


def test_it_reads_the_code_of_the_package(notebook):
    assert any(re.search(r"^read\(", cell.source, re.MULTILINE) for cell in of_type(notebook, "code"))
    shown = [output.data["text/markdown"] for output in outputs(notebook) if "text/markdown" in output.get("data", {})]
    assert any(text.startswith("```python\n") for text in shown)


def test_it_sets_figures_beside_those_of_others(notebook):
    assert any("plots.published(" in cell.source for cell in of_type(notebook, "code"))


def test_it_says_what_to_run_where_nothing_is_built(notebook, tmp_path, monkeypatch):
    monkeypatch.setenv("RAG_HOME", str(tmp_path))
    monkeypatch.chdir(REPOSITORY / "notebooks")
    first = of_type(notebook, "code")[0].source
    with pytest.raises(SystemExit, match="make ladder"):
        exec(compile(first, "first cell", "exec"), {})


def test_every_exercise_has_a_place_and_a_solution(notebook, path):
    numbers = exercises(notebook)
    assert numbers == [str(i) for i in range(1, len(numbers) + 1)] and len(numbers) in (2, 3)
    stubs = [cell.source for cell in of_type(notebook, "code") if STUB.fullmatch(cell.source)]
    assert stubs == [f"# Exercise {number}: yours" for number in numbers]
    assert f"(solutions/{path.stem}.py)" in notebook.cells[-len(stubs) - 1].source
    solved = [name for name in vars(solutions(path.stem)) if re.fullmatch(r"exercise_\d+", name)]
    assert solved == [f"exercise_{number}" for number in numbers]


# --- the solutions, on the real index


def solutions(stem: str) -> ModuleType:
    file = REPOSITORY / "notebooks" / "solutions" / f"{stem}.py"
    spec = importlib.util.spec_from_file_location(f"solutions_{stem}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def golden(bench: Any) -> Any:
    return load_golden(REPOSITORY / "golden" / "celery.jsonl", bench.corpus)


@pytest.fixture(scope="module")
def positives(golden: Any) -> list[str]:
    return [question.id for question in golden.questions if question.expect]


def test_measure_first_is_solved(bench, golden):
    solved = solutions("00_measure_first")
    assert solved.exercise_1(bench, golden) > 100
    assert solved.exercise_2(bench, golden) == (4, 6)
    where, complaint = solved.exercise_3(bench, golden)
    assert re.fullmatch(r"lines \d+ to \d+", where)
    assert "did you mean 'Resource.force_close_all'" in complaint


def test_the_two_ways_to_ask_whether_a_difference_is_chance():
    solved = solutions("00_measure_first")
    one = np.array([0.5] + [0.0] * 41)
    assert solved.bootstrap(one)[0] == 0 and solved.sign_flip(one) == 1
    assert solved.sign_flip(np.full(6, 0.5)) == pytest.approx(2 / 2**6, abs=0.01)
    clear = np.random.default_rng(0).normal(1, 0.1, 50)
    assert solved.bootstrap(clear)[0] > 0.9 and solved.sign_flip(clear) < 0.001


def test_naive_is_solved(bench, golden, positives):
    solved = solutions("01_naive")
    sizes = solved.exercise_1(bench, golden)
    assert sizes["windows of 600"] > sizes["windows of 1000"]
    assert sizes["cut short of 600"] < sizes["cut short of 1000"]
    moved = solved.exercise_2(bench, golden)
    assert set(moved) == {q.kind for q in golden.questions if q.expect}
    assert 0 < sum(better + worse for better, worse in moved.values()) <= len(positives)
    assert set(solved.exercise_3(bench, golden)) <= set(positives)


def test_the_best_window_of_a_label():
    best_share = solutions("01_naive").best_share
    label = Label("a.py::f", "a.py", "f", ((1, 10), (40, 41)))
    assert best_share(label, {"a.py": [(1, 4), (3, 8), (9, 39)]}) == 0.6
    assert best_share(label, {"a.py": [(1, 4), (39, 41)]}) == 1.0
    assert best_share(Label("a.py", "a.py"), {"a.py": [(1, 4)]}) == 1.0


def test_dense_is_solved(bench, golden):
    solved = solutions("02_dense")
    better, worse = solved.exercise_1(bench, golden)
    assert better > 0 and worse == 0  # fewer hits compete, and no right place is left out
    far, near = solved.exercise_2(bench, golden).values()
    assert far.abstain_rate - far.false_weak_rate >= near.abstain_rate - near.false_weak_rate
    moved = solved.exercise_3(bench, golden)
    assert moved["doc"][0] == 0  # code in front of documents finds no document
    assert moved["prose-en"][0] > 0


def test_lexical_and_routing_is_solved(bench, golden, positives):
    solved = solutions("03_lexical_and_routing")
    perfect, auto, above = solved.exercise_2(bench, golden)
    assert 0 < auto < 1 and 0 < perfect < 1 and above > 0
    shared = solved.exercise_3(bench, golden)
    assert 8 >= shared["hybrid k=1"] > shared["hybrid k=60"] > 0
    stemmed = solved.exercise_1(bench, golden)
    assert (stemmed["bm25"].verdict, stemmed["bm25"].value > 0) == ("better", True)
    assert stemmed["hybrid"].verdict.startswith(("not readable", "equivalent"))


def test_taking_turns_gives_each_node_once():
    def hits(names: str) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(id_=name, text=name), score=1.0) for name in names]

    merged = solutions("03_lexical_and_routing").take_turns({"dense": hits("ABC"), "bm25": hits("DAEFG")})
    assert [hit.node.node_id for hit in merged] == list("ADBCEFG")
    assert [hit.score for hit in merged] == [1 / rank for rank in range(1, 8)]
