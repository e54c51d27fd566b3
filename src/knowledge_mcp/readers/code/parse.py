"""The parsing job in the sandbox's child process: source text to its symbols and the lines where it may be cut.

A grammar's parser is native code and the text is untrusted, so it runs where it can be stopped. It returns one JSON
value (`outline.from_parse` reads it): positions are code points of the text, lines count from 0.
"""

from __future__ import annotations

import importlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _kinds(text: str) -> dict[str, str]:
    """Read `node_type:kind` pairs."""
    pairs = (pair.partition(":") for pair in text.split())
    return {node: kind for node, _, kind in pairs}


@dataclass(frozen=True, slots=True)
class Grammar:
    """One language's grammar.

    Attributes:
        module: the module of its package.
        symbols: node types that define a symbol, with its kind.
        imports: node types that import other modules, or name this one.
        wrappers: node types around one definition that belong to it (decorators, `export`, `template`).
        attached: node types before a definition that belong to it, in addition to comments (attributes).
        function: the module's function that returns the language.
    """

    module: str
    symbols: Mapping[str, str]
    imports: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    attached: frozenset[str] = frozenset()
    function: str = "language"


_JAVASCRIPT = (
    "function_declaration:function generator_function_declaration:function class_declaration:class "
    "method_definition:method variable_declarator:function assignment_expression:function pair:method "
    "field_definition:method "
)
_TYPESCRIPT = _JAVASCRIPT + (
    "public_field_definition:method "
    "interface_declaration:interface type_alias_declaration:type enum_declaration:enum function_signature:function "
    "abstract_class_declaration:class internal_module:namespace module:namespace abstract_method_signature:method "
)
_SCRIPT_WRAPPERS = _words(
    "export_statement lexical_declaration variable_declaration expression_statement ambient_declaration"
)
_C = (
    "function_definition:function struct_specifier:struct enum_specifier:enum union_specifier:union "
    "type_definition:type preproc_function_def:macro "
)

GRAMMARS: Mapping[str, Grammar] = {
    "python": Grammar(
        "tree_sitter_python",
        _kinds("function_definition:function class_definition:class"),
        _words("import_statement import_from_statement future_import_statement"),
        _words("decorated_definition"),
    ),
    "javascript": Grammar("tree_sitter_javascript", _kinds(_JAVASCRIPT), _words("import_statement"), _SCRIPT_WRAPPERS),
    "typescript": Grammar(
        "tree_sitter_typescript",
        _kinds(_TYPESCRIPT),
        _words("import_statement import_alias"),
        _SCRIPT_WRAPPERS,
        _words("decorator"),
        "language_typescript",
    ),
    "tsx": Grammar(
        "tree_sitter_typescript",
        _kinds(_TYPESCRIPT),
        _words("import_statement import_alias"),
        _SCRIPT_WRAPPERS,
        _words("decorator"),
        "language_tsx",
    ),
    "java": Grammar(
        "tree_sitter_java",
        _kinds(
            "class_declaration:class interface_declaration:interface enum_declaration:enum record_declaration:record "
            "annotation_type_declaration:annotation method_declaration:method constructor_declaration:constructor"
        ),
        _words("import_declaration package_declaration"),
    ),
    "go": Grammar(
        "tree_sitter_go",
        _kinds("function_declaration:function method_declaration:method type_spec:type type_alias:type"),
        _words("import_declaration package_clause"),
        _words("type_declaration"),
    ),
    "rust": Grammar(
        "tree_sitter_rust",
        _kinds(
            "function_item:function struct_item:struct enum_item:enum union_item:union trait_item:trait impl_item:impl "
            "mod_item:module macro_definition:macro type_item:type function_signature_item:function"
        ),
        _words("use_declaration extern_crate_declaration"),
        attached=_words("attribute_item"),
    ),
    "c": Grammar("tree_sitter_c", _kinds(_C), _words("preproc_include")),
    "cpp": Grammar(
        "tree_sitter_cpp",
        _kinds(_C + "class_specifier:class namespace_definition:namespace concept_definition:concept"),
        _words("preproc_include using_declaration"),
        _words("template_declaration"),
    ),
    "csharp": Grammar(
        "tree_sitter_c_sharp",
        _kinds(
            "class_declaration:class interface_declaration:interface struct_declaration:struct enum_declaration:enum "
            "record_declaration:record delegate_declaration:delegate method_declaration:method "
            "constructor_declaration:constructor property_declaration:property namespace_declaration:namespace "
            "operator_declaration:operator"
        ),
        _words("using_directive file_scoped_namespace_declaration"),
    ),
    "ruby": Grammar("tree_sitter_ruby", _kinds("method:method singleton_method:method class:class module:module")),
    "php": Grammar(
        "tree_sitter_php",
        _kinds(
            "function_definition:function class_declaration:class interface_declaration:interface "
            "trait_declaration:trait enum_declaration:enum method_declaration:method"
        ),
        _words("namespace_use_declaration namespace_definition"),
        function="language_php",
    ),
    "bash": Grammar("tree_sitter_bash", _kinds("function_definition:function")),
    "kotlin": Grammar(
        "tree_sitter_kotlin",
        _kinds(
            "class_declaration:class object_declaration:object companion_object:object function_declaration:function "
            "type_alias:type"
        ),
        _words("import package_header"),
    ),
    "scala": Grammar(
        "tree_sitter_scala",
        _kinds(
            "class_definition:class object_definition:object trait_definition:trait enum_definition:enum "
            "function_definition:function function_declaration:function type_definition:type given_definition:given"
        ),
        _words("import_declaration package_clause"),
    ),
    "lua": Grammar("tree_sitter_lua", _kinds("function_declaration:function")),
    "swift": Grammar(
        "tree_sitter_swift",
        _kinds(
            "class_declaration:class protocol_declaration:protocol function_declaration:function "
            "init_declaration:constructor typealias_declaration:type protocol_function_declaration:function"
        ),
        _words("import_declaration"),
    ),
}
"""Grammars by language name."""

