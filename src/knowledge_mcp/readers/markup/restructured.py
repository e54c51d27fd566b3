"""Child process: reStructuredText by docutils, with file insertion and raw output disabled.

Directives and roles that docutils does not know (those of Sphinx and its extensions) keep their words: an unknown
directive yields its argument and its content, an unknown role its text. What docutils cannot parse is kept as it is
written, and reported in a warning.
"""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from docutils import core, nodes
from docutils.parsers.rst import Directive, Parser, directives, roles, states
from docutils.transforms import Transform
from docutils.utils import SystemMessage

from knowledge_mcp.language.openings import ADMONITIONS
from knowledge_mcp.readers.html.walk import html_pieces
from knowledge_mcp.readers.requirements.texts import needs_of
from knowledge_mcp.readers.shared.containers import corrupted
from knowledge_mcp.readers.shared.pieces import Piece, facts, messages
from knowledge_mcp.readers.shared.text import nonblank_text_of
from knowledge_mcp.support.sandbox_worker import Refusal
from knowledge_mcp.support.wording import list_first

_EXPECTED = "a reStructuredText file"
_MOST_BYTES = 16_000_000
_MOST_LINE = 100_000
"""Longest line in characters that docutils reads; for longer ones its patterns take too long."""
_SETTINGS: Mapping[str, Any] = {
    "_disable_config": True,
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "embed_stylesheet": False,
    "stylesheet_path": None,
    "halt_level": 5,
    "report_level": 2,
    "syntax_highlight": "none",
    "math_output": "LaTeX",
    "smart_quotes": False,
    "line_length_limit": _MOST_LINE,
    "input_encoding": "unicode",
    "output_encoding": "unicode",
    "toc_backlinks": False,
    "footnote_backlinks": False,
    "dump_settings": False,
    "dump_internals": False,
    "dump_transforms": False,
    "dump_pseudo_xml": False,
    "record_dependencies": None,
}
_CODE = frozenset({"code-block", "sourcecode", "literalinclude", "highlight", "productionlist", "prompt", "doctest"})
_NO_WORDS = frozenset({"index", "tabularcolumns", "toctree", "contents", "meta", "currentmodule", "default-domain"})
_VERSIONS: Mapping[str, str] = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
}
_CONDITIONS = frozenset({"ifconfig", "only"})
"""Their argument says when their content is shown."""
_REFERRING = frozenset({"need", "numref", "ref", "req", "term"})
_STRUCK = frozenset({"strike", "strikethrough", "strike-through", "line-through"})
"""Roles and classes of struck-out words, besides docutils' own (`del`)."""
_ROLE = re.compile(r"(?P<words>[^<]{1,1000})<(?P<target>[^<>]{1,1000})>")
_NUMBERED = frozenset({"pep", "rfc"})
"""Roles of a number; in Sphinx also of words with a number and a part of that document: "its rules <8#names>"."""
_HEADER = re.compile(r"([A-Za-z][\w-]{0,40}):(?: |$)")
_LINK = re.compile(r"`([^`<>]{1,300})<[^`<>]{1,1000}>`__?")
_MOST_LISTED = 5
_AT_LINE = "knowledge-at-line-"


_MOST_SUBSTITUTIONS = 100_000
"""Maximum substitutions, with nested ones: thirty definitions that use the next one twice are a billion."""


class _CountSubstitutions(Transform):
    """Refuse a file whose substitutions expand without end, before docutils expands them (at 220)."""

    default_priority = 219

    def apply(self, **_: Any) -> None:
        definitions: Mapping[str, Any] = self.document.substitution_defs
        names: Mapping[str, str] = self.document.substitution_names
        counts: dict[str, int] = {}

        def count(node: Any) -> int:
            return sum(1 + expanded(each["refname"]) for each in node.findall(nodes.substitution_reference))

        def expanded(name: str) -> int:
            key = name if name in definitions else names.get(name.lower(), "")
            if key in definitions and key not in counts:
                counts[key] = 0  # a circle, which docutils reports
                counts[key] = count(definitions[key])
            return counts.get(key, 0)

        if count(self.document) > _MOST_SUBSTITUTIONS:
            raise Refusal("too_large", "Its substitutions expand to more text than can be read.")


_LONGEST_PARAGRAPH = 4_000
"""Characters of a paragraph that docutils searches for marks at once: its time grows with their square. Paragraphs that
people write are shorter."""
_SENTENCE_END = re.compile(r"[.;:!?]\s")


