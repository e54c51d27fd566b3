"""Child process: requirements in text files: StrictDoc, Doorstop, sphinx-needs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from knowledge_mcp.readers.shared.containers import corrupted, member, mislabelled, open_archive, too_large
from knowledge_mcp.readers.shared.text import NotTextError, decode_text

_MOST_BYTES = 64_000_000


def _text_of(path: str, kind: str) -> str:
    if Path(path).stat().st_size > _MOST_BYTES:
        raise too_large(f"the file has more than {_MOST_BYTES} bytes")
    try:
        return decode_text(Path(path).read_bytes()).text
    except NotTextError as error:
        raise corrupted(kind, error) from error


# ---- StrictDoc

_OPENED = re.compile(r"\[(\[?)(/?)([A-Z][A-Z0-9_]*)\]{1,2}\s*")
_FIELD = re.compile(r"([A-Z][A-Za-z0-9_]*):(?: (.*))?")
_RELATION = re.compile(r"\s*(?:- )?(TYPE|VALUE|ROLE): (.*)")
_CONTAINERS = frozenset({"DOCUMENT", "GRAMMAR", "SECTION", "COMPOSITE", "DOCUMENT_FROM_FILE", "VIEWS"})


def strictdoc(path: str) -> Iterator[dict[str, Any]]:
    """Yield the title, then the sections and every other node, with the sections' numbers as levels.

    A node without UID has its MID as id; a node with neither has an id made from its level.

    Raises:
        Refusal: it is not a .sdoc file.
    """
    lines = _text_of(path, "a StrictDoc file").split("\n")
    if not any(line.strip() == "[DOCUMENT]" for line in lines):
        raise mislabelled("a StrictDoc file", "a text without [DOCUMENT]")
    counts = [0]
    place = 0
    while place < len(lines):
        opened = _OPENED.fullmatch(lines[place])
        place += 1
        if opened is None:
            continue
        begun, (doubled, closing, tag) = place, opened.groups()
        if closing:
            counts = counts[:-1] or [0]
            continue
        fields, links, place = _fields(lines, place)
        if tag == "DOCUMENT":
            yield {"title": fields.get("TITLE", "")}
        if tag in {"DOCUMENT", "GRAMMAR", "VIEWS", "DOCUMENT_FROM_FILE"}:
            continue
        counts[-1] += 1
        level = ".".join(map(str, counts))
        if tag in _CONTAINERS:
            yield {"section": fields.get("TITLE", ""), "level": level}
        else:
            yield {
                "id": fields.get("UID") or fields.get("MID") or f"{tag}-{level}",
                "heading": fields.get("TITLE", ""),
                "text": fields.get("STATEMENT") or fields.get("CONTENT", ""),
                "level": level,
                "kind": tag,
                "attributes": fields,
                "links": links,
                "line": begun,
                "informative": tag == "TEXT",
            }
        if doubled:
            counts.append(0)


def _fields(lines: Sequence[str], place: int) -> tuple[dict[str, str], list[list[str]], int]:
    """Read the fields below a node's opening line; return them, its relations, and the index of the next line."""
    fields: dict[str, str] = {}
    links: list[list[str]] = []
    relation: dict[str, str] = {}
    listing = False
    while place < len(lines) and _OPENED.fullmatch(lines[place]) is None:
        line = lines[place]
        place += 1
        field = _FIELD.fullmatch(line)
        if field is not None:
            name, value = field[1], field[2] or ""
            listing = name in {"RELATIONS", "REFS"}
            if value.strip() == ">>>":
                end = next((at for at in range(place, len(lines)) if lines[at].rstrip() == "<<<"), len(lines))
                value, place = "\n".join(lines[place:end]), end + 1
            fields[name] = f"{fields[name]}\n\n{value}" if fields.get(name) else value
        elif listing and (part := _RELATION.fullmatch(line)) is not None:
            if part[1] == "TYPE":
                relation = {}
            relation[part[1]] = part[2].strip()
            if part[1] == "VALUE":
                links.append([relation["VALUE"], relation.get("TYPE", "")])
            elif part[1] == "ROLE" and links:
                links[-1][1] = f"{relation.get('TYPE', '')} {relation['ROLE']}".strip()
        if listing and field is None and line.strip():
            fields["RELATIONS"] = f"{fields.get('RELATIONS', '')}\n{line}".strip("\n")
    return fields, links, place


# ---- Doorstop


