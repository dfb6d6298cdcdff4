"""Read TypeScript and JavaScript with tree-sitter: declarations, members, and where statements begin.

tree-sitter reads on past what it cannot parse, so a file with an error still gives the declarations it understands;
only a file that is an error as a whole has a ``problem``.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from rungs.corpus.outline import INSIDE, Outline, Symbol, text_breaks

if TYPE_CHECKING:
    from tree_sitter import Language, Node

__all__ = ["SCRIPTS", "script_outline"]

SCRIPTS = frozenset({"typescript", "tsx", "javascript"})

_FUNCTIONS = frozenset(
    {"function_declaration", "generator_function_declaration", "function_signature", "function_expression"}
)
_FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "generator_function", "function"})
_CLASSES = frozenset({"class_declaration", "abstract_class_declaration", "class"})
_METHODS = frozenset({"method_definition", "abstract_method_signature", "method_signature"})
_FIELDS = frozenset({"public_field_definition", "field_definition"})
_VARIABLES = frozenset({"lexical_declaration", "variable_declaration"})
_NAMESPACES = frozenset({"internal_module", "module"})
_PLAIN = {
    "interface_declaration": "interface",
    "type_alias_declaration": "type",
    "enum_declaration": "enum",
}
# Nodes whose children are worth a line of their own: a cut between those children is a cut at a boundary.
_BLOCKS = frozenset({"program", "statement_block", "class_body", "interface_body", "object_type", "enum_body"})
_BLOCKS |= {"switch_body", "object", "array", "arguments", "formal_parameters", "union_type", "named_imports"}
_BLOCKS |= {"export_clause", "jsx_element", "jsx_fragment", "jsx_self_closing_element"}


def script_outline(text: str, lines: list[str], language: str) -> Outline:
    """Outline a TypeScript, TSX or JavaScript file.

    Parameters
    ----------
    text, lines
        The file, whole and by line.
    language
        One of `SCRIPTS`.
    """
    from tree_sitter import Parser

    source = text.encode("utf-8", "replace")
    root = Parser(_grammar(language)).parse(source).root_node
    if root.type == "ERROR":
        return Outline((), partial(text_breaks, lines), problem=f"not valid {language}")
    symbols = tuple(_Reader(source, lines).declarations(root, ""))
    return Outline(symbols, partial(_breaks, source, language, lines), lead_shown=True)


def _grammar(language: str) -> "Language":
    from tree_sitter import Language

    if language == "javascript":
        import tree_sitter_javascript

        return Language(tree_sitter_javascript.language())
    import tree_sitter_typescript

    tsx = language == "tsx"
    return Language(tree_sitter_typescript.language_tsx() if tsx else tree_sitter_typescript.language_typescript())


class _Reader:
    """Turns syntax nodes of one file into symbols."""

    def __init__(self, source: bytes, lines: list[str]) -> None:
        self._source = source
        self._lines = lines

    def declarations(self, block: "Node", owner: str) -> Iterator[Symbol]:
        """Yield what a program or namespace declares; overloads of one function become one symbol."""
        overloads: Symbol | None = None
        for lead, node in _with_leads(block):
            for symbol in self._declared(node, node, owner, lead, exported=False):
                if overloads is not None and overloads.name == symbol.name:
                    symbol = _joined(overloads, symbol)
                elif overloads is not None:
                    yield overloads
                overloads = symbol if _is_overload(node) else None
                if overloads is None:
                    yield symbol
        if overloads is not None:
            yield overloads

    def _declared(self, node: "Node", outer: "Node", owner: str, lead: "Node", *, exported: bool) -> Iterator[Symbol]:
        """Yield what one statement declares; ``outer`` spans its ``export`` and ``declare``."""
        kind = node.type
        if kind == "export_statement":
            inner = node.child_by_field_name("declaration") or node.child_by_field_name("value")
            if inner is not None:
                yield from self._declared(inner, outer, owner, lead, exported=True)
        elif kind == "ambient_declaration" or (kind == "expression_statement" and _namespace_in(node)):
            for inner in node.named_children:
                yield from self._declared(inner, outer, owner, lead, exported=exported)
        elif kind == "expression_statement":
            yield from self._assigned(node, owner, lead)
        elif kind in _VARIABLES:
            yield from self._variables(node, outer, owner, lead, exported=exported)
        elif kind in _FUNCTIONS or kind in _FUNCTION_VALUES:
            yield self._function(node, outer, _qualified(owner, self._name(node, "default")), "function", lead)
        elif kind in _CLASSES:
            yield self._class(node, outer, _qualified(owner, self._name(node, "default")), lead)
        elif kind in _PLAIN:
            yield self._plain(node, outer, _qualified(owner, self._name(node, "default")), _PLAIN[kind], lead)
        elif kind in _NAMESPACES:
            yield self._namespace(node, outer, owner, lead)
        elif exported:
            yield self._symbol(outer, _qualified(owner, "default"), "constant", lead, self._first_line(outer))

    def _variables(self, node: "Node", outer: "Node", owner: str, lead: "Node", *, exported: bool) -> Iterator[Symbol]:
        declarators = [child for child in node.named_children if child.type == "variable_declarator"]
        for declarator in declarators:
            span = outer if len(declarators) == 1 else declarator
            above = lead if declarator == declarators[0] else declarator
            value = declarator.child_by_field_name("value")
            for name in self._bound(declarator.child_by_field_name("name")):
                qualified = _qualified(owner, name)
                if value is not None and value.type in _FUNCTION_VALUES:
                    yield self._function(value, span, qualified, "function", above)
                elif value is not None and value.type in _CLASSES:
                    yield self._class(value, span, qualified, above)
                else:
                    kind = "constant" if exported else "assignment"
                    yield self._symbol(span, qualified, kind, above, self._first_line(span))

    def _bound(self, pattern: "Node | None") -> list[str]:
        """List the names a declarator's pattern binds."""
        names: list[str] = []
        stack = [pattern] if pattern is not None else []
        while stack:
            node = stack.pop()
            if node.type in {"identifier", "shorthand_property_identifier_pattern"}:
                names.append(self._text(node))
            elif node.type == "pair_pattern":
                stack.extend(inner for inner in [node.child_by_field_name("value")] if inner is not None)
            elif node.type in {"assignment_pattern", "object_assignment_pattern"}:
                stack.extend(inner for inner in [node.child_by_field_name("left")] if inner is not None)
            else:
                stack.extend(reversed(node.named_children))
        return names

    def _assigned(self, statement: "Node", owner: str, lead: "Node") -> Iterator[Symbol]:
        """Read ``exports.name = function``, ``Type.prototype.name = function`` and the like."""
        for node in statement.named_children:
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            if node.type != "assignment_expression" or left is None or right is None:
                continue
            name = re.sub(r"^(?:module\.)?exports\.?|\.prototype\b", "", self._text(left)) or "default"
            if not re.fullmatch(r"[\w$.]+", name):
                continue
            if right.type in _FUNCTION_VALUES:
                yield self._function(right, statement, _qualified(owner, name), "function", lead)
            elif right.type in _CLASSES:
                yield self._class(right, statement, _qualified(owner, name), lead)

    def _namespace(self, node: "Node", outer: "Node", owner: str, lead: "Node") -> Symbol:
        name = _qualified(owner, self._name(node, "namespace").strip("'\""))
        body = node.child_by_field_name("body")
        children = tuple(self.declarations(body, name)) if body is not None else ()
        return self._type(outer, name, "namespace", lead, body, children, tuple(child.signature for child in children))

    def _class(self, node: "Node", outer: "Node", name: str, lead: "Node") -> Symbol:
        body = node.child_by_field_name("body")
        if body is None:
            return self._symbol(outer, name, "class", lead, self._first_line(outer))
        children: list[Symbol] = []
        members: dict[str, None] = {}
        for above, member in _with_leads(body):
            shown, symbol = self._member(member, name, above)
            if shown:
                members[shown] = None
            if symbol is None:
                continue
            if children and children[-1].name == symbol.name and _follows(children[-1], symbol):
                symbol = _joined(children.pop(), symbol)
            children.append(symbol)
        return self._type(outer, name, "class", lead, body, tuple(children), tuple(members))

    def _member(self, member: "Node", owner: str, lead: "Node") -> tuple[str, Symbol | None]:
        """Give how a member is listed, and its symbol if it has a body of its own."""
        own_name = self._name(member, "")
        name = _qualified(owner, own_name)
        if member.type in _METHODS:
            parameters = member.child_by_field_name("parameters")
            shown = own_name + (self._flat(parameters) if parameters is not None else "()")
            return shown, self._function(member, member, name, "method", lead)
        if member.type in _FIELDS and own_name:
            value = member.child_by_field_name("value")
            if value is not None and value.type in _FUNCTION_VALUES:
                parameters = value.child_by_field_name("parameters")
                shown = own_name + (self._flat(parameters) if parameters is not None else "()")
                return shown, self._function(value, member, name, "method", lead)
            start, end = _rows(member)
            return own_name, Symbol(name, "assignment", start, end, end, self._first_line(member), "", end, start)
        return "", None

    def _plain(self, node: "Node", outer: "Node", name: str, kind: str, lead: "Node") -> Symbol:
        """Read an interface, type alias or enum: no part of it is a symbol of its own."""
        body = node.child_by_field_name("body") or node.child_by_field_name("value")
        members: dict[str, None] = {}
        if body is not None and body.type in {"interface_body", "object_type", "enum_body"}:
            for member in body.named_children:
                label = self._text(member) if member.type == "property_identifier" else self._name(member, "")
                members.update({label: None} if label else {})
        return self._type(outer, name, kind, lead, body, (), tuple(members))

    def _type(
        self,
        outer: "Node",
        name: str,
        kind: str,
        lead: "Node",
        body: "Node | None",
        children: tuple[Symbol, ...],
        members: tuple[str, ...],
    ) -> Symbol:
        start, end = _rows(outer)
        signature_end = start if body is None else max(start, body.start_point.row + 1)
        methods = [child.lead_line for child in children if child.kind != "assignment"]
        header_end = _trimmed(self._lines, signature_end, min(methods) - 1) if methods else end
        return Symbol(
            name=name,
            kind=kind,
            start_line=start,
            end_line=end,
            header_end=header_end,
            signature=self._until(outer, body),
            docstring=self._comment(lead, outer),
            doc_end=signature_end,
            lead_line=lead.start_point.row + 1,
            members=members,
            children=children,
        )

    def _function(self, node: "Node", outer: "Node", name: str, kind: str, lead: "Node") -> Symbol:
        body = node.child_by_field_name("body")
        return self._symbol(outer, name, kind, lead, self._until(outer, body))

    def _symbol(self, outer: "Node", name: str, kind: str, lead: "Node", signature: str) -> Symbol:
        start, end = _rows(outer)
        lead_line = lead.start_point.row + 1
        return Symbol(name, kind, start, end, start, signature, self._comment(lead, outer), start, lead_line)

    def _comment(self, lead: "Node", outer: "Node") -> str:
        """Clean the comment above a declaration of its stars and slashes."""
        if lead.start_byte >= outer.start_byte or lead.type != "comment":
            return ""
        text = self._source[lead.start_byte : _decorated(outer).start_byte].decode("utf-8", "replace")
        kept = [re.sub(r"^\s*(?:/\*+|\*+/|\*|//+)\s?|\s*\*+/\s*$", "", line).rstrip() for line in text.split("\n")]
        return "\n".join(line for line in kept if line).strip()

    def _name(self, node: "Node", otherwise: str) -> str:
        name = node.child_by_field_name("name")
        return otherwise if name is None else self._text(name)

    def _until(self, outer: "Node", body: "Node | None") -> str:
        end = outer.end_byte if body is None else body.start_byte
        return _one_line(self._source[outer.start_byte : end])

    def _first_line(self, node: "Node") -> str:
        return self._lines[node.start_point.row].strip()

    def _flat(self, node: "Node") -> str:
        return _one_line(self._source[node.start_byte : node.end_byte])

    def _text(self, node: "Node") -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _with_leads(block: "Node") -> Iterator[tuple["Node", "Node"]]:
    """Pair each statement or member with the first of the comments that stand directly above it.

    Decorators of class members are siblings before them in this grammar, so they lead a member as well; `_rows` of the
    member alone would leave them out, hence the pair begins at the decorator where there is one.
    """
    lead: Node | None = None
    below = -1
    for child in block.named_children:
        if child.type in {"comment", "decorator"}:
            if lead is None or child.start_point.row > below + 1:
                lead = child
            if child.start_point.row == below and child.type == "comment":
                lead = None  # a comment at the end of a line belongs to that line
            below = child.end_point.row
            continue
        attached = lead is not None and child.start_point.row <= below + 1
        yield (lead if attached and lead is not None else child), child
        lead, below = None, child.end_point.row


