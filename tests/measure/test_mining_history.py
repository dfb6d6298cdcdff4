"""Drafts from the commits of real repositories."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rungs.corpus import Corpus, load_corpus
from rungs.errors import CorpusError, GoldenError, SettingsError
from rungs.measure.mining import Drafts, commits, mine_history

from .mining_shop import (
    ADD,
    BASKET,
    CHECKOUT,
    EMPTY,
    GOOD,
    TEST,
    TO_ADD,
    TO_CHECKOUT,
    TO_EMPTY,
    TO_TOTAL,
    TOTAL,
    Repository,
    first_day,
)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return first_day(tmp_path / "work")


@pytest.fixture
def corpus_of(tmp_path: Path) -> Callable[[Path], Corpus]:
    return lambda root: load_corpus(root, tmp_path / "home")


@pytest.fixture
def mined(repository: Repository, corpus_of) -> Callable[..., Drafts]:
    def mine(**options) -> Drafts:
        found = mine_history(repository.root, corpus_of(repository.root), **options)
        assert isinstance(found, Drafts)
        return found

    return mine


# --- history: what a commit changed


def test_a_subject_asks_and_the_changed_method_answers(repository, mined):
    sha = repository.edit("fix(basket): Several pieces of one article are charged once (#12)", TO_TOTAL)
    (draft,) = mined()
    assert (draft.q, draft.expect, draft.kind) == (GOOD, (TOTAL,), "prose-en")
    assert draft.source == f"commit {sha[:10]}"
    assert draft.why == f"changed by commit {sha[:10]}: fix(basket): {GOOD} (#12)"
    assert draft.id == sha[:10]


def test_the_innermost_definition_is_named_and_a_new_one_stands_for_what_it_holds(repository, mined):
    repository.edit("Amounts are shown with the sign of euro", ('currency = "EUR"', 'currency = "€"'))
    methods = "".join(f"\n\n    def {name}(self): ..." for name in ("spend", "void", "renew"))
    new = f"\n\nclass Voucher:\n    code = None{methods}\n"
    repository.edit("A gift can be paid with later", ("basket.items.clear()\n", "basket.items.clear()\n" + new))
    assert [draft.expect for draft in mined()] == [("shop/basket.py::Voucher",), ("shop/basket.py::Basket.currency",)]


def test_moving_a_definition_and_editing_what_is_outside_changes_none(repository, mined):
    repository.edit(GOOD, TO_TOTAL)
    text = (repository.root / "shop/basket.py").read_text()
    head, _, tail = text.partition("\n\ndef empty")
    moved = head.replace("\n\nclass Basket", "\n\ndef empty" + tail + "\n\nclass Basket", 1)
    repository.commit("Whatever takes things out goes to the top", {"shop/basket.py": moved})
    repository.edit("Say more about the whole module", ('"""Baskets."""', '"""Baskets, and more."""\nimport os'))
    found = mined()
    assert [draft.q for draft in found] == [GOOD]
    assert found.dropped == {"changes no definition": 2, "changes too much": 1}


def test_indentation_alone_is_a_change(repository, mined):
    loop = ("    basket.items.clear()\n", "    for _ in basket:\n        log()\n    basket.items.clear()\n")
    repository.edit("Taking everything out is written down", loop)
    deeper = ("    basket.items.clear()\n", "        basket.items.clear()\n")
    sha = repository.edit("Clearing happens only where something was put in", deeper)
    assert mined()[0].id == sha[:10]
    assert mined()[0].expect == (EMPTY,)


def test_a_renamed_file_is_followed_and_what_is_gone_is_not_named(repository, mined):
    one = repository.edit(GOOD, TO_TOTAL)
    repository.edit("Nobody may pay with half a cent", TO_CHECKOUT)
    repository.edit(
        "Paying is done somewhere else now", ("def checkout(basket):\n    return round(basket.total(), 2)\n", "")
    )
    repository.git("mv", "shop/basket.py", "shop/cart.py")
    repository.commit("The basket is called a cart")
    repository.git("mv", "shop/cart.py", "shop/trolley.py")
    two = repository.edit("A trolley takes more than a list", TO_ADD, name="shop/trolley.py")
    found = mined()
    named = {draft.id: draft.expect for draft in found}
    assert named == {one[:10]: ("shop/trolley.py::Basket.total",), two[:10]: ("shop/trolley.py::Basket.add",)}
    assert found.dropped["changes no definition that is still there"] == 2


def test_a_file_that_is_gone_gives_nothing(repository, mined):
    repository.commit("Invoices go out by night mail", {"shop/mail.py": "def send(invoice):\n    return invoice\n"})
    repository.edit(GOOD, TO_TOTAL)
    repository.git("rm", "-q", "shop/mail.py")
    repository.commit("Invoices are somebody else's business")
    found = mined()
    assert [draft.q for draft in found] == [GOOD]
    assert found.dropped["no file that is in the corpus"] == 2


def test_three_changed_definitions_are_kept_and_four_are_not(repository, mined):
    repository.edit("Money is never off by one cent", TO_TOTAL, TO_ADD, TO_CHECKOUT)
    three = mined()
    assert three[0].expect == (ADD, TOTAL, CHECKOUT)
    repository.edit(
        "Everything is done in another way", ("sum(", "fsum("), ("extend", "push"), ("round", "floor"), TO_EMPTY
    )
    four = mined()
    assert list(four) == list(three)
    assert four.dropped["changes too much"] == three.dropped["changes too much"] + 1


def test_removed_definitions_count_against_a_commit(repository, mined):
    repository.edit(GOOD, TO_TOTAL)
    helpers = "".join(f"\n\ndef help_{n}():\n    return {n}\n" for n in range(4))
    repository.edit("Helpers for everybody who needs one", ("clear()\n", "clear()\n" + helpers))
    repository.edit("Nobody needed any of the helpers", (helpers, ""), TO_CHECKOUT)
    found = mined()
    assert [draft.q for draft in found] == [GOOD]
    assert found.dropped["changes too much"] == 3


def test_a_commit_over_many_files_is_left_out(repository, mined):
    repository.edit(GOOD, TO_TOTAL)
    repository.commit("Papers for every single customer", {f"papers/{n}.yml": f"n: {n}\n" for n in range(12)})
    files = {f"papers/{n}.yml": f"m: {n}\n" for n in range(12)}
    repository.commit("Customers are greeted when they pay", {**files, "shop/basket.py": BASKET})
    assert [draft.q for draft in mined()] == [GOOD]


def test_code_answers_for_a_commit_that_also_changes_tests_and_documents(repository, mined):
    files = {"tests/test_basket.py": TEST.replace("0", "1"), "README.md": "# Shop\n\nBuy more.\n"}
    repository.commit("Several pieces", files | {"shop/basket.py": BASKET.replace(*TO_TOTAL)})
    repository.git("commit", "-q", "--amend", "-m", GOOD)
    assert [draft.expect for draft in mined()] == [(TOTAL,)]


def test_code_does_not_answer_for_a_commit_about_documents(repository, mined):
    repository.edit(GOOD, TO_TOTAL)
    pages = {f"docs/{n}.md": f"# {n}\n" for n in range(3)}
    repository.commit("Everybody can read how paying works", pages | {"shop/basket.py": BASKET})
    found = mined()
    assert [draft.q for draft in found] == [GOOD]
    assert found.dropped["mostly about documents"] == 1
    two = {name: text + "More.\n" for name, text in list(pages.items())[:2]}
    repository.commit("Nobody may pay with half a cent", two | {"shop/basket.py": BASKET.replace(*TO_CHECKOUT)})
    assert mined()[0].expect == (CHECKOUT,)


def test_tests_and_documents_are_used_where_there_is_nothing_else(repository, mined):
    repository.commit("An empty basket costs nothing at all", {"tests/test_basket.py": TEST.replace("0", "0.0")})
    repository.commit("Say what the shop is good for", {"README.md": "# Shop\n\nBuy things.\n"})
    assert [d.expect for d in mined()] == [("README.md::Shop",), ("tests/test_basket.py::test_total",)]
    repository.edit(GOOD, TO_TOTAL)
    found = mined()
    assert [draft.q for draft in found] == [GOOD]
    assert found.dropped["only tests or documents"] == 2


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        ("Bump requests from 2.0 to 2.1", "version or dependency bump"),
        ("chore(deps): update actions/checkout to v4", "version or dependency bump"),
        ("Release version 5.4.0", "version or dependency bump"),
        ("Merge pull request #5 from somebody/very-good-branch", "merge"),
        ('Revert "Several pieces of one article"', "revert"),
        ("fix: revert the price of several pieces", "revert"),
        ("Fix typo in the price of several pieces", "housekeeping"),
        ("fixup! Several pieces of one article", "housekeeping"),
        ("Fix #12", "says too little"),
        ("[shop] fix it (#3)", "says too little"),
        ("Prices are rounded; baskets are emptied by night", "says several things"),
    ],
)
def test_subjects_that_are_no_question_are_counted(repository, mined, subject, reason):
    repository.edit(GOOD, TO_TOTAL)
    before = mined().dropped.get(reason, 0)
    repository.edit(subject, TO_CHECKOUT)
    assert [draft.q for draft in mined()] == [GOOD]
    assert mined().dropped[reason] == before + 1


@pytest.mark.parametrize(
    "subject", ["Update the price to what was agreed", "Start charging at 10.5 euro", "Abbot pays less than we"]
)
def test_subjects_that_only_look_like_chores_are_kept(repository, mined, subject):
    repository.edit(subject, TO_TOTAL)
    assert [draft.q for draft in mined()] == [subject]


@pytest.mark.parametrize(
    "author", ["dependabot[bot] <1+dependabot[bot]@users.noreply.github.com>", "renovate <a@b.c>", "CI <ci-bot@b.c>"]
)
def test_bots_ask_nothing(repository, mined, author):
    repository.edit(GOOD, TO_TOTAL, author="Bo Talbot <talbot@example.org>")
    repository.edit("Payments are rounded down for everybody", TO_CHECKOUT, author=author)
    found = mined()
    assert [draft.q for draft in found] == [GOOD]
    assert found.dropped["by a bot"] == 1


def test_what_was_reverted_later_asks_nothing(repository, mined):
    repository.edit(GOOD, TO_TOTAL)
    repository.edit("Payments are rounded down for everybody", TO_CHECKOUT)
    repository.git("revert", "--no-edit", "HEAD")
    found = mined()
    assert [draft.q for draft in found] == [GOOD]
    assert (found.dropped["revert"], found.dropped["reverted later"]) == (1, 1)


def test_merges_are_not_looked_at(repository, mined):
    repository.git("checkout", "-q", "-b", "side")
    repository.edit(GOOD, TO_TOTAL)
    repository.git("checkout", "-q", "main")
    repository.commit("Nothing to see in this one here", {"README.md": "# Shop\n"})
    repository.git("merge", "-q", "--no-ff", "-m", "Let the other prices in at last", "side")
    found = mined()
    assert [draft.q for draft in found] == [GOOD]
    assert found.seen == "3 commits"


def test_the_same_question_is_asked_once_and_the_limit_is_of_commits(repository, mined):
    repository.edit("Taking things out never fails again", TO_EMPTY)
    repository.edit(GOOD, TO_TOTAL)
    new = repository.edit(GOOD.upper(), TO_CHECKOUT)
    found = mined()
    assert found[0].id == new[:10]
    assert len(found) == 2
    assert found.dropped["asked already"] == 1
    assert [draft.id for draft in mined(limit=1)] == [new[:10]]
    with pytest.raises(SettingsError, match="the limit is 0"):
        mined(limit=0)


def test_a_name_that_everything_changes_is_no_answer(repository, mined):
    repository.edit(GOOD, TO_TOTAL, ("LIMIT = 10", "LIMIT = 10\n__all__ = ['Basket']\n__version__ = '1'"))
    assert [draft.expect for draft in mined()] == [(TOTAL,)]


def test_words_of_the_label_are_counted(repository, mined):
    text = BASKET.replace("def empty(basket):\n", 'def empty(basket):\n    """Take every article away."""\n')
    repository.commit("Something else", {"shop/basket.py": text})
    repository.edit("Empty takes every article out", TO_EMPTY)
    repository.edit(GOOD, TO_TOTAL)
    overlaps = {draft.q: draft.overlap for draft in mined()}
    assert overlaps[GOOD] == 0
    assert overlaps["Empty takes every article out"] == pytest.approx(1.0)
    assert "1 in words close to their label's" in mined().summary()


# --- history: odd paths and files


def test_paths_and_subjects_in_any_script(repository, mined):
    repository.commit("seed", {"mağaza/sepet.py": "def boşalt(sepet):\n    return 1\n"})
    repository.commit(
        "görevler yeniden denenirken süre uzar", {"mağaza/sepet.py": "def boşalt(sepet):\n    return 2\n"}
    )
    assert mined()[0].q == "görevler yeniden denenirken süre uzar"
    assert mined()[0].expect == ("mağaza/sepet.py::boşalt",)


NAMES = [
    b"-rf.py",
    b"--output=x.py",
    b"two\nlines.py",
    b'quo"te.py',
    b"tab\t.py",
    b"a -> b.py",
    b":100644.py",
    b"\xff.py",
    b"$(touch x).py",
]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_a_hostile_file_name_is_only_a_name(repository, mined, tmp_path, corpus_of, name):
    repository.commit("seed", {b"shop/" + name: "def odd():\n    return 1\n"})
    sha = repository.commit("Something odd returns another number", {b"shop/" + name: "def odd():\n    return 2\n"})
    (draft,) = mined()
    assert draft.id == sha[:10]
    assert draft.expect[0].endswith("::odd")
    path = draft.expect[0].partition("::")[0]
    assert corpus_of(repository.root).get(path) is not None
    assert path.isprintable()
    assert not (repository.root / "x").exists()


def test_a_path_that_no_label_can_name_is_left_out(repository, mined):
    repository.edit(GOOD, TO_TOTAL)
    repository.commit("seed", {"shop/a::b.py": "def odd():\n    return 1\n"})
    repository.commit("Something odd returns another number", {"shop/a::b.py": "def odd():\n    return 2\n"})
    assert [draft.q for draft in mined()] == [GOOD]


def test_binary_large_and_linked_files_are_passed_over(repository, mined, tmp_path):
    repository.edit(GOOD, TO_TOTAL)
    repository.commit(
        "Pictures of all that can be bought", {"shop/a.png": b"\x89PNG\0\0", "shop/b.py": b"\0\1\2" * 100}
    )
    repository.commit("A picture became a program today", {"shop/b.py": "def drawn():\n    return 1\n"})
    repository.commit("Numbers of all that was ever sold", {"shop/c.py": "N = [" + "1, " * 400_000 + "]\n"})
    (repository.root / "shop/d.py").symlink_to("basket.py")
    repository.commit("Another name for the same basket")
    (repository.root / "shop/d.py").unlink()
    repository.commit("What was a name has prices of its own", {"shop/d.py": "def priced():\n    return 1\n"})
    repository.commit("Numbers of what was sold this year", {"shop/c.py": "N = [1]\n"})
    found = mined()
    assert found.dropped["too large, or not in this clone"] == 2
    assert [draft.q for draft in found] == ["A picture became a program today", GOOD]
    assert found[0].expect == ("shop/b.py::drawn",)


def test_source_that_does_not_parse_gives_nothing(repository, mined):
    repository.edit(GOOD, TO_TOTAL)
    repository.commit("Somebody was called away from work", {"shop/half.py": "def half(:\n"})
    repository.commit("Somebody came back to finish it", {"shop/half.py": "def half():\n    return 1\n"})
    assert [draft.q for draft in mined()] == ["Somebody came back to finish it", GOOD]


# --- history: where the corpus lies


def test_the_corpus_may_be_a_folder_of_the_repository(repository, corpus_of):
    repository.edit(GOOD, TO_TOTAL)
    repository.edit("Nothing in it costs nothing at all", ("== 0", "== 0.0"), name="tests/test_basket.py")
    inner = mine_history(repository.root, corpus_of(repository.root / "shop"))
    assert [draft.expect for draft in inner] == [("basket.py::Basket.total",)]
    assert inner.seen == "2 commits"


def test_the_repository_may_be_a_folder_of_the_corpus(repository, corpus_of):
    repository.edit(GOOD, TO_TOTAL)
    outer = mine_history(repository.root, corpus_of(repository.root.parent))
    assert [draft.expect for draft in outer] == [(f"work/{TOTAL}",)]


@pytest.mark.parametrize("prefix", ["pinned/", "pinned"])
def test_a_copy_elsewhere_takes_a_prefix(repository, corpus_of, tmp_path, prefix):
    repository.edit(GOOD, TO_TOTAL)
    copy = tmp_path / "copy/pinned/shop/basket.py"
    copy.parent.mkdir(parents=True)
    copy.write_text(BASKET)
    corpus = corpus_of(tmp_path / "copy")
    assert [d.expect for d in mine_history(repository.root, corpus, prefix=prefix)] == [(f"pinned/{TOTAL}",)]
    with pytest.raises(GoldenError, match=r"2 no file .*: give --prefix") as error:
        mine_history(repository.root, corpus)
    assert "'shop/basket.py', in the corpus like 'pinned/shop/basket.py'" in str(error.value)


def test_a_folder_of_the_repository_is_read_alone(repository, corpus_of, tmp_path):
    repository.edit(GOOD, TO_TOTAL)
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy/basket.py").write_text(BASKET)
    found = mine_history(repository.root / "shop", corpus_of(tmp_path / "copy"))
    assert [draft.expect for draft in found] == [("basket.py::Basket.total",)]


def test_a_bare_clone_will_do(repository, corpus_of, tmp_path):
    repository.edit(GOOD, TO_TOTAL)
    repository.git("clone", "-q", "--bare", str(repository.root), str(tmp_path / "bare.git"))
    assert [d.q for d in mine_history(tmp_path / "bare.git", corpus_of(repository.root))] == [GOOD]


# --- history: what cannot be read


def test_what_is_no_repository_is_one_line(tmp_path, corpus_of, repository):
    corpus = corpus_of(repository.root)
    with pytest.raises(CorpusError, match="no folder at"):
        mine_history(tmp_path / "nowhere", corpus)
    with pytest.raises(CorpusError, match="is not a git repository; give a clone"):
        mine_history(tmp_path, corpus)
    bare = Repository(tmp_path / "new")
    with pytest.raises(CorpusError, match="has no commit yet"):
        mine_history(bare.root, corpus)


def test_a_shallow_clone_says_so_and_its_edge_is_not_used(repository, corpus_of, tmp_path):
    (repository.root / "shop/basket.py").write_text("def checkout(basket):\n    return 1\n")
    repository.commit("Paying is much easier than before")
    repository.edit("Paying costs twice of what it did", ("1", "2"))
    clones = {depth: tmp_path / f"clone{depth}" for depth in (1, 2)}
    for depth, clone in clones.items():
        repository.git("clone", "-q", f"--depth={depth}", f"file://{repository.root}", str(clone))
    with pytest.raises(
        GoldenError, match=r"1 the edge of a shallow clone\); the clone is shallow: run `git fetch --unshallow`"
    ):
        mine_history(clones[1], corpus_of(clones[1]))
    two = mine_history(clones[2], corpus_of(clones[2]))
    assert [draft.q for draft in two] == ["Paying costs twice of what it did"]


def test_nothing_found_says_what_was_looked_at(repository, corpus_of):
    repository.edit("Bump it from 1.0 to 1.1", TO_TOTAL)
    expected = r"no draft from 2 commits \(1 changes too much, 1 version or dependency bump\); look at more"
    with pytest.raises(GoldenError, match=expected):
        mine_history(repository.root, corpus_of(repository.root))


def test_a_damaged_repository_is_one_line(repository, corpus_of):
    repository.edit(GOOD, TO_TOTAL)
    tree = repository.git("rev-parse", "HEAD^{tree}")
    object_ = repository.root / ".git/objects" / tree[:2] / tree[2:]
    object_.chmod(0o644)
    object_.write_bytes(b"garbage")
    with pytest.raises(CorpusError, match=r"git cannot read this repository \(.+\); check it with `git fsck`"):
        mine_history(repository.root, corpus_of(repository.root))


def test_no_git_and_a_slow_git_are_one_line(repository, corpus_of, monkeypatch, tmp_path):
    corpus = corpus_of(repository.root)
    monkeypatch.setattr(commits, "TIMEOUT", 0.5)
    slow = tmp_path / "bin/git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 20\n")
    slow.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
        start = time.monotonic()
        with pytest.raises(CorpusError, match="git took longer than"):
            mine_history(repository.root, corpus)
        assert time.monotonic() - start < 10
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(CorpusError, match="there is no git on this machine"):
        mine_history(repository.root, corpus)


# --- history: a repository that would like to run something


@pytest.fixture
def evil(repository: Repository, tmp_path: Path) -> tuple[Repository, str, Path]:
    """A repository with a change in it, a command that leaves a mark, and the mark."""
    repository.edit(GOOD, TO_TOTAL)
    mark, script = tmp_path / "mark", tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    script.chmod(0o755)
    return repository, str(script), mark


def signed(repository: Repository) -> None:
    """Put a signature of sorts on the last commit."""
    head, _, text = repository.git("cat-file", "commit", "HEAD").partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n aGVsbG8=\n -----END PGP SIGNATURE-----"
    data = f"{head}\n{signature}\n\n{text}\n".encode()
    repository.git("update-ref", "HEAD", repository.git("hash-object", "-t", "commit", "-w", "--stdin", feed=data))


SETTINGS = {  # what the repository sets, and an ordinary command that it makes run something
    "fsmonitor": ({"core.fsmonitor": "{evil}"}, ("status",)),
    "external diff": ({"diff.external": "{evil}"}, ("diff", "HEAD~1")),
    "textconv": ({"diff.evil.textconv": "{evil}"}, ("log", "-1", "-p")),
    "diff driver": ({"diff.evil.command": "{evil}"}, ("diff", "HEAD~1")),
    "filter": ({"filter.evil.clean": "{evil}", "filter.evil.smudge": "{evil}"}, ("add", "--renormalize", ".")),
    "signatures": ({"log.showSignature": "true", "gpg.program": "{evil}"}, ("log", "-1")),
}


@pytest.mark.parametrize("settings", SETTINGS)
def test_nothing_of_a_repositorys_settings_is_run(evil, corpus_of, settings):
    repository, script, mark = evil
    signed(repository)
    (repository.root / ".git/info/attributes").write_text("*.py diff=evil filter=evil\n")
    chosen, ordinary = SETTINGS[settings]
    for name, value in chosen.items():
        repository.git("config", name, value.format(evil=script))
    assert [d.expect for d in mine_history(repository.root, corpus_of(repository.root))] == [(TOTAL,)]
    assert not mark.exists()
    repository.git(*ordinary, check=False)
    assert mark.exists()  # else this test would prove nothing


def test_hooks_are_not_run_and_settings_do_not_change_what_is_read(evil, corpus_of):
    repository, script, mark = evil
    expected = list(mine_history(repository.root, corpus_of(repository.root)))
    odd = {
        "diff.noprefix": "true",
        "diff.renames": "false",
        "color.ui": "always",
        "diff.relative": "true",
        "log.follow": "true",
    }
    odd |= {
        "core.hooksPath": str(Path(script).parent),
        "format.pretty": "oneline",
        "log.showRoot": "false",
        "core.pager": script,
    }
    odd |= {
        "diff.orderFile": "/nowhere",
        "log.decorate": "full",
        "i18n.logOutputEncoding": "latin-1",
        "log.mailmap": "true",
    }
    for name, value in odd.items():
        repository.git("config", name, value)
    assert list(mine_history(repository.root, corpus_of(repository.root))) == expected
    assert not mark.exists()


def test_a_missing_object_is_not_fetched(evil, corpus_of):
    repository, script, mark = evil
    blob = repository.git("rev-parse", "HEAD:shop/basket.py")
    settings = {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
    }
    settings |= {"remote.origin.url": f"ext::{script} %S", "protocol.ext.allow": "always"}
    for name, value in settings.items():
        repository.git("config", name, value)
    (repository.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises((CorpusError, GoldenError), match=r"not allowed|not in this clone"):
        mine_history(repository.root, corpus_of(repository.root))
    assert not mark.exists()
    repository.git("cat-file", "-p", blob, check=False)
    assert mark.exists()


def test_the_environment_does_not_point_git_elsewhere(evil, corpus_of, tmp_path, monkeypatch):
    repository, script, mark = evil
    corpus = corpus_of(repository.root)
    other = Repository(tmp_path / "other")
    other.commit("Nothing of the kind is in here", {"shop/other.py": "def other():\n    return 1\n"})
    for name, value in {
        "GIT_DIR": str(other.root / ".git"),
        "GIT_EXTERNAL_DIFF": script,
        "GIT_WORK_TREE": str(tmp_path),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    assert [draft.q for draft in mine_history(repository.root, corpus)] == [GOOD]
    assert not mark.exists()
    assert not (tmp_path / "trace").exists()


def test_the_repository_is_left_as_it_was(evil, corpus_of):
    repository = evil[0]

    def files() -> dict[str, tuple[int, int]]:
        return {str(p): (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(repository.root.rglob("*"))}

    before = files()
    mine_history(repository.root, corpus_of(repository.root))
    assert files() == before
