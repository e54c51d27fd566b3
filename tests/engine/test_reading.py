"""Reading clauses, pages, passages and documents: word for word, cut where it reads well, and every part reported."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from knowledge_mcp.engine.core.documents import StoredDocument, outline_of, read_document
from knowledge_mcp.engine.evidence.outline import find_sections, label_of, opening_words
from knowledge_mcp.engine.evidence.reading import read_place
from knowledge_mcp.language.sentences import cut_within, sentence_around
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import (
    NO_STRUCTURE,
    DocumentParts,
    DocumentRecord,
    DocumentStructure,
    OutlineEntry,
    PageCoverage,
)
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.errors import InternalError, InvalidInputError, NotFoundError
from knowledge_mcp.model.evidence import QuoteQuery, ReadAnswer, ReadQuery
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.engine.library import FERRIES, PIERS, TIDES
from tests.engine.overridden import OverriddenStore
from tests.engine.world import World
from tests.machine import examples

MEASURE = HashingEmbedder()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ingest three documents once."""
    made = World(tmp_path_factory.mktemp("world"))
    for name, text in (("ferries.md", FERRIES), ("piers.md", PIERS), ("tides.md", TIDES)):
        made.write(name, text)
    made.ingest()
    return made


@pytest.fixture(scope="module")
def ferries(world: World) -> StoredDocument:
    return read_document(world.base, "ferries")


def said(answer: ReadAnswer) -> str:
    return "\n".join(each.text for each in answer.passages)


@pytest.mark.parametrize(
    ("clause", "begins", "ends"),
    [
        ("5.3", "5.3 Lines", "| 20 m | 6 |"),
        ("clause 5.3.1", "5.3.1 Number of lines", "see 5.9 and ISO 9999."),
        ("5.3.1.", "5.3.1 Number of lines", "see 5.9 and ISO 9999."),
        ("section 6.0", "6 Crew", "on the pier."),
        ("§ 5.3.1", "5.3.1 Number of lines", "see 5.9 and ISO 9999."),
        ("5.3.1 Number of lines", "5.3.1 Number of lines", "see 5.9 and ISO 9999."),
        ("number of  LINES", "5.3.1 Number of lines", "see 5.9 and ISO 9999."),
        ("Annex B", "Annex B (informative) Knots", "the knot of 5.3.2."),
        ("appendix b", "Annex B (informative) Knots", "the knot of 5.3.2."),
        ("B.1", "B.1 Bowline", "the knot of 5.3.2."),
        ("bowline", "B.1 Bowline", "the knot of 5.3.2."),
        ("care of", "5.3.2 Care of lines", "| 20 m | 6 |"),
    ],
)
def test_a_clause_is_found_by_number_by_title_and_by_both(world: World, clause: str, begins: str, ends: str) -> None:
    answer = world.knowledge.read(ReadQuery("ferries", clause))
    assert said(answer).startswith(begins)
    assert said(answer).endswith(ends)
    assert answer.next_cursor is None


def test_what_is_read_is_the_text_word_for_word_with_citation_and_locator(world: World) -> None:
    answer = world.knowledge.read(ReadQuery("ferries", "5.3.2"))
    text = world.knowledge.document_text("ferries")
    only = answer.passages[0]
    assert only.text == only.locator.span.of(text)
    assert only.locator.content_hash == hashlib.sha256(only.text.encode()).hexdigest()
    assert only.locator.page_numbers == (2, 3)
    assert only.citation == "ISO 4711:2020 Ferries, 5.3.2 Care of lines, pp. 2-3 [ferries.md]"
    assert answer.tokens == world.embedder.count_tokens(only.text)
    assert answer.whole.contains(only.locator.span)
    several = world.knowledge.read(ReadQuery("ferries", "2")).passages[0]
    assert several.citation == "ISO 4711:2020 Ferries, 2 Terms to 2.2 draught, p. 1 [ferries.md]"


