"""Routing: names are looked up, questions are searched, and what is doubtful is a question."""

import asyncio
import copy
import doctest
import time
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

import rungs.names
from rungs.hits import make_hit
from rungs.names import NameTable
from rungs.routing import (
    DefinitionRetriever,
    RegexRouter,
    RoutedRetriever,
    Router,
    answer_routed,
    definitions_first,
    looks_like_symbol,
    shaped_like_a_name,
)

DEFINITIONS = [
    ("app.task", "Task", "code", ["Task#1", "Task#2"]),
    ("app.task", "Task.retry", "code", ["Task.retry#1", "Task.retry#2"]),
    ("app.canvas", "Signature.retry", "code", ["Signature.retry#1"]),
    ("app.base", "retry_policy", "code", ["retry_policy#1"]),
    ("app.log", "task", "code", ["task#1"]),
    ("", "broker_url", "doc", ["broker_url#1"]),
    ("tests.test_task", "Task.retry", "test", ["test#1"]),
    ("app.http", "HTTPServer", "code", ["HTTPServer#1"]),
    ("app.amqp", "AMQP.send_task_message", "code", ["send#1"]),
    ("app.amqp", "AMQP.outer.TaskConsumer", "code", ["consumer#1"]),
    ("app.turkish", "İşlemci.çalıştır", "code", ["turkish#1"]),
    ("app.i18n", "_", "code", ["underscore#1"]),
]
IDENTIFIERS = ["delay", "--pool", "task_always_eager", "on_failure"]
WORDS = ["real-time", "PostgreSQL"]
FILES = [
    ("src/app/task.py", "code", ["task.py#1", "task.py#2"]),
    ("tests/task.py", "test", ["tests/task.py#1"]),
    ("src/app/log.py", "code", ["log.py#1"]),
    ("setup.cfg", "config", ["setup.cfg#1"]),
    (".env", "config", [".env#1"]),
]


@pytest.fixture(scope="module")
def names() -> NameTable:
    return NameTable(DEFINITIONS, IDENTIFIERS, WORDS, FILES)


@pytest.fixture(scope="module")
def router(names: NameTable) -> Router:
    return Router(names)


# --- by shape


@pytest.mark.parametrize(
    "query",
    ["handleAuthCallback", "retry_policy", "ENOENT", "real-time", "iPhone", "a.b", "x/y", " Task.retry ", "__x"],
)
def test_the_published_rule_takes_these_for_symbols(query: str):
    assert looks_like_symbol(query)
    assert RegexRouter().route(query).to == "symbol"
    assert RegexRouter().route(query).names == (query.strip(),)


@pytest.mark.parametrize(
    "query",
    [
        "--no-verify",
        "foo.bar()",
        ".env",
        "Retriever",
        "how are tasks retried",
        "task",
        "A",
        "",
        "24/7",
        "çalışırMı",
        "$X",
        "_x",
    ],
)
def test_the_published_rule_takes_these_for_prose(query: str):
    assert not looks_like_symbol(query)
    assert RegexRouter().route(query).to == "prose"
    assert RegexRouter().route(query).names == ()


SHAPED = """
--no-verify -Q --pool=gevent $HOME ${HOME} %PATH% .env .eslintrc.json foo.bar() run(x) a::b() A::b a->b A#b a.b.c
retry_policy _private __init__ MAX_RETRIES handleAuth BufferMap getURL SHA256 a/b/c src/x.py setup.cfg çalış_tır
""".split()
UNSHAPED = """
real-time and/or iPhone e.g. i.e. U.S. TODO 24/7 C++ Retriever task - -- --- _ __ ... a.b 3.14 10/s I/O don't %100 $5 -5 (x)
""".split()


@pytest.mark.parametrize("term", SHAPED)
def test_what_can_hardly_be_anything_but_a_name(term: str):
    assert shaped_like_a_name(term)


@pytest.mark.parametrize("term", [*UNSHAPED, "", " ", "retry policy"])
def test_what_may_be_a_word(term: str):
    assert not shaped_like_a_name(term)


# --- looking up


