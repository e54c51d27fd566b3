"""Source files as documents: their own text, their symbols as sections, whatever their language or state."""

from __future__ import annotations

import ast
from collections.abc import Generator
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.code import reader as code_module
from knowledge_mcp.readers.code.parse import GRAMMARS, parse
from knowledge_mcp.readers.code.reader import CodeReader
from knowledge_mcp.support.sandbox import Limits
from tests.machine import examples
from tests.readers.source_files import item_of, outline_of, read_text

SAMPLES: dict[str, tuple[str, list[str]]] = {
    "a.py": (
        "import os\n\n# about A\n@dataclass\nclass A(Base):\n    '''Doc é.'''\n    x = 1\n\n"
        "    async def f(self,\n                y):\n        return 1\n\ndef g(): pass\n",
        ["class A", "method A.f", "function g"],
    ),
    "a.js": (
        "import x from 'y';\nexports.f = function (a) {\n};\n"
        "export const g = (a) => {\n};\nclass C {\n  m() {\n  }\n}\n",
        ["function exports.f", "function g", "class C", "method C.m"],
    ),
    "a.ts": (
        "/** d */\nexport interface I {\n  x: number;\n}\nexport type T = {\n};\nenum E { A }\n"
        "export default class C<T> {\n  m(a: number): void {\n  }\n}\nnamespace N {\n  function f() {\n  }\n}\n",
        ["interface I", "type T", "enum E", "class C", "method C.m", "namespace N", "function N.f"],
    ),
    "a.tsx": ("export function App() {\n  return <div>hi</div>;\n}\n", ["function App"]),
    "A.java": (
        "package p;\nimport a.B;\n/** d */\n@X\npublic class A {\n  int x;\n  A() {\n  }\n  void f() {\n  }\n}\n",
        ["class A", "constructor A.A", "method A.f"],
    ),
    "a.go": (
        "package p\n\n// T is.\ntype T struct {\n\ta int\n}\n\n"
        "func (t *T) M(a int) error {\n\treturn nil\n}\n\nfunc F() {\n}\n",
        ["type T", "method T.M", "function F"],
    ),
    "a.rs": (
        "use a::b;\n/// d\n#[derive(X)]\nstruct S {\n  a: u8,\n}\nimpl<T> Tr for S {\n  fn f(&self) {\n  }\n}\n",
        ["struct S", "impl Tr for S", "method Tr for S.f"],
    ),
    "a.c": (
        "#include <a.h>\nstruct s {\n  int a;\n};\n/* d */\n"
        "static int *f(int a)\n{\n  return 0;\n}\n#define M(x) \\\n  x\n",
        ["struct s", "function f", "macro M"],
    ),
    "a.cpp": (
        "namespace n {\ntemplate <class T>\nclass A {\n  void f() {\n  }\n};\nint A::g(int a) {\n  return 1;\n}\n}\n",
        ["namespace n", "class n.A", "method n.A.f", "function n.A::g"],
    ),
    "a.cs": (
        "using A;\nnamespace B {\n  [X]\n  class C {\n    public int P { get; set; }\n    void F() {\n    }\n  }\n}\n",
        ["namespace B", "class B.C", "property B.C.P", "method B.C.F"],
    ),
    "a.rb": (
        "module A\n  # d\n  class B < C\n    def f(a)\n      1\n    end\n    def self.g\n    end\n  end\nend\n",
        ["module A", "class A.B", "method A.B.f", "method A.B.g"],
    ),
    "a.php": ("<?php\nclass D {\n  function e() {\n"
    "  }\n}\nfunction f() {\n}\n", ["class D", "method D.e", "function f"]),
    "a.sh": ("#!/bin/sh\nf() {\n  echo hi\n}\n", ["function f"]),
    "a.kt": (
        "package a\nclass A(val x: Int) {\n  companion object {\n"
        "    fun g() {\n    }\n  }\n  fun f(): Int {\n    return 1\n  }\n}\n",
        ["class A", "object A.companion", "method A.companion.g", "method A.f"],
    ),
    "a.scala": ("object O {\n  def f(a: Int): Int = {\n    a\n  }\n}\n", ["object O", "method O.f"]),
    "a.lua": ("local x = 1\nfunction M.f(a)\n  return a\nend\n", ["function M.f"]),
    "a.swift": (
        "struct A {\n  init(x: Int) {\n  }\n  func f() -> Int {\n    1\n  }\n}\nprotocol P {\n  func q()\n}\n",
        ["class A", "constructor A.init", "method A.f", "protocol P", "method P.q"],
    ),
    "a.ex": ("defmodule A do\n  def f(x) do\n    x\n  end\nend\n", ["module A", "function A.f"]),
    "a.toml": ("top = 1\n[a.b]\nx = 1\n\n[[c]]\ny = 2\n", ["table a.b", "table c"]),
    "a.ini": ("[one]\nx=1\n[two]\ny=2\n", ["section one", "section two"]),
    "a.yaml": ("name: x\njobs:\n  build:\n    steps: 1\n  test: 2\n", ["key name", "key jobs"]),
    "a.json": ('{\n  "name": "x",\n  "scripts": {\n    "a": 1\n  }\n}\n', ["key name", "key scripts"]),
    "a.css": (".a {\n  color: red;\n}\n@media print {\n  .b {\n  }\n}\n", ["rule .a", "rule @media print"]),
    "a.sql": (
        "-- d\nCREATE TABLE IF NOT EXISTS users (\n  id INT\n);\n\ncreate or replace view v as\nselect 1;\n",
        ["definition users", "definition v"],
    ),
    "Dockerfile": ("FROM a AS build\nRUN x\n\nFROM b\nCOPY y z\n", ["stage build", "stage b"]),
    "Makefile": ("CC = x\nall: a b\n\tcc\n\nclean:\n\trm\n", ["target all", "target clean"]),
    "a.proto": ("message M {\n  string a = 1;\n}\n"
    "service S {\n  rpc F (M) returns (M);\n}\n", ["message M", "message S", "rpc S.F"]),
    "a.tf": ('resource "aws_x" "y" {\n  a = 1\n}\n', ['block resource "aws_x" "y"']),
    "a.md": (
        "# One\n\nText.\n\n```sh\n# not a heading\n```\n\n## Two\n\nThree\n=====\n\nx\n",
        ["heading One", "heading One.Two", "heading Three"],
    ),
    "a.rst": ("Title\n=====\n\nText\n\nPart\n----\n\nMore\n", ["heading Title", "heading Title.Part"]),
    "a.txt": ("just\n\nwords\n", []),
    "a.html": ("<html>\n  <body>\n  </body>\n</html>\n", []),
}  # fmt: skip


