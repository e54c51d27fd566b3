"""Which language a text is in: by its function words, by its script, or unknown."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.multilingual.recognition import FUNCTION_WORDS, LANGUAGE_NAMES, language_of

_SENTENCES = {
    "en": "The pump shall be switched off before the cover is opened by the operator.",
    "de": "Die Pumpe muss abgeschaltet werden, bevor der Deckel von dem Bediener geöffnet wird.",
    "fr": "La pompe doit être arrêtée avant que le couvercle soit ouvert par l’opérateur.",
    "es": "La bomba deberá apagarse antes de que el operador abra la tapa de los depósitos.",
    "it": "La pompa deve essere spenta prima che il coperchio sia aperto dall’operatore della stazione.",
    "pt": "A bomba deve ser desligada antes que o operador abra a tampa e não depois do teste.",
    "nl": "De pomp moet worden uitgeschakeld voordat het deksel door de bediener wordt geopend.",
    "sv": "Pumpen ska vara avstängd innan locket öppnas av operatören och inte efter att det är gjort.",
    "no": "Pumpen skal være slått av før lokket åpnes av operatøren og ikke etter at det er gjort hva som helst.",
    "da": "Pumpen skal være slukket, før låget åbnes af operatøren, og ikke efter at den er blevet flyttet ud.",
    "fi": "Pumppu on sammutettava ennen kuin kansi avataan, ja se ei saa olla auki jos paine on yli rajan.",
    "ru": "Насос должен быть выключен до того, как оператор откроет крышку.",
    "zh": "操作员打开盖子之前必须关闭泵。",
    "ja": "操作者がふたを開ける前にポンプを止めなければならない。",
    "ko": "작업자가 덮개를 열기 전에 펌프를 꺼야 한다.",
    "ar": "يجب إيقاف المضخة قبل فتح الغطاء",
}


@pytest.mark.parametrize(("code", "sentence"), _SENTENCES.items())
def test_a_sentence_is_recognised_by_its_language(code: str, sentence: str) -> None:
    assert language_of(sentence) == code


@pytest.mark.parametrize(
    "text",
    [
        "",
        "REQ-12 5.3.1",
        "Die casting",
        "brake caliper torque",
        "Los Angeles, La Paz, El Paso",
        "Comment on a paper on parallel processing",
        "platelet sequestration in man",
    ],
)
def test_what_says_too_little_is_not_reported(text: str) -> None:
    assert language_of(text) == ""


def test_names_with_capitals_do_not_turn_an_english_text() -> None:
    text = "The EST server of Van der Berg and De la Cruz is a part of the Los Alamos list, and it must not be moved."
    assert language_of(text) == "en"


def test_every_language_with_function_words_has_a_name_and_no_word_of_force_among_them() -> None:
    assert set(FUNCTION_WORDS) <= set(LANGUAGE_NAMES)
    forceful = {"shall", "must", "muss", "soll", "darf", "doit", "peut", "debe", "puede"}
    assert not forceful & frozenset().union(*FUNCTION_WORDS.values())