_COMMENTS = frozenset({"comment", "line_comment", "block_comment", "multiline_comment", "doc_comment"})
_NO_INSIDE = _COMMENTS | {"string", "string_literal", "template_string", "heredoc_body", "raw_string_literal", "text"}
_HOLDERS = frozenset(
    "class interface trait impl struct object enum record protocol module annotation union type".split()
)
_BODIES = frozenset(
    "block class_body enum_class_body function_body compound_statement declaration_list field_declaration_list body "
    "template_body protocol_body body_statement do_block".split()
)
_FUNCTIONS = frozenset("arrow_function function_expression generator_function class function".split())
_VALUED = {
    "variable_declarator": "name", "field_definition": "property", "public_field_definition": "name", "pair": "key",
}  # fmt: skip
"""Node types that are definitions if their value is a function or class, with the field of their name."""
_C_TYPES = frozenset({"struct_specifier", "enum_specifier", "union_specifier", "class_specifier"})
"""Node types that name a type, and define it only if they have a body."""

_DEEPEST = 200
_MOST_SYMBOLS = 50_000
_MOST_LEVELS = 32
"""Maximum nesting of symbols; anything defined deeper belongs to the innermost of them."""

_parsers: dict[str, Parser] = {}


def parse(text: str, language: str) -> Iterator[dict[str, Any]]:
    """Parse a text and yield one value.

    Args:
        text: lines end with a line feed.
        language: a name in `GRAMMARS`.

    Yields:
        `symbols`: rows of name, kind, start, end, signature start, signature end, parent's row or -1, in order;
        `cuts`: pairs of line and depth where a node begins on its line; `imports` and `comments`: pairs of first and
        last line; `docs`: triples of first line, last line and the symbol's row; `errors`: whether the syntax has any.

    Raises:
        ImportError: the language's wheel is not installed.
    """
    data = text.encode("utf-8", "surrogatepass")
    tree = _parser(language).parse(data)
    assert tree is not None
    yield _Walk(GRAMMARS[language], data, tree.root_node).outline()


def _parser(language: str) -> Parser:
    found = _parsers.get(language)
    if found is None:
        from tree_sitter import Language, Parser

        grammar = GRAMMARS[language]
        pointer: object = getattr(importlib.import_module(grammar.module), grammar.function)()
        found = Parser(Language(pointer))
        _parsers[language] = found
    return found