@pytest.fixture(scope="module")
def reader() -> Generator[CodeReader]:
    made = CodeReader()
    yield made
    made.close()


def check_whole(document: Document, content: str) -> None:
    """Assert what holds for every document of code."""
    assert document.text == content
    covered = bytearray(len(content))
    lines = content.split("\n")
    for block in document.blocks:
        first, last = block.lines or (0, 0)
        assert block.span.of(content) == "\n".join(lines[first - 1 : last]).rstrip()
        covered[block.span.start : block.span.end] = b"\x01" * len(block.span)
        if block.section is not None:
            assert document.sections[block.section].span.start <= block.span.start
    assert [i for i, letter in enumerate(content) if not letter.isspace() and not covered[i]] == []
    assert all(one.span.end <= other.span.start for one, other in pairwise(document.blocks))
    for section in document.sections:
        assert 0 <= section.span.start <= section.heading.start < section.heading.end <= len(content)
        if section.parent is not None:
            assert section.parent < section.index
            assert document.sections[section.parent].span.contains(section.span)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_symbols_of_each_language_are_found_in_its_own_text(reader: CodeReader, name: str) -> None:
    content, symbols = SAMPLES[name]
    document = read_text(reader, name, content)
    assert outline_of(document) == symbols
    assert document.warnings == ()
    assert (document.id, document.title, document.source_uri) == (name, name, f"repo:{name}")
    check_whole(document, content)


@pytest.mark.parametrize(
    ("name", "content", "symbols"),
    [
        (
            "a.ts",
            "export type Id = string;\nexport class E extends Error {}\nexport const add = (a: number) => a + 1;\n"
            "export function one() { return 1 }\n",
            ["type Id", "class E", "function add", "function one"],
        ),
        (
            "b.ts",
            "class C {\n  onClick = async () => {\n  };\n  count = 1;\n}\n",
            ["class C", "method C.onClick"],
        ),
        (
            "a.js",
            "class C {\n  go = () => 1;\n}\nexport default {\n  close: function () {\n  },\n  n: 1,\n};\n",
            ["class C", "method C.go", "method close"],
        ),
        ("a.go", "package p\n\ntype ID string\n", ["type ID"]),
        ("a.cpp", "template <typename T> T most(T a, T b) { return a; }\n", ["function most"]),
    ],
)
def test_definitions_of_one_line_and_functions_held_by_fields_are_symbols(
    reader: CodeReader, name: str, content: str, symbols: list[str]
) -> None:
    assert outline_of(read_text(reader, name, content)) == symbols


