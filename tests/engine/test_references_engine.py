"""What a place refers to and what refers to it: resolved where the target is held, with the reason where it is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from knowledge_mcp.engine.core.designations import Designation, Directory, designation_of, designations
from knowledge_mcp.engine.core.documents import StoredDocument, read_document
from knowledge_mcp.engine.evidence.outline import find_sections
from knowledge_mcp.engine.evidence.targets import Targets
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import NO_STRUCTURE, DocumentRecord
from knowledge_mcp.model.document import Reference, ReferenceKind, Span
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError, TimedOutError
from knowledge_mcp.model.evidence import ReferenceAnswer, ReferenceLink, ReferenceQuery
from knowledge_mcp.model.query import Filter, LegResults
from tests.engine.library import FERRIES, PIERS, TIDES
from tests.engine.overridden import OverriddenStore
from tests.engine.world import World


class Flaky(OverriddenStore):
    """A store whose keyword leg can be told to fail."""

    def __init__(self) -> None:
        super().__init__(EnglishAnalyser())
        self.fails = False

    def search(
        self, collection: str, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int
    ) -> LegResults:
        if self.fails:
            raise TimedOutError("The store took too long.")
        return super().search(collection, vector=vector, text=text, filter=filter, limit=limit)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ingest three documents once."""
    made = World(tmp_path_factory.mktemp("world"), store=Flaky())
    for name, text in (("ferries.md", FERRIES), ("piers.md", PIERS), ("tides.md", TIDES)):
        made.write(name, text)
    made.ingest()
    return made


def by_target(links: tuple[ReferenceLink, ...]) -> dict[str, ReferenceLink]:
    return {link.target: link for link in links}


def led_to(link: ReferenceLink) -> tuple[str, str]:
    """Name the document and the first line that a reference leads to."""
    assert link.destination is not None
    return link.destination.locator.document_id, link.destination.text.split("\n")[0]


@pytest.fixture(scope="module")
def whole(world: World) -> ReferenceAnswer:
    return world.knowledge.references(ReferenceQuery("ferries"))


@pytest.mark.parametrize(
    ("target", "document", "opening"),
    [
        ("5.3.1", "ferries", "5.3.1 Number of lines"),
        ("5.3.2", "ferries", "5.3.2 Care of lines"),
        ("Annex B", "ferries", "Annex B (informative) Knots"),
        ("Table 4", "ferries", "Table 4 - Lines by length of the ferry"),
        ("IEEE 777:2019 2.1", "tides", "2.1 Once a week"),
        ("tides.md#rising-water", "tides", "Rising water"),
    ],
)
def test_a_reference_leads_to_what_it_names(whole: ReferenceAnswer, target: str, document: str, opening: str) -> None:
    assert led_to(by_target(whole.outgoing)[target]) == (document, opening)


@pytest.mark.parametrize(
    ("target", "reason"),
    [("5.9", "'ferries' has no clause '5.9'."), ("ISO 9999", "The document is not in the knowledge base.")],
)
def test_a_reference_that_leads_nowhere_says_why(whole: ReferenceAnswer, target: str, reason: str) -> None:
    link = by_target(whole.outgoing)[target]
    assert link.destination is None
    assert link.reason == reason


def test_references_come_in_reading_order_with_the_sentence_that_holds_each(
    world: World, whole: ReferenceAnswer
) -> None:
    text = world.knowledge.document_text("ferries")
    starts = [link.source.locator.span.start for link in whole.outgoing]
    assert starts == sorted(starts)
    for link in whole.outgoing:
        assert link.source.text == link.source.locator.span.of(text)
        assert link.text in " ".join(link.source.text.split())
        assert (link.destination is None) == bool(link.reason)
    first = whole.outgoing[0]
    assert first.source.text == "It is read with 5.3.1 and Annex B."
    assert first.source.citation == "ISO 4711:2020 Ferries, 1 Scope, p. 1 [ferries.md]"


def test_only_what_stands_in_the_place_is_outgoing(world: World) -> None:
    answer = world.knowledge.references(ReferenceQuery("ferries", "5.3"))
    assert [link.target for link in answer.outgoing] == [
        "5.3.1", "5.9", "ISO 9999", "IEEE 777:2019 2.1", "tides.md#rising-water",
    ]  # fmt: skip
    assert all("5.3" in link.source.citation for link in answer.outgoing)