@pytest.mark.parametrize(
    ("name", "how", "first"),
    [
        ("Task", "exact", "Task#1"),
        ("task", "exact", "task#1"),  # case tells two names apart where both are there
        ("Task.retry", "exact", "Task.retry#1"),
        ("app.task.Task.retry", "exact", "Task.retry#1"),
        ("app.Task", "exact", "Task#1"),  # a part left out, as when a package hands a name on
        ("AMQP.TaskConsumer", "exact", "consumer#1"),
        ("Signature.retry", "exact", "Signature.retry#1"),
        ("Task::retry", "exact", "Task.retry#1"),
        ("Task#retry", "exact", "Task.retry#1"),
        ("Task->retry", "exact", "Task.retry#1"),
        ("Task.retry(exc=e).", "exact", "Task.retry#1"),
        ("@task", "exact", "task#1"),
        ("broker_url", "exact", "broker_url#1"),
        ("_", "exact", "underscore#1"),
        ("TASK.RETRY", "folded", "Task.retry#1"),
        ("task_retry", "folded", "Task.retry#1"),
        ("Task-retry", "folded", "Task.retry#1"),
        ("retryPolicy", "folded", "retry_policy#1"),
        ("BROKER_URL", "folded", "broker_url#1"),
        ("http_server", "folded", "HTTPServer#1"),
        ("Celery.retry", "owner", "Signature.retry#1"),
        ("task_message", "part", "send#1"),
        ("Consumer", "part", "consumer#1"),
        ("server", "part", "HTTPServer#1"),
    ],
)
def test_a_name_is_found(names: NameTable, name: str, how: str, first: str):
    found = names.find(name)
    assert (found.how, found.ids[0]) == (how, first)
    assert found.names


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("retry_polcy", "retry_policy#1"),  # a letter missing
        ("retry_pollicy", "retry_policy#1"),  # one too many
        ("retry_pelicy", "retry_policy#1"),  # a wrong one
        ("retry_polciy", "retry_policy#1"),  # two swapped
        ("HTTPServre", "HTTPServer#1"),
        ("Taks.retry", "Task.retry#1"),
        ("AMQP.send_tsak_mesage", "send#1"),  # a long name may have more than one
    ],
)
def test_a_misspelt_name_is_found(names: NameTable, name: str, first: str):
    found = names.find(name)
    assert (found.how, found.ids[0]) == ("alike", first)


@pytest.mark.parametrize(
    "name",
    [
        "taks",
        "retry_pilcoy_",
        "no_such_thing",
        "Kafka.produce",
        "send_message",
        "",
        " ",
        "?",
        "()",
        "--",
        "+",
        "...",
        "::",
    ],
)
def test_what_is_too_far_off_is_absent(names: NameTable, name: str):
    """A short name one letter off is another name; words that do not stand side by side are no part."""
    found = names.find(name)
    assert (found.how, found.ids, found.names) == ("absent", (), ())


def test_a_name_that_is_used_and_not_defined_is_not_taken_for_another(names: NameTable):
    near = NameTable([*DEFINITIONS, ("app", "on_failures", "code", ["other#1"])], IDENTIFIERS)
    assert near.find("on_failure").how == "absent"
    assert near.knows("on_failure")
    assert NameTable([("app", "on_failures", "code", ["other#1"])]).find("on_failure").how == "alike"


def test_definitions_come_code_first_then_documents_then_tests_and_round_robin():
    table = NameTable(
        [
            ("tests.a", "run", "test", ["t1"]),
            ("", "run", "doc", ["d1"]),
            ("app.a", "A.run", "code", ["a1", "a2", "a3", "a4", "a5"]),
            ("app.b", "run", "code", ["b1", "b2"]),
            ("conf", "run", "config", ["c1"]),
            ("other", "run", "poem", ["p1"]),
        ]
    )
    found = table.find("run")
    assert found.ids == ("b1", "a1", "b2", "a2", "a3", "a4", "d1", "c1", "t1", "p1")
    assert found.names == ("app.b.run", "app.a.A.run", "run")


