"""Definitions in every form that documents print them in, and nothing that only looks like one."""

from __future__ import annotations

import re

import pytest

from knowledge_mcp.language.glossary.definitions import find_definitions
from knowledge_mcp.language.glossary.entries import split_term
from knowledge_mcp.language.glossary.terms import TermsClause
from knowledge_mcp.model.chunk import Definition
from knowledge_mcp.model.document import BlockKind
from tests.fakes.documents import Part, build_document

_TERMS = Part(BlockKind.HEADING, "Terms and definitions", 1, "3")


def _heading(text: str, number: str | None = None, level: int = 2) -> Part:
    return Part(BlockKind.HEADING, text, level, number)


def _text(text: str) -> Part:
    return Part(BlockKind.PARAGRAPH, text)


def _table(text: str) -> Part:
    return Part(BlockKind.TABLE, text)


def _found(*parts: Part) -> list[Definition]:
    return find_definitions(build_document(parts))


@pytest.mark.requirement("A-REQ-INGEST-003")
def test_an_entry_under_its_own_heading_is_a_definition() -> None:
    (entry,) = _found(
        _TERMS,
        _heading("mean time to repair (MTTR)", "3.1"),
        _text("<maintenance> time that a repair takes\nin the mean"),
        Part(BlockKind.NOTE, "Note 1 to entry: Travel is not counted."),
    )
    assert entry.term == "mean time to repair"
    assert entry.aliases == ("MTTR",)
    assert entry.text == "time that a repair takes in the mean"
    assert entry.clause_number == "3.1"
    assert entry.domain == "maintenance"


@pytest.mark.parametrize(
    ("parts", "notes", "origin"),
    [
        (
            (
                _heading("widget", "3.1"),
                _text("thing without a name"),
                Part(BlockKind.NOTE, "Note 1 to entry: It is\nsmall."),
                Part(BlockKind.EXAMPLE, "EXAMPLE A cog."),
                Part(BlockKind.NOTE, "Note 2 to entry: It is grey."),
                _text("[SOURCE: ISO 999:2020, 3.1 (part [b]), modified]"),
            ),
            ("Note 1 to entry: It is small.", "EXAMPLE A cog.", "Note 2 to entry: It is grey."),
            "ISO 999:2020, 3.1 (part [b]), modified",
        ),
        (
            (
                _text(
                    "widget: thing without a name NOTE 1 It is small. NOTE 2 It is grey. [SOURCE: ISO 999:2020] More."
                ),
            ),
            ("NOTE 1 It is small.", "NOTE 2 It is grey."),
            "ISO 999:2020",
        ),
        (
            (
                _text("**widget**: thing without a name"),
                Part(BlockKind.NOTE, "NOTE It is small."),
                _text("**cog**: wheel with teeth"),
            ),
            ("NOTE It is small.",),
            "",
        ),
        (
            (_text("widget"), _text("thing without a name"), _text("SOURCE: ISO 999:2020")),
            (),
            "ISO 999:2020",
        ),
        ((_text("widget: thing without a name"), _text("Here ends the list.")), (), ""),
    ],
    ids=["under a heading", "behind the words", "in the next paragraph", "source without a bracket", "none"],
)
def test_notes_examples_and_the_source_of_an_entry_are_distinguished_from_its_words(
    parts: tuple[Part, ...], notes: tuple[str, ...], origin: str
) -> None:
    entry = _found(_TERMS, *parts)[0]
    assert (entry.term, entry.text) == ("widget", "thing without a name")
    assert (entry.notes, entry.origin) == (notes, origin)


@pytest.mark.requirement("A-REQ-INGEST-003")
def test_an_identifier_above_an_entry_is_not_its_term() -> None:
    (entry,) = _found(_TERMS, _heading("DEF-MAS-01"), _text("Handle: any use of a thing."))
    assert (entry.term, entry.text) == ("Handle", "any use of a thing.")


def test_an_entry_whose_number_stands_alone_takes_its_term_from_the_next_line() -> None:
    by_section = _found(_TERMS, _heading("", "3.1.4", 3), _text("widget\nthing that has no other name"))
    by_text = _found(_TERMS, _text("3.1.4\nwidget\nthing that has no other name"))
    for (entry,) in (by_section, by_text):
        assert (entry.term, entry.text, entry.clause_number) == ("widget", "thing that has no other name", "3.1.4")


