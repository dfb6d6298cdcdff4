"""Which commands there are, and what each of them takes."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from rungs.cli.climbing import do_ladder
from rungs.cli.flags import add_settings
from rungs.cli.labelling import do_judge, do_mine, do_reread, do_split
from rungs.cli.measuring import (
    do_compare,
    do_coverage,
    do_eval,
    do_explain,
    do_gate,
    do_plan,
    do_regressions,
    do_routes,
    do_smoke,
    do_sweep,
)
from rungs.cli.outside import do_copy, do_lab
from rungs.cli.searching import do_fetch, do_index, do_run, do_search
from rungs.settings import Endpoint, Settings

__all__ = ["make_parser"]

_SEARCH = (
    "search_mode",
    "prose_mode",
    "rrf_k",
    "bm25_weight",
    "name_weight",
    "router",
    "top_k",
    "candidates",
    "category",
    "path_prefix",
    "language",
)
_INDEX = ("corpus", "chunking", "embed_model", "query_instruction", "passage_instruction", "milvus_uri")
_ROUTES = (*_INDEX, "router")

_EPILOG = """Start with `rungs ladder`: it fetches a pinned corpus, indexes it, measures every rung and prints the table.
Every setting is a flag and a RAG_* variable; a flag beats a variable beats a default."""


def make_parser() -> argparse.ArgumentParser:
    """The parser of every command; ``run`` of what it returns is the function to call."""
    parser = argparse.ArgumentParser(
        prog="rungs",
        description="A measured ladder of retrieval techniques over a codebase and its documents.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], help: str, settings: Sequence[str] = ()) -> Any:
        about = help[0].upper() + help[1:] + "."
        sub = commands.add_parser(name, help=help, description=about, allow_abbrev=False)
        sub.set_defaults(run=run)
        sub.add_argument("--debug", action="store_true", help="show a traceback on errors")
        sub.add_argument("--quiet", action="store_true", help="no progress bars")
        add_settings(sub, settings)
        return sub

    sub = command("ladder", do_ladder, "fetch, index, measure every rung, print the table", ("corpus", "embed_model"))
    sub.add_argument("--golden", type=Path, help="questions (default: golden/CORPUS.jsonl)")
    sub.add_argument("--peers", action="store_true", help="add LlamaIndex's own defaults; embeds the corpus again")
    sub.add_argument("--again", action="store_true", help="measure also what has not changed since it was measured")
    sub.add_argument("--write", type=Path, metavar="FILE", help="put the table between the ladder markers of FILE")
    sub.add_argument(
        "--picture", type=Path, metavar="FILE", help="save the plot of recall by row and kind (.png, .svg)"
    )
    _add_json(sub)

    sub = command("fetch", do_fetch, "bring a pinned corpus, check its hash, unpack it")
    sub.add_argument("name", help="a name in data/corpora.toml")
    _add_json(sub)

    sub = command("index", do_index, "build the index of a corpus or of any folder", _INDEX[1:])
    sub.add_argument("target", nargs="?", help="a corpus by name, or a folder (default: RAG_CORPUS, or celery)")
    sub.add_argument("--name", help="what to call a folder's corpus (default: the folder's name)")
    _add_json(sub)

    sub = command("search", do_search, "search, and show hits with path, lines and scores", (*_INDEX, *_SEARCH))
    sub.add_argument("query")
    _add_json(sub)

    sub = command("run", do_run, "answer a file of queries, one JSON line each", (*_INDEX, *_SEARCH))
    sub.add_argument("queries", type=Path, help='lines {"id", "q"}')
    sub.add_argument(
        "--out",
        type=Path,
        help="write here in place of standard output; when interrupted, what was finished is in OUT.*.partial",
    )

    sub = command("eval", do_eval, "measure the settings in force on a golden file", (*_INDEX, *_SEARCH))
    sub.add_argument("golden", type=Path)
    sub.add_argument("--ledger", type=Path, nargs="?", const=Path(), help="append a row (default: .rungs/ledger.jsonl)")
    sub.add_argument("--label", help="what the row is called (default: the mode)")
    sub.add_argument("--save", type=Path, metavar="FILE", help="also write the report's JSON to FILE")
    sub.add_argument(
        "--run",
        dest="run_file",
        type=Path,
        metavar="RUN",
        help="score this file's results instead: lines of `rungs run`, or a TREC run",
    )
    sub.add_argument("--pooled", action="store_true", help="count labels under `also` as right")
    sub.add_argument("--no-latency", action="store_true", help="skip the timing pass")
    sub.add_argument("--ragas", action="store_true", help="also hold recall@8 and precision@8 against those of ragas")
    sub.add_argument(
        "--judge", action="store_true", help="also have answers written from the hits, and judged by a model"
    )
    sub.add_argument("--save-judged", type=Path, metavar="FILE", help="also write the judged run's JSON to FILE")
    add_settings(sub, ("api_base", "model", "timeout", "retries"), Endpoint)
    _add_json(sub)

    sub = command(
        "gate", do_gate, "measure the settings in force against a saved report; exit 1 when worse", (*_INDEX, *_SEARCH)
    )
    sub.add_argument("baseline", type=Path, help="a file from `rungs eval --save`")
    sub.add_argument("--golden", type=Path, help="the questions it was measured on (default: golden/CORPUS.jsonl)")
    sub.add_argument(
        "--margin", type=float, default=0.03, help="half-width of what counts as equivalent (default: 0.03)"
    )
    _add_json(sub)

    sub = command("smoke", do_smoke, "ask a dozen canonical queries; exit 1 when one is lost", (*_INDEX, *_SEARCH))
    sub.add_argument("file", type=Path, nargs="?", help="a golden file (default: golden/CORPUS.smoke.jsonl)")
    _add_json(sub)

    sub = command("explain", do_explain, "follow one golden question through every step", (*_INDEX, *_SEARCH))
    sub.add_argument("id", help="of the question")
    sub.add_argument("--golden", type=Path, help="its file (default: golden/CORPUS.jsonl)")
    _add_json(sub)

    sub = command(
        "regressions", do_regressions, "what got worse since a saved report, and at which step", (*_INDEX, *_SEARCH)
    )
    sub.add_argument("baseline", type=Path, help="a file from `rungs eval --save`")
    sub.add_argument("--golden", type=Path, help="the questions it was measured on (default: golden/CORPUS.jsonl)")
    _add_json(sub)

    sub = command("sweep", do_sweep, "measure one setting at several values, beside controls", (*_INDEX, *_SEARCH))
    sub.add_argument("setting", choices=[f.metadata["flag"] for f in fields(Settings) if f.name in _SEARCH])
    sub.add_argument("values", help="in order, between semicolons: '8;40;100'; the first is the baseline")
    sub.add_argument(
        "--controls",
        required=True,
        help="kinds of question that the setting could harm (doc,test), or a golden file of them",
    )
    sub.add_argument("--golden", type=Path, help="the tuning questions (default: golden/CORPUS.jsonl)")
    _add_json(sub)

    sub = command("compare", do_compare, "compare saved reports, question by question, with verdicts")
    sub.add_argument(
        "reports", type=Path, nargs="+", help="two or more files from `rungs eval --save`; the first is the baseline"
    )
    sub.add_argument(
        "--margin", type=float, default=0.03, help="half-width of what counts as equivalent (default: 0.03)"
    )
    _add_json(sub)

    sub = command("coverage", do_coverage, "folders, kinds and categories that a golden file asks about", ("corpus",))
    sub.add_argument("golden", type=Path, nargs="?", help="the questions (default: golden/CORPUS.jsonl)")
    _add_json(sub)

    sub = command(
        "routes", do_routes, "how often the router takes questions for names, and names for questions", _ROUTES
    )
    sub.add_argument("file", type=Path, nargs="?", help="labelled queries (default: golden/CORPUS.routing.jsonl)")
    sub.add_argument(
        "--split",
        choices=("tuning", "heldout", "both"),
        default="tuning",
        help="which lines (default: tuning; the others only report)",
    )
    _add_json(sub)

    sub = command("judge", do_judge, "judge blind the places that saved runs found beyond the labels", ("corpus",))
    sub.add_argument("golden", type=Path, help="the questions; a held-out file too: judging chooses nothing")
    sub.add_argument("runs", type=Path, nargs="*", metavar="RUN.json", help="files from `rungs eval --save`")
    sub.add_argument("--kind", default="prose-en", help="kind of question (default: prose-en)")
    sub.add_argument("--sample", type=int, help="how many questions, drawn at random (default: 60, or all)")
    sub.add_argument("--seed", type=int, default=0, help="of every random draw (default: 0)")
    sub.add_argument("--depth", type=int, default=8, help="hits of each run that are pooled (default: 8)")
    sub.add_argument("--judgements", type=Path, metavar="FILE", help="(default: GOLDEN's name + .judgements.jsonl)")
    sub.add_argument("--as", dest="judge", metavar="NAME", help="who judges (default: the login name)")
    sub.add_argument("--again", type=int, metavar="N", help="judge N items that somebody else has judged")
    does = sub.add_mutually_exclusive_group()
    does.add_argument("--status", action="store_true", help="only say what is judged, and how far judges agree")
    does.add_argument("--apply", action="store_true", help="write what was judged right under `also` of GOLDEN")
    _add_json(sub)

    sub = command("split", do_split, "draw the held-out half of a golden file, kind by kind", ("corpus",))
    sub.add_argument("golden", type=Path, help="every question there is")
    sub.add_argument("--out", type=Path, required=True, help="the tuning file; NAME.heldout.jsonl goes next to it")
    sub.add_argument("--held-out", default="0.5", metavar="SHARE", help="0.5, or by kind: prose-en=0.55,doc=0.5")
    sub.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    sub.add_argument("--tuning", default="", metavar="IDS", help="between commas: those that were looked at already")
    sub.add_argument("--overwrite", action="store_true", help="replace files that are in the way")
    _add_json(sub)

    sub = command(
        "mine", do_mine, "draft golden questions from a history or from issues, and confirm them", ("corpus",)
    )
    sub.add_argument("what", choices=("history", "issues", "confirm"))
    sub.add_argument("source", type=Path, help="a git repository; issues or a changelog; or a file of drafts")
    sub.add_argument("--prefix", help="history: put before its paths to get those of the corpus")
    sub.add_argument("--limit", type=int, help="history: commits to look at (default: 200)")
    sub.add_argument("--out", type=Path, help="drafts (default: standard output); confirm: the golden file, required")

    sub = command(
        "reread", do_reread, "draw a second reader's sheet, or compare the answers with the labels", ("corpus",)
    )
    sub.add_argument("golden", type=Path)
    sub.add_argument("--share", type=float, default=0.25, help="of each kind, to be read again (default: 0.25)")
    sub.add_argument("--seed", type=int, default=0, help="of the draw (default: 0)")
    sub.add_argument("--out", type=Path, help="write the sheet here in place of standard output")
    sub.add_argument("--answers", type=Path, metavar="FILE", help='lines {"id", "places"} to compare with the labels')
    _add_json(sub)

    sub = command("plan", do_plan, "how many labels of each kind it takes to read a difference")
    sub.add_argument("before", type=Path, help="a file from `rungs eval --save`")
    sub.add_argument("after", type=Path, help="another, of a change such as those to come")
    sub.add_argument("--difference", type=float, default=0.05, help="what should be readable (default: 0.05)")
    sub.add_argument("--metric", default="recall@8", help="of which metric (default: recall@8)")
    _add_json(sub)

    sub = command("copy", do_copy, "copy a rung, with what it imports, into another project")
    sub.add_argument("rung")
    sub.add_argument("dest", type=Path)
    sub.add_argument("--overwrite", action="store_true", help="replace files that are in the way")

    sub = command("lab", do_lab, "open JupyterLab on the notebooks")
    sub.add_argument("rest", nargs="*", help="passed on to JupyterLab")
    return parser


def _add_json(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--json", action="store_true", help="machine-readable output, and nothing else, on stdout")