def test_a_chunk_that_holds_two_definitions_comes_once():
    table = NameTable([("a", "x_y", "code", ["one", "two"]), ("b", "x_y", "code", ["one"])])
    assert table.find("x_y").ids == ("one", "two")


@pytest.mark.parametrize(
    "term",
    ["İşlemci.çalıştır", "İşlemci.çalıştır'ı", "İşlemci.çalıştır’dan", "`İşlemci.çalıştır`'ı", "(İşlemci.çalıştır)"],
)
def test_names_are_found_beneath_suffixes_and_punctuation(names: NameTable, term: str):
    assert names.find(term).how == "exact"
    assert names.knows(term)
    assert names.defines(term)


def test_turkish_letters_fold_with_english_ones_of_the_same_kind(names: NameTable):
    """A dotted and a dotless i meet; ş and s do not."""
    assert names.find("işlemci.çalıştır").how == names.find("ISLEMCI.çalıştır".replace("S", "Ş")).how == "folded"
    assert names.find("broker_urı".replace("ı", "l")).how == "exact"
    assert names.find("BROKER_URL".replace("I", "İ")).how == "folded"


def test_knowing_defining_and_leading_are_three_things(names: NameTable):
    assert [names.knows(n) for n in ("delay", "--pool", "Task.retry", "Delay", "real-time")] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert [names.defines(n) for n in ("delay", "Task.retry", "retry")] == [False, True, True]
    assert [names.leads(n) for n in ("Task", "task", "retry", "broker_url", "delay")] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_the_examples_of_names_hold():
    assert doctest.testmod(rungs.names).failed == 0


def test_a_row_without_its_four_parts_is_refused():
    with pytest.raises(ValueError, match=r"not a row \(module, symbol, category, chunk ids\): \('app', 'Pool'\)"):
        NameTable([("app", "run", "code", ["1"]), ("app", "Pool")])


def test_an_empty_table_knows_nothing():
    empty = NameTable()
    assert empty.empty
    assert not NameTable([], ["delay"]).empty
    assert not NameTable([("a", "b", "code", ["1"])]).empty
    assert not empty.knows("Task")
    assert empty.find("Task.retry").how == empty.find("retry_policy").how == "absent"


# --- the router


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Task", ("Task",)),
        ("task", ("task",)),  # a plain word, and a function at the top level of a module
        ("retry_policy", ("retry_policy",)),
        ("retry_policy()", ("retry_policy",)),
        ("`Task.retry`", ("Task.retry",)),
        ("Task.retry'nin", ("Task.retry",)),
        ("--pool", ("--pool",)),
        ("no_such_name", ("no_such_name",)),
        ("NoSuchName", ("NoSuchName",)),
        ("class Task", ("Task",)),
        ("def retry_policy", ("retry_policy",)),
        ("def no_such_name", ("no_such_name",)),
        ("Task.retry retry_policy", ("Task.retry", "retry_policy")),
        ("Task.retry, retry_policy; send_task_message()", ("Task.retry", "retry_policy", "send_task_message")),
        ("Task.retry Task.retry()", ("Task.retry",)),
    ],
)
def test_a_name_goes_to_be_looked_up(router: Router, query: str, found: tuple[str, ...]):
    route = router.route(query)
    assert (route.to, route.names) == ("symbol", found)
    assert route.reason


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("retry", ()),  # only a method is called so: in a query of one word it may be a topic
        ("tasks", ()),
        ("delay", ()),  # used as a name here, and an English word
        ("real-time", ()),
        ("PostgreSQL", ()),  # looks like a class, and stands in the prose of the documents
        ("and/or", ()),
        ("iPhone", ()),
        ("def x", ()),
        ("class struggle", ()),
        ("def real-time", ()),
        ("why does Task.retry raise?", ("Task.retry",)),
        ("why is (Task.retry) not `retry_policy`'nin", ("Task.retry", "retry_policy")),
        ("Task.retry neden hata veriyor", ("Task.retry",)),
        ("Task.retry'nin yaptığı", ("Task.retry",)),
        ("what does no_such_name do", ()),
        ("task and Task", ()),  # words of a sentence count only where they cannot be words
        ("Task.retry and retry_policy", ("Task.retry", "retry_policy")),
        ("", ()),
        ("   ", ()),
        ("?", ()),
        ("123", ()),
        ("...", ()),
    ],
)
def test_what_is_doubtful_is_a_question(router: Router, query: str, found: tuple[str, ...]):
    route = router.route(query)
    assert (route.to, route.names) == ("prose", found)