def _rows(node: "Node") -> tuple[int, int]:
    """Give first and last line, with the decorators that stand before a class member."""
    first = _decorated(node)
    end = node.end_point
    # A node that ends at the start of a line ends, to a reader, on the line before.
    last = end.row if end.column == 0 and end.row > first.start_point.row else end.row + 1
    return first.start_point.row + 1, last


def _decorated(node: "Node") -> "Node":
    """Give the first of the decorators that stand before a class member, or the member."""
    while node.prev_named_sibling is not None and node.prev_named_sibling.type == "decorator":
        node = node.prev_named_sibling
    return node


def _namespace_in(statement: "Node") -> bool:
    return any(child.type in _NAMESPACES for child in statement.named_children)


def _is_overload(node: "Node") -> bool:
    inner = node.child_by_field_name("declaration") if node.type == "export_statement" else node
    return inner is not None and inner.type == "function_signature"


def _follows(first: Symbol, second: Symbol) -> bool:
    """Tell an overload from a getter and its setter: overloads are one-line signatures right above the body."""
    return not first.signature.startswith(("get ", "set ", "static get ")) and first.end_line + 1 >= second.lead_line


def _joined(first: Symbol, second: Symbol) -> Symbol:
    """Make one symbol of an overload and what follows it."""
    return Symbol(
        name=second.name,
        kind=second.kind,
        start_line=first.start_line,
        end_line=second.end_line,
        header_end=second.header_end,
        signature=second.signature,
        docstring=first.docstring or second.docstring,
        doc_end=second.doc_end,
        lead_line=first.lead_line,
        members=second.members,
        children=second.children,
    )


def _qualified(owner: str, name: str) -> str:
    return f"{owner}.{name}" if owner else name


def _one_line(source: bytes) -> str:
    return " ".join(source.decode("utf-8", "replace").split())


def _trimmed(lines: list[str], start: int, end: int) -> int:
    while end > start and not lines[end - 1].strip():
        end -= 1
    return max(start, end)


def _breaks(source: bytes, language: str, lines: list[str]) -> list[float]:
    """Price a cut before each line; see `Outline.breaks`."""
    from tree_sitter import Parser

    costs: list[float | None] = [None] * len(lines)
    root = Parser(_grammar(language)).parse(source).root_node
    stack: list[tuple[Node, float]] = [(root, 0.0)]
    while stack:
        node, depth = stack.pop()
        inner = depth + 1 if node.type in _BLOCKS and node.parent is not None else depth
        for child in node.named_children:
            stack.append((child, inner))
            row, column = child.start_point
            if node.type in _BLOCKS and row < len(lines) and not lines[row][:column].strip():
                known = costs[row]
                costs[row] = inner if known is None else min(known, inner)
    return [INSIDE if cost is None else cost for cost in costs]
