"""Read Python with the standard ``ast``: definitions, assignments, and where statements begin."""

import ast
import warnings
from collections.abc import Iterator
from functools import partial

from rungs.corpus.outline import INSIDE, Outline, Symbol, text_breaks

__all__ = ["python_outline"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_MAX_LEAD = 5  # more comment lines than this stand for themselves


def python_outline(text: str, lines: list[str]) -> Outline:
    """Outline a Python file; one that does not parse has a ``problem`` and no symbols."""
    try:
        tree = _parsed(text)
        symbols = tuple(_definitions(tree.body, "", lines, in_class=False, in_function=False))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" at line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        reason = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
        return Outline((), partial(text_breaks, lines), problem=f"not valid Python ({reason}{where})")
    docstring = ast.get_docstring(tree) or ""
    return Outline(symbols, partial(_breaks, text, lines), title=docstring.strip().split("\n")[0])


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes and the like are the corpus's business
        return ast.parse(text)


def _definitions(
    body: list[ast.stmt], owner: str, lines: list[str], *, in_class: bool, in_function: bool
) -> Iterator[Symbol]:
    """Yield what a module, class or function defines, also under ``if``, ``try``, ``with`` and loops."""
    stack = body[::-1]
    while stack:
        node = stack.pop()
        if isinstance(node, _Definition):
            yield _definition(node, owner, lines, in_class=in_class)
        elif blocks := _blocks(node):
            stack.extend(statement for block in reversed(blocks) for statement in reversed(block))
        elif not in_function:
            yield from _assignments(node, owner)


def _definition(node: _Definition, owner: str, lines: list[str], *, in_class: bool) -> Symbol:
    name = f"{owner}.{node.name}" if owner else node.name
    is_class = isinstance(node, ast.ClassDef)
    children = tuple(_definitions(node.body, name, lines, in_class=is_class, in_function=not is_class))
    start, end = _first_line(node), node.end_lineno or node.lineno
    body_start = _first_line(node.body[0])
    signature_end = max(node.lineno, body_start - 1)
    docstring_end = _docstring_end(node)
    header_end = signature_end
    if is_class:
        methods = [child.start_line for child in children if child.kind == "method"]
        header_end = _trimmed(lines, node.lineno, min(methods) - 1) if methods else end
    return Symbol(
        name=name,
        kind="class" if is_class else "method" if in_class else "function",
        start_line=start,
        end_line=end,
        header_end=header_end,
        signature=_signature(node, lines),
        docstring=(ast.get_docstring(node) or "").strip(),
        doc_end=docstring_end or _trimmed(lines, node.lineno, signature_end),
        lead_line=_lead_line(lines, start),
        members=_members(node) if isinstance(node, ast.ClassDef) else (),
        children=children,
    )


def _assignments(node: ast.stmt, owner: str) -> Iterator[Symbol]:
    """Yield one symbol per name that a statement binds at module or class level."""
    for name in _bound_names(node):
        end = node.end_lineno or node.lineno
        yield Symbol(
            name=f"{owner}.{name}" if owner else name,
            kind="assignment",
            start_line=node.lineno,
            end_line=end,
            header_end=end,
            doc_end=end,
            lead_line=node.lineno,
        )


def _bound_names(node: ast.stmt) -> Iterator[str]:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = list(node.targets)
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    elif hasattr(ast, "TypeAlias") and isinstance(node, ast.TypeAlias):
        targets = [node.name]
    while targets:
        target = targets.pop(0)
        if isinstance(target, ast.Name):
            yield target.id
        elif isinstance(target, ast.Tuple | ast.List):
            targets[:0] = target.elts
        elif isinstance(target, ast.Starred):
            targets.insert(0, target.value)


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    """Give the statement blocks of a compound statement in source order."""
    blocks = [getattr(node, "body", None)]
    blocks += [handler.body for handler in getattr(node, "handlers", ())]
    blocks += [case.body for case in getattr(node, "cases", ())]
    blocks += [getattr(node, "orelse", None), getattr(node, "finalbody", None)]
    return [block for block in blocks if isinstance(block, list) and block]


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", ())
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _docstring_end(node: _Definition) -> int:
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first.end_lineno or first.lineno
    return 0


def _trimmed(lines: list[str], start: int, end: int) -> int:
    """Move ``end`` up over blank and comment lines, not above ``start``."""
    while end > start and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end


def _lead_line(lines: list[str], start: int) -> int:
    """Find the first of the comment lines over a definition, allowing one blank line in between."""
    indent = lines[start - 1][: len(lines[start - 1]) - len(lines[start - 1].lstrip())]
    line = start - 1
    if line > 1 and not lines[line - 1].strip():
        line -= 1
    first = start
    # A deeper comment is the last word of the definition before.
    while line >= 1 and lines[line - 1].startswith(indent + "#"):
        first = line
        line -= 1
    return first if start - first <= _MAX_LEAD + 1 else start


def _signature(node: _Definition, lines: list[str]) -> str:
    try:
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base) for base in node.bases]
            bases += [f"{keyword.arg}={ast.unparse(keyword.value)}" for keyword in node.keywords]
            return f"class {node.name}({', '.join(bases)}):" if bases else f"class {node.name}:"
        word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"{word} {node.name}({ast.unparse(node.args)}){returns}:"
    except RecursionError:
        return lines[node.lineno - 1].strip()