def test_without_names_it_goes_by_shape():
    router = Router()
    wanted = {
        "retry_policy": "symbol",
        "BufferMap": "symbol",
        "Task": "prose",
        "real-time": "prose",
        "PostgreSQL": "symbol",
    }
    assert {query: router.route(query).to for query in wanted} == wanted
    assert router.route("why does Task.retry raise").names == ()


@given(st.text(max_size=60))
def test_any_text_has_a_route_and_a_name_can_be_looked_up(text: str):
    table = NameTable(DEFINITIONS, IDENTIFIERS, WORDS)
    for router in (Router(table), Router(), RegexRouter()):
        route = router.route(text)
        assert route.to in ("symbol", "prose")
        assert route.to == "prose" or route.names
    assert (table.find(text).how == "absent") == (table.find(text).ids == ())


# --- retrievers

NODES = {
    name: TextNode(id_=name, text=f"text of {name}", metadata={"category": row[2]})
    for row in DEFINITIONS
    for name in row[3]
}


def hits(ids: Sequence[str], channel: str) -> list[NodeWithScore]:
    nodes = (NODES.get(name, TextNode(id_=name, text=name)) for name in ids)
    return [make_hit(node, channel, 10.0 - i) for i, node in enumerate(nodes)]


def ids(found: Sequence[NodeWithScore]) -> list[str]:
    return [hit.node.node_id for hit in found]


class Channel(BaseRetriever):
    """Returns fixed hits and counts how often it was asked."""

    def __init__(self, name: str, found: Sequence[str]) -> None:
        super().__init__()
        self.name, self.found, self.asked = name, found, 0

    def _retrieve(self, query_bundle):
        self.asked += 1
        return hits(self.found, self.name)


def fetch(wanted: Sequence[str]) -> list[TextNode]:
    return [NODES[name] for name in sorted(wanted)]  # in any order


def definitions(
    names: NameTable, passes: Callable[[TextNode], bool] = lambda _: True, **options
) -> DefinitionRetriever:
    return DefinitionRetriever(names, lambda wanted: [node for node in fetch(wanted) if passes(node)], **options)


@pytest.mark.parametrize(
    ("asked", "ids"),
    [
        ("src/app/task.py", "task.py#1 task.py#2"),
        ("app/task.py", "task.py#1 task.py#2"),
        ("./setup.cfg", "setup.cfg#1"),
        ("`log.py`", "log.py#1"),
        ("app/log.py:12", "log.py#1"),
        ("src/app/log.py:12:4", "log.py#1"),
        ("task.py", "task.py#1 tests/task.py#1 task.py#2"),
        (".env", ".env#1"),
    ],
)
def test_a_path_is_a_name_and_gives_its_file(names: NameTable, router: Router, asked: str, ids: str):
    found = names.find(asked)
    assert (" ".join(found.ids), found.how) == (ids, "exact")
    assert names.knows(asked)
    assert (router.route(asked).to, router.route(asked).reason) == ("symbol", "a name here")
    assert "exact" not in NameTable(DEFINITIONS).find(asked).how


@pytest.mark.parametrize("asked", ["src/app/tusk.py", "app/retry.py", "pp/task.py", "Task.py", "retry_policy.cfg"])
def test_a_path_that_is_not_there_is_no_name_alike(names: NameTable, asked: str):
    assert names.find(asked).how == "absent"
    assert not names.knows(asked)


@pytest.mark.parametrize(("asked", "how"), [("response.json", "folded"), ("Client.json", "owner"), ("a.json", "owner")])
def test_a_method_called_like_the_ending_of_a_file_is_found(asked: str, how: str):
    table = NameTable([("web", "Response.json", "code", ["1"])], files=[("data/package.json", "config", ["2"])])
    assert (table.find(asked).how, table.find(asked).ids) == (how, ("1",))
    assert table.find("package.json").ids == ("2",)
    assert NameTable([], files=[("data/package.json", "config", ["2"])]).find("other.json").how == "absent"