def _read_in_parts(whole: Any, text: str, lineno: int, memo: Any, parent: Any) -> tuple[list[Any], list[Any]]:
    """Read a very long paragraph in parts that end with a sentence, any other as docutils (`whole`) does.

    A mark that begins in one part and ends in another stays as written, and docutils reports it.
    """
    if len(text) <= _LONGEST_PARAGRAPH:
        return whole(text, lineno, memo, parent)
    found: list[Any] = []
    said: list[Any] = []
    start = 0
    while start < len(text):
        end = _end_of_part(text, start)
        inlines, messages = whole(text[start:end], lineno, memo, parent)
        found.append(nodes.inline("", "", *inlines))  # docutils' time also grows with the square of the children
        said += messages
        start = end
    return found, said


def _end_of_part(text: str, start: int) -> int:
    """Return where the part that begins at `start` ends: behind the last sentence that it has room for, or a word."""
    most = start + _LONGEST_PARAGRAPH
    if len(text) <= most:
        return len(text)
    ends = [match.end() for match in _SENTENCE_END.finditer(text, start, most)]
    word = max(text.rfind(" ", start, most), text.rfind("\n", start, most)) + 1
    return ends[-1] if ends else word if word > start else most


class _Parser(Parser):
    def __init__(self) -> None:
        inliner: Any = states.Inliner()
        inliner.parse = functools.partial(_read_in_parts, inliner.parse)
        super().__init__(inliner=inliner)

    def get_transforms(self) -> list[type[Transform]]:
        return [*super().get_transforms(), _CountSubstitutions]