def test_what_refers_to_a_clause_is_found_in_its_own_document_and_in_others(world: World) -> None:
    answer = world.knowledge.references(ReferenceQuery("ferries", "5.3.1"))
    cited = [link.source.citation for link in answer.incoming]
    assert cited == [
        "ISO 4711:2020 Ferries, 1 Scope, p. 1 [ferries.md]",
        "ISO 4711:2020 Ferries, 5.3 Lines, p. 2 [ferries.md]",
        "ISO 4711:2020 Ferries, 6.1 General, p. 3 [ferries.md]",
        "Piers, 1 Loads, line 9 [piers.md]",
    ]
    assert {led_to(link) for link in answer.incoming} == {("ferries", "5.3.1 Number of lines")}
    assert answer.degraded == ()
    around = world.knowledge.references(ReferenceQuery("ferries", "5.3"))
    assert [link.target for link in around.incoming] == [
        "5.3.1", "Table 4", "5.3.1", "5.3.2", "ISO 4711:2020 5.3.1",
    ]  # fmt: skip


def test_references_to_a_chunk_are_those_to_its_clause(world: World) -> None:
    chunk = next(each for each in world.knowledge.document_chunks("ferries") if each.clause_number == "5.3.1")
    answer = world.knowledge.references(ReferenceQuery(chunk_id=chunk.id))
    clause = world.knowledge.references(ReferenceQuery("ferries", "5.3.1"))
    assert answer.incoming == clause.incoming
    assert [link.target for link in answer.outgoing] == ["5.9", "ISO 9999"]


def test_a_whole_document_is_referred_to_by_others_only(world: World) -> None:
    answer = world.knowledge.references(ReferenceQuery("ferries"))
    assert [(link.source.locator.document_id, link.target) for link in answer.incoming] == [
        ("piers", "ISO 4711:2020 5.3.1"), ("piers", "ISO 4711"),
    ]  # fmt: skip
    tides = world.knowledge.references(ReferenceQuery("tides", "2.1"))
    assert [link.source.citation for link in tides.incoming] == [
        "ISO 4711:2020 Ferries, 5.3.2 Care of lines, p. 3 [ferries.md]"
    ]


def test_the_limit_holds_for_each_way_and_the_rest_is_counted(world: World) -> None:
    everything = world.knowledge.references(ReferenceQuery("ferries", "5.3.1"))
    few = world.knowledge.references(ReferenceQuery("ferries", "5.3.1", limit=1))
    assert (few.outgoing, few.incoming) == (everything.outgoing[:1], everything.incoming[:1])
    assert few.more == len(everything.outgoing) + len(everything.incoming) - 2


def test_what_was_not_looked_through_is_reported(world: World) -> None:
    piers = world.knowledge.references(ReferenceQuery("piers"))
    assert "no" not in piers.outgoing[0].reason
    assert "is a designation" in piers.degraded[0]
    store = world.store
    assert isinstance(store, Flaky)
    store.fails = True
    try:
        answer = world.knowledge.references(ReferenceQuery("ferries", "5.3.1"))
    finally:
        store.fails = False
    assert answer.degraded == ("Other documents were not searched: The store took too long.",)
    assert {link.source.locator.document_id for link in answer.incoming} == {"ferries"}


def test_many_mentions_are_cut_with_a_word_about_it(tmp_path: Path) -> None:
    made = World(tmp_path)
    made.write("ferries.md", FERRIES)
    clauses = "\n\n".join(f"## {number} Part\n\nPart {number} follows ISO 4711." for number in range(1, 206))
    made.write("parts.md", f"# Parts\n\n{clauses}\n")
    made.ingest()
    answer = made.knowledge.references(ReferenceQuery("ferries", limit=200))
    assert len(answer.incoming) == 200
    assert answer.degraded == ("Of the passages that contain the words 'iso 4711', only the best 200 were searched.",)


