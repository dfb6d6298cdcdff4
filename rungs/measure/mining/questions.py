"""Make a question of a subject, a title or a bullet: what it says, without what only a tracker needs."""

import re

from rungs.measure.wording import content_words

__all__ = ["chore", "cleaned", "plain", "storable", "tidy", "too_short"]

_LONGEST = 400  # characters of a subject or title

_MIN_WORDS = {"prose-en": 3, "issue": 2}
_CHORES = {
    "merge": re.compile(r"merged? (?:branch|pull request|remote|tag|commit)\b|merge .{1,80} into ", re.IGNORECASE),
    "revert": re.compile(r"(?:revert|reverts|reverted|reapply|back out|backout)\b", re.IGNORECASE),
    "version or dependency bump": re.compile(
        r"""v?\d+(?:\.\d+)+\S*$ | (?:auto)?bump\w*\b (?:.*\b(?:version|from\ v?\d|dep(?:endencie)?s)\b | .*\d\.\d | \ \S+$)
        | (?:release|version|prepar(?:e|ing)|start|begin|tag|cut|set\ version)
          (?:\ (?:for|the|next|new|version|release|of|to|\(pre\)))* [\s:]* v?\d+\.\d+\S*
          (?:\ (?:dev\w*|cycle|release|branch))*\W*$
        | prepar(?:e|ing)\b .{0,20} \brelease\b | post.?release\b | \[?pre-commit\.ci\b | (?:\w{1,9}\()? deps?(?:-dev)? \)?:
        | (?:update|upgrade|pin|unpin)\b (?:.{0,60}\b(?:requirement|dependenc\w+)\b | \ \S+(?:\ from\ \S+)?\ to\ v?\d\S*$)""",
        re.IGNORECASE | re.VERBOSE,
    ),
    "housekeeping": re.compile(
        r"(?:fixup|squash|amend)!|wip\b|initial (?:commit|import)\b|(?:update|add).{0,20}\b(?:changelog|contributors|authors)\b"
        r"|.*\b(?:typos?|misspell\w*|spelling|flake8|pep-?8|pylint|mypy|ruff|isort|pyflakes|eslint|prettier|lint(?:ing|er)?"
        r"|whitespace|re-?formatted|copyright)\b",
        re.IGNORECASE,
    ),
}
# Runs of numbers have one reading only, so that no subject, however odd, takes long.
_NUMBER = r"(?:\#|gh-|bpo-)\d{1,9}"
_NUMBERS = rf"{_NUMBER}(?:(?:,\ ?|\ and\ |\ &\ |\ ){_NUMBER})*"
_VERB = r"(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|refs?|re|see|issues?|bug|ticket|part\ of|for|from|via|in|pr)"
_TAGS = re.compile(
    rf"""(?: [\[(][^\])]{{1,40}}[\])]\ ?[:,-]?                                            # [x] (x):
        | (?:build|chore|ci|docs?|feat(?:ures?)?|(?:bug|hot)?fix(?:es|ed)?|perf|refactor|style|tests?|bugs?|question
            |regression|feature\ request|improvement|enhancement)(?:\([^)]{{0,60}}\))?!?\ ?(?::|\ ?-{{1,2}}\ )
        | (?:{_VERB}:?\ )?{_NUMBERS}\ ?(?:[:.,;]|--?(?=\ )|—|–)?
        | [A-Z][A-Z0-9]{{1,9}}-\d+\ ?[:-]?(?=\ )                                         # PROJ-12:
        | :[a-z0-9_+-]{{2,40}}:                                                          # :bug:
        | [^\w\s`"'<(\[@./$#*-]{{1,8}}(?=\ )                                             # a picture
        )\ ?""",
    re.VERBOSE | re.IGNORECASE,
)
_REFERENCES = re.compile(
    rf"""(?<!\w)(?: \(?(?:{_VERB}:?\ )?(?:issues?\ |pr\ )?{_NUMBERS}\)?
        | \[{_NUMBERS}\]
        | \(?(?:{_VERB}:?\ )?https?://\S{{1,200}}
        | \[(?:skip\ ci|ci\ skip|backport[^\]]{{0,30}})\]
        )\.?$ | (?<!\.)\.$""",
    re.VERBOSE | re.IGNORECASE,
)


def cleaned(text: str) -> str:
    """A subject or title as a question: without tags before it and references to issues behind it.

    Examples
    --------
    >>> cleaned("[worker] fix(pool): Lost task is retried (#123)")
    'Lost task is retried'
    >>> cleaned("Fixed #42 -- Lost task is retried, closes #41.")
    'Lost task is retried'
    """
    text = tidy(text)[:_LONGEST]
    while True:
        bare = text
        if match := _TAGS.match(bare):
            bare = bare[match.end() :]
        if match := _REFERENCES.search(bare):
            bare = bare[: match.start()].rstrip(" ,;:-")
        bare = bare.strip()
        if bare == text:
            return text
        text = bare


def chore(text: str) -> str:
    """What makes a subject or bullet no question, such as a merge or a version bump, or nothing."""
    asked = tidy(text)[:_LONGEST], cleaned(text)
    return next((name for name, pattern in _CHORES.items() if any(map(pattern.match, asked))), "")


def tidy(text: str) -> str:
    """On one line, with one space between words."""
    return " ".join(storable(text).split())


def storable(text: str) -> str:
    """Without lone surrogates, which JSON can spell and no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def plain(text: str) -> str:
    """As two questions are compared: in lower case, one space between words."""
    return " ".join(text.casefold().split())


def too_short(question: str, kind: str) -> bool:
    """Whether a question has fewer words of its own than one of its kind needs."""
    unspaced = len(re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]", question))
    return len(content_words(question)) + unspaced // 3 < _MIN_WORDS[kind]
