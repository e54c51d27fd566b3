"""The analyser of every store: passages in their own language, questions in all of them, English as it was."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.lexical.analyser import EnglishAnalyser, MultilingualAnalyser
from knowledge_mcp.stores.shared.rules import is_newer

ANALYSER, ENGLISH = MultilingualAnalyser(), EnglishAnalyser()

_GERMAN = "Die Anforderungen gelten für das Lager der Häuser nach REQ-12 und Abschnitt 5.3.1."


def test_a_german_passage_gives_german_stems_and_identifiers_as_they_are() -> None:
    assert ANALYSER.document_terms(_GERMAN) == [
        "_anforder", "_gelt", "_lag", "_haus", "req_12", "req", "12", "_abschnitt", "5_3_1", "5_3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("passage", "question"),
    [
        (_GERMAN, "Anforderung an ein Haus"),
        (
            "Les exigences applicables sont dans la norme de sécurité et pour l’eau potable.",
            "eau : exigence applicable",
        ),
        ("Los requisitos de los sistemas son parte de la norma para el agua.", "requisito del sistema"),
        ("I requisiti dei sistemi sono una parte della norma per le acque.", "requisito"),
        ("As normas dos sistemas são uma parte para as águas que não têm teste.", "norma"),
        ("De eisen aan de systemen zijn een deel van het document voor de pompen.", "systeem"),
        ("Kraven på systemen är en del av det som inte har testats för pumparna.", "pump system"),
        ("Насосы должны быть выключены до того, как их проверят.", "насос"),
        ("Pumput on sammutettava ennen kuin ne ovat auki ja se ei ole yli rajan.", "pumppu"),
    ],
)
def test_another_form_of_a_word_is_found_in_its_language(passage: str, question: str) -> None:
    held = set(ANALYSER.document_terms(passage))
    assert any(not held.isdisjoint(word) for word in ANALYSER.query_words(question))
    assert held.isdisjoint(ENGLISH.query_terms(question)) or question.isascii()


def test_english_passages_and_the_words_of_english_questions_are_what_they_were() -> None:
    for text in (
        "The system's high-speed bearings shall meet REQ-12, and don't need naïve tests of 5.3.1.",
        "die casting of the pump housing",
        "brake caliper torque",
        "½ inch pipes and the valves of them",
        "std::vector in camelCase",
    ):
        assert ANALYSER.document_terms(text) == ENGLISH.document_terms(text)
        assert [word[0] for word in ANALYSER.query_words(text)] == [word[0] for word in ENGLISH.query_words(text)]


def test_a_german_word_never_meets_an_english_one_by_its_stem() -> None:
    lag = set(ANALYSER.document_terms("The lag of the signal is a part of the delay that was measured."))
    assert lag.isdisjoint(ANALYSER.query_terms("Welche Anforderungen gelten für die Lager?"))
    assert "_lag" in ANALYSER.query_terms("Welche Anforderungen gelten für die Lager?")


def test_function_words_of_the_questions_language_are_not_asked_for() -> None:
    asked = {term for word in ANALYSER.query_words("Welche Anforderungen gelten für die Lager?") for term in word}
    assert asked.isdisjoint({"die", "fur", "welch", "_die", "_fur", "_welch"})


def test_the_version_comes_after_that_of_english_alone() -> None:
    assert is_newer(ANALYSER.version, ENGLISH.version)


@given(st.text(max_size=200))
def test_each_word_of_a_question_is_held_by_the_same_text(text: str) -> None:
    held = set(ANALYSER.document_terms(text))
    assert all(not held.isdisjoint(word) for word in ANALYSER.query_words(text))


@given(st.text(max_size=200))
def test_no_question_has_other_english_words_than_before_unless_its_language_is_told(text: str) -> None:
    from knowledge_mcp.language.multilingual.recognition import language_of

    if language_of(text) in {"en", ""}:
        assert [word[0] for word in ANALYSER.query_words(text)] == [word[0] for word in ENGLISH.query_words(text)]


def test_many_threads_get_the_same_terms_in_every_language() -> None:
    fresh = MultilingualAnalyser()
    texts = [f"Die Anforderungen gelten für das Lager {number} und die Häuser" for number in range(200)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fresh.document_terms, texts)) == [ANALYSER.document_terms(text) for text in texts]