def doorstop(path: str) -> Iterator[dict[str, Any]]:
    """Yield the item of a Doorstop file, without an id, which is the file's name; nothing if it is inactive.

    Raises:
        Refusal: it is not YAML, or not an item.
    """
    yield from _doorstop_item(_text_of(path, "a Doorstop item"))


def doorstop_folder(path: str) -> Iterator[dict[str, Any]]:
    """Yield the items of a folder that was packed into an archive, ordered by level.

    Raises:
        Refusal: it is not an archive of Doorstop items.
    """
    items: list[tuple[list[int], dict[str, Any]]] = []
    with open_archive(path, "a folder of Doorstop items") as archive:
        for name in archive.namelist():
            if name.startswith("."):
                continue
            try:
                text = decode_text(member(archive, name) or b"").text
            except NotTextError as error:
                raise corrupted(f"a Doorstop item ({name})", error) from error
            for each in _doorstop_item(text, name):
                level = [int(part) for part in re.findall(r"\d+", each["level"])]
                items.append((level, {**each, "id": name.rpartition(".")[0], "line": 0}))
    if not items:
        raise mislabelled("a folder of Doorstop items", "one without active items")
    yield from (each for _, each in sorted(items, key=lambda pair: (pair[0], pair[1]["id"])))


def _doorstop_item(text: str, name: str = "") -> Iterator[dict[str, Any]]:
    import yaml

    kind = f"a Doorstop item ({name})" if name else "a Doorstop item"
    try:
        # every scalar is kept as written: level 1.10 is not 1.1
        found: Any = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - makes strings, lists and mappings only
    except (yaml.YAMLError, RecursionError) as error:
        raise corrupted(kind, error) from error
    if not isinstance(found, dict) or "text" not in found:
        raise mislabelled(kind, "other YAML")
    fields = cast("dict[str, Any]", found)
    if str(fields.get("active", "true")).lower() == "false":
        return
    listed = cast("list[str | dict[str, Any]]", fields.get("links") or [])
    normative = str(fields.get("normative", "true")).lower() == "true"
    named = [name for each in listed for name in ([each] if isinstance(each, str) else each)]
    yield {
        "id": "",
        "heading": str(fields.get("header") or "").strip(),
        "text": str(fields["text"]).strip(),
        "level": str(fields.get("level", "")),
        "kind": "normative" if normative else "informative",
        "informative": not normative,
        "attributes": {name: _written(value) for name, value in fields.items()},
        "links": [[each, "parent"] for each in named],
        "line": 1,
    }


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


# ---- sphinx-needs

_DIRECTIVE = re.compile(r"( {0,60})\.\. ([A-Za-z][A-Za-z0-9_-]{0,60})::(?: +(\S.*))?")
_OPTION = re.compile(r" +:([A-Za-z0-9_-]+):(?: +(.*))?")
_NEED = re.compile(r"[A-Z0-9_]{5,}")
"""The default pattern of ids in sphinx-needs, which a project may replace."""
_RUNS = ((re.compile("[a-z]+"), "a"), (re.compile("[A-Z]+"), "A"), (re.compile("[0-9]+"), "9"))
_WORDS = re.compile("([aA])(?:[_.-][aA])+(?![a-zA-Z0-9])")
"""Joined words of an id in its form."""
_OF_KINDS = re.compile(r"[A-Za-z0-9]\w{0,60}?__[\w.-]{1,200}")
"""An id whose first part is the kind of the need: "feat_req__safety__start"."""
_BETWEEN = re.compile(r"[,;](?![^\[\]]{0,200}\])")
"""What separates targets, but not the parts of a condition after one: "REQ_1[version in ['1', '2']]"."""
_NO_LINKS = frozenset({"id", "status", "tags", "title"})
_REPORTS = frozenset({"test-report", "test-file"})
"""They have an id but stand for files of results that are read when the pages are built."""
_KNOWN_FIELDS = frozenset({"id", "title", "content", "description", "type", "sections", "docname", "lineno"})


def sphinx_needs(path: str) -> Iterator[dict[str, Any]]:
    """Yield the needs of a page: directives with the option `id`, also nested ones.

    Raises:
        Refusal: it is not text.
    """
    yield from needs_of(_text_of(path, "a reStructuredText file"))


