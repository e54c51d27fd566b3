"""A quote beside the words of one text: what counts as the same, in single cases and as properties."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from knowledge_mcp.engine.evidence.quote_finding import PreparedQuote, Searched, alike, prepare_quote
from knowledge_mcp.engine.evidence.quote_parts import cover, forms, split_at_ellipses
from knowledge_mcp.language.quote_words import Words, read_words
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.evidence import QuoteVerdict


def verdict_of(text: str, quote: str) -> QuoteVerdict:
    """Judge a quote by one text alone."""
    part = prepare_quote(quote.strip())
    assert part is not None
    spans = Searched(text).equal(part)
    if not spans:
        return QuoteVerdict.NOT_FOUND
    return QuoteVerdict.EXACT if any(span.of(text) == part.quoted for span in spans) else QuoteVerdict.NORMALISED


@pytest.mark.parametrize(
    ("text", "quote", "verdict"),
    [
        ("so so so so so so,", "so so so,", QuoteVerdict.EXACT),  # found though places overlap
        ("In table 5 A pump is shown.", "A pump is shown.", QuoteVerdict.EXACT),  # A is no ampere here
        ("| 40ᵃ | 12.5ᵇ⁾ |", "40 12.5", QuoteVerdict.NORMALISED),
        ("| 40ᵃ | 12.5ᵇ⁾ |", "40a 12.5b)", QuoteVerdict.NORMALISED),
        ("| 40ᵃ | 12.5ᵇ⁾ |", "40ᵃ | 12.5ᵇ⁾", QuoteVerdict.EXACT),
        ("a value of 40ᵃ for Steelᶜ,ᵈ pipes", "40 for Steel pipes", QuoteVerdict.NORMALISED),
        ("a value of 40ᵃ for Steelᶜ pipes", "40 for Steelᶜ pipes", QuoteVerdict.NORMALISED),
        ("a value of 40ᵃ is given", "a value of 40b is", QuoteVerdict.NOT_FOUND),
        ("a value of 40a is given", "a value of 40 is", QuoteVerdict.NOT_FOUND),
        ("the term xᵃ is small", "the term x is small", QuoteVerdict.NOT_FOUND),
        ("at 5 A and more", "at 5 a and more", QuoteVerdict.NOT_FOUND),
        ("3Includes valves.", "Includes valves.", QuoteVerdict.EXACT),  # a note's mark, not a part of the word
        ("the limit is y =\n- x for all", "the limit is y = x for all", QuoteVerdict.NOT_FOUND),
        ("He shall:\n- go\n- stay", "He shall: go stay", QuoteVerdict.NORMALISED),
        ("He shall:\n• go\n• stay", "He shall: - go - stay", QuoteVerdict.NORMALISED),
        ("go home", "- go home", QuoteVerdict.NOT_FOUND),
        ("a self-\ntest is run", "a self-test is run", QuoteVerdict.NORMALISED),
        ("a self-\ntest is run", "a selftest is run", QuoteVerdict.NORMALISED),
        ("a self-\ntest is run", "a self test is run", QuoteVerdict.NOT_FOUND),
        ("a self-\ntest is run", "test is run", QuoteVerdict.NOT_FOUND),
        ("it is at -x here", "x here", QuoteVerdict.NOT_FOUND),
        ("run with _dry_run", "with\n_dry_run", QuoteVerdict.NORMALISED),
        ("take .5 of it", "take  .5 of it", QuoteVerdict.NORMALISED),
        ("take .5 of it", "take 5 of it", QuoteVerdict.NOT_FOUND),
        ("it costs $5 now", "5 now", QuoteVerdict.NOT_FOUND),
        ("it is not able", "it is notable", QuoteVerdict.NOT_FOUND),
        ("die Maße der Tür", "die Masse der Tür", QuoteVerdict.NOT_FOUND),
        ("kept at 20℃ in 5 ㎡ of", "kept at 20 °C in 5 m² of", QuoteVerdict.NORMALISED),
        ("kept at 20℃ in 5 ㎡ of", "kept at 20 °F in 5 m² of", QuoteVerdict.NOT_FOUND),
        ("kept at 20℃ in 5 ㎡ of", "kept at 20 °C in 5 m2 of", QuoteVerdict.NOT_FOUND),
        ("الحد \ufefb يزيد", "الحد \u0644\u0627 يزيد", QuoteVerdict.NORMALISED),
        ("die TÜR und das Maß", "die tu\u0308r und das maß", QuoteVerdict.NORMALISED),
        ("水は 必ず\n流す", "水は必ず流す", QuoteVerdict.NORMALISED),
        ("水は必ず流す", "水は流す", QuoteVerdict.NOT_FOUND),
        ("see 5.3.1 and so on", "see 5.3 and so on", QuoteVerdict.NOT_FOUND),
        ("5' by 7\" of wood", '5" by 7" of wood', QuoteVerdict.NOT_FOUND),
        ("the 'wide' one", 'the "wide" one', QuoteVerdict.NORMALISED),
        ("| a | b |\n|---|---|\n| c | d |", "a b c d", QuoteVerdict.NORMALISED),
        ("a | b is a union", "a b is a union", QuoteVerdict.NOT_FOUND),
        ("more (see 4) than", "more than", QuoteVerdict.NOT_FOUND),
        ("Contents ........ 7", "Contents … 7", QuoteVerdict.NORMALISED),
        (
            "It shall stop.¹ It shall be programmable², too.",
            "stop. It shall be programmable, too.",
            QuoteVerdict.NORMALISED,
        ),
        ("It shall stop.¹² It rests.", "stop.¹² It rests.", QuoteVerdict.EXACT),
        ("It shall stop. It rests.", "It shall stop.¹ It rests.", QuoteVerdict.NORMALISED),
        ("an area of 5 m² is", "an area of 5 m is", QuoteVerdict.NOT_FOUND),
        ("at 10⁻⁶ of it", "at 10 of it", QuoteVerdict.NOT_FOUND),
        ("it is (a + b)² here", "it is (a + b) here", QuoteVerdict.NOT_FOUND),
        ("take sin² x of it", "take sin x of it", QuoteVerdict.NOT_FOUND),
    ],
)
def test_what_counts_as_the_same_is_settled_case_by_case(text: str, quote: str, verdict: QuoteVerdict) -> None:
    assert verdict_of(text, quote) is verdict


LETTERS = "aábcdeéfghiıjlmnoöpqrstuüvwxyzßçñλμ"
words = st.text(LETTERS, min_size=2, max_size=9)
numbers = st.sampled_from(["1.5", "15", "−5", "5.3.1", "3–5", "10²", "20 %", "7", "2026", "½", "−0.5 °C", "≤ 4"])
marked = st.sampled_from(["(if any)", "“so”", "e.g.", "well-known", "re-\nquire", "user's", "a/b", "shall not", "x_1"])
pieces = st.lists(st.one_of(words, words, words, numbers, marked), min_size=4, max_size=40)
blanks = st.sampled_from([" ", " ", " ", "\n", ", ", ". ", "\n\n", "; "])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Draw a text of words, numbers and marks."""
    return "".join(piece + draw(blanks) for piece in draw(pieces)).strip()


