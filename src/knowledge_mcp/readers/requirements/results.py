"""Child process: test reports (JUnit, NUnit) to their test cases with their results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from knowledge_mcp.readers.shared.containers import Element, local_name, parse_xml, too_large

_MOST_BYTES = 256_000_000
_ROOT = re.compile(
    rb"\A(?:\xef\xbb\xbf)?\s{0,99}(?:<[?!][^>]{0,999}>\s{0,99}){0,9}<(?:testsuites?|test-run|test-results)[\s>]"
)
_HEAD = 8192
"""Bytes in which the root of a report is searched: a declaration and comments may precede it."""
_CASES = frozenset({"testcase", "test-case"})
_FAILED = {"failure": "failed", "error": "failed", "skipped": "skipped", "rerunFailure": "failed"}
_PARTS = frozenset({*_FAILED, "message", "reason", "system-out"})
"""Elements of a case whose words may name what is tested."""
_LONGEST = 2000
"""Longest message in characters; stack traces are longer, and do not name what is tested."""


def results(path: str) -> Iterator[dict[str, Any]]:
    """Yield the test cases of a report in order; nothing if the file is other XML.

    Raises:
        Refusal: the report is damaged, or too large.
    """
    if Path(path).stat().st_size > _MOST_BYTES:
        raise too_large(f"the file has more than {_MOST_BYTES} bytes")
    with Path(path).open("rb") as stream:
        if _ROOT.search(stream.read(_HEAD)) is None:
            return
    root = parse_xml(Path(path).read_bytes(), "a report of tests")
    found = [_case(each) for each in root.iter() if isinstance(each.tag, str) and local_name(each) in _CASES]
    counts, seen = Counter(each["id"] for each in found), Counter[str]()
    for each in found:
        name = each["id"]
        seen[name] += 1
        yield {**each, "id": name if counts[name] == 1 else f"{name}#{seen[name]}"}


def _case(element: Element) -> dict[str, Any]:
    title = element.get("name", "")
    group = element.get("classname", "")
    attributes = {
        each.get("name", ""): each.get("value") or (each.text or "").strip()
        for each in element.iterfind(".//{*}property")
    }
    result = next((_FAILED[local_name(each)] for each in element if local_name(each) in _FAILED), "passed")
    attributes["Result"] = element.get("result", "").lower() or result
    lines = [f"{title} ({attributes['Result']})"]
    lines += [
        words[:_LONGEST]
        for each in element.iter()
        if isinstance(each.tag, str) and local_name(each) in _PARTS
        if (words := (each.get("message") or each.text or "").strip())
    ]
    return {
        "id": element.get("fullname") or (f"{group}.{title}" if group else title),
        "heading": title,
        "text": "\n".join(lines),
        "kind": "test case",
        "attributes": attributes,
        "links": [],
        "line": element.sourceline or 0,
    }