def test_a_question_that_contradicts_itself_is_refused(world: World) -> None:
    chunk = world.knowledge.document_chunks("piers")[0].id
    for query in (
        ReferenceQuery(),
        ReferenceQuery("ferries", "5.3", chunk),
        ReferenceQuery("ferries", chunk_id=chunk),
        ReferenceQuery("ferries", limit=0),
        ReferenceQuery("ferries", limit=201),
    ):
        with pytest.raises(InvalidInputError):
            world.knowledge.references(query)
    for missing in (ReferenceQuery("ferry"), ReferenceQuery("ferries", "9"), ReferenceQuery(chunk_id="nothing")):
        with pytest.raises(NotFoundError):
            world.knowledge.references(missing)


# ---- designations


@pytest.mark.parametrize(
    ("name", "slug", "expected"),
    [
        ("ISO/IEC/IEEE 29148:2018 Systems", False, ({"iso", "iec", "ieee"}, ("29148",), "2018")),
        ("Requirements (ISO/IEC 29148:2018)", False, ({"iso", "iec"}, ("29148",), "2018")),
        ("iso-iec-ieee-29148-2018", True, ({"iso", "iec", "ieee"}, ("29148",), "2018")),
        ("rfc9000", True, ({"rfc"}, ("9000",), "")),
        ("NIST SP 800-53 Rev. 5", False, ({"nist"}, ("800", "53"), "5")),
        ("NIST.SP.800-53r5", True, ({"nist"}, ("800", "53"), "5")),
        ("MIL-STD-882E", False, ({"mil"}, ("882",), "e")),
        ("ISO 10303-11:2004", False, ({"iso"}, ("10303", "11"), "2004")),
        ("ITU-T X.509", False, ({"itu"}, ("x", "509"), "")),
        ("Regulation (EU) 2016/679 on the protection of data", False, ({"eu"}, ("2016", "679"), "")),
        ("Regulation (EU) No 305/2011", False, ({"eu"}, ("305", "2011"), "")),
        ("Directive 2014/33/EU", False, ({"eu"}, ("2014", "33"), "")),
        ("UN Regulation No. 48: Lights", False, ({"un"}, ("48",), "")),
        ("CSA A23.3 Concrete", False, ({"csa"}, ("a", "23", "3"), "")),
        ("3GPP TS 23.501 V17.4.0 System architecture", False, ({"3gpp"}, ("23", "501"), "17.4.0")),
        ("3gpp-ts-23.501", True, ({"3gpp"}, ("23", "501"), "")),
        ("29 CFR Part 1910 Safety standards", False, ({"cfr"}, ("29", "1910"), "")),
        ("29-cfr-1910.134", True, ({"cfr"}, ("29", "1910", "134"), "")),
        ("42 U.S.C. § 7412 Pollutants", False, ({"usc"}, ("42", "7412"), "")),
        ("Guide to 29 CFR 1910", False, None),
        ("Guide to ISO 9001:2015", False, None),
        ("Pumping stations", False, None),
        ("Chapter 3", False, None),
        ("29148-2018", True, None),
    ],
)
def test_a_name_is_read_as_a_designation_where_it_is_one(
    name: str, slug: bool, expected: tuple[set[str], tuple[str, ...], str] | None
) -> None:
    found = [(set(each.bodies), each.core, each.edition) for each in designations(name, slug=slug)]
    assert found == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("target", "core", "clause"),
    [
        ("IEEE 29148:2018 6.2", ("29148",), "6.2"),
        ("RFC 9000 4.1", ("9000",), "4.1"),
        ("ISO 9001 A.1", ("9001",), "A.1"),
        ("NIST SP 800-53 Rev. 5", ("800", "53"), ""),
        ("RFC 9000", ("9000",), ""),
        ("Directive 2001/83/EC 5", ("2001", "83"), "5"),
        ("UN Regulation No. 48 6.11.8", ("48",), "6.11.8"),
        ("3GPP TS 38.331 5.3.1", ("38", "331"), "5.3.1"),
        ("29 CFR 1910.134", ("29", "1910", "134"), ""),
    ],
)
def test_a_target_is_split_into_designation_and_clause(target: str, core: tuple[str, ...], clause: str) -> None:
    read = designation_of(target)
    assert read is not None
    assert (read[0].core, read[1]) == (core, clause)