def test_what_begins_before_the_first_heading_is_cited_from_the_first_section_to_the_last(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("plan.md", "A plan for ferries\n\n# 1 Scope\n\nAll ferries.\n\n# 2 Lines\n\nLines shall be dry.\n")
    world.ingest()
    whole = world.knowledge.read(ReadQuery("plan")).passages[0]
    assert "A plan for ferries" in whole.text
    assert ", 1 Scope to 2 Lines, " in whole.citation


@pytest.mark.parametrize(
    ("clause", "suggestion"),
    [
        ("5.3.9", "5.3 has 5.3.1 and 5.3.2. Did you mean 5.3."),
        ("5.3.1.4", "5.3.1 has no parts. Did you mean 5.3.1?"),
        ("8", "Its clauses are 1, 2, 5, 6 and B."),
        ("clause 7.1", "Its clauses are 1, 2, 5, 6 and B."),
        ("B.4", "B has B.1. Did you mean B.1?"),
        ("nummber of lines", "Did you mean '5.3.1 Number of lines'"),
        ("weather", "Its sections are 1 "),
        ("5.3.2 x y", "Its sections are 1 "),
        ("Table 2", "search for the name"),
        ("fig. 3", "search for the name"),
    ],
)
def test_a_clause_that_is_not_there_is_refused_with_those_near_it(world: World, clause: str, suggestion: str) -> None:
    with pytest.raises(NotFoundError, match="ferries") as caught:
        world.knowledge.read(ReadQuery("ferries", clause))
    assert clause in caught.value.message
    assert suggestion in caught.value.suggestion


@pytest.mark.parametrize("item", ["5.3.2 a)", "5.3.2, a)", "clause 5.3.2 (b)", "5.3.2 a) 1)", "5.3.2(a)"])
def test_an_item_of_a_clause_is_read_with_its_clause(world: World, item: str) -> None:
    assert world.knowledge.read(ReadQuery("ferries", item)) == world.knowledge.read(ReadQuery("ferries", "5.3.2"))


@pytest.mark.parametrize("name", ["ferries.md", "FERRIES.MD", "iso 4711:2020 ferries"])
def test_a_document_may_be_named_by_its_file_name_or_title(world: World, name: str) -> None:
    knowledge = world.knowledge
    assert knowledge.document(name) == knowledge.document("ferries")
    assert knowledge.document_text(name) == knowledge.document_text("ferries")
    assert knowledge.read(ReadQuery(name, "5.3.2")) == knowledge.read(ReadQuery("ferries", "5.3.2"))
    quote = QuoteQuery("Every line shall be renewed", "ferries")
    assert knowledge.verify_quote(replace(quote, document_id=name)) == knowledge.verify_quote(quote)


def test_a_title_that_two_documents_have_names_neither(tmp_path: Path) -> None:
    made = World(tmp_path).holding({"a.md": "# Boats\n\nBoats float.\n", "b.md": "# Boats\n\nBoats sink.\n"})
    with pytest.raises(NotFoundError, match="No document has the id 'Boats'"):
        made.knowledge.document("Boats")


@pytest.mark.parametrize("name", ["FERRIES", "ferrys", "Ferry"])
def test_a_document_is_found_by_an_id_of_another_case_or_spelling(world: World, name: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        world.knowledge.read(ReadQuery(name))
    assert caught.value.suggestion == "Did you mean ferries?"


def test_a_designation_or_a_file_name_leads_to_its_document_and_not_to_similar_ids(tmp_path: Path) -> None:
    boats = "# QRS 4100:2025 Canal boats\n\nBoats shall float.\n"
    handbook = "# QRS 4110:2025 Handbook of canal boats\n\nA crew shall have two members.\n"
    made = World(tmp_path).holding({"canal-boats.md": boats, "qrs-4110.md": handbook})
    for name in ("QRS 4100", "QRS 4100:2025", "qrs-4100", "canal-boat.md"):
        with pytest.raises(NotFoundError) as caught:
            made.knowledge.read(ReadQuery(name))
        assert caught.value.suggestion == "Did you mean canal-boats?", name


def test_a_document_like_no_other_is_refused_with_the_tool_that_lists_them(world: World) -> None:
    with pytest.raises(NotFoundError) as caught:
        world.knowledge.read(ReadQuery("zzzzzzzz"))
    assert caught.value.suggestion == "knowledge_stats lists the documents."


def test_a_clause_without_a_title_is_reported_by_its_first_words() -> None:
    text = "4.1 Each line shall be renewed\nevery two years and be marked with the day of its renewal.\n\n4.2 Stop."
    start = text.index("4.2")
    long, short = OutlineEntry(1, "4.1", "", Span(0, start)), OutlineEntry(1, "4.2", "4.2", Span(start, len(text)))
    assert opening_words(long, text) == "Each line shall be renewed every two years and be marked…"
    assert opening_words(short, text) == "Stop."
    assert opening_words(OutlineEntry(1, "4", "Lines", Span(0, 90)), text) == ""
    assert opening_words(OutlineEntry(1, "7", "", Span(0, 200)), "泵" * 200) == "泵" * 60 + "…"


def test_a_title_that_stands_twice_is_asked_about(world: World) -> None:
    with pytest.raises(InvalidInputError, match="2 sections") as caught:
        world.knowledge.read(ReadQuery("ferries", "general"))
    assert "5.4 General (page 3); 6.1 General (page 3)" in caught.value.suggestion
    assert said(world.knowledge.read(ReadQuery("ferries", "6.1 General"))).startswith("6.1 General")


def test_pages_are_read_from_their_first_word_to_their_last(world: World) -> None:
    second = said(world.knowledge.read(ReadQuery("ferries", pages=(2, 2))))
    assert second.startswith("A ferry is moored at both ends")
    assert second.endswith("5.3.2 Care of lines")
    both = said(world.knowledge.read(ReadQuery("ferries", pages=(2, 3))))
    assert both.startswith(second[:40])
    assert both.endswith("the knot of 5.3.2.")
    with pytest.raises(NotFoundError) as beyond:
        world.knowledge.read(ReadQuery("ferries", pages=(3, 4)))
    assert beyond.value.suggestion == "Its pages are 1 to 3."
    with pytest.raises(InvalidInputError, match="no pages"):
        world.knowledge.read(ReadQuery("piers", pages=(1, 1)))


def test_pages_without_text_are_no_empty_answer_but_an_error_with_the_reason(ferries: StoredDocument) -> None:
    empty = PageCoverage(4, "4", Span(0, 0), "none", 0, note="The page is a picture, and no OCR engine is installed.")
    scanned = replace(ferries, structure=replace(ferries.structure, pages=(*ferries.structure.pages, empty)))
    with pytest.raises(NotFoundError, match="page 4") as caught:
        read_place(scanned, ReadQuery("ferries", pages=(4, 4)), MEASURE)
    assert "no OCR engine" in caught.value.message
    assert read_place(scanned, ReadQuery("ferries", pages=(3, 4)), MEASURE).passages


@pytest.mark.parametrize("budget", [50, 5000])
def test_a_page_gives_its_own_text_where_that_of_another_stands_between(budget: int) -> None:
    parts = [" ".join([word] * 60) for word in ("one", "two", "uno", "dos")]
    text = "\n\n".join(parts)
    spans = [Span(text.index(part), text.index(part) + len(part)) for part in parts]
    pages = tuple(
        PageCoverage(number, str(number), Span(a.start, b.end), "text_layer", 1, runs=(a, b))
        for number, a, b in ((1, spans[0], spans[2]), (2, spans[1], spans[3]))
    )
    document = StoredDocument(_record(), text, replace(NO_STRUCTURE, pages=pages), ())
    for number, words in ((1, {"one", "uno"}), (2, {"two", "dos"})):
        found: list[str] = []
        cursor: int | None = None
        while cursor is not None or not found:
            query = ReadQuery("made", pages=(number, number), max_tokens=budget, cursor=cursor)
            answer = read_place(document, query, MEASURE)
            found += said(answer).split()
            cursor = answer.next_cursor
        assert len(found) == 120
        assert set(found) == words
    both = read_place(document, ReadQuery("made", pages=(1, 2), max_tokens=5000), MEASURE)
    assert said(both) == text


def test_a_passage_is_read_with_its_neighbours_and_what_stands_above_it(world: World) -> None:
    chunks = world.knowledge.document_chunks("ferries")
    place = next(index for index, chunk in enumerate(chunks) if chunk.clause_number == "5.3.1")
    query = ReadQuery(chunk_id=chunks[place].id)
    assert said(world.knowledge.read(query)) == chunks[place].content
    wide = world.knowledge.read(replace(query, before=1, after=1))
    assert wide.document_id == "ferries"
    assert wide.whole == Span(chunks[place - 1].span.start, chunks[place + 1].span.end)
    above = world.knowledge.read(replace(query, parents=True))
    assert [each.text.split("\n")[0] for each in above.passages] == [
        "Ferries", "5 Mooring", "5.3 Lines", "5.3.1 Number of lines",
    ]  # fmt: skip
    assert above.tokens == sum(world.embedder.count_tokens(each.text) for each in above.passages)
    narrow = world.knowledge.read(replace(query, parents=True, max_tokens=50))
    assert narrow.tokens <= 50
    assert narrow.passages[-1].text.startswith("5.3.1 Number of lines")
    all_of_it = world.knowledge.read(replace(query, before=20, after=20))
    assert all_of_it.whole.start == chunks[0].span.start
    assert all_of_it.whole.end == chunks[-1].span.end


def test_a_document_is_read_whole_in_parts_that_join_again(world: World) -> None:
    text = world.knowledge.document_text("ferries")
    query = ReadQuery("ferries", max_tokens=50)
    parts = [world.knowledge.read(query)]
    while (cursor := parts[-1].next_cursor) is not None:
        parts.append(world.knowledge.read(replace(query, cursor=cursor)))
    assert len(parts) > 3
    assert all(part.tokens <= 50 for part in parts)
    spans = [each.locator.span for part in parts for each in part.passages]
    assert [text[a.end : b.start].strip() for a, b in itertools.pairwise(spans)] == [""] * (len(spans) - 1)
    assert (spans[0].start, spans[-1].end) == (0, len(text))


def test_a_question_that_contradicts_itself_is_refused_before_anything_is_read(world: World) -> None:
    chunk = world.knowledge.document_chunks("piers")[0].id
    for query in (
        ReadQuery("ferries", "5.3", pages=(1, 1)),
        ReadQuery(),
        ReadQuery("ferries", max_tokens=49),
        ReadQuery("ferries", max_tokens=20_001),
        ReadQuery("ferries", before=1),
        ReadQuery(chunk_id=chunk, after=21),
        ReadQuery("ferries", pages=(2, 1)),
        ReadQuery("ferries", pages=(0, 1)),
        ReadQuery("ferries", " . "),
        ReadQuery("ferries", "x" * 501),
        ReadQuery("ferries", chunk_id=chunk),
        ReadQuery("ferries", "5.3", cursor=0),
        ReadQuery("ferries", cursor=10**9),
    ):
        with pytest.raises(InvalidInputError):
            world.knowledge.read(query)
    for missing in (ReadQuery("ferry"), ReadQuery(chunk_id="nothing")):
        with pytest.raises(NotFoundError):
            world.knowledge.read(missing)


def test_a_document_without_a_stored_structure_is_read_by_what_its_passages_say(ferries: StoredDocument) -> None:
    old = replace(ferries, structure=DocumentStructure(outline_of(ferries.chunks)))
    for clause in ("5.3.1", "Care of lines", "Annex B", "5"):
        here = read_place(ferries, ReadQuery("ferries", clause), MEASURE)
        there = read_place(old, ReadQuery("ferries", clause), MEASURE)
        assert said(there).split("\n")[-1] == said(here).split("\n")[-1]
        assert said(there).startswith(said(here)[:20])
    pages = replace(old, structure=NO_STRUCTURE)
    assert "four lines" in said(read_place(pages, ReadQuery("ferries", pages=(2, 2)), MEASURE))
    with pytest.raises(NotFoundError, match="no clause") as caught:
        read_place(pages, ReadQuery("ferries", "5.3"), MEASURE)
    assert "by pages" in caught.value.suggestion


def test_the_outline_that_passages_tell_continues_below_the_sixth_level(ferries: StoredDocument) -> None:
    path = ("1 A", "1.1 B", "1.1.1 C", "1.1.1.1 D", "1.1.1.1.1 E", "1.1.1.1.1.1 F")
    deep = replace(
        ferries.chunks[0], section_hierarchy=path, section_title="G", clause_number="1.1.1.1.1.1.1", page_numbers=(7,)
    )
    outline = outline_of([deep])
    assert [(entry.level, entry.number, entry.title) for entry in outline][-2:] == [
        (6, "1.1.1.1.1.1", "F"),
        (7, "1.1.1.1.1.1.1", "G"),
    ]
    assert {entry.page for entry in outline} == {7}


def test_the_same_number_in_an_annex_and_in_a_clause_is_distinguished_by_the_word_before_it(
    ferries: StoredDocument,
) -> None:
    text = "1 Scope\n\nWhat it is.\n\nAnnex 1 Forms\n\nForms to fill in."
    entries = (OutlineEntry(1, "1", "Scope", Span(0, 22)), OutlineEntry(1, "1", "Forms", Span(22, len(text))))
    two = replace(ferries, text=text, chunks=(), structure=DocumentStructure(entries))
    assert [label_of(entry) for entry in find_sections(two, "annex 1")] == ["1 Forms"]
    assert [label_of(entry) for entry in find_sections(two, "1")] == ["1 Scope"]
    assert [label_of(entry) for entry in find_sections(two, "clause 1")] == ["1 Scope"]


def test_a_policy_is_found_with_and_without_the_word_before_its_number(ferries: StoredDocument) -> None:
    text = "HO2: Density\n\nHomes are near each other."
    entries = (OutlineEntry(1, "HO2", "Density", Span(0, len(text))),)
    plan = replace(ferries, text=text, chunks=(), structure=DocumentStructure(entries))
    for name in ("HO2", "Policy HO2", "policy ho2"):
        assert [label_of(entry) for entry in find_sections(plan, name)] == ["HO2 Density"]


class Restless(OverriddenStore):
    """Let somebody else write whenever a text is asked for, `times` times."""

    def __init__(self) -> None:
        super().__init__(EnglishAnalyser())
        self.meddle: Callable[[int], None] = lambda _: None
        self.times = 0

    def parts(self, collection: str, document_id: str) -> DocumentParts | None:
        found = super().parts(collection, document_id)
        if self.times:
            self.times -= 1
            self.meddle(self.times)
        return found


def test_a_document_replaced_while_it_is_fetched_is_fetched_again(tmp_path: Path) -> None:
    store = Restless()
    made = World(tmp_path, store=store)

    def meddle(left: int) -> None:
        made.write("piers.md", PIERS.replace("four lines", f"{left + 40} lines"))
        made.ingest()

    made.write("piers.md", PIERS)
    made.ingest()
    store.meddle, store.times = meddle, 1
    held = read_document(made.base, "piers")
    assert "the pull of 40 lines" in held.text
    assert all(chunk.span.of(held.text) == chunk.content for chunk in held.chunks)
    store.times = 100
    with pytest.raises(InternalError, match="faster than it can be read"):
        read_document(made.base, "piers")


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=40)
TEXTS = st.lists(st.tuples(WORDS, st.sampled_from([" ", "  ", "\n", "\n\n", ". ", ".\n\n", ";\n"])), max_size=200).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)