def test_a_header_is_read_in_the_language_that_it_is_written_in(reader: CodeReader) -> None:
    content = "namespace n {\nclass Shape\n{\npublic:\n  virtual ~Shape() = default;\n  void f() {\n  }\n};\n}\n"
    document = read_text(reader, "a.h", content)
    assert dict(document.metadata)["language"] == "cpp"
    assert outline_of(document) == ["namespace n", "class n.Shape", "method n.Shape.~Shape", "method n.Shape.f"]
    assert document.warnings == ()
    plain = "/* The\n   class of what using it is\n   public */\nstruct s {\n  int class;\n};\n"
    assert dict(read_text(reader, "b.h", plain).metadata)["language"] == "c"


def test_every_grammar_is_installed_and_shown_by_a_sample(reader: CodeReader) -> None:
    assert reader.version == f"code-4 grammars={len(GRAMMARS)}"
    read = {dict(read_text(reader, name, content).metadata)["language"] for name, (content, _) in SAMPLES.items()}
    assert GRAMMARS.keys() <= read


def test_a_symbol_has_its_signature_its_comments_and_its_decorators(reader: CodeReader) -> None:
    document = read_text(reader, "a.py", SAMPLES["a.py"][0])
    cls, method, _ = document.sections
    assert cls.heading.of(document.text) == "class A(Base)"
    assert cls.span.of(document.text).startswith("# about A\n@dataclass\nclass A(Base):")
    assert cls.span.of(document.text).endswith("return 1")
    assert method.heading.of(document.text) == "async def f(self,\n                y)"
    markers = {block.lines: block.marker for block in document.blocks}
    assert markers[1, 1] == "import"
    assert markers[3, 5] == "class"
    assert markers[6, 6] == "doc"


def test_symbols_of_python_files_are_those_that_python_itself_sees(reader: CodeReader) -> None:
    root = Path(code_module.__file__).parents[1]
    for path in sorted(root.glob("readers/code*.py")) + sorted(root.glob("model/*.py")):
        content = path.read_text(encoding="utf-8")
        document = read_text(reader, path.name, content)
        check_whole(document, content)
        nodes = [
            node for node in ast.walk(ast.parse(content))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        ]  # fmt: skip
        expected = sorted((node.name, node.lineno, node.end_lineno) for node in nodes)
        line = [content.count("\n", 0, section.heading.start) + 1 for section in document.sections]
        last = [content.count("\n", 0, section.span.end - 1) + 1 for section in document.sections]
        names = [section.title for section in document.sections]
        assert sorted(zip(names, line, last, strict=True)) == expected


def test_syntax_errors_are_tolerated_and_reported(reader: CodeReader) -> None:
    content = "def good():\n    return 1\n\ndef bad(:\n    ((\n\nclass C:\n    def m(self):\n        pass\n"
    document = read_text(reader, "a.py", content)
    assert "good" in {section.title for section in document.sections}
    assert any("syntax errors" in warning for warning in document.warnings)
    check_whole(document, content)


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        ("größe = 1\r\nx = 2\r\n".encode(), "größe = 1\nx = 2\n", "utf-8"),
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n", "utf-8"),
        ("größe\n".encode("utf-16"), "größe\n", "utf-16"),
        ("groesse = 1\n".encode("utf-16-be"), "groesse = 1\n", "utf-16-be"),
        ("größe\n".encode("utf-32"), "größe\n", "utf-32"),
        ("# -*- coding: latin-1 -*-\n# größe\n".encode("latin-1"), "# -*- coding: latin-1 -*-\n# größe\n", "cp1252"),
        ("# coding: cp1251\n# привет\n".encode("cp1251"), "# coding: cp1251\n# привет\n", "cp1251"),
        (b"x = 1\ry = 2\r", "x = 1\ny = 2\n", "utf-8"),
        (b"x = 1\r\r\ny = 2 #\rz\n", "x = 1\ny = 2 #\rz\n", "utf-8"),
    ],
)
def test_odd_encodings_and_line_ends_are_read_and_no_line_moves(
    reader: CodeReader, data: bytes, text: str, encoding: str
) -> None:
    document = read_text(reader, "a.py", data)
    assert document.text == text
    assert dict(document.metadata)["encoding"] == encoding
    assert document.warnings == ()