def record(title: str, document_id: str = "d", **more: str) -> DocumentRecord:
    found = DocumentRecord(document_id, title, "standard", f"/{document_id}.md", "00", "p", 1, 0, 0, 0, "m", "t", "t")
    return replace(found, metadata=tuple(more.items()))


def named(target: str, *records: DocumentRecord) -> tuple[str | None, str]:
    """Resolve a target among records; returns the id found, and the reason."""
    targets = Targets(records, lambda name: StoredDocument(record(name), "", NO_STRUCTURE, ()))
    found, _, reason = targets.document_named(target)
    return (found.id if found else None), reason


def test_another_edition_a_part_and_a_namesake_are_not_the_document() -> None:
    old, new = record("IEEE 29148:2011 Old", "old"), record("IEEE 29148:2018 New", "new")
    assert named("IEEE 29148:2011", old, new) == ("old", "")
    assert named("IEEE 29148", old, new) == ("new", "")
    missing, reason = named("IEEE 29148:2025", old, new)
    assert missing is None
    assert reason == "The edition 2025 is not in the knowledge base, which contains 'old', 'new'."
    part = record("ISO 10303-11:2004 Language", "part")
    assert named("ISO 10303-11", part) == ("part", "")
    assert "of its series are: 'part'" in named("ISO 10303", part)[1]
    assert named("ISO 4217", record("ISO 42171 Other"))[0] is None
    assert named("EN 60204", record("DIN 60204"))[0] is None
    assert named("ISO 9001", record("Quality", designation="ISO 9001:2015")) == ("d", "")
    family = (record("A", "mil-std-498-srs"), record("B", "mil-std-498-sdd"))
    assert "This can refer to several documents" in named("MIL-STD-498", *family)[1]
    assert named("MIL-STD-498", *family, record("C", "mil-std-498")) == ("mil-std-498", "")
    assert named("something else", old) == (None, "'something else' could not be read as a document's designation.")
    assert Directory([old]).alike(Designation(frozenset({"iso"}), ("29148",))) == []


def test_a_law_of_the_union_is_found_by_its_number() -> None:
    law = record("Regulation (EU) 2016/679 of the European Parliament and of the Council", "law")
    assert named("Regulation (EU) 2016/679 6", law) == ("law", "")
    assert named("Regulation (EU) 2016/680", law)[0] is None


def test_a_section_of_the_federal_regulations_is_a_clause_of_its_part() -> None:
    part, section = record("29 CFR Part 1910 Safety", "part"), record("29 CFR 1910.134 Respirators", "section")
    assert Directory([part]).named(Designation(frozenset({"cfr"}), ("29", "1910", "134")))[1] == "1910.134"
    assert named("29 CFR 1910.134", part) == ("part", "")
    assert named("29 CFR 1910.134", part, section) == ("section", "")
    assert named("29 CFR 1910", part, section) == ("part", "")
    assert named("40 CFR 1910.134", part)[0] is None


def test_of_the_releases_of_a_specification_the_latest_is_meant() -> None:
    releases = [record(f"3GPP TS 23.501 V{version} System", version) for version in ("9.9.0", "17.10.0", "17.4.0")]
    assert named("3GPP TS 23.501 5.2", *releases) == ("17.10.0", "")


def test_of_an_article_and_a_section_with_one_number_the_word_decides(world: World) -> None:
    held = read_document(world.base, "piers")
    text = "Section 1 Rights\n\nArticle 1 Aims\n\nArticle 2 Scope\n\nAnnex 1 Forms"
    places = [Span(0, 16), Span(18, 32), Span(34, 49), Span(51, len(text))]
    entries = [
        replace(held.structure.sections[0], number=number, title=title, level=1, span=span)
        for number, title, span in zip(("1", "1", "2", "1"), ("Rights", "Aims", "Scope", "Forms"), places, strict=True)
    ]
    made = replace(held, text=text, structure=replace(held.structure, sections=tuple(entries)))
    targets = Targets([], lambda name: made)

    def start(words: str) -> int | None:
        found = targets.of(made, Reference(words, ReferenceKind.CLAUSE, "1", Span(0, 1)))
        return found.span.start if found.span else None

    assert (start("Article 1(2)"), start("see Section 1"), start("Articles 1")) == (18, 0, 18)
    annex = targets.of(made, Reference("Annex 1", ReferenceKind.ANNEX, "Annex 1", Span(0, 1)))
    assert annex.section == entries[3]
    assert [entry.title for entry in find_sections(made, "Article 2(1)(a)")] == ["Scope"]