def _members(node: ast.ClassDef) -> tuple[str, ...]:
    """List methods with the names of their arguments, and attributes, in order and each once."""
    found: dict[str, None] = {}
    stack: list[ast.stmt] = node.body[::-1]
    while stack:
        statement = stack.pop()
        if isinstance(statement, _Function):
            found[f"{statement.name}({', '.join(_arguments(statement.args))})"] = None
        elif isinstance(statement, ast.ClassDef):
            found[statement.name] = None
        elif blocks := _blocks(statement):
            stack.extend(inner for block in reversed(blocks) for inner in reversed(block))
        else:
            found.update(dict.fromkeys(_bound_names(statement)))
    return tuple(found)


def _arguments(arguments: ast.arguments) -> list[str]:
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    if arguments.vararg:
        names.append("*" + arguments.vararg.arg)
    names += [argument.arg for argument in arguments.kwonlyargs]
    if arguments.kwarg:
        names.append("**" + arguments.kwarg.arg)
    return names[1:] if names and names[0] in {"self", "cls"} else names


def _breaks(text: str, lines: list[str]) -> list[float]:
    """Price a cut before each line; see `Outline.breaks`.

    The file is parsed again: keeping every tree of a corpus alive makes the garbage collector slower than parsing is.
    """
    costs: list[float | None] = [None] * (len(lines) + 1)
    stack: list[tuple[list[ast.stmt], float]] = [(_parsed(text).body, 0.0)]
    while stack:
        block, depth = stack.pop()
        for position, node in enumerate(block):
            # Cutting before the first statement of a block parts it from the line that opens the block.
            opening = 1.5 if position == 0 and depth else 0.0
            _price_statement(node, depth + opening, lines, costs)
            stack.extend((inner, depth + 1) for inner in _blocks(node))
    return _fill_gaps(costs[1:], lines)


def _price_statement(node: ast.stmt, cost: float, lines: list[str], costs: list[float | None]) -> None:
    start, end = _first_line(node), node.end_lineno or node.lineno
    blocks = _blocks(node)
    interior_end = _first_line(blocks[0][0]) - 1 if blocks else end
    for line in range(start + 1, interior_end + 1):
        # Long strings are mostly documentation: a cut between their paragraphs does less harm.
        between = not lines[line - 2].strip() and bool(lines[line - 1].strip())
        costs[line] = INSIDE / 2 if between else INSIDE
    known = costs[start]
    costs[start] = cost if known is None else min(known, cost)


def _fill_gaps(costs: list[float | None], lines: list[str]) -> list[float]:
    """Price comments, blank lines, ``else:`` and the like as the statement below them, which then follows them."""
    filled = [INSIDE] * len(costs)
    below = 0.0
    for index in range(len(costs) - 1, -1, -1):
        cost = costs[index]
        # What follows a comment or ``else:`` without a blank line between stays with it.
        held = 3.0 if index > 0 and costs[index - 1] is None and lines[index - 1].strip() else 0.0
        filled[index] = held + (below if cost is None else cost)
        if cost is not None and cost < INSIDE / 2:
            below = cost
    return filled
