"""The grammars of programming languages: where each lies, and which of its nodes are symbols, imports and comments.

Every grammar is a wheel of its own with the compiled parser inside; nothing is downloaded when a file is read. A
language whose wheel is not installed is read by its lines (`code_outline`), as is one without a grammar here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["GRAMMARS", "Grammar"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _kinds(text: str) -> dict[str, str]:
    """Read `node_type:kind` pairs."""
    pairs = (pair.partition(":") for pair in text.split())
    return {node: kind for node, _, kind in pairs}


@dataclass(frozen=True, slots=True)
class Grammar:
    """Describe one language's grammar.

    Attributes:
        module: the wheel's module.
        symbols: what a node type defines.
        imports: node types that bring other modules in, or name this one.
        wrappers: node types around one definition that belong to it (decorators, `export`, `template`).
        attached: node types that stand before a definition and belong to it, beside comments (attributes).
        function: the module's function that gives the language.
    """

    module: str
    symbols: Mapping[str, str]
    imports: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    attached: frozenset[str] = frozenset()
    function: str = "language"


_JAVASCRIPT = (
    "function_declaration:function generator_function_declaration:function class_declaration:class "
    "method_definition:method variable_declarator:function assignment_expression:function "
)
_TYPESCRIPT = _JAVASCRIPT + (
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
"""One grammar by language name."""