@pytest.mark.parametrize("encoding", ["cp1252", "shift_jis", "gb18030"])
def test_an_encoding_that_nothing_names_is_guessed_with_a_warning(reader: CodeReader, encoding: str) -> None:
    words = {
        "cp1252": "# Die Größe der Prüfung wird hier für alle Räume geprüft, außer im Übergang.\n",
        "shift_jis": "# これは日本語のコメントです。設定を読み込みます。\n",
        "gb18030": "# 这是一个用来读取配置文件的函数，返回所有的设置。\n",
    }[encoding]
    document = read_text(reader, "a.py", (words * 5).encode(encoding))
    assert document.text == words * 5
    assert any("not UTF-8" in warning for warning in document.warnings)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ('def grüße():\n    """Sagt Grüße in Latin-1."""\n    return "Schöne Grüße"\n', "cp1252"),
        ("# Costs £5 or more\n", "cp1252"),
        ("# It’s “good” – really… don’t\n", "mac_roman"),
        ("# Größe der Fläche für später\n", "mac_roman"),
    ],
)
def test_a_few_letters_of_latin_1_are_not_taken_for_those_of_a_mac_or_of_japan(
    reader: CodeReader, text: str, encoding: str
) -> None:
    assert read_text(reader, "a.py", text.encode(encoding)).text == text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", UnreadableReason.EMPTY),
        (b" \n\t\n", UnreadableReason.EMPTY),
        (b"\x00\x01\x02\x03" * 50, UnreadableReason.UNSUPPORTED),
        (b"\xff\xfe" + b"\x00\xd8" * 9, UnreadableReason.UNSUPPORTED),
        (b"x" * (16 * 1024 * 1024 + 1), UnreadableReason.TOO_LARGE),
    ],
)
def test_what_is_no_text_is_refused_with_its_reason(reader: CodeReader, data: bytes, reason: UnreadableReason) -> None:
    for ask in (reader.check, reader.read):
        with pytest.raises(UnreadableDocumentError) as caught:
            ask(item_of("a.py", data))
        assert caught.value.reason is reason


def test_a_file_that_is_gone_is_reported(reader: CodeReader, tmp_path: Path) -> None:
    item = SourceItem("repo:a.py", "a.py", "text/x-python", 1, "0", partial((tmp_path / "a.py").open, "rb"))
    with pytest.raises(UnreadableDocumentError) as caught:
        reader.check(item)
    assert caught.value.reason is UnreadableReason.INACCESSIBLE


def test_a_parser_that_takes_too_long_leaves_the_file_to_its_lines() -> None:
    reader = CodeReader(limits=Limits(memory=768 << 20, seconds=0.01, silence=0.01))
    content = "x = " + "(" * 400_000 + "\ny = 2\n"
    document = read_text(reader, "a.py", content)
    reader.close()
    assert dict(document.metadata)["structure"] == "lines"
    assert any("cut by lines" in warning for warning in document.warnings)
    check_whole(document, content)


def test_a_language_whose_grammar_is_missing_is_read_by_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(module: str) -> bool:
        return False

    monkeypatch.setattr(code_module, "is_installed", missing)
    reader = CodeReader()
    content = SAMPLES["a.py"][0]
    document = read_text(reader, "a.py", content)
    reader.close()
    assert any("clausewise[code]" in warning for warning in document.warnings)
    assert reader.version == "code-4 grammars=0"
    check_whole(document, content)


def test_deep_nesting_and_very_long_lines_end_nothing(reader: CodeReader) -> None:
    for name, content in {
        "a.py": "".join(" " * depth + "if x:\n" for depth in range(90)) + " " * 90 + "pass\n",
        "b.js": "[" * 3000 + "]" * 3000 + "\n",
        "c.json": "[\n" * 2000 + "]\n" * 2000,
        "d.c": "int a = " + "1 + " * 20_000 + "1;\n",
        "e.md": "# a\n" * 5000 + "###### b\n" * 5000,
        "f.yaml": "".join(" " * min(depth, 300) + f"k{depth}:\n" for depth in range(3000)),
    }.items():
        check_whole(read_text(reader, name, content), content)


LINES = st.sampled_from(
    ["def f(x):", "    return x", "class A:", "  b = 1", "", "}", "{", "func g() {", "# c", "/* d", "*/", "import x",
     "é = 'ü😀'", "\tx", "end", "@dec", '"""', "# Head", "====", "- item", "```", "[table]", "key: value", ");", "  )",
     "a\rb"]
)  # fmt: skip


@settings(max_examples=examples(40))
@given(lines=st.lists(LINES, min_size=1, max_size=25), name=st.sampled_from(sorted(SAMPLES)))
def test_whatever_stands_in_a_file_no_text_is_lost_and_no_line_is_wrong(
    reader: CodeReader, lines: list[str], name: str
) -> None:
    content = "\n".join(lines)
    read = content if "\n" in content else content.replace("\r", "\n")  # lone returns end lines if nothing else does
    if content.strip():
        check_whole(read_text(reader, name, content), read)


def test_the_parser_itself_says_what_it_found() -> None:
    (found,) = parse("import a\n\n# é\ndef f(x):\n    return x\n", "python")
    assert [row[:2] for row in found["symbols"]] == [["f", "function"]]
    assert found["imports"] == [(0, 0)]
    assert found["docs"] == [(2, 2, 0)]
    assert not found["errors"]
