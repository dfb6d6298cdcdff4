"""Drafts from real repositories and real files, and a person who answers by script."""

import io
import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rungs.cli import main
from rungs.corpus import Corpus, load_corpus
from rungs.errors import CorpusError, GoldenError, SettingsError
from rungs.measure import load_golden, mining
from rungs.measure.mining import Draft, confirm, confirm_file, confirmed, mine_history, mine_issues
from rungs.measure.mining import _cleaned as cleaned

BASKET = '''"""Baskets."""

LIMIT = 10


class Basket:
    """What somebody is about to buy."""

    currency = "EUR"

    def add(self, item):
        self.items.append(item)

    def total(self):
        return sum(item.price for item in self.items)


def checkout(basket):
    return basket.total()


def empty(basket):
    basket.items.clear()
'''
ADD, TOTAL = "shop/basket.py::Basket.add", "shop/basket.py::Basket.total"
CHECKOUT, EMPTY = "shop/basket.py::checkout", "shop/basket.py::empty"
TEST = "def test_total():\n    assert Basket().total() == 0\n"


class Repository:
    """A git repository that commits what it is given."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *argv: str | bytes, feed: bytes = b"", check: bool = True) -> str:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
        env = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *identity, *argv], cwd=self.root, env=env, input=feed, capture_output=True, check=False
        )
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout.decode("utf-8", "replace").strip()

    def write(self, name: str | bytes, text: str | bytes) -> None:
        path = Path(os.fsdecode(os.path.join(os.fsencode(self.root), os.fsencode(name))))  # noqa: PTH118
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)

    def commit(self, subject: str, files: dict[str | bytes, str | bytes] | None = None, author: str = "") -> str:
        for name, text in (files or {}).items():
            self.write(name, text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject, *(("--author", author) if author else ()))
        return self.git("rev-parse", "HEAD")

    def edit(self, subject: str, *pairs: tuple[str, str], name: str = "shop/basket.py", author: str = "") -> str:
        text = (self.root / name).read_text(encoding="utf-8")
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new, 1)
        return self.commit(subject, {name: text}, author)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    found = Repository(tmp_path / "work")
    found.commit(
        "A shop, as on its first day",
        {"shop/basket.py": BASKET, "tests/test_basket.py": TEST, "README.md": "# Shop\n\nBuy.\n"},
    )
    return found


@pytest.fixture
def corpus_of(tmp_path: Path) -> Callable[[Path], Corpus]:
    return lambda root: load_corpus(root, tmp_path / "home")


@pytest.fixture
def mined(repository: Repository, corpus_of) -> Callable[..., mining.Drafts]:
    def mine(**options) -> mining.Drafts:
        found = mine_history(repository.root, corpus_of(repository.root), **options)
        assert isinstance(found, mining.Drafts)
        return found

    return mine


TO_TOTAL = ("sum(item.price for", "sum(item.price * item.count for")
TO_ADD = ("self.items.append(item)", "self.items.extend([item])")
TO_CHECKOUT = ("return basket.total()", "return round(basket.total(), 2)")
TO_EMPTY = ("basket.items.clear()", "basket.items = []")
GOOD = "Several pieces of one article are charged once"


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
    monkeypatch.setattr(mining, "_TIMEOUT", 0.5)
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


# --- questions


@pytest.mark.parametrize(
    ("subject", "question"),
    [
        ("fix: Wait longer", "Wait longer"),
        ("[worker] fix(pool)!: Wait longer (#12)", "Wait longer"),
        ("Fixed #12 -- Wait longer.", "Wait longer"),
        ("Fix #12: wait longer, closes #3, #4", "wait longer"),
        ("Wait longer (GH-12)", "Wait longer"),
        ("bpo-12: Wait longer", "Wait longer"),
        ("PROJ-12: Wait longer", "Wait longer"),
        (":bug: Wait longer", "Wait longer"),
        ("🐛 Wait longer", "Wait longer"),
        ("Wait longer (see https://example.org/12)", "Wait longer"),
        ("[Bug]: Wait  longer\x1b[31m", "Wait longer\x1b[31m"),
        ("Answers in C#", "Answers in C#"),
        ("Prefixes #12", "Prefixes"),
        ("Wait longer...", "Wait longer..."),
        ("*args wait longer", "*args wait longer"),
        (".gitignore waits", ".gitignore waits"),
        ("Wait for #12 to be longer", "Wait for #12 to be longer"),
    ],
)
def test_tags_and_references_are_taken_off(subject, question):
    assert cleaned(subject) == question


@pytest.mark.parametrize(
    "piece", ["#1 ", "(#1, ", "1 ", "[x] ", ":", " ,;", "fixes #1, ", "https://", "(", "bump ", "GH-1 and ", "😀 "]
)
def test_no_subject_takes_long(piece):
    start = time.perf_counter()
    for subject in (piece * 400, "(#1, " + piece * 400 + "x", piece * 400 + "x)"):
        cleaned(subject)
        for pattern in mining._NOT_A_QUESTION.values():
            pattern.match(subject[: mining._LONGEST])
    assert time.perf_counter() - start < 2


# --- issues

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
def shop(tmp_path: Path, corpus_of) -> Corpus:
    files = {
        "shop/basket.py": BASKET,
        "shop/mail.py": "def send_receipt(to):\n    return to\n\n\ndef checkout():\n    return 0\n",
        "tests/test_mail.py": "def send_receipt(to):\n    return 'stub'\n",
        "docs/paying.md": "# Paying\n\nWith cards.\n",
    }
    for name, text in files.items():
        path = tmp_path / "shop" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return corpus_of(tmp_path / "shop")


def only(path: Path, corpus: Corpus) -> Draft:
    (draft,) = mine_issues(path, corpus)
    return draft


def exported(tmp_path: Path, *rows: dict, name: str = "issues.json") -> Path:
    path = tmp_path / name
    path.write_text(json.dumps(rows) if name.endswith(".json") else "".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_folder_of_issues_gives_its_headings_or_first_lines(tmp_path, shop):
    folder = tmp_path / "issues"
    (folder / "deep").mkdir(parents=True)
    (folder / "1.md").write_text("<!-- template -->\n\n# Cards are refused at night\n\n## Steps\n")
    (folder / "2.txt").write_text("\nThe sum is off by one\nand more\n")
    (folder / "3.md").write_text("<!-- say what -->\nReceipts come twice\n\n## Steps\n\n```\n# not a heading\n```\n")
    (folder / "4.md").write_text('---\ntitle: "Nobody gets a receipt"\nstate: open\n---\n\nBody.\n')
    (folder / "deep/5.md").write_text("Deep\nwater\n=====\n\nmore\n")
    (folder / "6.py").write_text("# no issue at all\n")
    (folder / "7.md").symlink_to(folder / "1.md")
    (folder / "8.md").write_text("\n")
    found = mine_issues(folder, shop)
    titles = ["Cards are refused at night", "The sum is off by one", "Receipts come twice", "Nobody gets a receipt"]
    titles += ["Deep water"]
    assert [draft.q for draft in found] == titles
    assert [draft.source for draft in found] == ["1.md", "2.txt", "3.md", "4.md", "deep/5.md"]
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
        ("Look into basket.py for once", "`empty` is in there", (EMPTY,)),
        ("no_such_name and NoSuchName are missing", "", ()),
    ],
)
def test_what_an_issue_names_is_suggested_where_there_is_one(tmp_path, shop, title, body, expect):
    assert only(exported(tmp_path, {"title": title, "body": body}), shop).expect == expect


def test_a_suggestion_in_the_issues_own_words_is_marked(tmp_path, shop):
    draft = only(exported(tmp_path, {"title": "`Basket.total` fails"}), shop)
    assert draft.overlap == pytest.approx(1 / 3)
    assert draft.why == "named in issues.json, item 1: `Basket.total` fails"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.json", '[\n{"title": "x"},\n{"title" "y"}]', r"a\.json:3: not valid JSON"),
        ("a.json", "[" * 100_000, "nested too deep"),
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


# --- confirming


def draft(id: str, q: str, *expect: str, overlap: float = 0.0) -> Draft:
    return Draft(id, q, expect, "prose-en", f"commit {id}", f"changed by commit {id}: {q}", overlap)


DRAFTS = [
    draft("one", "who counts the pieces", TOTAL),
    draft("two", "who pays", CHECKOUT),
    draft("three", "who tidies up"),
]


def script(*answers: str) -> Callable[[str], str]:
    """Somebody who answers so, and then closes the terminal."""
    left = iter(answers)

    def ask(prompt: str) -> str:
        try:
            return next(left)
        except StopIteration:
            raise EOFError from None

    return ask


class Session:
    """One sitting over a file of decisions."""

    def __init__(self, corpus: Corpus, answers: Path) -> None:
        self.corpus, self.answers, self.said = corpus, answers, []

    def __call__(self, *answers: str, drafts: Sequence[Draft] = DRAFTS) -> list[dict]:
        self.said.clear()
        return confirm(drafts, self.answers, corpus=self.corpus, ask=script(*answers), say=self.said.append)

    def has(self, text: str) -> bool:
        return any(text in line for line in self.said)

    def rows(self) -> list[dict]:
        return [json.loads(line) for line in self.answers.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def sitting(shop: Corpus, tmp_path: Path) -> Session:
    return Session(shop, tmp_path / "mine.decisions.jsonl")


def loaded(rows: list[dict], corpus: Corpus, tmp_path: Path):
    path = tmp_path / "confirmed.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return load_golden(path, corpus)


def test_what_is_kept_loads_as_golden_questions(sitting, shop, tmp_path):
    decisions = sitting("k", "", "k", "it adds them up", "l", EMPTY, "k", "it clears the list")
    golden = loaded(confirmed(decisions), shop, tmp_path)
    assert [(q.id, q.q, q.mode, q.kind) for q in golden.questions] == [(d.id, d.q, "any", "prose-en") for d in DRAFTS]
    assert [label.text for q in golden.questions for label in q.expect] == [TOTAL, CHECKOUT, EMPTY]
    assert [q.why for q in golden.questions] == [DRAFTS[0].why, "it adds them up", "it clears the list"]


def test_a_draft_is_shown_with_the_lines_of_its_label(sitting):
    close = draft("one", "who sums the total", TOTAL, overlap=0.6)
    sitting(drafts=[close])
    assert sitting.said[:4] == ["--- 1 of 1", f"question: {close.q}", "from:     commit one", f"why:      {close.why}"]
    assert sitting.has("60% of the question's words are the label's own")
    assert f"label:    {TOTAL}" in sitting.said
    assert "       14      def total(self):" in sitting.said
    assert "       15          return sum(item.price for item in self.items)" in sitting.said
    sitting(drafts=[draft("one", "who pays", "shop/basket.py")])
    assert sitting.has("more lines, to shop/basket.py:23")


def test_questions_and_labels_can_be_edited_before_they_are_kept(sitting):
    sitting("e", "who adds up", "e", "", "l", f" {TOTAL} ; {CHECKOUT};{TOTAL}", "keep", "", "they do")
    assert sitting.rows() == [
        {"id": "one", "decision": "keep", "q": "who adds up", "expect": [TOTAL, CHECKOUT], "kind": "prose-en"}
        | {"source": "commit one", "why": "they do"}
    ]
    assert sitting.has("write what in the source makes them right")


def test_overlap_follows_the_edited_question(sitting):
    sitting("e", "total price", "e", "what does everything cost together")
    assert [line for line in sitting.said if "of the question's words" in line] == [
        "wording:  50% of the question's words are the label's own; ask it in other words"
    ]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("shop/basket.py::Basket.totl", "did you mean 'Basket.total'"),
        ("shop/nothing.py", "the corpus has no file 'shop/nothing.py'"),
        ("shop/basket.py::", "is incomplete"),
        ("::total", "is incomplete"),
    ],
)
def test_a_label_that_does_not_resolve_is_asked_for_again(sitting, typed, said):
    sitting("l", f"{CHECKOUT}; {typed}", EMPTY, "k", "it does")
    assert sitting.has(said)
    assert sitting.rows()[0]["expect"] == [EMPTY]


def test_nothing_is_kept_that_a_golden_file_refuses(sitting, shop, tmp_path):
    stale = draft("old", "who went away", "shop/basket.py::gone")
    twice = draft("again", "WHO counts the  pieces", TOTAL)
    decisions = sitting(
        "k", "", "k", "d", "k", "d", "k", "e", "who else counts", "k", "", drafts=[DRAFTS[0], DRAFTS[2], stale, twice]
    )
    assert sitting.has("needs a label")
    assert sitting.has("defines no 'gone'")
    assert sitting.has("one asks this already")
    assert [row["id"] for row in confirmed(decisions)] == ["one", "again"]
    assert len(loaded(confirmed(decisions), shop, tmp_path)) == 2


def test_a_session_goes_on_where_the_last_one_stopped(sitting):
    sitting("k", "", "q")
    assert [row["id"] for row in sitting.rows()] == ["one"]
    sitting("what?", "D")
    assert sitting.said[0] == "--- 2 of 3"
    assert sitting.has("answer k, e, l, d or q")
    assert not sitting.has(DRAFTS[0].q)
    assert [(row["id"], row["decision"]) for row in sitting.rows()] == [("one", "keep"), ("two", "drop")]
    sitting("d")
    assert sitting("k") == sitting.rows()
    assert sitting.said == []
    assert len(sitting.rows()) == 3


@pytest.mark.parametrize("answers", [("e",), ("l",), ("k",), ("l", "nonsense")])
def test_closing_the_terminal_in_the_middle_decides_nothing(sitting, answers):
    sitting("d", *answers)
    assert [row["id"] for row in sitting.rows()] == ["one"]


def test_a_decision_is_on_disk_before_the_next_draft_is_shown(sitting):
    seen = []

    def ask(prompt: str) -> str:
        seen.append(len(sitting.rows()) if sitting.answers.exists() else 0)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return "d"

    with pytest.raises(KeyboardInterrupt):
        confirm(DRAFTS, sitting.answers, corpus=sitting.corpus, ask=ask, say=lambda line: None)
    assert seen == [0, 1, 2]
    assert len(sitting.rows()) == 2


def test_a_line_that_was_cut_off_is_decided_again(sitting):
    sitting("k", "", "d")
    text = sitting.answers.read_text()
    sitting.answers.write_text(text[:-20])
    sitting("k", "", "d")
    assert [(row["id"], row["decision"]) for row in sitting.rows()] == [
        ("one", "keep"),
        ("two", "keep"),
        ("three", "drop"),
    ]


@pytest.mark.parametrize("line", ['{"id": "one"', '{"id": "one", "decision": "maybe"}', "[]"])
def test_a_damaged_file_of_decisions_is_one_line(sitting, line):
    sitting("d")
    sitting.answers.write_text(line + "\n" + sitting.answers.read_text())
    before = sitting.answers.read_bytes()
    with pytest.raises(GoldenError, match=r"mine\.decisions\.jsonl:1: "):
        sitting("d")
    assert sitting.answers.read_bytes() == before


def test_nothing_drives_the_terminal(tmp_path, corpus_of):
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "odd.py").write_text('def odd():\n\treturn "\x1b[31mred\x07\u202e"\n')
    corpus = corpus_of(folder)
    said: list[str] = []
    evil = draft("one", "who \x1b]0;paints\x07 it", "odd.py::odd", "odd.py::no\x1b[2J")
    confirm(
        [evil], tmp_path / "d.jsonl", corpus=corpus, ask=script("k", "l", "\x1b[2J.py", "odd.py::odd"), say=said.append
    )
    assert any("\\x1b[31mred\\x07\\x202e" in line for line in said)
    assert any("paints" in line for line in said)
    assert len(said) > 10
    assert all(line.isprintable() for line in said)


# --- files and the command


@pytest.fixture
def drafts_file(tmp_path: Path) -> Path:
    path = tmp_path / "drafts.jsonl"
    mining.write_drafts(DRAFTS, path)
    return path


def test_drafts_come_back_as_they_were_written(drafts_file):
    assert mining.read_drafts(drafts_file) == DRAFTS


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda lines: ["{"], ":1: not valid JSON"),
        (lambda lines: [*lines, lines[0]], ":4: id 'one' stands twice"),
        (lambda lines: [lines[0], lines[1].replace('"q"', '"question"')], ":2: not a draft"),
        (lambda lines: [lines[0].replace("prose-en", "negative-far")], ":1: not a draft"),
        (lambda lines: [lines[0].replace('"expect": [', '"expect": [3, ')], ":1: not a draft"),
        (lambda lines: [], "holds no draft"),
    ],
)
def test_a_damaged_file_of_drafts_is_one_line(drafts_file, change, expected):
    drafts_file.write_text("".join(line + "\n" for line in change(drafts_file.read_text().splitlines())))
    with pytest.raises(GoldenError, match=expected):
        mining.read_drafts(drafts_file)


def test_a_golden_file_grows_with_each_session(drafts_file, tmp_path, shop):
    out = tmp_path / "mine.jsonl"
    quiet = {"corpus": shop, "say": lambda line: None}
    assert confirm_file(drafts_file, out, ask=script("d"), **quiet) == "0 kept, 1 dropped, 2 to go"
    assert not out.exists()
    said = confirm_file(drafts_file, out, ask=script("k", ""), **quiet)
    assert said == f"1 kept, 1 dropped, 1 to go; golden file: {out}"
    assert [q.id for q in load_golden(out, shop).questions] == ["two"]

    confirm_file(drafts_file, out, ask=script("l", EMPTY, "k", "it clears"), **quiet)
    assert [q.id for q in load_golden(out, shop).questions] == ["two", "three"]


def test_what_was_kept_is_written_also_when_a_session_is_broken_off(drafts_file, tmp_path, shop):
    answers = iter(["k", ""])

    def ask(prompt: str) -> str:
        if (answer := next(answers, None)) is None:
            raise KeyboardInterrupt
        return answer

    with pytest.raises(KeyboardInterrupt):
        confirm_file(drafts_file, tmp_path / "mine.jsonl", corpus=shop, ask=ask, say=lambda line: None)
    assert [q.id for q in load_golden(tmp_path / "mine.jsonl", shop).questions] == ["one"]


def test_somebody_elses_golden_file_is_not_replaced(drafts_file, tmp_path, shop):
    out = tmp_path / "mine.jsonl"
    quiet = {"corpus": shop, "say": lambda line: None}
    confirm_file(drafts_file, out, ask=script("k", ""), **quiet)
    out.write_text(out.read_text().replace("counts", "numbers"))
    before = out.read_bytes()
    with pytest.raises(GoldenError, match="holds other lines than"):
        confirm_file(drafts_file, out, ask=script("k", ""), **quiet)
    assert out.read_bytes() == before
    assert len(mining.read_decisions(tmp_path / "mine.decisions.jsonl")) == 1


def test_the_command_goes_from_a_history_to_a_golden_file(repository, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    repository.edit(GOOD, TO_TOTAL)
    corpus = ("--corpus", str(repository.root))
    drafts, out = tmp_path / "drafts.jsonl", tmp_path / "mine.jsonl"
    assert main(["mine", "history", str(repository.root), *corpus, "--out", str(drafts)]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(
        "1 drafts from 2 commits (0 in words close to their label's, 0 without a label); no draft: 1 "
    )
    monkeypatch.setattr("sys.stdin", io.StringIO("k\n\n"))
    assert main(["mine", "confirm", str(drafts), *corpus, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert f"label:    {TOTAL}" in said
    assert "1 kept, 0 dropped, 0 to go" in said
    assert [q.q for q in load_golden(out, repository.root).questions] == [GOOD]


def test_the_command_prints_drafts_and_errors_on_one_line(repository, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    corpus = ("--corpus", str(repository.root))
    issues = exported(tmp_path, {"title": "`Basket.total` is off by one"})
    assert main(["mine", "issues", str(issues), *corpus]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["expect"] == [TOTAL]
    assert main(["mine", "history", str(tmp_path), *corpus]) == 2
    assert capsys.readouterr().err == f"rungs: {tmp_path} is not a git repository; give a clone, with its history\n"
    assert main(["mine", "confirm", str(issues), *corpus]) == 2
    assert "--out FILE" in capsys.readouterr().err
