"""A PDF's content stream cut into its operators and what stands before each, however broken the stream is.

Viewers draw pages whose streams break the rules: they skip what they cannot make sense of. So does this: bytes that are
no operator are taken for one that nobody knows. Only what the places of pictures hang on is told apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    rb"[\0\t\n\f\r ]+|%[^\r\n]*|\(|<<|>>|<[^>]*>|[\[\]{}>)]|/[^\0\t\n\f\r ()<>\[\]{}/%]*|[^\0\t\n\f\r ()<>\[\]{}/%]+"
    rb"|[\0-\xff]"
)
_OPERAND = re.compile(rb"[-+.\d/<(]|true$|false$|null$")
_IN_STRING = re.compile(rb"\\.|[()]", re.DOTALL)
_DATA = re.compile(rb"[\0\t\n\f\r ]ID[\0\t\n\f\r ]")
_DATA_END = re.compile(rb"[\0\t\n\f\r ]EI(?=[\0\t\n\f\r ]|$)")


def steps_of(content: bytes) -> Iterator[tuple[list[bytes], bytes]]:
    """Yield operands and operator, step by step; of an inline image only the operator `BI`."""
    operands: list[bytes] = []
    place = 0
    while token := _TOKEN.match(content, place):
        place = token.end()
        word = token.group()
        if word[:1] in b"\0\t\n\f\r %":
            continue
        if word == b"(":
            place = _string_end(content, place)
            operands.append(word)
        elif word == b"BI":
            place = _image_end(content, place)
            yield [], word
            operands = []
        elif _OPERAND.match(word) or word in (b"[", b"]", b"<<", b">>"):
            operands.append(word)
        else:
            yield operands, word
            operands = []


def _string_end(content: bytes, place: int) -> int:
    depth = 1
    for sign in _IN_STRING.finditer(content, place):
        depth += {b"(": 1, b")": -1}.get(sign.group(), 0)
        if not depth:
            return sign.end()
    return len(content)


def _image_end(content: bytes, place: int) -> int:
    begun = _DATA.search(content, place)
    ended = _DATA_END.search(content, begun.end() - 1) if begun else None
    return ended.end() if ended else len(content)