@pytest.mark.parametrize(
    "printed",
    [
        "widget: thing without a name",
        "3.1 widget: thing without a name",
        "**widget**: thing without a name",
        "widget — thing without a name",
        "- widget – thing without a name",
        "“widget” means thing without a name",
        "widget means thing without a name",
        "widget: thing without a name NOTE 1 It is small.",
        "widget: thing without a name [SOURCE: ISO 999:2020, 3.1]",
        "3.40 widget. Thing without a name",
    ],
)
def test_entries_of_a_terms_clause_are_read_in_all_their_forms(printed: str) -> None:
    (entry,) = _found(_TERMS, _text(printed))
    assert (entry.term, entry.text.lower()) == ("widget", "thing without a name")


@pytest.mark.parametrize(
    "printed",
    [
        "For the purposes of this document, the following terms apply:",
        "The terms of ISO 999 apply.",
        "NOTE: Some terms are old.",
        "In this document, these words matter: all of them.",
    ],
)
def test_ordinary_sentences_of_a_terms_clause_define_nothing(printed: str) -> None:
    assert _found(_TERMS, _text(printed)) == []


@pytest.mark.parametrize(
    ("printed", "term"),
    [
        ("“Widget” means any thing without a name.", "Widget"),
        ("3.5 The term “widget” means any thing without a name.", "widget"),
        ('The term "widget" refers to a thing without a name.', "widget"),
        ("A widget is defined as a thing without a name.", "widget"),
    ],
)
def test_defining_sentences_are_found_anywhere(printed: str, term: str) -> None:
    (entry,) = _found(_heading("Loads", "5"), _text(f"Widgets are used. {printed} They are grey."))
    assert entry.term == term
    assert "thing without a name" in entry.text
    assert "grey" not in entry.text


@pytest.mark.parametrize(
    "printed",
    [
        "Description: the pump is grey.",
        "**Warning**: the pump is hot.",
        "This means that the pump is hot.",
        "The limit shall be defined as 5 kN.",
        "Pump — grey",
        "A pump that is defined as grey is hot.",
    ],
)
def test_labels_and_ordinary_sentences_outside_a_terms_clause_define_nothing(printed: str) -> None:
    assert _found(_heading("Loads", "5"), _text(printed)) == []


def test_a_glossary_table_gives_one_definition_per_row() -> None:
    table = "| Term | Definition |\n| --- | --- |\n| widget | thing without a name |\n| gadget | thing with a name |"
    found = _found(_heading("Loads", "5"), _table(table))
    assert [(d.term, d.text) for d in found] == [
        ("widget", "thing without a name"),
        ("gadget", "thing with a name"),
    ]


def test_a_table_of_other_things_defines_nothing() -> None:
    assert _found(_heading("Loads", "5"), _table("| Part | Weight |\n| --- | --- |\n| pump | 5 kg |")) == []


@pytest.mark.parametrize(
    "printed",
    [
        "API  application programming interface",
        "API: application programming interface",
        "API application programming interface",
    ],
)
def test_lines_of_an_abbreviations_clause_are_definitions_with_the_words_as_synonym(printed: str) -> None:
    (entry,) = _found(Part(BlockKind.HEADING, "Abbreviated terms", 1, "4"), _text(printed))
    assert (entry.term, entry.text) == ("API", "application programming interface")
    assert entry.aliases == ("application programming interface",)


def test_several_abbreviations_in_one_block_have_their_own_spans() -> None:
    document = build_document(
        [
            Part(BlockKind.HEADING, "Acronyms", 1, "4"),
            _text("API  application programming interface\nThe list is short\nKPI  key performance indicator"),
        ]
    )
    found = find_definitions(document)
    assert [d.span.of(document.text) for d in found] == [
        "API  application programming interface",
        "KPI  key performance indicator",
    ]


def test_an_acronym_table_without_header_counts_its_first_row() -> None:
    table = "| API | Application Programming Interface |\n| --- | --- |\n| KPI | Key Performance Indicator |"
    found = _found(Part(BlockKind.HEADING, "Acronyms", 1, "A"), _table(table))
    assert [d.term for d in found] == ["API", "KPI"]


def test_an_entry_that_only_points_elsewhere_is_none() -> None:
    assert _found(_TERMS, _heading("Acronyms of this standard", "3.9"), _text("See Appendix A.")) == []


