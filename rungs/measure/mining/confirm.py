"""Ask a person about each draft, and write what was kept as a golden file."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from rungs.corpus import Corpus
from rungs.errors import GoldenError
from rungs.measure.golden import MODES, Label
from rungs.measure.mining.drafts import CLOSE, KEPT_KINDS, Draft, overlap_of, read_drafts, read_label
from rungs.measure.mining.questions import plain, storable, tidy
from rungs.measure.textfiles import json_lines, read_text, write_lines, write_text
from rungs.terminal import printable

__all__ = ["confirm", "confirm_file", "confirmed", "read_decisions"]

_SHOWN_LINES = 40
_PROMPT = "[k]eep, [e]dit question, edit [l]abels, [d]rop, [b]ack, [q]uit? "
_CHOICES = {"k": "keep", "e": "edit", "l": "labels", "d": "drop"}
_LABELS = "labels, path or path::symbol, with a semicolon between two (any will do) or a + (all are needed); Enter leaves them: "
_DECISIONS = ("keep", "drop")


class _Quit(Exception):
    """Whoever is asked has had enough."""


class _Back(Exception):
    """What was chosen last is to be chosen again."""


@dataclass(frozen=True, slots=True)
class _Answer(Draft):
    """A draft as it stands while it is decided."""

    mode: str = "any"


def confirm(
    drafts: Sequence[Draft],
    answers_path: Path,
    *,
    corpus: Corpus,
    ask: Callable[[str], str] = input,
    say: Callable[[str], None] = print,
    others: Sequence[Mapping[str, Any]] = (),
) -> list[dict[str, Any]]:
    """Ask a person about each draft that is not decided yet, those with a suggested label first.

    Each decision is appended to ``answers_path`` before the next draft is shown, so that whatever ends the session, the
    next one goes on behind the last decision. A draft is kept only with labels that resolve, a question that is not
    kept already, and a reason that is written for these labels: where a draft comes from is none.

    At every prompt ``q`` quits. ``b`` goes back: from a question that was put about a draft to the draft, and from a
    draft to the one decided before it, whose new decision then counts.

    Parameters
    ----------
    drafts
        From `mine_history`, `mine_issues` or `read_drafts`.
    answers_path
        The file of decisions, made if need be; one JSON object a line.
    corpus
        Shows the source of the labels, and checks those that are typed.
    ask
        Puts a prompt and returns the answer; ``EOFError`` is taken for quitting.
    say
        Shows one line. Control characters were made visible in it.
    others
        Golden lines that no decision made, or that were edited since. Nothing is kept that one of them asks already, and a
        draft whose id one has is kept under another: ``as`` of its decision.

    Returns
    -------
    list of dict
        Every decision in the file, for `confirmed`.

    Raises
    ------
    GoldenError
        If the file of decisions is damaged or cannot be written.
    """

    def answered(prompt: str) -> str:
        answer = ask(prompt)
        if (word := answer.strip().lower()) in ("q", "b"):
            raise _Quit if word == "q" else _Back
        return answer

    decisions = _mended(answers_path)
    strangers = {row["id"] for row in others} - set(_names(decisions).values())
    by_id = {draft.id: draft for draft in drafts}
    order = dict.fromkeys(row["id"] for row in reversed(decisions))  # by each draft's last line
    past = [by_id[id] for id in reversed(order) if id in by_id]
    ahead = sorted((draft for draft in drafts if draft.id not in order), key=lambda draft: not draft.expect)
    while ahead:
        say(f"--- {len(drafts) - len(ahead) + 1} of {len(drafts)}")
        last = {row["id"]: row for row in decisions}
        row = last.pop(ahead[0].id, None)
        name = _names(decisions).get(ahead[0].id)
        kept = {plain(other["q"]): other["id"] for other in others if other["id"] != name}
        kept |= {plain(other["q"]): id for id, other in last.items() if other["decision"] == "keep"}
        try:
            start = _answer(ahead[0], row, corpus)
            own = "" if start.why == ahead[0].why else start.why
            decision = _decided(start, own, corpus, kept, answered, say)
        except (_Quit, EOFError):
            break
        except _Back:
            if past:
                ahead.insert(0, past.pop())
            else:
                say("no draft was decided before this one")
            continue
        decision = _named(decision, strangers, decisions, by_id)
        _append(answers_path, decision)
        decisions.append(decision)
        past.append(ahead.pop(0))
    return decisions


def confirmed(decisions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Make the golden lines of what was kept.

    Parameters
    ----------
    decisions
        From `confirm` or `read_decisions`. Of several on one draft the last counts.

    Returns
    -------
    list of dict
        In the order of the decisions; written one a line, `rungs.measure.load_golden` reads them.
    """
    last = {row["id"]: row for row in decisions}
    return [
        {"id": row.get("as", row["id"]), "q": row["q"], "expect": list(row["expect"]), "mode": row.get("mode", "any")}
        | {"kind": row["kind"], "why": row["why"], "also": []}
        for row in last.values()
        if row["decision"] == "keep"
    ]


