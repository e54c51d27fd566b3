"""Words that deny or leave open what is demanded, in every language whose words of force are known."""

from __future__ import annotations

import pytest

from knowledge_mcp.engine.tracing.opposing import opposed_words, retraction
from knowledge_mcp.language.multilingual.denial import denials, is_limited, left_open
from knowledge_mcp.lexical.analyser import EnglishAnalyser

TERMS = EnglishAnalyser().document_terms


@pytest.mark.parametrize(
    ("demand", "quote"),
    [
        ("Passwords shall be stored as hashes.", "Passwords aren't stored as hashes."),
        ("Die Passwörter sind als Hashwert zu speichern.", "Die Passwörter sind nicht als Hashwert gespeichert."),
        ("Les mots de passe doivent être chiffrés.", "Les mots de passe ne sont pas chiffrés dans la base."),
        ("Las contraseñas se guardan cifradas en la base.", "Las contraseñas no se guardan cifradas en la base."),
        ("Le password sono cifrate nella base di dati.", "Le password non sono cifrate nella base di dati."),
        ("As senhas são cifradas na base de dados.", "As senhas não são cifradas na base de dados."),
        (
            "De codes worden in de database versleuteld.",
            "De codes worden niet in de database versleuteld",
        ),
        (
            "Koderna är krypterade i databasen och i loggen.",
            "Koderna är inte krypterade i databasen och i loggen.",
        ),
        ("Passordene er kryptert i databasen og i loggen.", "Passordene er ikke kryptert i databasen og i loggen."),
        (
            "Koderne er krypteret i databasen og på disken.",
            "Koderne er ikke krypteret i databasen og på disken.",
        ),
        ("Пароли должны храниться в виде хешей.", "Пароли в системе не должны храниться в виде хешей."),
        ("密码应加密存储在数据库中。", "密码未加密存储在数据库中。"),
    ],
)
def test_what_is_denied_contradicts_a_demand_in_every_language(demand: str, quote: str) -> None:
    opposed = opposed_words(demand, quote, TERMS)
    assert opposed is not None
    assert opposed[0] == "not denied"
    assert opposed_words(demand, demand, TERMS) is None


@pytest.mark.parametrize(
    ("quote", "code"),
    [
        ("The gateway is not yet supported.", "en"),
        ("Die Anbindung ist noch offen.", "de"),
        ("Le format reste à définir.", "fr"),
        ("El formato está por definir.", "es"),
        ("Il formato è da definire.", "it"),
        ("O formato está por definir.", "pt"),
        ("Het formaat is nader te bepalen.", "nl"),
        ("Formatet ska bestämmas senare.", "sv"),
        ("Formatet skal bestemmes senere.", "no"),
        ("Formatet skal besluttes senere.", "da"),
        ("Формат будет определён позже.", "ru"),
        ("格式待定。", "zh"),
    ],
)
def test_what_is_left_open_is_known_in_every_language(quote: str, code: str) -> None:
    assert left_open(quote, code)


def test_an_emergency_stop_denies_nothing_and_a_condition_limits_what_is_denied() -> None:
    assert not list(denials("Der Not-Halt wirkt sofort.", "de"))
    assert is_limited("Passwörter werden nicht gespeichert, außer als Hashwert.", "de")
    assert is_limited("Les mots de passe ne sont pas conservés, sauf accord.", "fr")


@pytest.mark.parametrize(
    ("ban", "quote", "is_opposed"),
    [
        ("Cables shall not be laid in the pump sump.", "The cables are laid in the pump sump.", True),
        ("Cables shall not be laid in the pump sump.", "In winter the cables are laid in the pump sump.", True),
        ("Die Kabel dürfen nicht im Sumpf verlegt werden.", "Die Kabel werden im Sumpf verlegt.", True),
        ("Cables shall not be laid in the pump sump.", "No cables are laid in the pump sump.", False),
        ("Cables shall not be laid in the pump sump.", "Cables in the pump sump are laid in conduits.", False),
        ("Passwords shall not be stored in plain text.", "Passwords are stored as hashes.", False),
        ("Data shall not be kept for more than 30 days.", "Data are kept for 20 days.", False),
        ("The door shall not be locked unless it is guarded.", "The door is locked.", False),
    ],
)
def test_what_does_what_is_banned_contradicts_the_ban(ban: str, quote: str, is_opposed: bool) -> None:
    taken = opposed_words(ban, quote, TERMS) or retraction(ban, quote, TERMS)
    assert (taken is not None) is is_opposed