def cut_at_blanks(data: st.DataObject, text: str) -> str:
    """Draw a part of a text that begins and ends at blanks, not within a word that a line's end breaks."""
    places = [match.span() for match in re.finditer(r"\S+", text)]
    first = data.draw(st.integers(0, len(places) - 1))
    last = data.draw(st.integers(first, len(places) - 1))
    assume(first == 0 or text[places[first - 1][1] - 1] != "-")
    quote = text[places[first][0] : places[last][1]]
    assume(not quote.endswith("-") and any(character.isalnum() for character in quote))
    return quote


def test_words_are_exact_where_a_place_that_only_looks_alike_overlaps_them() -> None:
    assert verdict_of("aa aa\naa aa", "aa\naa") is QuoteVerdict.EXACT


@given(texts(), st.data())
def test_any_words_of_any_text_are_exact(text: str, data: st.DataObject) -> None:
    assert verdict_of(text, cut_at_blanks(data, text)) is QuoteVerdict.EXACT


TURNS = {"'": "’", "“": '"', "”": "„", "−": "-", "–": "—", "-": "\u2010", "μ": "µ", "fi": "\ufb01"}


@given(texts(), st.data())
def test_whatever_changes_only_how_a_quote_is_set_is_normalised(text: str, data: st.DataObject) -> None:
    quote = cut_at_blanks(data, text)
    for old, new in data.draw(st.lists(st.sampled_from(sorted(TURNS.items())), max_size=4)):
        quote = quote.replace(old, new)
    quote = re.sub(r"\s+", lambda _: data.draw(st.sampled_from([" ", "\n", "\t", "  ", "\u00a0"])), quote)
    if data.draw(st.booleans()):
        quote = re.sub(r"([a-z]{3})([a-z]{3})", r"\1-\n\2", quote, count=2)
    if data.draw(st.booleans()):
        quote = re.sub(r"([a-z]{2})([a-z]{2})", "\\1\u00ad\\2", quote, count=3)
    if data.draw(st.booleans()):
        quote = re.sub(r"[a-z]{5,}", lambda match: match.group().upper(), quote)  # mW is not MW
    assert verdict_of(text, quote) in {QuoteVerdict.NORMALISED, QuoteVerdict.EXACT}


