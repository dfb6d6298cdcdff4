"""What kind of file this is, told from where it lies and what type it is.

``category`` answers *code, test, doc or config*; ``language`` names the syntax. Neither goes by the extension alone:
a page under ``docs/`` is a document whatever its ending, while an application's own HTML is part of its code.

The order of the rules, first match wins:

1. A program (Python, TypeScript, shell ...) is a ``test`` if its name or one of its folders says so, else ``code``.
   That goes for ``docs/`` too: ``docs/conf.py`` and ``docs/_ext/x.py`` are run, not read, so they are code.
2. Settings and data (``.json .yml .toml .ini .sql`` ..., ``Makefile``, requirement lists) are ``config`` anywhere.
3. Prose (``.rst .md`` ..., and README, CHANGELOG, LICENSE ... under any ending) is a ``doc`` anywhere.
4. Markup and unknown text go by the nearest telling folder: under ``docs/`` a ``doc``, under ``tests/`` a ``test``;
   elsewhere HTML, templates and files with an unknown ending are ``code`` and plain text is a ``doc``.

A folder named ``testing`` is no test folder: packages ship such helpers for their users (``celery.contrib.testing``).
"""

import re
from pathlib import PurePosixPath

__all__ = ["CATEGORIES", "category", "language"]

CATEGORIES = ("code", "test", "doc", "config")

_LANGUAGES = {
    "python": "py pyi pyw pyx pxd",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "javascript": "js mjs cjs jsx",
    "rst": "rst rest",
    "markdown": "md markdown mdown mkd mdx",
    "text": "txt text adoc asciidoc org textile pod rdoc tex man",
    "html": "html htm xhtml shtml",
    "template": "j2 jinja jinja2 tmpl tpl mako ejs hbs mustache njk erb haml twig",
    "notebook": "ipynb",
    "json": "json jsonc json5 jsonl ndjson geojson webmanifest",
    "yaml": "yml yaml",
    "toml": "toml",
    "ini": "ini cfg conf cnf config properties env editorconfig service timer socket tmpfiles desktop",
    "sql": "sql",
    "xml": "xml xsd xsl xslt plist csproj pom resx",
    "csv": "csv tsv",
    "po": "po pot",
    "terraform": "tf tfvars hcl",
    "cmake": "cmake",
    "make": "mk mak",
    "shell": "sh bash zsh fish ksh",
    "batch": "bat cmd",
    "powershell": "ps1 psm1",
    "css": "css scss sass less styl",
    "vue": "vue",
    "svelte": "svelte",
    "c": "c h",
    "cpp": "cc cpp cxx hh hpp hxx",
    "csharp": "cs",
    "go": "go",
    "java": "java",
    "kotlin": "kt kts",
    "scala": "scala",
    "groovy": "groovy gradle",
    "ruby": "rb rake gemspec",
    "rust": "rs",
    "swift": "swift",
    "php": "php",
    "perl": "pl pm",
    "lua": "lua",
    "r": "r",
    "julia": "jl",
    "dart": "dart",
    "elixir": "ex exs",
    "erlang": "erl hrl",
    "haskell": "hs",
    "clojure": "clj cljs cljc",
    "proto": "proto",
    "graphql": "graphql gql",
    "prisma": "prisma",
    "solidity": "sol",
    "zig": "zig",
    "nim": "nim",
    "ocaml": "ml mli",
    "fsharp": "fs fsx",
    "fortran": "f f90 f95",
    "objective-c": "m mm",
    "cuda": "cu cuh",
    "assembly": "asm s",
}
_BY_EXTENSION = {extension: name for name, endings in _LANGUAGES.items() for extension in endings.split()}

_PROSE = frozenset({"rst", "markdown", "text", "notebook"})
_SETTINGS = frozenset({"json", "yaml", "toml", "ini", "sql", "xml", "csv", "po", "terraform", "cmake", "make"})
_MARKUP = frozenset({"html", "template"})

_DOC_FOLDERS = frozenset({"docs", "doc", "documentation", "man"})
_TEST_FOLDERS = frozenset({"t", "test", "tests", "__tests__", "spec", "specs", "e2e", "__mocks__", "testdata"})