def test_whom_to_write_to_is_no_reference(tmp_path: Path) -> None:
    world = World(tmp_path).holding({"a.md": "# A\n\nAsk [Ada](MAILTO:ada@example.org), or see [the other](b.md).\n"})
    found = world.knowledge.references(ReferenceQuery("a"))
    assert [each.target for each in found.outgoing] == ["b.md"]


def test_links_lead_to_headings_files_and_addresses_that_are_held(world: World) -> None:
    held = read_document(world.base, "piers")
    page = replace(record("Page", "page"), source_path="https://example.org/a/")
    targets = Targets([*world.knowledge.documents(), page], lambda name: read_document(world.base, name))

    def lead(target: str) -> tuple[str | None, bool, str]:
        found = targets.of(held, Reference(target, ReferenceKind.LINK, target, Span(0, 1)))
        return found.document_id, found.span is not None, found.reason

    assert lead("#1-loads") == ("piers", True, "")
    assert lead("./tides.md") == ("tides", True, "")
    assert lead("sub/../tides.md#21-once-a-week") == ("tides", True, "")
    assert "no location for the anchor" in lead("#nothing")[2]
    assert lead("https://example.org/b")[2] == "The address 'https://example.org/b' is not in the knowledge base."
    assert lead("gone.md")[2] == "The file 'gone.md' is not in the knowledge base."
    assert "just been removed" in lead("https://example.org/a")[2]


def test_a_caption_is_distinguished_from_a_sentence_and_from_a_list_of_tables(world: World) -> None:
    held = read_document(world.base, "piers")
    text = (
        "Table 4 Loads ......... 12\n\nTable 4 shows the loads.\n\n**Table 4** — Loads on piers\n\nTable 40 - More\n\n"
        "Fig. 2: The pier\n\nTable 4.1 - Parts\n\nFigure 3 cFE in the system\n\nTable 6, below, is empty.\n\n"
        "Appendix A tells how.\n\nAppendix A - Requirements"
    )
    targets = Targets([], lambda name: held)
    made = replace(held, text=text)

    def caption(label: str, kind: ReferenceKind) -> str | None:
        span = targets.of(made, Reference(label, kind, label, Span(0, 1))).span
        return span.of(text) if span else None

    assert caption("Table 4", ReferenceKind.TABLE) == "**Table 4** — Loads on piers"
    assert caption("Table 4.1", ReferenceKind.TABLE) == "Table 4.1 - Parts"
    assert caption("Figure 2", ReferenceKind.FIGURE) == "Fig. 2: The pier"
    assert caption("Figure 3", ReferenceKind.FIGURE) == "Figure 3 cFE in the system"
    assert caption("Annex A", ReferenceKind.ANNEX) == "Appendix A - Requirements"
    assert caption("Table 5", ReferenceKind.TABLE) is None
    assert caption("Table 6", ReferenceKind.TABLE) is None


