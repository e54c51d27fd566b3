"""Which language a media type means, and how its texts without a grammar are laid out: definitions told by their lines.

A rule is a regular expression that a definition's first line fits, with a group `name`. How far the definition goes is
told by its indentation. Rules look at one line, shortened, so that no text can make them slow.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["LANGUAGES", "RULES", "Rule", "language_of"]

LANGUAGES: Mapping[str, str] = {
    "text/x-python": "python",
    "text/javascript": "javascript",
    "text/x-typescript": "typescript",
    "text/x-tsx": "tsx",
    "text/x-java": "java",
    "text/x-go": "go",
    "text/x-rust": "rust",
    "text/x-c": "c",
    "text/x-c++": "cpp",
    "text/x-csharp": "csharp",
    "text/x-ruby": "ruby",
    "text/x-php": "php",
    "text/x-shellscript": "bash",
    "text/x-kotlin": "kotlin",
    "text/x-scala": "scala",
    "text/x-lua": "lua",
    "text/x-swift": "swift",
    "text/x-objective-c": "objective-c",
    "text/x-perl": "perl",
    "text/x-elixir": "elixir",
    "text/x-erlang": "erlang",
    "text/x-haskell": "haskell",
    "text/x-clojure": "clojure",
    "text/x-dart": "dart",
    "text/x-r": "r",
    "text/x-julia": "julia",
    "text/x-zig": "zig",
    "text/x-groovy": "groovy",
    "text/x-fsharp": "fsharp",
    "text/x-fortran": "fortran",
    "text/x-powershell": "powershell",
    "text/x-vb": "vb",
    "text/x-protobuf": "protobuf",
    "text/x-graphql": "graphql",
    "text/x-terraform": "terraform",
    "text/x-cmake": "cmake",
    "text/x-vue": "vue",
    "text/x-svelte": "svelte",
    "text/x-sql": "sql",
    "text/x-dockerfile": "dockerfile",
    "text/x-makefile": "makefile",
    "text/x-ini": "ini",
    "text/x-rst": "rst",
    "text/markdown": "markdown",
    "application/json": "json",
    "application/yaml": "yaml",
    "application/toml": "toml",
    "application/xml": "xml",
    "text/html": "html",
    "text/css": "css",
    "text/plain": "text",
}
"""Language name by media type; every one of them is read by `CodeReader`."""


def language_of(media_type: str) -> str:
    """Name the language of a media type, `text` where it is not known."""
    return LANGUAGES.get(media_type, "text")


@dataclass(frozen=True, slots=True)
class Rule:
    """Tell a definition's first line: what it defines, and the expression that it fits (group `name`)."""

    kind: str
    pattern: re.Pattern[str]


def _rules(*pairs: tuple[str, str]) -> tuple[Rule, ...]:
    return tuple(Rule(kind, re.compile(pattern)) for kind, pattern in pairs)


_NAME = r"(?P<name>[\w.$:]+)"
_C_LIKE = (
    ("class", rf"\s*(?:(?:public|private|abstract|final|sealed|open|data|base) )*(?:class|struct|trait) {_NAME}"),
    ("interface", rf"\s*(?:(?:public|private|abstract) )*(?:interface|protocol|mixin) {_NAME}"),
    ("enum", rf"\s*(?:(?:public|private) )*enum(?: class)? {_NAME}"),
    ("function", rf"\s*(?:(?:export|pub|public|private|static|async|def|fun|fn|func|function) )+{_NAME}\s*[(<]"),
    (
        "function",
        rf"(?!\s*(?:if|for|while|switch|return|else|catch)\b)\s*[\w<>\[\]?,*]+ [*]?{_NAME}\([^;]*\)[^;]*\{{\s*$",
    ),
)