class _Places:
    """Converts byte offsets to code points, line by line."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._ascii = data.isascii()
        self._bytes = [0]
        self._points = [0]
        for line in () if self._ascii else data.split(b"\n"):
            self._bytes.append(self._bytes[-1] + len(line) + 1)
            self._points.append(self._points[-1] + len(_text(line)) + 1)

    def point(self, offset: int) -> int:
        """Return the code point at a byte offset."""
        if self._ascii:
            return offset
        line = bisect_right(self._bytes, offset) - 1
        return self._points[line] + len(_text(self._data[self._bytes[line] : offset]))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


class _Walk:
    """Walks through one tree once."""

    def __init__(self, grammar: Grammar, data: bytes, root: Node) -> None:
        self._grammar = grammar
        self._data = data
        self._root = root
        self._places = _Places(data)
        self._symbols: list[list[Any]] = []
        self._levels: list[int] = []
        self._cuts: dict[int, int] = {}
        self._imports: list[tuple[int, int]] = []
        self._comments: list[tuple[int, int]] = []
        self._docs: list[tuple[int, int, int]] = []
        self._glued: set[int] = set()

    def outline(self) -> dict[str, Any]:
        """Return what `parse` yields."""
        waiting: list[tuple[Node, int, int]] = [(child, 0, -1) for child in reversed(self._root.named_children)]
        while waiting:
            node, depth, parent = waiting.pop()
            inner = self._visit(node, depth, parent)
            holds = node.end_point.row > node.start_point.row or node.type in self._grammar.wrappers
            if holds and depth < _DEEPEST and node.type not in _NO_INSIDE:
                waiting.extend((child, depth + 1, inner) for child in reversed(node.named_children))
        for line in self._glued:
            self._cuts.pop(line, None)
        return {
            "symbols": self._symbols,
            "cuts": sorted(self._cuts.items()),
            "imports": self._imports,
            "comments": self._comments,
            "docs": self._docs,
            "errors": self._root.has_error,
        }

    def _visit(self, node: Node, depth: int, parent: int) -> int:
        """Record one node; return the row of the symbol that contains its children."""
        kind = node.type
        first, column = node.start_point
        if not column or not self._data[node.start_byte - column : node.start_byte].strip():
            self._cuts[first] = min(depth, self._cuts.get(first, depth))
        if kind in _COMMENTS:
            self._comments.append((first, _last_row(node)))
        elif kind in self._grammar.imports:
            self._imports.append((first, _last_row(node)))
        elif kind in self._grammar.symbols and len(self._symbols) < _MOST_SYMBOLS:
            level = self._levels[parent] + 1 if parent >= 0 else 1
            name = self._name(node) if level <= _MOST_LEVELS else ""
            if name:
                self._levels.append(level)
                return self._symbol(node, name, parent, depth)
        return parent

    def _line_start(self, node: Node) -> int:
        return node.start_byte - node.start_point.column

    def _symbol(self, node: Node, name: str, parent: int, depth: int) -> int:
        outer = self._outer(node)
        first = self._opening(outer)
        body = _body(node)
        named = outer if outer.start_point.row == node.start_point.row else node
        stop = body.start_byte if body is not None else self._line_end(node)
        stop = min([stop, *(child.start_byte for child in node.named_children if child.type in _COMMENTS)])
        signature = self._data[named.start_byte : stop].rstrip(b" \t\n{:=\\")
        end_of_signature = named.start_byte + max(len(signature), 1)
        row = len(self._symbols)
        places = [first.start_byte, max(outer.end_byte, node.end_byte), named.start_byte, end_of_signature]
        points = [self._places.point(place) for place in places]
        self._symbols.append([name, self._kind(node, parent), *points, parent])
        top, opens = first.start_point.row, node.start_point.row + signature.count(b"\n")
        self._glued.update(range(top + 1, opens + 1))
        if top < outer.start_point.row:
            self._docs.append((top, outer.start_point.row - 1, row))
        if top not in self._glued:
            self._cuts[top] = min(depth, self._cuts.get(top, depth))
        docstring = _docstring(body)
        if docstring is not None:
            self._docs.append((docstring.start_point.row, _last_row(docstring), row))
        return row

    def _kind(self, node: Node, parent: int) -> str:
        kind = self._grammar.symbols[node.type]
        if kind == "function" and parent >= 0 and self._symbols[parent][1] in _HOLDERS:
            return "method"
        if node.type == "variable_declarator":
            value = node.child_by_field_name("value")
            return "class" if value is not None and value.type == "class" else kind
        return kind

    def _line_end(self, node: Node) -> int:
        stop = self._data.find(b"\n", node.start_byte, node.end_byte)
        return node.end_byte if stop < 0 else stop

    def _outer(self, node: Node) -> Node:
        """Return the outermost wrapper that contains only this definition."""
        outer = node
        while outer.parent is not None and outer.parent.type in self._grammar.wrappers:
            siblings = [child for child in outer.parent.named_children if child.type in self._grammar.symbols]
            if len(siblings) > 1:
                break
            outer = outer.parent
        return outer

    def _opening(self, outer: Node) -> Node:
        """Return the first of the comments and attributes directly above a definition."""
        first = outer
        while True:
            above = first.prev_named_sibling
            if above is None or above.type not in _COMMENTS | self._grammar.attached:
                return first
            own_line = not self._data[self._line_start(above) : above.start_byte].strip()
            if not own_line or _last_row(above) < first.start_point.row - 1:
                return first
            first = above

    def _name(self, node: Node) -> str:
        if node.type in _VALUED:
            value = node.child_by_field_name("value")
            if value is None or value.type not in _FUNCTIONS:
                return ""
            return self._words(node.child_by_field_name(_VALUED[node.type])).strip("'\"")
        if node.type == "assignment_expression":
            right = node.child_by_field_name("right")
            if right is None or right.type not in _FUNCTIONS:
                return ""
            return self._words(node.child_by_field_name("left"))
        if node.type in _C_TYPES and node.child_by_field_name("body") is None:
            return ""
        if node.type == "impl_item":
            owner, trait = node.child_by_field_name("type"), node.child_by_field_name("trait")
            named = self._words(owner)
            return f"{self._words(trait)} for {named}" if trait is not None else named
        found = node.child_by_field_name("name") or _declared(node)
        name = self._words(found)
        receiver = node.child_by_field_name("receiver") if node.type == "method_declaration" else None
        if receiver is not None:
            owner = self._words(receiver).strip("()").split("[", maxsplit=1)[0].split()
            name = f"{owner[-1].lstrip('*')}.{name}" if owner else name
        if not name:
            name = {"init_declaration": "init", "companion_object": "companion"}.get(node.type, "")
        return name

    def _words(self, node: Node | None) -> str:
        if node is None:
            return ""
        return " ".join(_text(self._data[node.start_byte : node.end_byte]).split())[:200]


def _last_row(node: Node) -> int:
    """Return a node's last line; a node that ends with its line feed ends on the line before."""
    end = node.end_point
    return max(node.start_point.row, end.row - 1 if end.column == 0 and end.row > node.start_point.row else end.row)


_WHOLE_NAMES = frozenset({"qualified_identifier", "identifier", "destructor_name"})


def _declared(node: Node) -> Node | None:
    """Follow C's declarators down to the name."""
    found = node.child_by_field_name("declarator")
    while found is not None:
        inner = found.child_by_field_name("declarator")
        if inner is None:
            named = [child for child in found.named_children if child.type.endswith("identifier")]
            return named[0] if named and found.type not in _WHOLE_NAMES else found
        found = inner
    return None


def _body(node: Node) -> Node | None:
    body = node.child_by_field_name("body")
    if body is not None:
        return body
    value = node.child_by_field_name("value") or node.child_by_field_name("right") or node.child_by_field_name("type")
    inner = value.child_by_field_name("body") if value is not None else None
    if inner is not None:
        return inner
    holders = value.named_children if value is not None and node.type == "type_spec" else node.named_children
    return next((child for child in holders if child.type in _BODIES), None)


def _docstring(body: Node | None) -> Node | None:
    """Return the docstring of a Python body."""
    if body is None or body.type != "block" or not body.named_children:
        return None
    first = body.named_children[0]
    if first.type == "expression_statement" and first.named_children and first.named_children[0].type == "string":
        return first
    return first if first.type == "string" else None