def needs_of(page: str) -> Iterator[dict[str, Any]]:
    """Yield the needs in the text of a page; as `sphinx_needs`."""
    needs = list(_needs(page.split("\n")))
    ids = {each["id"] for each in needs}
    is_default = any(map(str.isupper, ids))
    forms = set(map(_form, ids)) - {""}

    def is_id(part: str) -> bool:
        whole = part.partition(".")[0]  # of "REQ_1.2", the second part of it
        is_like = bool({part, whole} & ids or {_form(part), _form(whole)} & forms)
        return is_like or (is_default and _NEED.fullmatch(part) is not None)

    for each in needs:
        options: dict[str, str] = each["attributes"]
        links = [[target, name] for name, value in options.items() for target in _targets(name, value, is_id)]
        yield {**each, "links": links}


def _form(name: str) -> str:
    """Return the form of an id, "A_9" of "REQ_12"; nothing if other values have it too, as "in_review" has."""
    if _OF_KINDS.fullmatch(name):
        return "__"
    for run, sign in _RUNS:
        name = run.sub(sign, name)
    return _WORDS.sub(r"\1", name) if "9" in name and not name.isdecimal() else ""


def _needs(lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the needs of a page without their links."""
    for place, line in enumerate(lines):
        opened = _DIRECTIVE.fullmatch(line.rstrip())
        if opened is None or opened[2] in _REPORTS:
            continue
        inside = len(opened[1]) + 1
        options, body = _options(lines, place + 1, inside)
        if "id" not in options:
            continue
        text: list[str] = []
        for each in lines[body:]:
            if each.strip() and (len(each) - len(each.lstrip(" ")) < inside or _DIRECTIVE.fullmatch(each.rstrip())):
                break
            text.append(each.strip())
        yield {
            "id": options["id"],
            "heading": options.get("title") or opened[3] or "",
            "text": "\n".join(text).strip(),
            "kind": opened[2],
            "attributes": options,
            "line": place + 1,
        }


def _options(lines: Sequence[str], place: int, inside: int) -> tuple[dict[str, str], int]:
    """Read the options below a directive; a value may continue on lines that are indented further."""
    options: dict[str, str] = {}
    last = ""
    while place < len(lines) and lines[place].strip():
        line = lines[place].rstrip()
        deep = len(line) - len(line.lstrip(" "))
        option = _OPTION.fullmatch(line)
        if option is not None and deep >= inside:
            last = option[1]
            options[last] = option[2] or ""
        elif last and deep > inside:
            options[last] = f"{options[last]} {line.strip()}".strip()
        else:
            break
        place += 1
    return options, place


def _targets(name: str, value: str, is_id: Callable[[str], bool]) -> list[str]:
    listed = map(str.strip, _BETWEEN.split(value))
    parts = [part for each in listed if (part := each.partition("[")[0] if each.endswith("]") else each)]
    if name in _NO_LINKS or (name != "links" and not all(map(is_id, parts))):
        return []
    return parts


def needs_json(path: str) -> Iterator[dict[str, Any]]:
    """Yield the needs of the current version in a `needs.json`.

    Raises:
        Refusal: it is not JSON, or contains no needs.
    """
    yield from needs_in(_text_of(path, "a needs.json"))


def needs_in(content: str) -> Iterator[dict[str, Any]]:
    """Yield the needs in the text of a `needs.json`; as `needs_json`."""
    try:
        found: Any = json.loads(content)
        versions: dict[str, Any] = found["versions"]
        current = versions.get(found.get("current_version", "")) or next(iter(versions.values()))
        needs: dict[str, dict[str, Any]] = current["needs"]
        names = {str(need["id"]) for need in needs.values()}
    except (ValueError, TypeError, KeyError, AttributeError, StopIteration, RecursionError) as error:
        raise corrupted("a needs.json", error) from error
    yield {"title": str(found.get("project", ""))}
    for need in needs.values():
        yield {
            "id": str(need["id"]),
            "heading": str(need.get("title", "")),
            "text": str(need.get("content") or need.get("description") or ""),
            "kind": str(need.get("type", "")),
            "attributes": {name: _written(value) for name, value in need.items() if value not in (None, "", [], {})},
            "links": list(_json_links(need, names)),
        }


def _json_links(need: Mapping[str, Any], names: set[str]) -> Iterator[list[str]]:
    """Yield the links of a need, which are lists of ids; the back links that sphinx-needs generates are left out."""
    for name, value in need.items():
        if isinstance(value, list) and name not in _KNOWN_FIELDS and name != "tags" and not name.endswith("_back"):
            targets = [str(each) for each in cast("list[Any]", value)]
            if name == "links" or (targets and all(each.partition(".")[0] in names for each in targets)):
                yield from ([each, name] for each in targets)
