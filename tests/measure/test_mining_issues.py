"""Drafts from issues and changelogs in files."""

import json
import time
from pathlib import Path

import pytest

from rungs.corpus import Corpus, load_corpus
from rungs.errors import CorpusError, GoldenError
from rungs.measure.mining import Draft, mine_issues
from rungs.measure.mining.changelog import bullets

from .mining_shop import ADD, CHECKOUT, EMPTY, TOTAL, exported, shop_corpus

TRACE = """It broke:

```
Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/shop/basket.py", line 18, in checkout
    return basket.total()
  File "/usr/lib/python3.11/site-packages/shop/basket.py", line 14, in total
    return sum(item.price for item in self.items)
  File "/usr/lib/python3.11/asyncio/tasks.py", line 1, in checkout
TypeError: no
```
"""


@pytest.fixture
def shop(tmp_path: Path) -> Corpus:
    return shop_corpus(tmp_path)


def only(path: Path, corpus: Corpus) -> Draft:
    (draft,) = mine_issues(path, corpus)
    return draft


def test_a_folder_of_issues_gives_its_headings_or_first_lines(tmp_path, shop):
    folder = tmp_path / "issues"
    (folder / "deep").mkdir(parents=True)
    (folder / "1.md").write_text("<!-- template -->\n\n# Cards are refused at night\n\n## Steps\n")
    (folder / "2.txt").write_text("\nThe sum is off by one\nand more\n")
    (folder / "3.md").write_text("<!-- say what -->\nReceipts come twice\n\n## Steps\n\n```\n# not a heading\n```\n")
    (folder / "4.md").write_text('---\ntitle: "Nobody gets a receipt"\nstate: open\n---\n\nBody.\n')
    (folder / "deep/5.md").write_text("Deep\nwater\n=====\n\nmore\n")
    (folder / "9.rst").write_text(".. _night:\n\nNights are longer than days\n===========================\n\nMore.\n")
    (folder / "6.py").write_text("# no issue at all\n")
    (folder / "7.md").symlink_to(folder / "1.md")
    (folder / "8.md").write_text("\n")
    found = mine_issues(folder, shop)
    titles = ["Cards are refused at night", "The sum is off by one", "Receipts come twice", "Nobody gets a receipt"]
    titles += ["Nights are longer than days", "Deep water"]
    assert [draft.q for draft in found] == titles
    assert [draft.source for draft in found] == ["1.md", "2.txt", "3.md", "4.md", "9.rst", "deep/5.md"]
    assert found.dropped == {"no title": 1}
    assert {(draft.kind, draft.expect, draft.overlap) for draft in found} == {("issue", (), 0.0)}


def test_an_export_gives_titles_and_where_they_stand(tmp_path, shop):
    rows = [
        {"title": "[Bug]: Cards are refused at night", "body": None, "number": 12},
        {"title": "bug", "body": ""},
        {"title": "cards are REFUSED at night"},
        {"title": "Let cards be refused", "pull_request": {"url": "x"}},
        {"title": "Receipts come twice \ud800", "iid": 7},
    ]
    found = mine_issues(exported(tmp_path, *rows), shop)
    assert [(d.id, d.q, d.source) for d in found] == [
        ("issue-12", "Cards are refused at night", "issues.json, item 1"),
        ("issue-7", "Receipts come twice ?", "issues.json, item 5"),
    ]
    assert found.dropped == {"says too little": 1, "asked already": 1, "pull request": 1}
    lines = mine_issues(exported(tmp_path, *rows, name="issues.jsonl"), shop)
    assert [d.source for d in lines] == ["issues.jsonl:1", "issues.jsonl:5"]
    (tmp_path / "answer.json").write_text(json.dumps({"total_count": 1, "items": rows[:1]}))
    assert only(tmp_path / "answer.json", shop).id == "issue-12"


def test_ids_stay_the_same_when_an_export_grows(tmp_path, shop):
    old = {"title": "Cards are refused at night"}
    before = only(exported(tmp_path, old), shop).id
    after = mine_issues(exported(tmp_path, {"title": "Receipts come twice"}, old), shop)
    assert after[1].id == before
    assert after[0].id != before