def confirm_file(
    drafts: Path,
    out: Path,
    *,
    corpus: Corpus,
    ask: Callable[[str], str] = input,
    say: Callable[[str], None] = print,
) -> str:
    """Confirm a file of drafts and write what was kept as a golden file.

    Decisions lie next to it: ``mine.decisions.jsonl`` beside ``mine.jsonl``. Lines that no decision made stay as they are, and
    so does what was edited in the others since; of those only what is decided anew is written.

    Parameters
    ----------
    drafts
        From `write_drafts`.
    out
        The golden file; what was kept is added at the end of each session, also of one that was broken off. A question
        that was kept and is not there is added again: to be rid of one, drop it.
    corpus, ask, say
        See `confirm`.

    Returns
    -------
    str
        A line that says how far it went.

    Raises
    ------
    GoldenError
        If a file is damaged, or ``out`` is no golden file.
    """
    found = read_drafts(drafts)
    answers = out.with_name(f"{out.stem}.decisions.jsonl")
    earlier = read_decisions(answers)
    others = [row for _, row in _edited(_lines(out), earlier)]
    try:
        confirm(found, answers, corpus=corpus, ask=ask, say=say, others=others)
    finally:
        decisions, lines = read_decisions(answers), _lines(out)
        strangers = {row["id"] for _, row in _edited(lines, decisions)} - set(_names(earlier).values())
        for row in {row["id"]: row for row in decisions}.values():
            if (other := _named(row, strangers, decisions, {draft.id for draft in found})) != row:  # taken meanwhile
                _append(answers, other)
                decisions.append(other)
        texts = _merged(lines, earlier, decisions)
        if texts != [text for text, _ in lines]:
            write_lines(out, texts)
    kept, ids = confirmed(decisions), {row["id"] for row in decisions}
    left = sum(draft.id not in ids for draft in found)
    said = f"{len(kept)} kept, {len(ids) - len(kept)} dropped, {left} to go" + (f"; golden file: {out}" if kept else "")
    gone = {row["id"] for row in confirmed(earlier)} - {row["id"] for row in kept}
    if still := [row["id"] for _, row in _edited(lines, decisions) if row["id"] in gone]:
        said += f"; dropped, but edited since and so still in it: {', '.join(still)}; delete from {out} what has to go"
    return said