_TEST_NAME = re.compile(
    r"""^(?: test_.*\.py | .*_test\.py | tests\.py | conftest\.py      # pytest, unittest, Django
        | .*[.-](?:test|spec|cy|e2e)\.[cm]?[jt]sx?                     # jest, vitest, mocha, cypress
        | .*_test\.(?:go|dart|rb|exs) | .*_spec\.rb | .*(?:Test|Tests|IT|Spec)\.(?:java|kt|cs|scala|groovy|php|swift)
        )$""",
    re.VERBOSE,
)
_PROSE_NAME = re.compile(
    r"""^(?: readme | change(?:s|log)? | history | news | release(?:s|[-_]?notes)? | whatsnew | authors | contributors
        | contributing | licen[cs]e | copying | notice | thanks | credits | todo | faq | install | security | support
        | maintainers | upgrad(?:e|ing) | migrat(?:e|ing|ion) | code[-_]of[-_]conduct | roadmap | governance
        )(?:[-_.].*)?$""",
    re.VERBOSE | re.IGNORECASE,
)
_SETTINGS_NAME = re.compile(
    r"""^(?: .*makefile | dockerfile.* | .*\.dockerfile | containerfile | procfile | jenkinsfile | vagrantfile | gemfile
        | rakefile | pipfile | brewfile | manifest\.in | cmakelists\.txt | codeowners | go\.mod | go\.work | py\.typed
        | \.[a-z]+(?:rc|ignore|attributes|config|modules|mailmap|env)? | \.env\..*
        | (?:.*[-_.])?(?:requirements|constraints)(?:[-_.].*)?\.(?:txt|in)
        )$""",
    re.VERBOSE | re.IGNORECASE,
)
_SHEBANG = re.compile(r"#!.*?\b(python|bash|zsh|sh|dash|ksh|node|deno|bun|perl|ruby|php|lua)[\d.]*(?:\s|$)")
_SHEBANG_LANGUAGES = {"bash": "shell", "zsh": "shell", "sh": "shell", "dash": "shell", "ksh": "shell"} | dict.fromkeys(
    ("node", "deno", "bun"), "javascript"
)
# A title line and, under it, at least four of one punctuation character: how reStructuredText marks a section.
_UNDERLINED = re.compile(r"^\S.*\n([=\-~^\"'*+#`.:_])\1{3,}[ \t]*$", re.MULTILINE)


def language(path: str, text: str = "") -> str:
    """Name the syntax of a file, ``"text"`` where nothing is known.

    Parameters
    ----------
    path
        Path of the file; only its name counts.
    text
        Content, if at hand. A ``#!`` line names the language of a script without ending, and prose without a telling
        ending (``README``, ``docs/intro.txt``) whose titles are underlined is reStructuredText.

    Examples
    --------
    >>> language("app/task.py"), language("ui/List.tsx"), language("FAQ", "Questions\\n=========\\n")
    ('python', 'tsx', 'rst')
    """
    name = PurePosixPath(path).name
    extension = _extension(name)
    known = _BY_EXTENSION.get(extension, "")
    if known and known != "text":
        return known
    if _is_settings(path):
        return "text"
    shebang = _SHEBANG.match(text[:200])
    if shebang and not extension:
        return _SHEBANG_LANGUAGES.get(shebang[1], shebang[1])
    if (not extension or extension == "txt") and _UNDERLINED.search(text):
        return "rst"
    return "text"


def category(path: str, text: str = "") -> str:
    """Tell ``"code"``, ``"test"``, ``"doc"`` or ``"config"`` from location and type.

    Parameters
    ----------
    path
        Posix path relative to the corpus. Folders above the corpus must not be part of it: they would decide.
    text
        Content, if at hand; it tells a script from plain text where the name has no ending.

    Examples
    --------
    >>> category("docs/index.html"), category("app/templates/index.html"), category("t/unit/test_app.py")
    ('doc', 'code', 'test')
    """
    name = PurePosixPath(path).name
    kind = language(path, text)
    if _is_program(kind):
        return "test" if _TEST_NAME.match(name) or _in_test_folder(path) else "code"
    if kind in _SETTINGS or (kind == "text" and _is_settings(path)):
        return "config"
    if _is_prose(name, kind):
        return "doc"
    unknown_ending = kind in _MARKUP or _extension(name) not in {"", "txt"}
    return _by_folder(path, otherwise="code" if unknown_ending else "doc")


def _extension(name: str) -> str:
    """Give the last ending in lower case, without its dot; a leading dot starts a name, not an ending."""
    return PurePosixPath(name).suffix[1:].lower()


def _is_program(kind: str) -> bool:
    return kind not in _PROSE and kind not in _SETTINGS and kind not in _MARKUP


def _is_settings(path: str) -> bool:
    """Tell names that are settings by convention; ``requirements/*.txt`` lists packages, it is no prose."""
    place = PurePosixPath(path)
    listed = "requirements" in place.parts[:-1] and _extension(place.name) in {"txt", "in"}
    return listed or bool(_SETTINGS_NAME.match(place.name))


def _is_prose(name: str, kind: str) -> bool:
    """Tell prose by its type or name; a page named ``history.html`` may be part of an application, so not that."""
    if kind in {"rst", "markdown", "notebook"}:
        return True
    if kind != "text":
        return False
    return bool(_PROSE_NAME.match(name)) or (_extension(name) in _BY_EXTENSION and _extension(name) != "txt")


def _in_test_folder(path: str) -> bool:
    return any(part.lower() in _TEST_FOLDERS for part in PurePosixPath(path).parts[:-1])


def _by_folder(path: str, *, otherwise: str) -> str:
    """Let the folder nearest to the file decide: ``tests/docs/x.html`` is a page, ``docs/tests/x.html`` is not."""
    for part in reversed(PurePosixPath(path).parts[:-1]):
        if part.lower() in _DOC_FOLDERS:
            return "doc"
        if part.lower() in _TEST_FOLDERS:
            return "test"
    return otherwise
