"""The analyser: identifiers whole and in parts, folding, stems, other scripts, keys of defined terms."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.lexical.analyser import EnglishAnalyser, MultilingualAnalyser

ANALYSER = EnglishAnalyser()


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("verified Requirements", ["verifi", "requir"]),
        ("REQ-12", ["req_12", "req", "12"]),
        ("5.3.1.2", ["5_3_1_2", "5_3_1", "5_3"]),
        ("A.1.2", ["a_1_2", "a_1"]),
        ("SRS-4.2.1", ["srs_4_2_1", "srs", "4_2_1", "4_2"]),
        ("AC-2(3)", ["ac_2_3", "ac_2", "ac", "2", "3"]),
        ("snake_case", ["snake_case", "snake", "case"]),
        ("CamelCase", ["camelcas", "camel", "case"]),
        ("HTTPServer2", ["httpserver2", "http", "server", "2"]),
        ("ISO/IEC 15288:2023", ["iso", "iec", "15288_2023", "15288", "2023"]),
        ("ORA-00942", ["ora_00942", "ora", "00942"]),
        ("std::vector", ["std_vector", "std", "vector"]),
        ("high-speed", ["high", "speed"]),
        ("the system's", ["system"]),
        ("don’t", ["dont"]),
        ("40ᵃ Steelᶜ XIXᵉ", ["40a", "40", "steel", "xix", "xi", "xe"]),
        ("Größe naïve Ångström", ["gross", "naiv", "angstrom"]),
        ("ﬁrst", ["first"]),
        ("हिन्दी", ["हिन्दी"]),
        ("Требования", ["требования"]),
        ("shall must not be", ["shall", "must"]),
        ("", []),
        ("— ?! …", []),
    ],
)
def test_a_text_gives_these_terms(text: str, terms: list[str]) -> None:
    assert ANALYSER.document_terms(text) == terms
    assert ANALYSER.query_terms(text) == terms


def test_a_question_gives_its_terms_up_to_three_times_and_its_words_once() -> None:
    for analyser in (ANALYSER, MultilingualAnalyser()):
        terms = [
            each for each in analyser.query_terms("valves of the valve, a pump; pump, pump, pump") if each[0] != "_"
        ]
        assert sorted(terms) == ["pump", "pump", "pump", "valv", "valv"]
        assert [word[0] for word in analyser.query_words("valves of the valve")] == ["valv"]
        assert [each for each in analyser.query_terms("valves\nof the valve") if each[0] != "_"] == ["valv"]


def test_scripts_without_blanks_give_pairs_of_characters() -> None:
    assert ANALYSER.query_terms("東京都") == ["東京", "京都"]
    assert ANALYSER.query_terms("都") == ["都"]
    assert set(ANALYSER.query_terms("都")) <= set(ANALYSER.document_terms("東京都"))
    assert set(ANALYSER.query_terms("API文書")) <= set(ANALYSER.document_terms("新しいAPI文書です"))


def test_an_identifier_is_found_by_itself_in_any_case_and_in_a_sentence() -> None:
    for identifier in (
        "REQ-12",
        "AC-2(3)",
        "snake_case",
        "5.3.1.2",
        "E-1042",
        "ISO/IEC 15288:2023",
        "SRS-4.2.1",
        "camelCase",
    ):
        terms = set(ANALYSER.document_terms(f"(see {identifier}), as given."))
        assert set(ANALYSER.query_terms(identifier)) <= terms, identifier
        assert set(ANALYSER.query_terms(identifier.lower())) <= terms, identifier


def test_two_identifiers_that_differ_have_different_whole_terms() -> None:
    identifiers = ["REQ-12", "REQ-13", "REQ-120", "REQ_1_2", "5.3.1", "5.3.2", "5.31", "AC-2(3)", "AC-2(4)", "AC-23"]
    wholes = [ANALYSER.document_terms(each)[0] for each in identifiers]
    assert len(set(wholes)) == len(wholes)


@given(st.text(max_size=200))
def test_terms_hold_only_letters_digits_and_underscores(text: str) -> None:
    for term in ANALYSER.document_terms(text):
        assert term
        assert len(term) <= 64
        assert not re.search(r"\s", term)
        assert term == term.strip("_") or "_" not in (term[0], term[-1])
        assert not any(each in term for each in "\"'()*:^-+.,;\0")


@given(st.text(max_size=200))
def test_every_word_of_a_question_is_a_term_of_the_same_text(text: str) -> None:
    terms = ANALYSER.query_terms(text)
    assert all(terms.count(each) <= 3 for each in terms)
    assert {word[0] for word in ANALYSER.query_words(text)} <= set(ANALYSER.document_terms(text))


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("kept for twenty-four hours", "24 h"),
        ("kept for 24 h", "24 hour"),
        ("within ten minutes", "10 min"),
        ("30 percent", "30"),
        ("30 %", "30 percent"),
        ("40 square metres", "40 m2"),
        ("40 m2", "40 squar meter"),
        ("55 degrees Celsius", "55 c"),
        ("55 °C", "55 degre celsius"),
        ("a 10 Ω resistor", "10 ohm"),
        ("1,200 millimetres", "1200 mm"),
        ("one hundred attempts", "100"),
        ("innerhalb von 24 Stunden nach der Meldung", "24 h hour"),
    ],
)
def test_a_number_with_its_unit_is_one_word_in_every_form(question: str, passage: str) -> None:
    assert any(set(passage.split()) <= set(word) for word in ANALYSER.query_words(question))
    assert len(ANALYSER.query_words(question)) <= len(question.split())


@pytest.mark.parametrize("question", ["one of the two pumps", "step 3", "since 2010", "version 2.0", "hours of work"])
def test_other_numbers_have_no_other_form(question: str) -> None:
    assert all(len(word) == 1 for word in ANALYSER.query_words(question))


@given(st.lists(st.sampled_from(["REQ-12", "verified", "東京", "5.3.1", "naïve", "the"]), max_size=8))
def test_words_apart_give_the_terms_of_each(words: list[str]) -> None:
    expected = [term for word in words for term in ANALYSER.document_terms(word)]
    assert ANALYSER.document_terms(" ".join(words)) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("System", "systems"),
        ("system-of-interest", "System of Interest"),
        ("naïve approach", "naive  approaches"),
        ("Analyses", "analysis"),
        ("stake­holder requirement(s)", "stakeholder requirements"),
        ("processes", "process"),
        ("Policy", "policies"),
        ("user's guide", "user guide"),
        ("snake_case", "snake case"),
    ],
)
def test_ways_to_write_a_term_share_one_key(one: str, other: str) -> None:
    assert ANALYSER.term_key(one.replace("\u00ad", "")) == ANALYSER.term_key(other)


def test_keys_keep_apart_what_is_different() -> None:
    terms = ["bus", "basis", "process", "C", "C++", "C#", "system", "subsystem", "test", "testing"]
    assert len({ANALYSER.term_key(term) for term in terms}) == len(terms)


@given(st.text(max_size=40))
def test_a_key_is_stable_and_empty_only_for_what_is_blank(term: str) -> None:
    key = ANALYSER.term_key(term)
    assert bool(key) == bool(term.strip()) or not any(each.isalnum() for each in term)
    assert key == key.strip()


def test_the_version_tells_the_settings_apart() -> None:
    versions = {
        EnglishAnalyser().version,
        EnglishAnalyser(stemming=False).version,
        EnglishAnalyser(stop_words=frozenset()).version,
    }
    assert len(versions) == 3
    assert EnglishAnalyser().version == ANALYSER.version


def test_many_threads_get_the_same_terms() -> None:
    fresh = EnglishAnalyser()
    texts = [f"verified requirements of Part{number} REQ-{number}" for number in range(300)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fresh.document_terms, texts)) == [ANALYSER.document_terms(text) for text in texts]
