"""A budget of tokens for an answer: passages whole while they fit, then the part of each that fits the question."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knowledge_mcp.surfaces.standards.responses import SearchResult
from knowledge_mcp.surfaces.token_estimate import tokens_about

__all__ = ["within"]

LEAST = 40
"""Tokens of a snippet, at least."""

_SENTENCE = re.compile(r"[^\n.!?]*(?:[.!?](?!\s)[^\n.!?]*)*(?:[.!?]+(?=\s|$)|\n|$)\s*")
_WORD = re.compile(r"\w{2,}")


def within(results: Sequence[SearchResult], tokens: int, question: str) -> list[SearchResult]:
    """Keep the passages within a budget of tokens, as `tokens_about` estimates them.

    The first passage is always given, whole or as a snippet. One that does not fit is cut to the sentences that share
    most words with the question, word for word and in one piece; its locator stays that of the whole passage. Results
    for which not even that is left are dropped.
    """
    room = tokens
    words = {word.casefold() for word in _WORD.findall(question)}
    kept: list[SearchResult] = []
    for place, result in enumerate(results):
        later = len(results) - place - 1
        share = max(LEAST, room - later * LEAST)
        if room < LEAST and kept:
            break
        size = tokens_about(result.content)
        if size <= share:
            kept.append(result)
        else:
            most = max(1, len(result.content) * share // size)
            cut = {"content": _best_part(result.content, words, most), "snippet": True}
            kept.append(result.model_copy(update=cut))
        room -= tokens_about(kept[-1].content)
    return kept


def _best_part(text: str, words: set[str], most: int) -> str:
    """Cut out the run of sentences of at most `most` characters that holds most of the words; the first of equals."""
    sentences = [(found.start(), found.end()) for found in _SENTENCE.finditer(text) if found.end() > found.start()]
    best, best_value = (0, 0), (-1, 0)
    for at, (start, _) in enumerate(sentences):
        end = start
        for _, stop in sentences[at:]:
            if stop - start > most:
                break
            end = stop
        end = end if end > start else start + most
        found = {word.casefold() for word in _WORD.findall(text[start:end])} & words
        if (value := (len(found), -at)) > best_value:
            best, best_value = (start, end), value
    part = text[best[0] : best[1]]
    if best[1] - best[0] == most and best[1] < len(text) and text[best[1]].isalnum():
        part = part[: part.rfind(" ")] if " " in part.strip() else part
    return part.strip()