def test_places_of_other_documents_never_lead_to_the_own_clauses(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("harbour-handbook.md", "# Harbour Handbook\n\n## 3 Lights\n\nLights shall burn at night.\n")
    world.write(
        "berths.md",
        "# Berths\n\n## 3 Ropes {#ropes}\n\nSection 3 of the Harbour Handbook applies, and section 3 of the Act. "
        "Section 3 of QUIC-TLS does not. See {{ropes}} and {{chains}}.\n\n## Chains\n{: #chains}\n\nAs in 3.1.\n\n"
        "### 3.1 Anchors\n\nAnchors hold.\n",
    )
    world.ingest()
    found = by_target(world.knowledge.references(ReferenceQuery("berths")).outgoing)
    assert led_to(found["Harbour Handbook 3"]) == ("harbour-handbook", "3 Lights")
    for foreign in ("the Act 3", "QUIC-TLS 3"):
        assert found[foreign].destination is None
        assert found[foreign].reason
    assert led_to(found["#ropes"]) == ("berths", "3 Ropes")
    assert led_to(found["#chains"])[0] == "berths"
    assert led_to(found["3.1"]) == ("berths", "3.1 Anchors")


def test_a_stored_document_of_an_unknown_publisher_owns_the_clauses_beside_its_name(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("acme-100.md", "# ACME 100 Pumps\n\n## 4.1 Force\n\nIt pumps.\n\n## 4.2 Noise\n\nIt is quiet.\n")
    world.write(
        "guide.md",
        "# Guide\n\n## 4.2 Taste\n\nLimits are in ACME 100, clause 4.2. See clauses 4.1 and 4.2 of ACME 100. "
        "Our own are in clause 4.2. ACME 100 is short. ACME 200 is not stored.\n",
    )
    world.ingest()
    found = world.knowledge.references(ReferenceQuery("guide")).outgoing
    assert [(each.text, *led_to(each)) for each in found if each.text != "ACME 100"] == [
        ("ACME 100, clause 4.2", "acme-100", "4.2 Noise"),
        ("clauses 4.1 and 4.2 of ACME 100", "acme-100", "4.1 Force"),
        ("clauses 4.1 and 4.2 of ACME 100", "acme-100", "4.2 Noise"),
        ("in clause 4.2", "guide", "4.2 Taste"),
    ]
    assert [each.text for each in found].count("ACME 100") == 1
    incoming = world.knowledge.references(ReferenceQuery("acme-100", clause="4.2")).incoming
    assert [each.text for each in incoming] == ["ACME 100, clause 4.2", "clauses 4.1 and 4.2 of ACME 100"]


_STANDARDS = {
    "Lüftung": (
        "siehe Tabelle 1",
        "Tabelle 1 — Volumenströme",
        "Anhang A",
        "Anhang A (normativ) Messung",
        "Abschnitt 4",
    ),
    "Ventilation": ("voir Tableau 1", "Tableau 1 — Débits", "Annexe A", "Annexe A (normative) Mesure", "chapitre 4"),
    "Ventilazione": (
        "vedere Tabella 1",
        "Tabella 1 — Portate",
        "Appendice A",
        "Appendice A (normativa) Misure",
        "punto 4",
    ),
    "Ventilação": ("ver Tabela 1", "Tabela 1 — Vazões", "Anexo A", "Anexo A (normativo) Medição", "seção 4"),
}
_OBLIGES = {
    "Lüftung": "Die Luft muss sauber sein, {} und {}. Die Werte dürfen nicht kleiner sein als in dieser Norm.",
    "Ventilation": "L'air doit être propre, {} et {}. Les valeurs ne doivent pas être plus petites que la norme.",
    "Ventilazione": "L'aria deve essere pulita, {} e {}. I valori non devono essere più piccoli di quelli della norma.",
    "Ventilação": "O ar deve ser limpo, {} e {}. Os valores não devem ser menores do que os que são dados na norma.",
}


@pytest.mark.parametrize("title", _STANDARDS)
def test_tables_annexes_and_clauses_are_found_in_other_languages(tmp_path: Path, title: str) -> None:
    table, caption, annex, heading, clause = _STANDARDS[title]
    made = World(tmp_path)
    text = (
        f"# {title}\n\n## 4 {title}\n\n{_OBLIGES[title].format(table, annex)}\n\n{caption}\n\n| A |\n|---|\n| 1 |\n\n"
        f"## {heading}\n\n{_OBLIGES[title].format('x', 'y')}\n"
    )
    made.write("norm.md", text)
    made.ingest()
    links = by_target(made.knowledge.references(ReferenceQuery("norm")).outgoing)
    assert led_to(links["Table 1"])[1] == caption
    assert led_to(links["Annex A"])[1] == heading
    document = read_document(made.base, "norm")
    assert find_sections(document, clause)[0].number == "4"
    assert find_sections(document, annex)[0].number == "A"