def test_the_reason_says_what_a_name_was_read_as(names: NameTable):
    assert routed(names).answer("Task.rety").reason == "shaped like a name, read as app.task.Task.retry"
    assert routed(names).answer("Task.retry").reason == "defined here"
    assert routed(names).answer("nowhere_at_all").reason == "no such name here"


@pytest.mark.parametrize("name", ["--", "@@", "\0", "::", "a" * 9_999])
def test_what_is_no_name_finds_none(name):
    odd = NameTable([("m", "__", "code", ["1"]), ("m", "_._", "code", ["2"]), ("m", "b" * 10_000, "code", ["3"])])
    assert odd.find(name).how == "absent"


def routed(names: NameTable | None, bm25: Sequence[str] = ("use#1", "use#2"), **options) -> RoutedRetriever:
    """A retriever over two channels with fixed hits, and over definitions where there are names."""
    channels: dict[str, BaseRetriever] = {
        "bm25": Channel("bm25", bm25),
        "dense": Channel("dense", ["near#1", "near#2"]),
    }
    if names is not None:
        channels["definition"] = definitions(names, options.pop("passes", lambda _: True))
    return RoutedRetriever(channels, options.pop("router", Router(names)), names=names, **options)


def test_with_channels_keeps_the_routes(names: NameTable):
    first = routed(names, prose="dense", blend=0.5, top_k=3)
    again = first.with_channels({**first.channels, "bm25": Channel("bm25", ["other#1"])})
    assert (again.router, again.top_k, again.names, again.prose, again.blend) == (first.router, 3, names, "dense", 0.5)
    assert "other#1" in ids(again.retrieve("retry_policy"))


def test_definitions_of_a_name_come_in_order_with_falling_scores(names: NameTable):
    found = definitions(names).retrieve("Task.retry")
    assert ids(found) == ["Task.retry#1", "Task.retry#2", "test#1"]
    assert [hit.score for hit in found] == [1.0, 1 / 2, 1 / 3]
    assert found[0].node.metadata["scores"] == {"definition": 1.0}
    assert ids(asyncio.run(definitions(names, top_k=1).aretrieve("Task.retry"))) == ["Task.retry#1"]
    assert "scores" not in NODES["Task.retry#1"].metadata


def test_names_inside_a_question_count_only_as_written(names: NameTable):
    class Loose:
        def route(self, query):
            from rungs.routing import Route

            return Route(query.split()[0], "", ("TASK.RETRY", "retry_policy"))

    loose = definitions(names, router=Loose())
    assert ids(loose.retrieve("prose")) == ["retry_policy#1"]
    assert ids(loose.retrieve("symbol"))[:2] == ["Task.retry#1", "Task.retry#2"]


def test_no_name_fetches_nothing(names: NameTable):
    def fail(wanted):
        raise AssertionError("nothing was to be fetched")

    assert DefinitionRetriever(names, fail).retrieve("how are tasks retried") == []


def test_filters_may_hide_definitions(names: NameTable):
    found = definitions(names, lambda node: node.metadata["category"] == "test").retrieve("Task.retry")
    assert ids(found) == ["test#1"]
    assert [hit.score for hit in found] == [1.0]


def test_a_name_gets_its_definitions_first_and_no_hit_twice(names: NameTable):
    retriever = routed(names, ["use#1", "Task.retry#2", "use#2", "Task.retry#1"])
    answer = retriever.answer("Task.retry")
    assert ids(answer.hits) == ["Task.retry#1", "Task.retry#2", "test#1", "use#1", "use#2"]
    assert (answer.route, answer.reason, answer.weak) == ("bm25", "defined here", False)
    scores = [hit.score for hit in answer.hits]
    assert scores == [1 / rank for rank in range(1, 6)]
    assert answer.hits[1].node.metadata["scores"] == {"definition": 1 / 2, "bm25": 9.0, "name": 1 / 2}
    assert answer.hits[3].node.metadata["scores"] == {"bm25": 10.0, "name": 1 / 4}
    assert retriever.channels["dense"].asked == 0
    assert ids(retriever.retrieve("Task.retry")) == ids(answer.hits)


