"""The command line as a user meets it: exit codes, one-line errors, JSON and nothing else."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rungs.cli import main


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory):
    """A small indexed corpus called `shop`, in a home of its own, with the real default model."""
    root = tmp_path_factory.mktemp("shop")
    (root / "src").mkdir()
    (root / "src/basket.py").write_text(
        'def add_to_basket(item):\n    """Put one more article into the shopping cart."""\n    BASKET.append(item)\n'
    )
    (root / "src/mail.py").write_text(
        'def send_receipt(address):\n    """E-mail the invoice."""\n    SMTP.send(address)\n'
    )
    (root / "src/odd.py").write_text('def odd():\n    """\x1b[31mred\x07 alert"""\n')
    patch = pytest.MonkeyPatch()
    patch.setenv("RAG_HOME", str(root / "home"))
    patch.setenv("RAG_CACHE_DIR", str(root / "cache"))
    assert main(["index", str(root / "src"), "--name", "shop", "--quiet"]) == 0
    (root / "home/lost").mkdir()  # a corpus whose record is gone
    yield root
    patch.undo()


GOLDEN = [
    {"id": "q1", "q": "where do articles go into the cart", "expect": ["basket.py::add_to_basket"], "kind": "prose-en"},
    {"id": "q2", "q": "send_receipt", "expect": ["mail.py::send_receipt"], "kind": "symbol"},
    {"id": "q3", "q": "how do I breed llamas", "expect": [], "kind": "negative-far"},
]


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    path = tmp_path / "golden.jsonl"
    rest = {"mode": "any", "difficulty": "easy", "why": "read it", "also": []}
    path.write_text("".join(json.dumps({**row, **rest}) + "\n" for row in GOLDEN))
    return path


def run(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    out, err = capsys.readouterr()
    return code, out, err


def test_search_shows_path_lines_and_scores(shop, capsys):
    code, out, _ = run(capsys, "search", "--corpus", "shop", "putting goods in a shopping cart")
    assert code == 0
    first = next(line for line in out.splitlines() if line.startswith(" 1."))
    assert "basket.py:1-3" in first
    assert "add_to_basket" in first
    assert "dense 0." in first


def test_search_says_when_a_name_is_not_there_or_was_read_otherwise(shop, capsys):
    assert "a weak match: there may be no answer" in run(capsys, "search", "--corpus", "shop", "no_such_thing")[1]
    _, out, _ = run(capsys, "search", "--corpus", "shop", "send_reciept")
    assert ".send_receipt)" in out.splitlines()[0] and "read as" in out.splitlines()[0]
    assert "weak match" not in out


def test_search_json_is_the_contract_and_nothing_else(shop, capsys):
    code, out, _ = run(capsys, "search", "--corpus", "shop", "--mode", "bm25", "--json", "send_receipt")
    data = json.loads(out)
    assert code == 0
    assert set(data) == {"query", "route", "reason", "weak_match", "dropped", "degraded", "timings_ms", "hits"}
    assert data["route"] == "bm25"
    hit = data["hits"][0]
    assert (hit["path"], hit["symbol"], hit["start_line"], hit["end_line"]) == ("mail.py", "send_receipt", 1, 3)
    assert hit["scores"] == {"bm25": hit["score"]}


def test_a_corpus_cannot_drive_the_terminal(shop, capsys):
    _, out, _ = run(capsys, "search", "--corpus", "shop", "odd red alert")
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "\\x1b[31mred" in out


def test_eval_prints_a_report(shop, golden, capsys, tmp_path):
    saved, ledger = tmp_path / "report.json", tmp_path / "ledger.jsonl"
    argv = ["eval", "--corpus", "shop", str(golden), "--json", "--quiet", "--save", str(saved), "--ledger", str(ledger)]
    code, out, _ = run(capsys, *argv)
    report = json.loads(out)
    assert code == 0
    assert report["status"] == "ok"
    assert report["metrics"]["recall@8"]["value"] == 1
    assert report["metrics"]["recall@8"]["n"] == 2
    assert report["by_kind"]["prose-en"]["mrr"]["n"] == 1
    assert report["config"]["search_mode"] == "auto"
    assert json.loads(saved.read_text()) == report
    assert [json.loads(line)["label"] for line in ledger.read_text().splitlines()] == ["auto"]


def test_compare_says_which_questions_moved(shop, golden, capsys, tmp_path):
    for mode in ("dense", "bm25"):
        argv = ["eval", "--corpus", "shop", str(golden), "--quiet", "--no-latency", "--mode", mode]
        assert run(capsys, *argv, "--save", str(tmp_path / f"{mode}.json"))[0] == 0
    files = [str(tmp_path / "dense.json"), str(tmp_path / "bm25.json")]
    code, out, _ = run(capsys, "compare", *files)
    assert code == 0
    assert "not readable at n=2" in out
    data = json.loads(run(capsys, "compare", "--json", *files)[1])
    assert data["baseline"] == "dense"
    assert data["settings"]["bm25"]["search_mode"] == ["dense", "bm25"]
    assert run(capsys, "compare", files[0], files[0])[0] == 2
    assert run(capsys, "compare", files[0], str(golden))[0] == 2


def test_gate_passes_the_same_and_stops_a_worse_one(shop, golden, capsys, tmp_path):
    rows = [{**GOLDEN[1], "id": f"q{i}", "q": f"send_receipt {'x' * i}"} for i in range(9)]
    rest = {"mode": "any", "difficulty": "easy", "why": "read it", "also": []}
    golden.write_text("".join(json.dumps({**row, **rest}) + "\n" for row in rows))
    base = str(tmp_path / "base.json")
    common = ["--corpus", "shop", "--quiet"]
    assert run(capsys, "eval", *common, str(golden), "--mode", "bm25", "--no-latency", "--save", base)[0] == 0
    gate = ["gate", *common, base, "--golden", str(golden), "--mode", "bm25"]
    assert run(capsys, *gate)[0] == 0
    code, out, _ = run(capsys, *gate[:-1], "dense", "--path-prefix", "odd.py")  # whatever is found is not the answer
    assert code == 1
    assert "gate: worse on" in out
    golden.write_text(golden.read_text().replace("read it", "read again"))
    code, _, err = run(capsys, *gate)
    assert code == 2
    assert "different versions of the golden" in err


def test_run_answers_every_query(shop, tmp_path, capsys):
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"id": "a", "q": "shopping\u2028cart\u0085"}\n\n{"id": "b", "q": "invoice"}\n')
    out = tmp_path / "out.jsonl"
    assert run(capsys, "run", "--corpus", "shop", str(queries), "--out", str(out), "--quiet")[0] == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["id"] for row in rows] == ["a", "b"]
    assert all(set(row) == {"id", "hits", "ms", "weak_match", "dropped"} for row in rows)
    assert rows[0]["hits"][0]["path"] == "basket.py"


@pytest.mark.parametrize(("stop", "kept"), [(KeyboardInterrupt(), 1), (ValueError("x"), 0)])
def test_a_stopped_run_keeps_what_was_finished_and_touches_nothing_else(
    shop, tmp_path, capsys, monkeypatch, stop, kept
):
    from rungs.cli import searching

    def answer(_, query):
        if query["id"] == "b":
            raise stop
        return "finished"

    monkeypatch.setattr(searching, "_answer", answer)
    queries, out, other = tmp_path / "q.jsonl", tmp_path / "out.jsonl", tmp_path / "out.jsonl.partial"
    queries.write_text('{"id": "a", "q": "cart"}\n{"id": "b", "q": "invoice"}\n')
    out.write_text("before")
    other.write_text("precious")
    assert run(capsys, "run", "--corpus", "shop", str(queries), "--out", str(out), "--quiet")[0] == (130 if kept else 2)
    assert (out.read_text(), other.read_text()) == ("before", "precious")
    left = [path.read_text() for path in tmp_path.iterdir() if path not in (queries, out, other)]
    assert left == ["finished\n"] * kept


def test_settings_come_from_the_environment_too(shop, capsys, monkeypatch):
    monkeypatch.setenv("RAG_CORPUS", "shop")
    monkeypatch.setenv("RAG_TOP_K", "1")
    assert len(json.loads(run(capsys, "search", "--json", "cart")[1])["hits"]) == 1
    assert len(json.loads(run(capsys, "search", "--json", "--top-k", "2", "cart")[1])["hits"]) == 2


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["search", "--corpus", "nowhere", "x"], "no corpus or folder 'nowhere'"),
        (["search", "--corpus", "shop", "   "], "the query is empty"),
        (["search", "--corpus", "shop", "--category", "poem", "x"], "--category has 'poem', which is unknown"),
        (["search", "--corpus", "shop", "--top-k", "0", "x"], "--top-k is 0; use at least 1"),
        (["search", "--corpus", "shop", "--top-k", "99999", "x"], "--top-k is 99999; use at most 16384"),
        (["search", "--corpus", "shop", "--language", "pyton", "x"], "no file in language 'pyton'; it has python"),
        (["search", "--corpus", "shop", "--path-prefix", "src/", "x"], "no path that starts with 'src/'"),
        (["search", "--corpus", "lost", "x"], "rungs index PATH --name lost"),
        (["search", "--corpus", "shop", "--chunking", "windows", "x"], "run: rungs index shop"),
        (["search", "--corpus", "shop", "--embedder", "./no-such-model", "x"], "RAG_EMBED_MODEL"),
        (["index", "./no-such-folder"], "no-such-folder"),
        (["fetch", "unheard-of"], "no corpus 'unheard-of'"),
        (["eval", "--corpus", "shop", "missing.jsonl"], "missing.jsonl"),
        (["run", "--corpus", "shop", "missing.jsonl"], "missing.jsonl"),
        (["ladder", "--corpus", "shop", "--quiet"], "name the file of questions yourself"),
        (["copy", "everything", "dest"], "choose one of"),
    ],
)
def test_trouble_is_one_line_and_exit_code_2(shop, capsys, argv, says):
    code, out, err = run(capsys, *argv)
    assert code == 2
    assert out == ""
    assert says in err
    assert err.startswith("rungs: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "holds no queries"),
        ("not json\n", ":1: not valid JSON"),
        ('{"id": "a"}\n', ':1: has no text under "q"'),
        ('{"id": "a", "q": "x"}\n{"id": "a", "q": "y"}\n', ":2: id 'a' stands twice"),
        ("[1]\n", ':1: has no text under "q"'),
        ('{"id": null, "q": "x"}\n', ':1: "id" is no text'),
        ('{"id": ["a"], "q": "x"}\n', ':1: "id" is no text'),
        ("[" * 100_000, ":1: not valid JSON (nested too deep)"),
        (r'{"q": "\ud800"}', ":1: not valid JSON (half of a surrogate pair"),
    ],
)
def test_a_bad_query_file_names_the_line_and_writes_nothing(shop, capsys, tmp_path, text, says):
    queries, out = tmp_path / "q.jsonl", tmp_path / "out.jsonl"
    queries.write_text(text)
    code, _, err = run(capsys, "run", "--corpus", "shop", str(queries), "--out", str(out))
    assert (code, out.exists()) == (2, False)
    assert says in err


@pytest.mark.parametrize("option", ["--save", "--ledger", "--save-judged"])
def test_a_file_cannot_be_asked_for_in_a_folder_that_is_not_there(shop, capsys, golden, tmp_path, option):
    path = tmp_path / "rerpots" / "a.json"
    argv = ["eval", "--corpus", "shop", str(golden), "--quiet", option]
    code, out, err = run(capsys, *argv, str(path))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{option} {path}: there is no folder {path.parent}" in err
    assert not path.parent.exists()
    assert f"{option} {tmp_path} is a folder" in run(capsys, *argv, str(tmp_path))[2]


@pytest.mark.parametrize("option", ["--save", "--ledger", "--save-judged"])
def test_what_a_command_reads_is_not_written_over(shop, capsys, golden, option):
    before = golden.read_bytes()
    code, out, err = run(capsys, "eval", "--corpus", "shop", str(golden), "--quiet", option, str(golden))
    assert (code, out) == (2, "")
    assert f"{option} {golden} is read by this command" in err
    assert golden.read_bytes() == before


def test_drafts_are_not_written_over_a_file(shop, capsys, tmp_path):
    issues, out = tmp_path / "issues.md", tmp_path / "labels.jsonl"
    issues.write_text("- `Basket.add` fails\n")
    out.write_text("precious")
    code, _, err = run(capsys, "mine", "issues", str(issues), "--corpus", "shop", "--out", str(out))
    assert (code, out.read_text()) == (2, "precious")
    assert "exists already" in err


def test_a_name_that_could_drive_the_terminal_is_shown_in_an_error(capsys):
    code, _, err = run(capsys, "compare", "\x1b[31mred.json", "b.json")
    assert code == 2
    assert "\x1b" not in err and "\\x1b[31mred.json" in err


def test_bytes_that_are_no_text_are_one_line(shop, capsys):
    code, out, err = run(capsys, "search", "--corpus", "shop", "caf\udce9")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "is not UTF-8" in err


def test_copy_says_how_to_import(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "copy", "hits", "lib/retrieval")
    assert code == 0
    assert "lib/retrieval/hits.py" in out
    assert err == "import it here as: from lib.retrieval.hits import …\n"


def test_trouble_with_a_variable_names_the_variable(shop, capsys, monkeypatch):
    monkeypatch.setenv("RAG_TOP_K", "0")
    code, _, err = run(capsys, "search", "--corpus", "shop", "x")
    assert (code, err) == (2, "rungs: RAG_TOP_K is 0; use at least 1\n")


def test_a_bad_golden_file_names_the_line(shop, capsys, golden):
    golden.write_text(golden.read_text().replace("::send_receipt", "::send_reciept"))
    code, _, err = run(capsys, "eval", "--corpus", "shop", str(golden))
    assert code == 2
    assert f"{golden.name}:2" in err
    assert "send_receipt" in err  # the nearest name there is


def test_help_is_quick_and_imports_nothing_heavy():
    code = "import sys; from rungs.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "print([m for m in ('torch', 'llama_index', 'pymilvus', 'pandas') if m in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == "[]"
    for command in ("ladder", "fetch", "index", "search", "run", "eval", "gate", "compare", "copy", "lab"):
        assert f"\n    {command} " in done.stdout


def test_an_option_is_not_guessed_from_its_beginning(capsys):
    for argv in (["judge", "x.jsonl", "--judge", "me"], ["search", "x", "--corp", "shop"]):
        with pytest.raises(SystemExit, match="2"):
            main(argv)
        assert f"unrecognized arguments: {argv[-2]}" in capsys.readouterr().err


def test_a_changed_folder_is_not_searched_as_if_it_were_the_same(shop, capsys):
    path = shop / "src/new.py"
    path.write_text("x = 1\n")
    try:
        code, _, err = run(capsys, "search", "--corpus", "shop", "cart")
    finally:
        path.unlink()
    assert code == 2
    assert "has changed since" in err
    assert "rungs index shop" in err


def test_every_look_at_a_held_out_file_is_counted(shop, golden, capsys, tmp_path):
    file = tmp_path / "shop.heldout.jsonl"
    file.write_text(golden.read_text())
    for look in (1, 2):
        code, out, _ = run(capsys, "eval", "--corpus", "shop", "--quiet", "--no-latency", str(file))
        assert code == 0
        assert f"look {look}" in out or f"look number {look}" in out
    code, _, err = run(capsys, "explain", "q1", "--corpus", "shop", "--quiet", "--golden", str(file))
    assert code == 0
    assert "shop.heldout is held out: look number 3, counted in the ledger" in err


def test_explain_and_regressions_and_sweep_and_smoke(shop, golden, capsys, tmp_path):
    common = ["--corpus", "shop", "--quiet", "--golden", str(golden)]
    code, out, _ = run(capsys, "explain", "q2", *common, "--mode", "bm25")
    assert (code, out.splitlines()[-1].strip()) == (0, "found at rank 1")
    base = str(tmp_path / "base.json")
    assert run(capsys, "eval", "--corpus", "shop", "--quiet", str(golden), "--no-latency", "--save", base)[0] == 0
    code, out, _ = run(capsys, "regressions", base, *common, "--path-prefix", "odd.py")
    assert code == 0
    assert "2 of 2 questions got worse" in out
    assert "not in the pool of dense" in out
    code, out, _ = run(capsys, "sweep", "mode", "dense;bm25", *common, "--controls", "symbol", "--json")
    assert code == 0
    assert json.loads(out)["groups"] == {"golden": 1, "symbol": 1}
    code, _, err = run(capsys, "sweep", "top-k", "8;x", *common, "--controls", "symbol")
    assert (code, err) == (2, "rungs: --top-k cannot be 'x'; give values of type int, with semicolons between them\n")
    code, _, err = run(capsys, "sweep", "rrf-k", "1,10", *common, "--controls", "symbol")
    assert (code, err) == (2, "rungs: '1,10' is one value; give two or more, with semicolons between them\n")
    code, out, _ = run(capsys, "smoke", str(golden), "--corpus", "shop", "--quiet")
    assert (code, out.splitlines()[-1]) == (0, "smoke: all 2 found in the top 8")
    code, out, _ = run(capsys, "smoke", str(golden), "--corpus", "shop", "--quiet", "--path-prefix", "odd.py")
    assert code == 1
    assert "LOST (first is odd.py" in out
