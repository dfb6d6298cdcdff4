"""The README's own code, run as it stands there on a project that knows nothing of rungs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def block(language: str, holding: str) -> str:
    found = [b for b in re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE) if holding in b]
    assert len(found) == 1, f"{len(found)} blocks of {language} hold {holding!r}"
    return found[0]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder) -> Path:
    """Somebody's folder with questions about it, and LlamaIndex set to a local model as they would."""
    from llama_index.core import Settings

    names = ["basket", "receipt", "refund", "invoice", "voucher", "parcel", "stock", "review"]
    for folder in (tmp_path / "src", tmp_path / "eval-src"):
        folder.mkdir()
        for name in names:
            (folder / f"{name}.py").write_text(f'def open_{name}(item):\n    """Open the {name}."""\n    return item\n')
    rest = {"mode": "any", "kind": "prose-en", "difficulty": "easy", "why": "it opens it", "also": []}
    lines = [{"id": n, "q": f"open the {n}", "expect": [f"{n}.py::open_{n}"], **rest} for n in names]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Settings, "_embed_model", embedder)
    return tmp_path


def test_somebody_elses_project_is_measured_in_ten_lines(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from llama_index.core.base.base_retriever import BaseRetriever

    class Nothing(BaseRetriever):
        """What is about to be merged: it drops the best hit."""

        def _retrieve(self, query_bundle):
            return names["index"].as_retriever(similarity_top_k=8).retrieve(query_bundle)[1:]

    code = block("python", "from_documents")
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
    names = {"my_new_retriever": Nothing()}
    exec(compile(code, "README.md", "exec"), names)
    said = capsys.readouterr().out
    assert "gate: worse on" in said
    assert "smallest difference that these questions could have shown" in said
    assert (project / "baseline.json").is_file()


def test_the_gate_in_ci_stops_and_lets_through(project: Path, embedder) -> None:
    (project / "ci").mkdir()
    (project / "ci/gate.py").write_text(block("python", "# ci/gate.py").replace('"../eval-src"', '"eval-src"'))
    package = project / "my_project"
    package.mkdir()
    (package / "search.py").write_text(
        "import os\n"
        "from llama_index.core.base.base_retriever import BaseRetriever\n"
        "from llama_index.core.schema import NodeWithScore, TextNode\n\n"
        "class Named(BaseRetriever):\n"
        "    def _retrieve(self, query_bundle):\n"
        "        name = os.environ['ANSWER'] or query_bundle.query_str.split()[-1]\n"
        "        where = {'path': f'{name}.py', 'start_line': 1, 'end_line': 3}\n"
        "        return [NodeWithScore(node=TextNode(id_=name, text='', metadata=where), score=1.0)]\n\n"
        "retriever = Named()\n"
    )
    make = (
        "from my_project.search import retriever; from rungs import evaluate, load_golden;"
        "evaluate(retriever, load_golden('questions.jsonl', 'eval-src'), latency=False).save('baseline.json')"
    )

    def python(*argv: str, answer: str = "") -> int:
        env = {"PYTHONPATH": str(project), "RAG_HOME": str(project / "home"), "PATH": "", "ANSWER": answer}
        return subprocess.run([sys.executable, *argv], env=env, cwd=project, timeout=300).returncode

    assert python("-c", make) == 0
    assert python("ci/gate.py") == 0
    assert python("ci/gate.py", answer="basket") == 1


def test_the_ci_snippet_is_yaml_that_runs_the_gate() -> None:
    steps = yaml.safe_load(block("yaml", "retrieval:"))["retrieval"]["steps"]
    assert steps[-1] == {"run": "python ci/gate.py"}
    assert any("git worktree add ../eval-src" in step.get("run", "") for step in steps)


def test_every_command_is_in_the_table() -> None:
    from rungs.cli.parser import make_parser

    commands = set(make_parser()._subparsers._group_actions[0].choices)
    listed = set(re.findall(r"^\| `rungs (\w+)", README.partition("## Commands")[2], re.MULTILINE))
    assert listed == commands