@settings(max_examples=examples(40), deadline=None)
@given(TEXTS, st.integers(50, 200), st.lists(st.integers(0, 5000), max_size=4))
def test_any_text_is_read_to_its_end_without_a_word_lost_or_cut(text: str, limit: int, starts: list[int]) -> None:
    cuts = sorted({min(start, len(text)) for start in starts})
    sections = tuple(OutlineEntry(1, None, "x", Span(cut, len(text))) for cut in cuts)
    document = StoredDocument(_record(), text, DocumentStructure(sections), ())
    read: list[Span] = []
    cursor: int | None = None
    while True:
        answer = read_place(document, ReadQuery("d", max_tokens=limit, cursor=cursor), MEASURE)
        read.extend(each.locator.span for each in answer.passages)
        assert answer.tokens <= limit or cuts  # a heading may begin inside a word here, which makes two of it
        assert sum(MEASURE.count_tokens(each.text) for each in answer.passages) == answer.tokens
        cursor = answer.next_cursor
        if cursor is None:
            break
    assert " ".join(span.of(text) for span in read).split() == text.split() or cuts
    assert "".join(re.sub(r"\s", "", span.of(text)) for span in read) == re.sub(r"\s", "", text)


@settings(max_examples=examples(60), deadline=None)
@given(TEXTS, st.integers(1, 60))
@example('0 0 0 0 0 0: 0\ud7fc 0::0:0." ¹ ', 17)
def test_a_cut_never_goes_through_a_word_that_would_fit(text: str, limit: int) -> None:
    whole = Span(len(text) - len(text.lstrip()), len(text))
    end = cut_within(text, whole, limit, MEASURE)
    assert whole.start <= end <= whole.end
    assert end > whole.start or not whole
    assert MEASURE.count_tokens(text[whole.start : end]) <= limit
    if end < whole.end and not text[end].isspace() and not text[end - 1].isspace():
        begin = max((match.end() for match in re.finditer(r"\s+", text[:end])), default=whole.start)
        word = re.match(r"\S+", text[begin:])
        assert word is not None
        assert MEASURE.count_tokens(word.group()) > limit