@pytest.mark.parametrize(
    ("title", "body", "expect"),
    [
        ("It breaks on paying", TRACE, (TOTAL, CHECKOUT)),
        ("`Basket.total` is off by one", "", (TOTAL,)),
        ("shop.basket.Basket.total is off by one", "", (TOTAL,)),
        ("shop.basket.checkout is off by one", "", (CHECKOUT,)),
        ("total() is off by one", "", (TOTAL,)),
        ("The total is off by one", "", ()),  # a word, not a name
        ("self.total is off by one", "", ()),  # whose?
        ("checkout() is off by one", "", ()),  # there are two
        ("other.basket.checkout is off by one", "", ()),
        ("send_receipt is off by one", "", ("shop/mail.py::send_receipt",)),  # one in the code
        ("Look into basket.py for once", "", ("shop/basket.py",)),
        ("Look into the page for once", "see ./docs/paying.md.", ("docs/paying.md",)),
        ("Look into app/basket.py for once", "", ()),
        ("Look into basket.py for once", "`empty()` is in there", (EMPTY,)),
        ("The `empty` basket is not empty", "", ()),  # an ordinary word, whatever marks it
        ("The `Basket` is not empty", "", ("shop/basket.py::Basket",)),
        ("The `_empty` basket is not empty", "", ()),
        ("no_such_name and NoSuchName are missing", "", ()),
    ],
)
def test_what_an_issue_names_is_suggested_where_there_is_one(tmp_path, shop, title, body, expect):
    assert only(exported(tmp_path, {"title": title, "body": body}), shop).expect == expect


@pytest.mark.parametrize(
    ("title", "body", "suggested"),
    [
        ("`make_shop` takes an address", "", False),
        ("`make_shop` takes an address", "the latest", False),
        ("`make_shop` of the tests takes an address", "", True),
        ("`make_shop` takes an address", "as in `TestMail`", True),
        ("`make_shop` takes an address", "as in app/test_shop", True),
    ],
)
def test_a_place_in_the_tests_is_suggested_only_where_tests_are_spoken_of(tmp_path, shop, title, body, suggested):
    (tmp_path / "shop/tests/test_mail.py").write_text("def make_shop(address):\n    return address\n")
    corpus = load_corpus(tmp_path / "shop", tmp_path / "home")
    expect = ("tests/test_mail.py::make_shop",) if suggested else ()
    assert only(exported(tmp_path, {"title": title, "body": body}), corpus).expect == expect


CHANGES = """\
Shop
====

Version 2.0.1
-------------

Released 2024-05-01

-   Several pieces in ``Basket.total`` are charged once. ``send_receipt`` says
    so. :issue:`12`
-   Cards are taken
    at night (#13).

    - by ``checkout()``, of all

-   Nobody waits for :meth:`~shop.basket.Basket.add` any longer. :pr:`14,15`
-   Bump cards from 1.0 to 1.1.

Thanks to everybody.

1.0 (2023-02-28)
----------------

1.  Cards are taken at night.
2.  A receipt comes by mail, `as asked <https://example.org/1>`_.
"""
KEEP = """\
# Changelog

## [Unreleased]

### Fixed

- **cards**: Somebody is thanked for paying by @ada in https://example.org/pull/3
<!--
- nobody reads this line
-->

```
- nobody runs this line
```

## [1.0.1](https://example.org/v1.0.1) - 2024-05-01

* Baskets may be `empty()` ([#3](https://example.org/3))
  * and stay so
continued here by the lazy
"""


def test_every_bullet_of_a_changelog_asks(tmp_path, shop):
    (tmp_path / "CHANGES.rst").write_text(CHANGES)
    found = mine_issues(tmp_path / "CHANGES.rst", shop)
    assert [(draft.q, draft.expect) for draft in found] == [
        ("Several pieces in `Basket.total` are charged once", (TOTAL, "shop/mail.py::send_receipt")),
        ("Cards are taken at night", ()),  # there are two of checkout
        ("Nobody waits for `shop.basket.Basket.add` any longer", (ADD,)),
        ("A receipt comes by mail, as asked", ()),
    ]
    assert [draft.source for draft in found] == [f"CHANGES.rst:{line}" for line in (9, 11, 16, 25)]
    assert {draft.kind for draft in found} == {"prose-en"}
    assert found.seen == "6 bullets"
    assert found.dropped == {"version or dependency bump": 1, "asked already": 1}
    assert found[1].id == "CHANGES-Version-2-0-1-card-night-taken"


def test_a_changelog_in_markdown_keeps_to_its_bullets(tmp_path, shop):
    (tmp_path / "CHANGELOG.md").write_text(KEEP)
    found = mine_issues(tmp_path / "CHANGELOG.md", shop)
    assert [(draft.q, draft.expect) for draft in found] == [
        ("cards: Somebody is thanked for paying", ()),
        ("Baskets may be `empty()`", (EMPTY,)),
    ]


