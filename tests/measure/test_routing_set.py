"""A routing set: lines that can be trusted, and the two errors of a router counted apart."""

import json
from pathlib import Path
from typing import Any

import pytest

from rungs.cli import main
from rungs.errors import GoldenError, RunError
from rungs.measure import RoutingQuery, estimate, load_routing, routing_errors
from rungs.names import NameTable
from rungs.routing import RegexRouter, Route, Router

REPOSITORY = Path(__file__).parents[2]


def row(id: str, q: str, route: str = "prose", /, **more: Any) -> dict[str, Any]:
    return {"id": id, "q": q, "route": route, "names": [], "group": "plain", "split": "tuning", "why": "it is"} | more


ROWS = [
    row("s1", "Task.retry", "symbol", group="dotted", names=["Task.retry"]),
    row("s2", "Retriever", "symbol", group="single", split="heldout"),
    row("s3", "send_task", "symbol", group="snake"),
    row("p1", "how are tasks retried"),
    row("p2", "real-time", group="near"),
    row("p3", "iPhone", group="near", split="heldout"),
    row("p4", "24/7", group="near"),
    row("p5", "why does Task.retry raise", names=["Task.retry"]),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.routing.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in ROWS), encoding="utf-8")
    return path


def test_lines_become_queries_in_order(file: Path) -> None:
    queries = load_routing(file)
    assert queries[0] == RoutingQuery("s1", "Task.retry", "symbol", ("Task.retry",), "dotted")
    assert [query.id for query in queries] == [one["id"] for one in ROWS]
    assert hash(queries[0])
    with pytest.raises(AttributeError):
        queries[0].route = "prose"  # type: ignore[misc]


def test_each_split_is_its_own_lines(file: Path) -> None:
    assert [query.id for query in load_routing(file, "heldout")] == ["s2", "p3"]
    assert [query.id for query in load_routing(file, "tuning")] == ["s1", "s3", "p1", "p2", "p4", "p5"]


def test_a_byte_order_mark_blank_lines_and_odd_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    first, second = json.dumps(row("a", "x\u2028y"), ensure_ascii=False), json.dumps({**row("b", "y"), "why": ""})
    path.write_bytes(b"\xef\xbb\xbf\r\n" + first.encode() + b"\r\n\r\n" + second.encode())
    assert [query.q for query in load_routing(path)] == ["x\u2028y", "y"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("not json", r"not valid JSON \(Expecting value at column 1\); write one"),
        ("[" * 100_000, r"not valid JSON"),
        ("1" * 5000, "a number of more than 4300 digits"),
        (r'{"q": "\ud83d"}', "half of a surrogate pair"),
        ("[1]", "not a JSON object; write"),
        (json.dumps({k: v for k, v in row("b", "y").items() if k != "split"}), "field 'split' is missing"),
        (json.dumps({k: v for k, v in row("b", "y").items() if k != "names"}), "field 'names' is missing"),
        (json.dumps(row("b", "y", q=3)), "field 'q' is 3; make it a string"),
        (json.dumps(row("b", "y", names="y")), "field 'names' is \"y\"; make it a list of strings"),
        (json.dumps(row("b", "y", expect=[])), "unknown field 'expect'; the fields are id, q, route"),
        (json.dumps(row(" ", "y")), "field 'id' is empty"),
        (json.dumps(row("b", "")), "field 'q' is empty"),
        (json.dumps(row("b", "y", group="")), "field 'group' is empty"),
        (json.dumps(row("b", "y", "symbols")), "unknown route 'symbols'; use one of symbol, prose"),
        (json.dumps(row("b", "y", split="test")), "unknown split 'test'; use one of tuning, heldout"),
        (json.dumps(row("b", "why Task.retry", names=["Task.retries"])), '"Task.retries" under .names. does not stand'),
        (json.dumps(row("b", "y", names=[None])), "null under .names. does not stand"),
        (json.dumps(row("b", "y", names=[""])), '"" under .names. does not stand'),
        (json.dumps(row("a", "y")), "id 'a' was used on line 1 already"),
        (json.dumps(row("b", " How  IS it")), "q ' How  IS it' was used on line 1 already"),
    ],
)
def test_a_bad_line_is_named_in_one_line(tmp_path: Path, line: str, says: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(row("a", "how is it")) + "\n\n" + line + "\n", encoding="utf-8")
    for split in (None, "heldout"):  # a bad line is bad whatever is asked for
        with pytest.raises(GoldenError, match=says) as caught:
            load_routing(path, split)
        assert str(caught.value).startswith(f"{path}:3: ")
        assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_used_is_one_line(tmp_path: Path, file: Path) -> None:
    with pytest.raises(GoldenError, match="cannot be read"):
        load_routing(tmp_path / "missing.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(json.dumps(row("a", "x")).encode() + b"\n\xe9\n")
    with pytest.raises(GoldenError, match=r"latin.jsonl:2: not UTF-8"):
        load_routing(tmp_path / "latin.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n\n")
    with pytest.raises(GoldenError, match="holds no query; add"):
        load_routing(tmp_path / "empty.jsonl")
    file.write_text(json.dumps(ROWS[0]) + "\n")
    with pytest.raises(GoldenError, match="holds no query of the split 'heldout'"):
        load_routing(file, "heldout")
    with pytest.raises(GoldenError, match="there is no split 'test'; use one of tuning, heldout"):
        load_routing(file, "test")


# --- counting


def test_the_two_errors_are_counted_apart(file: Path) -> None:
    found = routing_errors(RegexRouter(), load_routing(file))
    assert [query.id for query in found.false_positives] == ["p2", "p3"]  # real-time, iPhone
    assert [query.id for query in found.false_negatives] == ["s2"]  # Retriever
    assert found.false_positive_rate == estimate([0, 1, 1, 0, 0])
    assert found.false_negative_rate == estimate([0, 1, 0])
    assert {group: (one["value"], one["n"]) for group, one in found.by_group.items()} == {
        "dotted": (0.0, 1),
        "single": (1.0, 1),
        "snake": (0.0, 1),
        "plain": (0.0, 2),
        "near": (pytest.approx(2 / 3), 3),
    }


def test_every_rate_has_its_interval(file: Path) -> None:
    found = routing_errors(RegexRouter(), load_routing(file))
    for one in (found.false_positive_rate, found.false_negative_rate, *found.by_group.values()):
        assert 0 <= one["low"] <= one["value"] <= one["high"] <= 1
        assert one["low"] < one["high"], "a few queries are never certain"


def test_a_router_that_knows_the_names_makes_fewer_errors(file: Path) -> None:
    names = NameTable([("app", "Retriever", "code", ["1"]), ("app", "Task.retry", "code", ["2"])], (), ["iPhone"])
    found = routing_errors(Router(names), load_routing(file))
    assert (found.false_positives, found.false_negatives) == ((), ())
    assert found.false_positive_rate["value"] == found.false_negative_rate["value"] == 0


def test_one_kind_of_query_alone_leaves_the_other_rate_without_data(file: Path) -> None:
    names = [query for query in load_routing(file) if query.route == "symbol"]
    found = routing_errors(RegexRouter(), names)
    assert found.false_positive_rate == {"value": None, "low": None, "high": None, "n": 0}
    assert "questions taken for names: 0 of 0, no data" in found.summary()
    json.dumps(found.to_dict(), allow_nan=False)


def test_what_cannot_be_counted_is_refused(file: Path) -> None:
    class Odd:
        def route(self, query: str) -> Route:
            return Route("both", "")  # type: ignore[arg-type]

    with pytest.raises(RunError, match="no query"):
        routing_errors(RegexRouter(), [])
    with pytest.raises(RunError, match="sends s1 to 'both'"):
        routing_errors(Odd(), load_routing(file))


def test_the_summary_names_every_error(file: Path) -> None:
    found = routing_errors(RegexRouter(), load_routing(file))
    lines = [line.strip() for line in found.summary().splitlines()]
    assert lines[0] == "3 of 8 queries went the wrong way"
    assert "false positives, questions taken for names: 2 of 5, 0.400 [0.118, 0.769]" in lines
    assert "false negatives, names taken for questions: 1 of 3, 0.333 [0.061, 0.792]" in lines
    assert {"p2  real-time", "p3  iPhone", "s2  Retriever"} <= set(lines)
    assert not any("24/7" in line for line in lines)
    [near] = [line.split() for line in lines if line.startswith("near ")]
    assert near[:4] == ["near", "3", "2", "0.667"]
    assert "<td" in found._repr_html_()


def test_the_json_holds_rates_groups_and_errors(file: Path) -> None:
    found = routing_errors(RegexRouter(), load_routing(file))
    data = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert set(data) == {
        "false_positive_rate",
        "false_negative_rate",
        "by_group",
        "false_positives",
        "false_negatives",
    }
    assert data["false_positive_rate"] == found.false_positive_rate
    assert data["false_negatives"] == [
        {"id": "s2", "q": "Retriever", "route": "symbol", "group": "single", "names": []}
    ]


def test_html_escapes_what_comes_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(row("a", "<script>x</script>", "symbol", group="<b>")) + "\n")
    page = routing_errors(RegexRouter(), load_routing(path))._repr_html_()
    assert "<script>" not in page
    assert "<b>" not in page