def test_a_cut_prefers_the_end_of_a_block_then_of_a_sentence_then_of_a_line() -> None:
    words = "One two three four five six. "
    blocks = f"{words * 3}\n\n{words * 3}"
    assert blocks[cut_within(blocks, Span(0, len(blocks)), 24, MEASURE) :].startswith("\n\n")
    sentences = words * 6
    assert sentences[: cut_within(sentences, Span(0, len(sentences)), 12, MEASURE)] == words.strip()
    rows = "\n".join(["| a | b |"] * 20)
    assert rows[: cut_within(rows, Span(0, len(rows)), 13, MEASURE)] == "| a | b |\n| a | b |"


def test_the_sentence_around_a_place_is_cut_at_words_where_it_is_long() -> None:
    text = "Before it. The line shall be kept as 5.3 says. After it."
    place = Span(text.index("5.3"), text.index("5.3") + 3)
    assert sentence_around(text, place, Span(0, len(text))).of(text) == "The line shall be kept as 5.3 says."
    long = "word " * 200 + "see 5.3 " + "word " * 200
    place = Span(long.index("see"), long.index("see") + 7)
    around = sentence_around(long, place, Span(0, len(long)), 100)
    assert around.contains(place)
    assert len(around) <= 100
    assert set(around.of(long).split()) == {"word", "see", "5.3"}


def _record() -> DocumentRecord:
    return DocumentRecord("d", "D", "standard", "/d.md", "00", "p", 1, 0, 0, 0, "m", "t", "t")