def _lines(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The lines of a golden file as they stand, each with what it says; nothing if there is no such file yet."""
    text = read_text(path, GoldenError) if path.exists() else ""
    rows = dict(json_lines(path, GoldenError, text))
    for number, row in rows.items():
        if not isinstance(row, dict) or not all(isinstance(row.get(n), str) for n in ("id", "q", "mode", "kind")):
            raise GoldenError(f"{path}:{number}: not a golden line; mend it, or name another file")
    return [(line, rows.get(n, {})) for n, line in enumerate(text.removesuffix("\n").split("\n"), 1)] if text else []


def _edited(
    lines: Iterable[tuple[str, dict[str, Any]]], decisions: Iterable[Mapping[str, Any]]
) -> list[tuple[str, dict[str, Any]]]:
    """The lines that are not just as some decision made them."""
    made = _made(decisions)
    return [(text, row) for text, row in lines if row and row not in made.get(row["id"], ())]


def _made(decisions: Iterable[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """By id, every golden line that was ever decided on."""
    made: dict[str, list[dict[str, Any]]] = {}
    for row in [line for decision in decisions for line in confirmed([decision])]:
        made.setdefault(row["id"], []).append(row)
    return made


def _merged(
    lines: Iterable[tuple[str, dict[str, Any]]],
    earlier: Iterable[Mapping[str, Any]],
    decisions: Sequence[Mapping[str, Any]],
) -> list[str]:
    """The lines of a golden file with what was decided since: what somebody else wrote or edited stays."""
    before, last = ({row["id"]: row for row in confirmed(rows)} for rows in (earlier, decisions))
    made, texts, there = _made(decisions), [], set()
    for text, row in lines:
        name = row.get("id", "")
        there.add(name)
        now = last.get(name)
        if row not in made.get(name, ()):
            now = row | _changes(row, before.get(name), now)
        if now is not None:
            texts.append(text if now == row else json.dumps(now, ensure_ascii=False))
    return texts + [json.dumps(row, ensure_ascii=False) for name, row in last.items() if name not in there]


def _changes(row: Mapping[str, Any], before: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> dict[str, Any]:
    """What was decided anew about a line that was edited."""
    changed = {name: now[name] for name in now if now[name] != before[name]} if before and now else {}
    if "expect" in changed:
        changed["also"] = [label for label in row.get("also") or [] if label not in changed["expect"]]
    return changed


def _names(decisions: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The id in the golden file of every draft that was ever kept."""
    return {row["id"]: row.get("as", row["id"]) for row in decisions if row["decision"] == "keep"}


def _named(
    row: dict[str, Any], strangers: Collection[str], decisions: Iterable[Mapping[str, Any]], drafts: Collection[str]
) -> dict[str, Any]:
    """A decision under the id it had, or its draft's, or, where another line has that, the same with a number."""
    if row["decision"] != "keep":
        return row
    names = _names(decisions)
    own = names.pop(row["id"], row["id"])
    taken = {*strangers, *names.values()}
    if own in taken:
        numbered = (f"{row['id']}-{number}" for number in count(2))
        own = next(name for name in numbered if name not in taken and name not in drafts)
    return row if own == row.get("as", row["id"]) else row | {"as": own}


def read_decisions(path: Path) -> list[dict[str, Any]]:
    """Read what was decided; nothing if there is no such file yet.

    A last line that was cut off while it was written is left out: its draft is asked about again.

    Raises
    ------
    GoldenError
        If any other line is not a decision.
    """
    if not path.exists():
        return []
    text = read_text(path, GoldenError)
    rows = []
    for number, row in json_lines(path, GoldenError, text[: text.rfind("\n") + 1]):
        if not _is_decision(row):
            raise GoldenError(f"{path}:{number}: not a decision; restore the line, or delete it to be asked again")
        rows.append(row)
    return rows


def _is_decision(row: Any) -> bool:
    if not isinstance(row, dict) or row.get("decision") not in _DECISIONS:
        return False
    if row.get("mode", "any") not in MODES or not isinstance(row.get("as", ""), str):
        return False
    return isinstance(row.get("expect"), list) and all(isinstance(row.get(n), str) for n in ("id", "q", "kind", "why"))


def _answer(draft: Draft, row: Mapping[str, Any] | None, corpus: Corpus) -> _Answer:
    """A draft as it is put first: as it was made, or as it was decided before."""
    answer = _Answer(**asdict(draft))
    if row is None:
        return answer
    changed = {"q": row["q"], "expect": tuple(row["expect"]), "kind": row["kind"], "why": row["why"]}
    return _weighed(replace(answer, **changed, mode=row.get("mode", "any")), corpus)


def _decided(
    start: _Answer,
    own: str,
    corpus: Corpus,
    kept: Mapping[str, str],
    ask: Callable[[str], str],
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Ask about one draft until it is kept or dropped; ``own`` is the reason that was written before."""
    now, shown = start, None
    while True:
        if now is not shown:
            for line in _shown(now, corpus):
                say(printable(line, tab="    "))
            shown = now
        word, _, kind = ask(_PROMPT).strip().lower().partition(" ")
        choice, kind = _CHOICES.get(word, word), kind.strip()
        if choice in ("quit", "back"):
            raise _Quit if choice == "quit" else _Back
        if choice not in _CHOICES.values() or (kind and choice != "keep"):
            say("answer k, e, l, d, b or q; k with a kind behind it keeps the question as one of that kind")
            continue
        if choice == "drop":
            return _decision("drop", now, start.why)
        try:
            if choice == "edit":
                now = _reworded(now, corpus, ask)
            elif choice == "labels":
                now = _relabelled(now, corpus, ask, say)
            elif problem := _problem(now, kind, corpus, kept):
                say(printable(problem))
            else:
                why = _reason(own if now.expect == start.expect else "", ask, say)
                return _decision("keep", replace(now, kind=kind or now.kind), why)
        except _Back:
            continue


def _shown(draft: _Answer, corpus: Corpus) -> Iterator[str]:
    yield f"question: {draft.q}"
    yield f"from:     {draft.source}"
    yield f"why:      {draft.why}"
    yield f"kind:     {draft.kind}"
    if draft.overlap >= CLOSE:
        yield f"wording:  {draft.overlap:.0%} of the question's words are the label's own; ask it in other words"
    if not draft.expect:
        yield "label:    none yet; read the source, and name the place that answers (l)"
    if draft.mode == "all":
        yield f"mode:     all, each of the {len(draft.expect)} labels is needed"
    for text in draft.expect:
        yield f"label:    {text}"
        label = read_label(text, corpus)
        yield from [f"    {label}"] if isinstance(label, str) else _source_lines(label, corpus)


def _source_lines(label: Label, corpus: Corpus) -> Iterator[str]:
    file = corpus.get(label.path)
    lines = file.lines if file is not None else []
    for first, last in label.spans or ((1, len(lines)),):
        end = min(last, first + _SHOWN_LINES - 1)
        yield from (f"    {number:>5}  {lines[number - 1]}" for number in range(first, end + 1))
        if end < last:
            yield f"           ({last - end} more lines, to {label.path}:{last})"


def _reworded(draft: _Answer, corpus: Corpus, ask: Callable[[str], str]) -> _Answer:
    return _weighed(replace(draft, q=tidy(ask("question (Enter leaves it): ")) or draft.q), corpus)


def _relabelled(draft: _Answer, corpus: Corpus, ask: Callable[[str], str], say: Callable[[str], None]) -> _Answer:
    while True:
        texts, mode = _typed(storable(ask(_LABELS)), corpus)
        if not texts:
            return draft
        problems = [found for text in texts if isinstance(found := read_label(text, corpus), str)]
        if not problems:
            return _weighed(replace(draft, expect=tuple(texts), mode=mode if len(texts) > 1 else "any"), corpus)
        for problem in problems:
            say(printable(problem))


def _typed(answer: str, corpus: Corpus) -> tuple[list[str], str]:
    """The labels of an answer, each once, and their mode; a ``+`` may also stand in a path."""
    mode, texts = "any", answer.split(";")
    if len(texts) == 1 and isinstance(read_label(answer.strip(), corpus), str):
        parts = re.split(r"\s\+\s", answer)
        if len(parts) == 1 and not all(isinstance(read_label(text.strip(), corpus), str) for text in answer.split("+")):
            parts = answer.split("+")
        mode, texts = "all", parts
    return list(dict.fromkeys(text.strip() for text in texts if text.strip())), mode


def _weighed(draft: _Answer, corpus: Corpus) -> _Answer:
    """With the overlap that its present words and labels have."""
    labels = [label for text in draft.expect if not isinstance(label := read_label(text, corpus), str)]
    return replace(draft, overlap=overlap_of(draft.q, labels, corpus))


def _problem(draft: _Answer, kind: str, corpus: Corpus, kept: Mapping[str, str]) -> str:
    """Why a golden file could not take a draft as it is, or as of another kind; or nothing."""
    if kind and kind not in KEPT_KINDS:
        return f"a question with a label is of no kind {kind!r}; use one of {', '.join(KEPT_KINDS)}"
    if not draft.expect:
        return "a question that is kept needs a label; give one (l), or drop it (d)"
    if (other := kept.get(plain(draft.q))) is not None:
        return f"{other} asks this already; ask something else (e), or drop it (d)"
    return next((found for text in draft.expect if isinstance(found := read_label(text, corpus), str)), "")


def _reason(default: str, ask: Callable[[str], str], say: Callable[[str], None]) -> str:
    while True:
        said = tidy(ask("why are the labels right (Enter: as shown)? " if default else "why are the labels right? "))
        if said or default:
            return said or default
        say("write what in the source makes them right; somebody will ask, and where a draft comes from is no answer")


def _decision(decision: str, draft: _Answer, why: str) -> dict[str, Any]:
    row = {"id": draft.id, "decision": decision, "q": draft.q, "expect": list(draft.expect), "mode": draft.mode}
    return row | {"kind": draft.kind, "source": draft.source, "why": why}


def _mended(path: Path) -> list[dict[str, Any]]:
    """The decisions so far, the file cut back to its last whole line so that the next one stands alone."""
    rows = read_decisions(path)
    if path.exists():
        data = path.read_bytes()
        if not data.endswith(b"\n") and data:
            write_text(path, [data[: data.rfind(b"\n") + 1].decode("utf-8")])
    return rows


def _append(path: Path, row: Mapping[str, Any]) -> None:
    try:
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    except OSError as error:
        raise GoldenError(f"{path}: cannot be written ({error.strerror}); check the folder") from None