def in_a_row(text: str) -> str:
    """Join the words and marks of a text without blanks."""
    return "".join(read_words(text).keys)


@given(texts(), st.data())
def test_a_quote_with_one_word_changed_is_never_true_and_the_word_is_reported(text: str, data: st.DataObject) -> None:
    quote = cut_at_blanks(data, text).split()
    assume(len(quote) > 2)
    place = data.draw(st.integers(0, len(quote) - 1))
    other = data.draw(st.one_of(words, st.sampled_from(["not", "0", "15", "1.6", "-", "+", "β", "5.3"])))
    kind = data.draw(st.sampled_from(["change", "insert", "delete"]))
    changed = [*quote[:place], *([] if kind == "delete" else [other]), *quote[place + (kind != "insert") :]]
    altered = " ".join(changed)
    assume(prepare_quote(altered) is not None)
    assume(in_a_row(altered) not in in_a_row(text))
    assert verdict_of(text, altered) is QuoteVerdict.NOT_FOUND
    part = prepare_quote(altered)
    assert part is not None
    near = alike(part.text, part.words, text, read_words(text))
    if near is not None:
        assert near.differences
        assert near.similarity < 1.0
        assert 0 <= near.span.start < near.span.end <= len(text)


def test_the_hyphen_of_a_broken_word_is_no_beginning_and_the_word_is_reported() -> None:
    text, quote = "re-\nquire aa bb", "- quire aa"
    part = prepare_quote(quote)
    assert part is not None
    assert verdict_of(text, quote) is QuoteVerdict.NOT_FOUND
    near = alike(part.text, part.words, text, read_words(text))
    assert near is not None
    assert [(each.quoted, each.printed) for each in near.differences] == [("-", "re-")]
    assert near.similarity < 1.0


@given(st.text(max_size=300), st.text(min_size=1, max_size=60))
def test_whatever_is_compared_with_whatever_there_is_an_answer_within_the_text(text: str, quote: str) -> None:
    for part in (each for form in forms(quote) for each in split_at_ellipses(form)):
        searched = Searched(text)
        spans = searched.equal(part)
        covered = cover(part, [("a", searched)])
        spans += [piece.span for piece in covered[0]] if covered else []
        near = [alike(part.text, part.words, text, words) for words in searched.windows(part)]
        spans += [each.span for each in near if each is not None]
        assert all(0 <= span.start < span.end <= len(text) for span in spans)


@given(texts())
def test_words_tell_where_they_stand_and_leave_nothing_but_blanks_out(text: str) -> None:
    read = read_words(text)
    ends: Sequence[int] = [0, *read.ends]
    assert all(start >= end for start, end in zip(read.starts, ends, strict=False))
    assert not "".join(text[end:start] for end, start in zip(ends, [*read.starts, len(text)], strict=True)).strip()


def test_a_whole_quote_is_found_without_trying_its_words_from_each_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern of all words would be tried again from each "a": a text that repeats itself stopped the server."""
    text = "a " * 3000 + "rule B, shall not"
    part = prepare_quote("a " * 1000 + "rule b")
    assert part is not None

    def refuse(*_: object) -> None:
        raise AssertionError("a pattern of all words was made")

    monkeypatch.setattr(PreparedQuote, "pattern", refuse)
    assert Searched(text).equal(part) == [Span(4000, 6006)]


def test_a_quote_of_words_that_stand_everywhere_is_not_put_together_from_all_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dice = random.Random(1)
    words = ["shall", "not", "exceed", "the", "limit", "pump", "motor"]
    searched = Searched(" ".join(dice.choices(words, k=20_000)))
    part = prepare_quote(" ".join(dice.choices(words, k=800)))
    assert part is not None
    read: list[int] = []
    whole = Searched.words

    def counted(self: Searched, start: int, end: int) -> Words:
        read.append(end - start)
        return whole(self, start, end)

    monkeypatch.setattr(Searched, "words", counted)
    cover(part, [("a", searched)])
    assert len(read) < 5000
    assert max(read) < 3000, "only as much of the text is read as a quote goes on"
