"""Rung 3 on questions nobody here wrote, beside LlamaIndex's QueryFusionRetriever. File level, as their labels are.

python benchmarks/elsewhere.py FOLDER [swe-qa lihua-world django-issues]

FOLDER holds the question sets, which are not part of this project; without it there is nothing to measure, and this says so.
Nothing is tuned on them: the settings are the defaults. A question that stands in a file twice is asked once. Each corpus is
embedded once and remembered. Of django, tests and message catalogues are left out (LEFT_OUT says by which part of the path):
they are two thirds of its text, hold no label, and take hours to embed without native bfloat16.
"""

import hashlib
import json
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from rungs.corpus import fetch, find_home, load_corpus
from rungs.ladder import ROWS, figure
from rungs.measure import Report, compare, estimate, evaluate_all, load_golden
from rungs.peers import PEERS
from rungs.settings import Settings
from rungs.workbench import Workbench

SETS = {
    "swe-qa": {"flask": "swe-qa/flask.questions.jsonl", "requests": "swe-qa/requests.questions.jsonl"},
    "lihua-world": {"lihua-world": "lihua-world/questions.jsonl"},
    "django-issues": {"django": "django-issues/questions.jsonl"},
}
LEFT_OUT = {"django": ("Django/tests/", "Django/js_tests/", "/locale/")}
OURS = ("dense", "bm25", "hybrid k=10", "hybrid k=60", "auto")
PEER = "QueryFusionRetriever"
K = 8


def main() -> int:
    """Measure the sets named, or all."""
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_dir():
        print("skipped: name the folder that holds the question sets", file=sys.stderr)
        return 2
    folder, names = Path(sys.argv[1]), sys.argv[2:] or list(SETS)
    for name in names:
        for corpus, questions in SETS[name].items():
            print(
                json.dumps({name: {corpus: measure(corpus, folder / questions, folder)}}, ensure_ascii=False, indent=1)
            )
    return 0


def measure(name: str, questions: Path, folder: Path) -> dict[str, Any]:
    """Every row on one set: file-level figures, the paired difference of `auto` to the peer, latency."""
    home = find_home()
    if name == "lihua-world":
        root = home / "lihua-world-files"
        if not root.is_dir():
            with zipfile.ZipFile(folder / "lihua-world" / "LiHuaWorld.zip") as archive:
                archive.extractall(root)
        corpus = load_corpus(root, home)
    else:
        corpus = without(fetch(name, home, progress=True), LEFT_OUT.get(name, ()))
    bench = Workbench(Settings(corpus=name if name != "lihua-world" else str(root)), home)
    bench.corpus = corpus
    bench.build()
    golden = load_golden(prefixed(questions, corpus, home), corpus)
    rows = [row for row in ROWS if row.name in OURS] + [row for row in PEERS if row.name == PEER]
    reports = evaluate_all({row.name: row.make(bench) for row in rows}, golden)
    failed = {n: next(iter(r.failures.values())) for n, r in reports.items() if r.status != "ok"}
    if failed:
        return {"FAILED": failed}
    return {
        "n": sum(bool(q.expect) for q in golden.questions),
        "files": len(corpus.files),
        "left out": LEFT_OUT.get(name, ()),
        "rows": {n: row_of(r) for n, r in reports.items()},
        "auto against the peer, recall@8 by file": difference(reports[PEER], reports["auto"]),
    }


def without(corpus: Any, parts: tuple[str, ...]) -> Any:
    """The corpus without the files whose path has one of these parts."""
    kept = tuple(file for file in corpus.files if not any(part in file.path for part in parts))
    if len(kept) == len(corpus.files):
        return corpus
    digest = hashlib.sha256("\n".join([corpus.sha256, *(file.path for file in kept)]).encode())
    return replace(corpus, files=kept, sha256=digest.hexdigest())


def row_of(report: Report) -> dict[str, Any]:
    """File-level recall, whether any and all files are there, and the median latency."""
    found = [first_eight(case) for case in report.cases if case["expect"]]
    parts = {"recall@8": [f for f, _ in found], "hit@8": [f > 0 for f, _ in found], "all@8": [f == 1 for f, _ in found]}
    return {name: figure(estimate(map(float, v))) for name, v in parts.items()} | {"p50_ms": report.latency["p50_ms"]}


def first_eight(case: dict[str, Any]) -> tuple[float, int]:
    """Share of the expected files among the first eight hits."""
    wanted = {label.partition("::")[0] for label in case["expect"]}
    return len(wanted & {hit["path"] for hit in case["hits"][:K]}) / len(wanted), len(wanted)


def difference(before: Report, after: Report) -> str:
    """Paired, with its verdict."""
    d = compare({"before": before, "after": after}, metrics=["recall@8"]).differences[0]
    return f"{d.value:+.3f} [{d.low:+.3f}, {d.high:+.3f}] {d.verdict}"


def prefixed(questions: Path, corpus: Any, home: Path) -> Path:
    """The questions, each once, with their paths as the corpus has them (archives stand under the package's name)."""
    top = corpus.files[0].path.partition("/")[0]
    rows = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines() if line.strip()]
    once = {(row["q"].strip(), *sorted(row["expect"])): row for row in reversed(rows)}
    lines = []
    for row in reversed(once.values()):
        row["expect"] = list(dict.fromkeys(p if corpus.get(p) else f"{top}/{p}" for p in row["expect"]))
        lines.append(json.dumps({k: row[k] for k in ("id", "q", "expect", "mode", "kind")}, ensure_ascii=False))
    target = home / f"{corpus.name}-{questions.parent.name}.jsonl"
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return target


if __name__ == "__main__":
    sys.exit(main())
