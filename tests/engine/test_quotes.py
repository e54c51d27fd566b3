"""Quotes: true ones are found however they are set, and no altered one is ever called true."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from knowledge_mcp.engine.core.base import Records
from knowledge_mcp.engine.core.citing import passage
from knowledge_mcp.engine.evidence import quotes
from knowledge_mcp.engine.evidence.quotes import verify_quote
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import DocumentStructure, PageCoverage
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.errors import ConnectionFailedError, InvalidInputError, NotFoundError
from knowledge_mcp.model.evidence import QuoteAnswer, QuoteQuery, QuoteVerdict, UncertainPage
from knowledge_mcp.model.query import Filter, LegResults
from tests.engine.overridden import OverriddenStore
from tests.engine.world import PUMPS, VALVES, World

TANKS = """# Tanks

## 1 Filling

The tank shall hold 1.5 m³ at −5 °C, and not more than 20 % of that below 3 °C. The value β of a full tank is ≤ 0.5.

The inlet - a "wide" one - shall be re-fitted when the operator's well-known gauge reads 10² Pa; the office keeps 5 mW.

The supplier shall:

- keep a record of each filling;
- report a leak within one hour;
- clean the tank.

| Tank | Height | Limit |
|------|--------|-------|
| North | 4 m | 12 kPa |
| South | 6 m | 18 kPa |

## 2 Emptying

