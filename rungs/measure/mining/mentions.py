"""Find what a text names: frames of tracebacks, names that look like code, and paths, where a corpus has one such."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from rungs.corpus import Corpus, symbols
from rungs.measure.golden import Label
from rungs.measure.mining.drafts import resolved

__all__ = ["Mentions"]

_FEW_LABELS = 5  # suggested for one text
_TRACE = re.compile(r'File "([^"\n]{1,400})", line \d{1,9}, in ([^\s]{1,200})')
_TOKEN = re.compile(r"(`?)([\w./\\-]+)(\(|`)?")
_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_OF_TESTS = re.compile(r"(?<![^\W_])(?:py|unit)?(?i:test)|(?<=[a-z])Test")
_MAX_BODY = 100_000


class Mentions:
    """Finds the places of a corpus that a text mentions: what is defined there, by every name that it may be called."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.by_name: dict[str, dict[tuple[str, str], str]] = defaultdict(dict)  # name: (path, symbol): category
        self.by_file: dict[str, list[str]] = defaultdict(list)
        for file in corpus.files:
            self.by_file[file.path.rsplit("/", 1)[-1]].append(file.path)
            for item in symbols(file):
                if item.kind != "section":
                    for name in {item.name, item.name.rsplit(".", 1)[-1]}:
                        self.by_name[name][file.path, item.name] = file.category

    def suggested(self, title: str, body: str) -> list[Label]:
        """Labels for what a text names: its title first, then the innermost frames, then the rest of its body.

        A place in the tests is one only of a text that speaks of tests.
        """
        body = body[:_MAX_BODY]
        tests = any(map(_OF_TESTS.search, (title, body)))
        frames = [self.frame(path, name) for path, name in reversed(_TRACE.findall(body))]
        named = self.mentions(_TRACE.sub(" ", body))
        places = [place for place in (*self.mentions(title), *frames, *named) if place]
        precise = {path for path, symbol in places if symbol}
        wanted = [place for place in dict.fromkeys(places) if place[1] or place[0] not in precise]
        labels = (resolved(path, symbol, self.corpus) for path, symbol in wanted)
        return [label for label in labels if label is not None and (tests or not self.in_tests(label))][:_FEW_LABELS]

    def in_tests(self, label: Label) -> bool:
        """Whether a label lies in the tests of the corpus."""
        file = self.corpus.get(label.path)
        return file is not None and file.category == "test"

    def mentions(self, text: str) -> Iterator[tuple[str, str] | None]:
        """Files and definitions for each path and name in a text, nothing where it is not the only one."""
        for ticked, token, after in _TOKEN.findall(text):
            token = token.rstrip(".-")
            if len(token) > 200:
                continue
            if (path := self.file(token)) is not None:
                yield path, ""
            elif _NAME.fullmatch(token) and _like_code(
                token, ticked=bool(ticked and after == "`"), called=after == "("
            ):
                yield self.definition(token)

    def frame(self, path: str, function: str) -> tuple[str, str] | None:
        """The definition a line of a traceback is in."""
        file = self.file(path)
        name = function.split(".")[-1]
        inside = [place for place in self.by_name.get(name, ()) if place[0] == file]
        return inside[0] if len(inside) == 1 else None

    def definition(self, name: str) -> tuple[str, str] | None:
        """The one definition of a name; of a dotted one, its module or owner must fit."""
        parts = name.split(".")
        for i in range(len(parts)):
            places = self.by_name.get(".".join(parts[i:]), {})
            module = "/".join(parts[:i])
            if module:
                places = {place: kind for place, kind in places.items() if _in_module(place[0], module)}
            if places:
                return _only_one(places)
        return None

    def file(self, token: str) -> str | None:
        """The one file whose path ends as this one does, or that this one ends in; folders outside may differ."""
        parts = token.replace("\\", "/").removeprefix("./").split("/")
        candidates = self.by_file.get(parts[-1], ()) if "." in parts[-1] else ()
        shared = {path: _shared_end(parts, path.split("/")) for path in candidates}
        best = max(shared.values(), default=0)
        fits = [path for path, n in shared.items() if n == best]
        if len(fits) != 1:
            return None
        return fits[0] if best >= 2 or best in (len(parts), fits[0].count("/") + 1) else None


def _like_code(token: str, *, ticked: bool, called: bool) -> bool:
    """Whether a token is a name; a lower-case word is one only where it is called, as `type` may be anybody's."""
    inner = token.strip("_")
    if len(inner) <= 2:
        return False
    marked = called or (ticked and not (token.isalpha() and token.islower()))
    return marked or "_" in inner or "." in inner or bool(re.search(r"[a-z][A-Z]", inner))


def _in_module(path: str, module: str) -> bool:
    stem = path.rpartition(".")[0].removesuffix("/__init__")
    return stem == module or stem.endswith("/" + module)


def _only_one(places: Mapping[tuple[str, str], str]) -> tuple[str, str] | None:
    for wanted in ([place for place, kind in places.items() if kind == "code"], list(places)):
        if wanted:
            return wanted[0] if len(wanted) == 1 else None
    return None


def _shared_end(a: Sequence[str], b: Sequence[str]) -> int:
    n = 0
    while n < min(len(a), len(b)) and a[-1 - n] == b[-1 - n]:
        n += 1
    return n
