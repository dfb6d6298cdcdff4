"""A small shop to mine: its code, a repository of it, and a corpus."""

import json
import os
import subprocess
from pathlib import Path

from rungs.corpus import Corpus, load_corpus

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


TO_TOTAL = ("sum(item.price for", "sum(item.price * item.count for")
TO_ADD = ("self.items.append(item)", "self.items.extend([item])")
TO_CHECKOUT = ("return basket.total()", "return round(basket.total(), 2)")
TO_EMPTY = ("basket.items.clear()", "basket.items = []")
GOOD = "Several pieces of one article are charged once"


def first_day(root: Path) -> Repository:
    """A repository of the shop, with one commit."""
    found = Repository(root)
    found.commit(
        "A shop, as on its first day",
        {"shop/basket.py": BASKET, "tests/test_basket.py": TEST, "README.md": "# Shop\n\nBuy.\n"},
    )
    return found


def shop_corpus(tmp_path: Path) -> Corpus:
    """The shop as a corpus, with a second module, a test and a page."""
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
    return load_corpus(tmp_path / "shop", tmp_path / "home")


def exported(tmp_path: Path, *rows: dict, name: str = "issues.json") -> Path:
    path = tmp_path / name
    path.write_text(json.dumps(rows) if name.endswith(".json") else "".join(json.dumps(row) + "\n" for row in rows))
    return path