# --- the set that comes with the corpus, and the command


def test_the_set_that_comes_with_the_corpus_is_sound() -> None:
    path = REPOSITORY / "golden/celery.routing.jsonl"
    both = load_routing(path)
    tuning, held_out = load_routing(path, "tuning"), load_routing(path, "heldout")
    assert len(both) == len(tuning) + len(held_out) == 254
    assert {query.id for query in tuning}.isdisjoint(query.id for query in held_out)
    for group in {query.group for query in both}:
        drawn = [sum(query.group == group for query in part) for part in (tuning, held_out)]
        assert abs(drawn[0] - drawn[1]) <= 1, group


def test_the_command_prints_both_rates_and_the_errors(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["routes", str(file), "--router", "regex"]) == 0
    assert "of 6 queries" in capsys.readouterr().out  # the tuning half, unless the other is asked for
    assert main(["routes", str(file), "--router", "regex", "--split", "both"]) == 0
    out = capsys.readouterr().out
    assert "questions taken for names: 2 of 5" in out
    assert "names taken for questions: 1 of 3" in out
    assert "p2  real-time" in out
    assert main(["routes", str(file), "--router", "shape", "--split", "heldout", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["false_positive_rate"]["n"], data["false_negative_rate"]["n"]) == (1, 1)


def test_the_command_finds_the_set_of_the_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["routes", "--corpus", "celery", "--router", "regex", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    n = data["false_positive_rate"]["n"] + data["false_negative_rate"]["n"]
    assert n == 127
    assert main(["routes", "--corpus", "nowhere", "--router", "regex"]) == 2
    assert "golden/nowhere.routing.jsonl" in capsys.readouterr().err


def test_names_of_the_corpus_make_fewer_errors_than_the_regex(bench: Any) -> None:
    """On the lines that choices may be made on."""
    queries = load_routing(REPOSITORY / "golden/celery.routing.jsonl", "tuning")
    by_names, by_regex = (routing_errors(bench.router(router=router), queries) for router in ("names", "regex"))
    assert by_names.false_positive_rate["value"] < by_regex.false_positive_rate["value"]
    assert by_names.false_negative_rate["value"] < by_regex.false_negative_rate["value"]