def test_the_retriever_returns_top_k(names: NameTable):
    retriever = routed(names, top_k=2)
    assert ids(retriever.retrieve("Task.retry")) == ["Task.retry#1", "Task.retry#2"]
    assert ids(asyncio.run(retriever.aretrieve("how are tasks retried"))) == ["near#1", "near#2"]


def test_a_question_goes_to_the_prose_channel_alone(names: NameTable):
    retriever = routed(names)
    answer = retriever.answer("why does Task.retry raise")
    assert (ids(answer.hits), answer.route, answer.weak) == (["near#1", "near#2"], "dense", False)
    assert answer.reason == "a question that names Task.retry"
    assert retriever.channels["bm25"].asked == 0
    assert answer.hits[0].node.metadata["scores"] == {"dense": 10.0}, "no say is no fusion"


def test_definitions_of_names_in_a_question_are_blended_in_where_told(names: NameTable):
    answer = routed(names, blend=2.0).answer("why does Task.retry raise")
    assert ids(answer.hits)[0] == "Task.retry#1"
    assert set(ids(answer.hits)) == {"Task.retry#1", "Task.retry#2", "test#1", "near#1", "near#2"}
    assert answer.route == "dense"
    assert ids(routed(names, blend=0.5).answer("why does Task.retry raise").hits)[0] == "near#1"
    assert ids(routed(names, blend=2.0).answer("how are tasks retried").hits) == ["near#1", "near#2"]


def test_bm25_that_finds_nothing_leaves_it_to_the_prose_channel_and_says_so(names: NameTable):
    answer = routed(names, ()).answer("no_such_name")
    assert (ids(answer.hits), answer.route) == (["near#1", "near#2"], "dense")
    assert answer.reason == "shaped like a name, but bm25 found nothing"
    assert answer.weak
    by_shape = routed(None, ()).answer("no_such_name")
    assert (by_shape.route, by_shape.weak) == ("dense", False)  # without names nothing is known to be absent


def test_definitions_alone_are_an_answer(names: NameTable):
    retriever = routed(names, ())
    answer = retriever.answer("Task.retry")
    assert (ids(answer.hits), answer.route) == (["Task.retry#1", "Task.retry#2", "test#1"], "bm25")
    assert retriever.channels["dense"].asked == 0


def test_an_absent_name_is_weak_and_bm25_still_answers(names: NameTable):
    answer = routed(names).answer("no_such_name")
    assert (ids(answer.hits), answer.route) == (["use#1", "use#2"], "bm25")
    assert (answer.reason, answer.weak) == ("no such name here", True)


@pytest.mark.parametrize("query", ["Task.retry", "--pool", "task_always_eager", "retry_polciy"])
def test_a_name_that_is_here_is_not_weak(names: NameTable, query: str):
    """Defined, only used, or near enough to one that is defined."""
    assert not routed(names).answer(query).weak


def test_definitions_hidden_by_filters_do_not_make_a_name_absent(names: NameTable):
    def nothing(_: TextNode) -> bool:
        return False

    answer = routed(names, passes=nothing).answer("Task.retry")
    assert (ids(answer.hits), answer.weak, answer.reason) == (["use#1", "use#2"], False, "defined here")
    fallen = routed(names, (), passes=nothing).answer("Task.retry")
    assert (fallen.route, fallen.weak) == ("dense", False)
    assert fallen.reason == "defined here, but bm25 found nothing"


def test_without_names_bm25_answers_as_it_is():
    answer = routed(None, router=RegexRouter()).answer("retry_policy")
    assert [(hit.node.node_id, hit.score) for hit in answer.hits] == [("use#1", 10.0), ("use#2", 9.0)]
    assert (answer.route, answer.reason, answer.weak) == ("bm25", "matches the regex", False)