def restructured(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield the messages of a reStructuredText file, and its needs as items.

    Raises:
        Refusal: it is not text, or is empty, too large or nested too deeply.
    """
    text, warning = nonblank_text_of(path, _EXPECTED, most=_MOST_BYTES)
    if check:
        return
    yield from messages(_pieces(text, warning))
    yield {"items": [{**each, "anchor": nodes.make_id(each["id"])} for each in needs_of(text)]}


def _pieces(text: str, warning: str) -> Iterator[Piece]:
    _keep_unknown_words()
    text, header = _take_header(text)
    publishing: Any = core  # its types are partly unknown
    stream = io.StringIO()
    try:
        tree: Any = publishing.publish_doctree(
            text, parser=_Parser(), settings_overrides={**_SETTINGS, "warning_stream": stream}
        )
        metadata = header | _described(tree)
        unread = _settled(tree)
        _mark_lines(tree, text.splitlines())
        page: Any = publishing.publish_from_doctree(
            tree, writer="html5", settings_overrides={**_SETTINGS, "warning_stream": stream}
        )
    except RecursionError as error:
        raise Refusal("unsupported", "Its parts are nested too deeply to be read.") from error
    except (SystemMessage, AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise corrupted(_EXPECTED, error) from error
    yield from html_pieces(str(page), line_of=_marked_line)
    warnings = [warning] if warning else []
    if unread:
        warnings.append(f"Not read as markup, and kept as written: {list_first(unread, _MOST_LISTED, '; ')}.")
    title = metadata.get("title") or str(tree.get("title", ""))
    yield facts(title=title[:300], metadata=metadata, warnings=warnings)


def _take_header(text: str) -> tuple[str, dict[str, str]]:
    """Take the properties out of a file that begins as an email does, as Python's proposals do: with one for its title.

    Returns:
        The text with blank lines instead of the header, and the properties; unchanged if one of them would be empty.
    """
    lines = text.split("\n")
    first = next((place for place, line in enumerate(lines) if line.strip()), len(lines))
    end = next((place for place in range(first, len(lines)) if not lines[place].strip()), len(lines))
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines[first:end]:
        match = _HEADER.match(line)
        if match is not None:
            name = match[1].lower()
        elif not line[0].isspace():
            return text, {}
        found.setdefault(name, []).append(line[match.end() :] if match is not None else line)
    values = {
        name: " ".join(_LINK.sub(lambda link: link[1].strip(), " ".join(said)).split())[:4000]
        for name, said in found.items()
    }
    properties = {name: value for name, value in values.items() if name and value}
    has_text = any(line.strip() and not line.startswith("..") for line in lines[end:])
    if len(properties) < 2 or "title" not in properties or not has_text:
        return text, {}
    return "\n" * end + "\n".join(lines[end:]), properties


def _described(tree: Any) -> dict[str, str]:
    """Return the metadata in the fields at the beginning of the file."""
    metadata: dict[str, str] = {}
    for info in list(tree.findall(nodes.docinfo)):
        for field in info.children:
            if isinstance(field, nodes.field):
                name, words = field.children[0].astext(), field.children[1].astext()
            else:
                name, words = field.tagname, field.astext()
            key = "_".join(name.lower().split())[:60]
            if key and words.strip():
                metadata.setdefault(key, " ".join(words.split())[:4000])
        info.parent.remove(info)
    return metadata


def _mark_lines(tree: Any, lines: Sequence[str]) -> None:
    """Store the line of each node in its classes, which the page keeps; a title's line is that of its words."""
    for node in list(tree.findall(nodes.Element)):
        line = node.line
        if line is None:
            continue
        if isinstance(node, nodes.title):  # docutils reports the line below it
            words = node.astext()[:_MOST_LINE].split()[:1]
            above = range(min(line, len(lines)), max(line - 3, 0), -1)
            line = next((each for each in above if words and words[0] in lines[each - 1]), line)
        node["classes"].append(f"{_AT_LINE}{line}")


def _marked_line(element: Any) -> int:
    """Return the line that `_mark_lines` stored, 0 if there is none."""
    marks = [name for name in (element.get("class") or "").split() if name.startswith(_AT_LINE)]
    return int(marks[0].removeprefix(_AT_LINE)) if marks else 0


def _settled(tree: Any) -> list[str]:
    """Label notes in their words, and restore what was not understood as it is written; return what that is."""
    for note in list(tree.findall(nodes.Admonition)):
        label = ADMONITIONS.get(note.tagname)
        first = next((child for child in note.children if isinstance(child, nodes.paragraph)), None)
        if label and first is not None:
            first.insert(0, nodes.Text(f"{label}: "))
            _put_in_place(note, note.children)
    for listed in [each for each in tree.findall(nodes.topic) if "contents" in each.get("classes", ())]:
        listed.parent.remove(listed)
    for words in tree.findall(nodes.inline):
        if _STRUCK.intersection(words["classes"]):
            words["classes"] = ["del"]  # docutils then writes the element of that name
    for image in [each for each in tree.findall(nodes.image) if not each.get("alt")]:
        image.parent.remove(image)
    _part_again(tree)
    _lead_where_they_can(tree)
    unread: list[str] = []
    for message in list(tree.findall(nodes.system_message)):
        unread += _problem_in(message)
        kept = [child for child in message.children if isinstance(child, nodes.literal_block)]
        _put_in_place(message, kept)
    for waiting in (tree.parse_messages, tree.transform_messages):  # docutils would put them at the end of the text
        unread += [problem for message in waiting for problem in _problem_in(message)]
        waiting.clear()
    for section in list(tree.findall(nodes.section)):
        if not any(not isinstance(child, nodes.title) for child in section.children) and not section.astext().strip():
            section.parent.remove(section)
    return unread


def _problem_in(message: Any) -> list[str]:
    """Return the problem that a message of docutils reports, with its line; empty if it is only informational."""
    if message.get("level", 0) < 2:
        return []
    words = message.children[0].astext() if message.children else ""
    return [f"line {message.get('line', '?')}: {' '.join(words.split())[:120].rstrip('.')}"]


def _put_in_place(node: Any, others: Sequence[Any]) -> None:
    """Replace a node by others; the first element among them gets its names."""
    heir = next((each for each in others if isinstance(each, nodes.Element)), None)
    if heir is not None:
        heir["ids"].extend(node.get("ids", ()))
    at = node.parent.index(node)
    node.parent[at : at + 1] = list(others)


def _part_again(tree: Any) -> None:
    """Turn a subtitle back into a section: docutils makes one of the only section below the title."""
    subtitle = next(iter(tree.findall(nodes.subtitle)), None)
    if subtitle is None:
        return
    after = tree.children[tree.index(subtitle) + 1 :]
    section: Any = nodes.section("", nodes.title("", "", *subtitle.children), *after, ids=subtitle["ids"])
    tree.children = [*tree.children[: tree.index(subtitle)], section]
    section.parent = tree


def _lead_where_they_can(tree: Any) -> None:
    """Give references of unknown roles their section's title as text; unresolved ones become plain words."""
    places: dict[str, Any] = {name: node for node in tree.findall(nodes.Element) for name in node.get("ids", ())}
    places |= {name: tree.ids[node_id] for name, node_id in tree.nameids.items() if node_id in tree.ids}
    for reference in [each for each in tree.findall(nodes.reference) if each.get("asks")]:
        place = places.get(reference["refid"])
        if place is None:
            _put_in_place(reference, [nodes.Text(reference.astext())])
        elif reference["asks"] == "title" and isinstance(place, nodes.section):
            reference.children = [nodes.Text(place.children[0].astext())]


# ---- what docutils does not know ------------------------------------------------------------------------------------


class _Unknown(Directive):
    """Keep the words of an unknown directive: its argument, then its content as markup."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        name = self.name.lower()
        own = str(self.options.pop("id", "")).strip()
        words = ": ".join(part for part in (own, " ".join(self.arguments).strip()) if part)
        if name in _NO_WORDS:
            return []
        if name in _VERSIONS:
            words = f"{_VERSIONS[name]} {': '.join(words.split(None, 1))}"
        words = "" if name in _CONDITIONS else words
        if name in _CODE:
            text = "\n".join(self.content)
            return [nodes.literal_block(text, text)] if text.strip() else self._argument(words)
        label = ADMONITIONS.get(name, "")
        made: Any = nodes.container()
        made += self._argument(f"{label}: {words}" if label and words else words)
        if own and made.children:
            made.children[0]["ids"].append(nodes.make_id(own))
        options = [f"{option}: {' '.join(value.split())}" for option, value in self.options.items() if value]
        made += self._argument("; ".join(options)) if own else []
        self.state.nested_parse(self.content, self.content_offset, made)
        if label and not words and made.children and isinstance(made.children[0], nodes.paragraph):
            made.children[0].insert(0, nodes.Text(f"{label}: "))
        return made.children

    def _argument(self, words: str) -> list[nodes.Node]:
        if not words:
            return []
        found, problems = self.state.inline_text(words, self.lineno)
        paragraph = nodes.paragraph(words, "", *found)
        return [paragraph, *problems]


class _Options(dict[str, Callable[[str | None], Any]]):
    """Accept every option of a directive; those that are not known are text."""

    def __contains__(self, name: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True

    def __missing__(self, name: str) -> Callable[[str | None], str]:
        return lambda words: words or ""


_Unknown.option_spec = cast("Any", _Options())


@functools.cache
def _with_all_options(known: type[Directive]) -> type[Directive]:
    """Return a directive that accepts options of Sphinx too; a caption is a paragraph above its content."""

    class Accepting(known):
        option_spec = cast("Any", _Options(cast("Any", known.option_spec)))

        def run(self) -> list[nodes.Node]:
            caption = " ".join(str(self.options.pop("caption", "")).split())
            found = [*super().run()]
            return [nodes.paragraph(caption, caption), *found] if caption else found

    return Accepting


def _unknown_role(
    name: str, raw: str, text: str, line: int, inliner: Any, options: Any = None, content: Sequence[str] = ()
) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """Keep the words of an unknown role; a referring one links to the label of that name in this file."""
    del raw, line, inliner, options, content
    found = _ROLE.fullmatch(text)
    words = found["words"].strip() if found else text.lstrip("~!")
    target = (found["target"] if found else text).strip()
    label = nodes.make_id(target) if name.rpartition(":")[2] in _REFERRING else ""
    if not label:
        return [nodes.inline("", words, classes=[name]) if name in _STRUCK else nodes.Text(words)], []
    return [nodes.reference("", words, refid=label, asks="words" if found else "title")], []


def _numbered_role(
    known: Any, name: str, raw: str, text: str, line: int, inliner: Any, options: Any = None, content: Any = ()
) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """Read the words and the part that may be around the number of a role; without a number, keep the words."""
    found = _ROLE.fullmatch(text)
    number = (found["target"] if found else text).partition("#")[0].strip()
    if not (number.isascii() and number.isdigit()):
        return _unknown_role(name, raw, text, line, inliner)
    referring, problems = known(name, raw, number, line, inliner, options or {}, content)
    if found and not problems:
        referring[0].children = [nodes.Text(found["words"].strip())]
    return referring, problems


@functools.cache
def _keep_unknown_words() -> None:
    """Make docutils call the functions here for unknown directives and roles."""
    known_directive, known_role = directives.directive, roles.role

    def directive(name: str, language: Any, document: Any) -> Any:
        found, reports = known_directive(name, language, document)
        if isinstance(found, type) and found.option_spec:
            found = _with_all_options(found)
        return (found, reports) if found is not None else (_Unknown, [])

    def role(name: str, language: Any, line: int, reporter: Any) -> Any:
        found, reports = known_role(name, language, line, reporter)
        if found is not None and name in _NUMBERED:
            found = functools.partial(_numbered_role, found)
        return (found, reports) if found is not None else (_unknown_role, [])

    directives.directive, roles.role = directive, role