def test_a_term_on_a_paragraph_of_its_own_is_defined_by_the_next() -> None:
    found = _found(
        _TERMS,
        _text("The following terms apply."),
        _text("widget"),
        _text("thing without a name"),
        _text("gadget (or G)"),
        _text("thing with a name"),
    )
    assert [(d.term, d.aliases, d.text) for d in found] == [
        ("widget", (), "thing without a name"),
        ("gadget", ("G",), "thing with a name"),
    ]


def test_terms_and_definitions_on_paragraphs_by_turns_are_pairs_even_with_capitals() -> None:
    pairs = [("Widget", "A thing without a name."), ("Gadget", "A thing with a name."), ("Gizmo", "Any other thing.")]
    found = _found(_TERMS, *(_text(words) for pair in pairs for words in pair))
    assert [(d.term, d.text) for d in found] == pairs


@pytest.mark.parametrize(
    ("printed", "term", "aliases"),
    [
        ("force coefficient (Cf)", "force coefficient", ("Cf",)),
        ("angle of attack / incidence (α)", "angle of attack / incidence", ("α", "angle of attack", "incidence")),
        ("use (a)", "use (a)", ("use",)),
        ("access point (AP)", "access point", ("AP",)),
        ("integrated circuits (ICs)", "integrated circuits", ("ICs",)),
        ("accuracy (absolute)", "accuracy (absolute)", ("accuracy",)),
        ("incident (NAVY)", "incident (NAVY)", ("incident",)),
        ("cryptographic system (cryptosystem)", "cryptographic system", ("cryptosystem",)),
        ("assurance_level", "assurance_level", ()),
        ("**widget**", "widget", ()),
        ("abbreviated dialing", "abbreviated dialing", ()),
        ("trial (noun)", "trial", ()),
        ("widget; gizmo", "widget", ("gizmo",)),
    ],
)
def test_a_printed_term_is_split_from_its_other_names_and_keeps_what_tells_it_apart(
    printed: str, term: str, aliases: tuple[str, ...]
) -> None:
    assert split_term(printed) == (term, aliases)


@pytest.mark.parametrize("printed", ["(n, d): pair of numbers", "∅: set of nothing", "C++ - language of machines"])
def test_terms_may_be_signs(printed: str) -> None:
    (entry,) = _found(_TERMS, _text(printed))
    assert entry.term == re.split(r": | - ", printed)[0]


@pytest.mark.parametrize("title", ["Pump glossary", "Glossary of pump terms", "Vocabulary of pumps", "Interpretation"])
def test_glossaries_go_by_many_titles(title: str) -> None:
    assert len(_found(Part(BlockKind.HEADING, title), _text("widget: thing without a name"))) == 1


def test_a_run_of_words_after_an_abbreviation_is_no_expansion() -> None:
    assert (
        _found(_TERMS, _text("VCS version control system which a viewer sees and a log file keeps for later use")) == []
    )


@pytest.mark.parametrize("kind", [BlockKind.LIST_ITEM, BlockKind.PARAGRAPH])
@pytest.mark.parametrize("words", ["a person who is", "any of:", "a person, and"])
def test_a_definition_that_leads_to_a_list_has_its_items(words: str, kind: BlockKind) -> None:
    items = (Part(kind, "(a) an architect of a yard, or"), Part(kind, "(b) an engineer."))
    behind = (_text("(See Note A-3.)"), _text("Yard means a place with sheds."), Part(kind, "(c) another list"))
    found = _found(_TERMS, _text(f"Registered professional means {words}"), *items, *behind)
    whole = f"{words} (a) an architect of a yard, or (b) an engineer."
    assert [(each.term, each.text) for each in found] == [
        ("Registered professional", whole),
        ("Yard", "a place with sheds."),
    ]


def test_a_defining_sentence_that_leads_to_a_list_has_its_items() -> None:
    found = _found(
        _heading("Application", "2", 1),
        _text("This rule applies in the yard. “Building” means—"),
        Part(BlockKind.LIST_ITEM, "(a) a house;"),
        Part(BlockKind.LIST_ITEM, "(b) a shed that has a wall."),
        _text("“Wall” means a part that stands. It does not move."),
        Part(BlockKind.LIST_ITEM, "(c) no part of it"),
    )
    assert [(each.term, each.text) for each in found] == [
        ("Building", "(a) a house; (b) a shed that has a wall."),
        ("Wall", "a part that stands."),
    ]