A tank is emptied by its own weight. The outlet shall not be opened while the inlet is open. See clause 1.
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ingest three documents once."""
    return World(tmp_path_factory.mktemp("world")).holding({"pumps.md": PUMPS, "valves.md": VALVES, "tanks.md": TANKS})


def ask(world: World, quote: str, document_id: str | None = None) -> QuoteAnswer:
    return verify_quote(world.base, QuoteQuery(quote, document_id))


def differences_of(answer: QuoteAnswer, place: int = 0) -> list[tuple[str, str]]:
    return [(each.quoted, each.printed) for each in answer.places[place].differences]


@pytest.mark.parametrize("document_id", [None, "pumps"])
def test_a_quote_as_it_is_printed_is_exact_with_its_place_and_citation(world: World, document_id: str | None) -> None:
    quote = "The operator should test the battery monthly."
    answer = ask(world, quote, document_id)
    assert answer.verdict is QuoteVerdict.EXACT
    place = answer.places[0]
    text = world.knowledge.document_text("pumps")
    assert place.passage.text == place.passage.locator.span.of(text) == quote
    assert place.passage.locator.content_hash == hashlib.sha256(quote.encode()).hexdigest()
    assert place.passage.citation.startswith("Pumping stations (2nd edition), 3.1 Power, line 26 ")
    assert (place.similarity, place.differences, answer.degraded) == (1.0, (), ())


@pytest.mark.parametrize(
    "quote",
    [
        "the TANK shall  hold\n1.5 m³ at -5 °C",
        "The inlet — a “wide” one — shall be re-fitted",
        "the operator’s well-\nknown gau-\n  ge reads 10² Pa",
        "The sup\u00adplier shall: keep a record of each \ufb01lling; report a leak within one hour; clean the tank.",
        "The supplier shall: • keep a record of each filling; • report a leak within one hour",
        "North 4 m 12 kPa South\t6 m",
        "| SOUTH | 6 m | 18 kPa |",
        "1 Filling The tank shall hold",
        "“The tank shall hold 1.5 m³ AT −5 °C”",
        "20% of that below 3°C",
    ],
)
def test_blanks_hyphenation_dashes_quotation_marks_ligatures_and_case_do_not_matter(world: World, quote: str) -> None:
    answer = ask(world, quote)
    assert answer.verdict is QuoteVerdict.NORMALISED
    assert answer.places[0].similarity == 1.0
    assert ask(world, quote, "tanks").verdict is QuoteVerdict.NORMALISED


@pytest.mark.parametrize("quote", ["| South | 6 m | 18 kPa |", "South | 6 m", "• clean the tank.", "clean the tank."])
def test_a_row_of_a_table_and_an_item_of_a_list_as_printed_are_exact(world: World, quote: str) -> None:
    assert ask(world, quote).verdict is QuoteVerdict.EXACT


@pytest.mark.parametrize(
    ("quote", "differences"),
    [
        ("The tank shall hold 15 m³ at −5 °C", [("15", "1.5")]),
        ("The tank shall hold 1. 5 m³ at −5 °C", [("1. 5", "1.5")]),
        ("The tank shall hold 1.5 m3 at −5 °C", [("m3", "m³")]),
        ("The tank shall hold 1.5 m³ at 5 °C, and not", [("", "−")]),
        ("5 °C, and not more than 20 % of that", [("5", "−5")]),
        ("The tank should hold 1.5 m³ at −5 °C", [("should", "shall")]),
        ("−5 °C, and more than 20 % of that", [("", "not")]),
        ("and not more than 20 of that below 3 °C", [("", "%")]),
        ("The value α of a full tank is ≤ 0.5.", [("α", "β")]),
        ("The value β of a full tank is < 0.5.", [("<", "≤")]),
        ("The value β of a full tank is 0.5.", [("", "≤")]),
        ("shall be refitted when the operator's", [("refitted", "re-fitted")]),
        ("operator's wellknown gauge reads 10² Pa", [("wellknown", "well-known")]),
        ("gauge reads 102 Pa; the office", [("102", "10²")]),
        ("the office keeps 5 MW.", [("MW", "mW")]),
        ("The outlet shall be opened while the inlet is open.", [("", "not")]),
        ("The outlet shall not be opened while the inlet is not open.", [("not", "")]),
        ("he outlet shall not be opened", [("he", "The")]),
    ],
)
def test_one_changed_word_number_sign_or_unit_is_altered_and_reported(
    world: World, quote: str, differences: list[tuple[str, str]]
) -> None:
    answer = ask(world, quote)
    assert answer.verdict is QuoteVerdict.ALTERED
    assert answer.places[0].similarity < 1.0
    assert differences_of(answer) == differences
    assert ask(world, quote, "tanks").verdict is QuoteVerdict.ALTERED


def test_words_cut_together_in_the_midst_of_sentences_are_stitched_too(world: World) -> None:
    answer = ask(world, "The station shall run on battery for to the operator within one minute, see")
    assert answer.verdict is QuoteVerdict.STITCHED
    assert [place.quoted for place in answer.places] == [
        "The station shall run on battery for",
        "to the operator within one minute, see",
    ]


def test_words_left_out_without_an_ellipsis_are_reported(world: World) -> None:
    answer = ask(world, "The controller shall report every outage within one minute, see 3.1.")
    assert (answer.verdict, differences_of(answer)) == (QuoteVerdict.ALTERED, [("", "to the operator")])


def test_what_an_ellipsis_leaves_out_may_be_near_but_not_far_and_not_before(world: World) -> None:
    near = ask(world, "The tank shall hold 1.5 m³ [...] a full tank is ≤ 0.5.")
    assert near.verdict is QuoteVerdict.EXACT
    assert len(near.places) == 1
    assert near.places[0].passage.text.startswith("The tank shall hold")
    assert near.places[0].passage.text.endswith("is ≤ 0.5.")
    assert ask(world, "the tank shall hold 1.5 m³ … a full tank is").verdict is QuoteVerdict.NORMALISED
    before = ask(world, "The value β of a full tank … The tank shall hold 1.5 m³")
    assert before.verdict is QuoteVerdict.STITCHED
    assert [place.quoted for place in before.places] == ["The value β of a full tank", "The tank shall hold 1.5 m³"]
    changed = ask(world, "The tank shall hold 1.5 m³ ... The value β of an empty tank is")
    assert changed.verdict is QuoteVerdict.ALTERED
    assert differences_of(changed) == [("an empty", "a full")]


@pytest.mark.parametrize("mark", ["…", "[...]"])
def test_an_ellipsis_that_leaves_out_the_not_alters_what_is_said(world: World, mark: str) -> None:
    answer = ask(world, f"The outlet shall {mark} be opened while the inlet is open.")
    assert (answer.verdict, differences_of(answer)) == (QuoteVerdict.ALTERED, [("…", "not")])
    assert answer.places[0].passage.text == "The outlet shall not be opened while the inlet is open."
    assert answer.places[0].similarity < 1.0
    named = ask(world, f"The outlet shall {mark} be opened while the inlet is open.", "pumps")
    assert named.verdict is not QuoteVerdict.ELSEWHERE


def test_an_ellipsis_may_leave_out_what_commas_set_off_or_stands_in_another_sentence(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write(
        "lids.md",
        "# Lids\n\nThe lid, which is not painted, shall be closed. It is no door. The bolt shall, whether or not the "
        "lid is closed, be greased.\n",
    )
    world.ingest()
    for quote in (
        "The lid … shall be closed",
        "The lid, … shall be closed",
        "The lid … The bolt shall",
        "The bolt shall … be greased",
    ):
        assert ask(world, quote).verdict is QuoteVerdict.EXACT


def test_single_words_about_ellipses_in_another_order_are_stitched(world: World) -> None:
    assert ask(world, "outlet … shall … tank", "tanks").verdict is QuoteVerdict.STITCHED
    assert ask(world, "Emptying … weight … inlet", "tanks").verdict is QuoteVerdict.EXACT


def test_an_ellipsis_over_more_than_a_page_is_stitched(tmp_path: Path) -> None:
    world = World(tmp_path)
    middle = "\n\n".join(f"The part {number} of this text is only there to be long." for number in range(120))
    world.write(
        "long.md", f"# Long\n\nThe first pump shall be painted red.\n\n{middle}\n\nThe last valve is never green.\n"
    )
    world.ingest()
    assert ask(world, "The first pump shall be painted red. ... The last valve").verdict is QuoteVerdict.STITCHED
    assert ask(world, "The first pump shall be ... The part 3 of").verdict is QuoteVerdict.EXACT


@pytest.mark.parametrize("document_id", [None, "tanks"])
def test_two_sentences_from_different_places_are_stitched_with_both_places(
    world: World, document_id: str | None
) -> None:
    answer = ask(world, "The value β of a full tank is ≤ 0.5. The outlet shall not be opened while", document_id)
    assert answer.verdict is QuoteVerdict.STITCHED
    assert [place.passage.text for place in answer.places] == [
        "The value β of a full tank is ≤ 0.5.",
        "The outlet shall not be opened while",
    ]


def test_sentences_of_two_documents_are_stitched_and_an_item_far_from_its_lead_in_too(world: World) -> None:
    answer = ask(
        world, "Each valve shall be turned once a year. The outlet shall not be opened while the inlet is open."
    )
    assert answer.verdict is QuoteVerdict.STITCHED
    assert [place.passage.locator.document_id for place in answer.places] == ["valves", "tanks"]
    assert ask(world, "The supplier shall: clean the tank.").verdict is QuoteVerdict.STITCHED
    assert ask(world, "The supplier shall: … clean the tank.").verdict is QuoteVerdict.EXACT


def test_a_quote_of_another_document_than_the_one_named_is_elsewhere(world: World) -> None:
    answer = ask(world, "each valve shall be turned once a year", "pumps")
    assert answer.verdict is QuoteVerdict.ELSEWHERE
    assert answer.places[0].passage.locator.document_id == "valves"
    assert ask(world, "Each valve shall be turned twice a year.", "pumps").verdict is QuoteVerdict.NOT_FOUND


def test_a_quote_that_is_elsewhere_may_stand_on_a_doubtful_page_of_the_document_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    doubtful = UncertainPage("pumps", 3, "3", "read by text recognition")

    def pages(held: Mapping[str, object], _words: object) -> tuple[UncertainPage, ...]:
        return (doubtful,) if set(held) == {"pumps"} else ()

    monkeypatch.setattr(quotes, "uncertain_pages", pages)
    answer = ask(world, "each valve shall be turned once a year", "pumps")
    assert (answer.verdict, answer.uncertain) == (QuoteVerdict.ELSEWHERE, (doubtful,))


def test_nothing_like_a_quote_is_not_found_and_says_how_many_documents_were_compared(world: World) -> None:
    answer = ask(world, "Violet elephants seldom negotiate with bankers about battery chargers.")
    assert answer.verdict is QuoteVerdict.NOT_FOUND
    assert answer.searched_documents == 1  # the only one with any of the words
    assert ask(world, "xylophone zebra").places == ()


def test_a_quote_that_stands_twice_has_two_places(tmp_path: Path) -> None:
    world = World(tmp_path).holding(
        {
            "a.md": "# A\n\nEach gate shall be shut at night.\n\nThen rest. Each gate shall be shut at night.\n",
            "b.md": "# B\n\nEach Gate shall be shut at night.\n\nEach gate shall be shut at night.\n",
        }
    )
    answer = ask(world, "Each gate shall be shut at night.")
    assert answer.verdict is QuoteVerdict.EXACT
    assert sorted(place.passage.locator.document_id for place in answer.places) == ["a", "a", "b"]
    assert all(place.passage.text == place.quoted for place in answer.places)


def test_a_quote_over_several_passages_is_found_whole(world: World) -> None:
    text = world.knowledge.document_text("pumps")
    chunks = world.knowledge.document_chunks("pumps")
    span = Span(chunks[0].span.start, chunks[-1].span.end)
    assert len(chunks) > 3
    answer = ask(world, " ".join(span.of(text).split()))
    assert answer.verdict is QuoteVerdict.NORMALISED
    assert answer.places[0].passage.locator.span == span


def test_a_blank_wordless_or_endless_quote_and_an_unknown_document_are_errors(world: World, tmp_path: Path) -> None:
    for quote in ("", "  ", "... !", "word " * 2001):
        with pytest.raises(InvalidInputError):
            ask(world, quote)
    with pytest.raises(NotFoundError) as caught:
        ask(world, "The tank", "tank")
    assert "tanks" in caught.value.suggestion
    assert ask(World(tmp_path), "The tank") == QuoteAnswer(QuoteVerdict.NOT_FOUND, (), 0)


class Mute(OverriddenStore):
    """A store whose keyword leg fails."""

    def search(
        self, collection: str, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int
    ) -> LegResults:
        raise ConnectionFailedError("the index is away")


def test_without_the_keyword_leg_only_a_document_named_can_answer(tmp_path: Path) -> None:
    world = World(tmp_path, store=Mute(EnglishAnalyser())).holding({"tanks.md": TANKS})
    assert ask(world, "A tank is emptied by its own weight.", "tanks").verdict is QuoteVerdict.EXACT
    altered = ask(world, "A tank is emptied by its own height.", "tanks")
    assert altered.verdict is QuoteVerdict.ALTERED
    assert "the index is away" in altered.degraded[0]
    for quote, document_id in (("Violet elephants seldom negotiate.", "tanks"), ("A tank is emptied", None)):
        with pytest.raises(ConnectionFailedError, match="the index is away"):
            ask(world, quote, document_id)


def test_a_passage_has_the_pages_and_lines_of_its_own_chunks_only(world: World) -> None:
    text = world.knowledge.document_text("pumps")
    chunks = world.knowledge.document_chunks("pumps")
    records = Records(world.base)
    one = passage(records, "pumps", text, chunks[1].span, chunks)
    assert one.locator.lines == chunks[1].lines
    two = passage(records, "pumps", text, Span(chunks[1].span.end - 4, chunks[2].span.start + 4), chunks)
    first, second = chunks[1].lines, chunks[2].lines
    assert first is not None
    assert second is not None
    assert two.locator.lines == (first[0], second[1])
    pages = tuple(
        PageCoverage(number, label, span, "text_layer", 1)
        for number, label, span in ((1, "i", Span(0, 20)), (2, "ii", Span(20, 60)), (3, "1", Span(60, len(text))))
    )
    paged = passage(records, "pumps", text, Span(30, 70), chunks, DocumentStructure((), pages))
    assert (paged.locator.page_numbers, paged.locator.page_labels) == ((2, 3), ("ii", "1"))
    assert paged.citation.endswith("pp. ii-1 (pages 2-3 of the file) [pumps.md]")
    covered = (PageCoverage(1, "", Span(0, 60), "text_layer", 1), *pages[2:])
    cover = passage(records, "pumps", text, Span(30, 50), chunks, DocumentStructure((), covered))
    assert cover.citation.endswith(", page 1 of the file [pumps.md]")
    mixed = (
        PageCoverage(1, "i", Span(0, 60), "text_layer", 1, runs=(Span(0, 20), Span(40, 60))),
        PageCoverage(2, "ii", Span(20, len(text)), "text_layer", 1, runs=(Span(20, 40), Span(60, len(text)))),
    )
    on_pages = {
        span: passage(records, "pumps", text, span, chunks, DocumentStructure((), mixed)).locator.page_numbers
        for span in (Span(2, 10), Span(25, 30), Span(45, 50), Span(55, 65))
    }
    assert list(on_pages.values()) == [(1,), (2,), (1,), (1, 2)]
    assert passage(records, "pumps", text, Span(0, 0), ()).citation == "Pumping stations [pumps.md]"