def test_another_prose_channel_is_asked_by_its_name(names: NameTable):
    asked = []

    def ask(name: str) -> list[NodeWithScore]:
        asked.append(name)
        return hits(["near#1"], name)

    answer = answer_routed("how are tasks retried", Router(names), ask, names=names, prose="hybrid")
    assert (asked, answer.route) == (["hybrid"], "hybrid")


def test_definitions_first_leaves_its_inputs_alone():
    defined, uses = hits(["Task#1", "Task#2"], "definition"), hits(["use#1", "Task#1"], "bm25")
    kept = copy.deepcopy((defined, uses))
    merged = definitions_first(defined, uses)
    for hit in merged:
        hit.node.metadata["scores"]["bm25"] = -1.0
        hit.node.metadata["category"] = "poem"
        hit.score = -1.0
    assert (defined, uses) == kept
    assert ids(merged) == ["Task#1", "Task#2", "use#1"]
    assert definitions_first([], []) == []


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda names: DefinitionRetriever(names, fetch, top_k=0), "top_k is 0"),
        (lambda names: RoutedRetriever({"bm25": Channel("bm25", [])}, RegexRouter(), top_k=0), "top_k is 0"),
        (
            lambda names: RoutedRetriever({"bm25": Channel("bm25", [])}, RegexRouter()),
            "no channel 'dense'; there is bm25",
        ),
        (
            lambda names: RoutedRetriever(
                {"bm25": Channel("bm25", []), "dense": Channel("dense", [])}, Router(names), names=names
            ),
            "no channel 'definition'",
        ),
        (lambda names: RoutedRetriever({}, RegexRouter(), prose="hybrid"), "no channel 'bm25'; there is none"),
    ],
)
def test_a_retriever_that_cannot_work_is_not_made(names: NameTable, make, says: str):
    with pytest.raises(ValueError, match=says):
        make(names)


# --- hostile input

LONG = 100_000
HOSTILE = {
    "capitals": "A" * LONG,
    "small": "a" * LONG,
    "underscores": "_" * LONG,
    "snake": "a_" * (LONG // 2),
    "camel": "aA" * (LONG // 2),
    "digits and capitals": "a1A" * (LONG // 3),
    "dots": "a." * (LONG // 2),
    "only dots": "." * LONG,
    "colons": "a::" * (LONG // 3),
    "only colons": ":" * LONG,
    "slashes": "/a" * (LONG // 2),
    "hyphens": "a-a" * (LONG // 3),
    "only hyphens": "-" * LONG,
    "parentheses": "(" * LONG,
    "calls": "a(" * (LONG // 2),
    "closed": "a()" * (LONG // 3),
    "apostrophes": "'a" * (LONG // 2),
    "only apostrophes": "'" * LONG,
    "backquotes": "`" * LONG,
    "dollars": "${a" * (LONG // 3),
    "percents": "%a" * (LONG // 2),
    "arrows": "a->" * (LONG // 3),
    "abbreviation": "a.b" + ".c" * (LONG // 2),
    "letters with dots above": "İ" * LONG,
    "combining": "a\u0301" * (LONG // 2),
    "lines": "(" * (LONG // 2) + "\n" + "a" * (LONG // 2),
}


@pytest.mark.parametrize("ending", ["é-", " x"])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_no_text_makes_a_rule_run_away(router: Router, names: NameTable, text: str, ending: str):
    """A rule that tries every way to cut a text takes minutes for these."""
    query = text + ending
    for ask in (looks_like_symbol, shaped_like_a_name, router.route, names.find, names.knows):
        started = time.process_time()
        ask(query)
        assert time.process_time() - started < 1, ask


@pytest.mark.parametrize(
    "query",
    ["how are tasks retried " * 45_000, "Task.retry " * 90_000, "x" * 1_000_000, "a_b" * 333_333, "a.b," * 250_000],
    ids=["question", "names", "word", "name", "path"],
)
def test_a_query_of_a_million_characters_has_a_route(router: Router, names: NameTable, query: str):
    started = time.process_time()
    route = router.route(query)
    found = [names.find(name) for name in route.names]
    assert time.process_time() - started < 10
    assert route.to in ("symbol", "prose")
    assert all(one.how != "absent" for one in found) == (query.startswith("Task") or not found)