RULES: Mapping[str, tuple[Rule, ...]] = {
    "toml": _rules(("table", r"\[+\s*(?P<name>[^\]]+?)\s*\]+")),
    "ini": _rules(("section", r"\[\s*(?P<name>[^\]]+?)\s*\]")),
    "yaml": _rules(("key", r"(?P<name>[\w./-]+|\"[^\"]+\"|'[^']+'):(?:\s|$)")),
    "json": _rules(("key", r"(?: {1,4}|\t)\"(?P<name>[^\"]+)\"\s*:")),
    "css": _rules(("rule", r"(?P<name>[^\s@/{}][^{};]*?)\s*\{\s*$"), ("rule", r"(?P<name>@[^{};]+?)\s*\{\s*$")),
    "sql": _rules(
        (
            "definition",
            r"(?i)\s*create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+|unique\s+|materialized\s+)*"
            r"(?:table|view|index|function|procedure|trigger|type|schema|sequence|database)\s+(?:if\s+not\s+exists\s+)?"
            r"(?P<name>[\w.\"`\[\]]+)",
        ),
        ("change", r"(?i)\s*alter\s+table\s+(?:only\s+)?(?P<name>[\w.\"`\[\]]+)"),
    ),
    "dockerfile": _rules(
        ("stage", r"(?i)from\s+\S+(?:\s+\S+)*?\s+as\s+(?P<name>\S+)"), ("stage", r"(?i)from\s+(?P<name>\S+)")
    ),
    "makefile": _rules(
        ("target", r"(?P<name>[\w./%$(){}-]+(?: [\w./%$(){}-]+)*)\s*::?(?!=)"),
        ("define", r"define\s+(?P<name>\S+)"),
    ),
    "cmake": _rules(
        ("function", r"(?i)\s*(?:function|macro)\s*\(\s*(?P<name>\w+)"),
        ("target", r"(?i)\s*add_(?:executable|library|custom_target)\s*\(\s*(?P<name>[\w${}:-]+)"),
    ),
    "elixir": _rules(
        ("module", rf"\s*(?:defmodule|defprotocol|defimpl) {_NAME}"),
        ("function", r"\s*(?:def|defp|defmacro|defmacrop|defguard) (?P<name>[\w?!]+)"),
    ),
    "erlang": _rules(("function", r"(?P<name>[a-z]\w*)\(.*\)\s*(?:when .*)?->")),
    "haskell": _rules(
        ("type", r"(?:data|newtype|type|class|instance) (?P<name>[^=]+?)(?: where| =|$)"),
        ("function", r"(?P<name>[a-z_][\w']*)\s*::"),
    ),
    "clojure": _rules(
        ("function", r"\((?:defn-?|defmacro|defmulti|defmethod|def|defprotocol|defrecord|ns)\s+(?P<name>[^\s\[\])(]+)")
    ),
    "perl": _rules(("package", r"package (?P<name>[\w:]+)"), ("function", r"\s*sub (?P<name>\w+)")),
    "r": _rules(("function", r"\s*(?P<name>[\w.]+)\s*(?:<-|=)\s*function\b")),
    "julia": _rules(
        ("module", r"\s*(?:baremodule|module) (?P<name>\w+)"),
        ("struct", r"\s*(?:mutable )?struct (?P<name>\w+)"),
        ("function", r"\s*(?:function|macro) (?P<name>[\w.!]+)"),
        ("function", r"(?P<name>[\w.!]+)\([^=]*\)\s*=[^=]"),
    ),
    "fsharp": _rules(
        ("module", r"\s*module (?:rec )?(?P<name>[\w.]+)"),
        ("type", r"\s*(?:type|and) (?P<name>\w+)"),
        ("function", r"\s*(?:let|member|static member|override)(?: rec| inline)? (?P<name>[\w.]+)"),
    ),
    "fortran": _rules(
        ("module", r"(?i)\s*(?:sub)?module\s+(?P<name>\w+)\s*$"),
        ("function", r"(?i)\s*(?!end)(?:[\w()*,= ]+\s)?(?:function|subroutine|program)\s+(?P<name>\w+)"),
    ),
    "powershell": _rules(("function", r"(?i)\s*(?:function|filter|class|enum) (?P<name>[\w:-]+)")),
    "vb": _rules(
        (
            "class",
            r"(?i)\s*(?:(?:public|private|friend|partial) )*(?:class|module|structure|interface|enum) (?P<name>\w+)",
        ),
        ("function", r"(?i)\s*(?:(?:public|private|friend|shared|overrides) )*(?:sub|function|property) (?P<name>\w+)"),
    ),
    "protobuf": _rules(
        ("message", r"\s*(?:message|enum|service|extend|oneof) (?P<name>[\w.]+)"), ("rpc", r"\s*rpc (?P<name>\w+)")
    ),
    "graphql": _rules(
        ("type", r"(?:extend )?(?:type|interface|enum|input|union|scalar|directive) (?P<name>@?\w+)"),
        ("operation", r"(?:query|mutation|subscription|fragment) (?P<name>\w+)"),
    ),
    "terraform": _rules(
        ("block", r"(?P<name>(?:resource|data|module|variable|output|provider)\s+\"[^\"]+\"(?:\s+\"[^\"]+\")?)"),
        ("block", r"(?P<name>locals|terraform)\s*\{"),
    ),
    "objective-c": _rules(
        ("class", r"@(?:interface|implementation|protocol) (?P<name>\w+)"),
        ("method", r"[-+]\s*\([^)]*\)\s*(?P<name>\w+)"),
        ("function", rf"(?!(?:if|for|while|switch|return|else)\b)[\w*]+ [\w* ]*{_NAME}\([^;]*\)\s*\{{?\s*$"),
    ),
    "zig": _rules(
        ("function", r"\s*(?:(?:pub|export|inline|extern) )*fn (?P<name>\w+)"),
        ("type", r"\s*(?:pub )?const (?P<name>\w+) = (?:packed |extern )?(?:struct|enum|union)"),
        ("test", r"\s*test \"(?P<name>[^\"]+)\""),
    ),
    "vue": _rules(("block", r"<(?P<name>template|script|style)\b")),
    "svelte": _rules(("block", r"<(?P<name>script|style)\b")),
    **{language: _rules(*_C_LIKE) for language in ("dart", "groovy")},
}
"""Rules by language, tried in order on each line."""