def test_items_that_are_entries_are_not_a_part_of_the_paragraph_above() -> None:
    items = (Part(BlockKind.LIST_ITEM, "Cog: a wheel with teeth"), Part(BlockKind.LIST_ITEM, "Rod: a long bar"))
    found = _found(_TERMS, _text("Terms: those that are used in the yard, which are:"), *items)
    assert [(each.term, each.text) for each in found][-2:] == [("Cog", "a wheel with teeth"), ("Rod", "a long bar")]


def test_clauses_about_terms_and_lines_of_units_are_no_entries() -> None:
    about = _found(_TERMS, _heading("Non-defined terms", "3.1"), _text("They have the meanings that people give them."))
    assert about == []
    heading = _heading("Symbols and other abbreviations", "3.2")
    assert _found(_TERMS, heading, _text("N newton"), _text("n/a not applicable")) == []


def test_entries_with_a_full_stop_after_their_number_may_begin_with_a_capital() -> None:
    clause = TermsClause()
    clause.heading("4", "Terms and definitions", 1)
    assert clause.opens("4.1. Moving pump") == ("4.1", "Moving pump", 2)
    assert clause.opens("4.2. pump") == ("4.2", "pump", 2)
    assert clause.opens("4.1 Moving pump") is None
    assert clause.opens("5.1. Moving pump") is None


def test_a_number_with_a_full_stop_before_a_run_in_term_is_that_of_its_entry() -> None:
    found = _found(_TERMS, _text("3.2.1. pump, lifter: A machine that moves water."))
    assert [(d.term, d.text, d.clause_number) for d in found] == [
        ("pump, lifter", "A machine that moves water.", "3.2.1")
    ]


def test_a_numbered_heading_that_ends_in_a_colon_is_a_term_whatever_its_definition_says() -> None:
    for stop, terms in ((":", ["annex"]), ("", [])):
        heading = Part(BlockKind.HEADING, f"annex{stop}", 2, "3.1")
        assert [d.term for d in _found(_TERMS, heading, _text("An annex contains long tables."))] == terms


def test_a_source_in_brackets_may_speak_of_the_notes_of_its_entry() -> None:
    source = "[SOURCE: KM 7:2021, 3.2, modified — The name (old) is left out. Note 1 to entry has been removed.]"
    for words in ("A thing. " + source, "A thing. Note 1 to entry: It hums. " + source):
        (found,) = _found(_TERMS, _text(f"pump: {words}"))
        assert found.origin == source[9:-1]
        assert found.notes == (("Note 1 to entry: It hums.",) if "hums" in words else ())


def test_definitions_that_lead_to_lists_stand_below_their_terms_too() -> None:
    items = [Part(BlockKind.LIST_ITEM, f"• what it does first, and {at}") for at in range(5)]
    parts = [
        part
        for term in ("Client", "Server", "Gateway")
        for part in (
            _text(term),
            _text(f"A program or a device that is known to the {term.lower()}. It does this:"),
            *items,
        )
    ]
    assert [each.term for each in _found(_TERMS, *parts)] == ["Client", "Server", "Gateway"]


def test_a_dash_between_a_term_and_its_meaning_may_have_no_blank_behind_it() -> None:
    (entry,) = _found(_TERMS, Part(BlockKind.LIST_ITEM, "• Allowlist –A list of what is permitted"))
    assert (entry.term, entry.text) == ("Allowlist", "A list of what is permitted")
    assert _found(_TERMS, Part(BlockKind.LIST_ITEM, "• Low –high range of the pump")) == []


@pytest.mark.parametrize("title", ["Glossary", "Abbreviations"])
def test_abbreviations_above_what_they_stand_for_are_defined_where_a_section_prints_them_in_turn(title: str) -> None:
    printed = [
        "RBC",
        "Radio Block Centre",
        "API",
        "Application Program Interface",
        "I/O",
        "Input/Output",
        "FM",
        "Final Model (of it)",
    ]
    found = _found(_heading(title, "4", 1), *map(_text, printed))
    assert [(each.term, each.text) for each in found] == list(zip(printed[::2], printed[1::2], strict=True))
    assert not _found(_heading(title, "4", 1), *map(_text, ["RBC", "Signals of it", "OBU", "Trains", "FM", "Forests"]))