def test_ids_of_bullets_stay_the_same_when_a_release_is_added(tmp_path, shop):
    path = tmp_path / "CHANGES.rst"
    path.write_text(CHANGES)
    before = {draft.q: draft.id for draft in mine_issues(path, shop)}
    new = "Version 3.0\n-----------\n\n- Nobody pays for what is broken\n\n"
    path.write_text(CHANGES.replace("Version 2.0.1\n", new + "Version 2.0.1\n"))
    after = {draft.q: draft.id for draft in mine_issues(path, shop)}
    assert before.items() < after.items()


def test_a_folder_may_hold_issues_and_changelogs(tmp_path, shop):
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "NEWS.rst").write_text(CHANGES)
    (folder / "1.md").write_text("# Doors are closed at noon\n\n## Version 2.3\n\n- on Linux\n\n## Steps\n\n- none\n")
    (folder / "2.md").write_text("# Doors are shut since 2.3\n\n- on Linux\n")
    found = mine_issues(folder, shop)
    assert found.seen == "6 bullets, 2 issues"
    assert [draft.q for draft in found if draft.kind == "issue"] == [
        "Doors are closed at noon",
        "Doors are shut since 2.3",
    ]


@pytest.mark.parametrize(
    ("heading", "release"),
    [
        ("Version 2.3", True),
        ("1.0.1 - 2024-05-01", True),
        ("[1.0.1] - 2024-05-01 [YANKED]", True),
        ("2.32.5 (2025-08-18)", True),
        ("Shop 1.11.1 release notes", True),
        ("v2", True),
        ("5.4.0rc1", True),
        ("2024-05-01", True),
        ("May 3, 2024", True),
        ("Unreleased", True),
        ("Python 3.12", False),
        ("Doors are shut since 2.3", False),
        ("Release 1.2 is broken", False),
        ("1. Install", False),
        ("Version", False),
    ],
)
def test_headings_of_releases_are_versions_and_dates(heading, release):
    assert bool(bullets("x.md", f"# {heading}\n\n- one\n")) == release


@pytest.mark.parametrize("piece", ["a ", "1.1 ", " -", "(a) ", "released ", "`", ":a:`", "[", "`a <", "**", "- ", "\\"])
def test_no_changelog_takes_long(piece):
    start = time.perf_counter()
    bullets("x.md", f"# 1.1\n\n- {piece * 5000}\n\n# 1.1 {piece * 5000}\n")
    assert time.perf_counter() - start < 2


def test_a_suggestion_in_the_issues_own_words_is_marked(tmp_path, shop):
    draft = only(exported(tmp_path, {"title": "`Basket.total` fails"}), shop)
    assert draft.overlap == pytest.approx(1 / 3)
    assert draft.why == "named in issues.json, item 1: `Basket.total` fails"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.json", '[\n{"title": "x"},\n{"title" "y"}]', r"a\.json:3: not valid JSON"),
        ("a.json", "[" * 100_000, "nested too deep"),
        (
            "a.json",
            f'[{{"title": "x", "number": {"1" * 5000}}}]',
            r"a\.json: not valid JSON \(a number of more than 4300",
        ),
        ("a.json", '{"title": "x"}', "not a list of issues"),
        ("a.json", '[{"title": "Cards are refused"}, {"titel": "x"}]', 'item 2 has no text under "title"'),
        ("a.json", "[3]", 'item 1 has no text under "title"'),
        ("a.jsonl", '{"title": "Cards are refused"}\n\n{"title"\n', r"a\.jsonl:3: not valid JSON"),
        ("a.jsonl", '{"title": 3}\n', r'a\.jsonl:1 has no text under "title"'),
        ("a.csv", "title\n", "not a form of issues known here"),
        ("a.md", b"# \xff\n", r"a\.md:1: not UTF-8"),
    ],
)
def test_a_file_that_holds_no_issues_is_one_line(tmp_path, shop, name, text, expected):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CorpusError, match=expected) as error:
        mine_issues(tmp_path / name, shop)
    assert "\n" not in str(error.value)


def test_no_file_and_no_issue_are_one_line(tmp_path, shop):
    for name in ("none.json", "none.md", "none"):
        with pytest.raises(CorpusError, match="cannot be read"):
            mine_issues(tmp_path / name, shop)
    (tmp_path / "empty").mkdir()
    with pytest.raises(GoldenError, match="holds no issue"):
        mine_issues(tmp_path / "empty", shop)
    with pytest.raises(GoldenError, match=r"no draft from 1 issues \(1 says too little\)"):
        mine_issues(exported(tmp_path, {"title": "bug"}), shop)
