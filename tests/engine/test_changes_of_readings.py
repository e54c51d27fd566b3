"""What an edit did not touch did not change, although the words around it let it be read otherwise."""

from __future__ import annotations

import pytest

from tests.engine.test_changes import compared


def _changes_in(old: str, new: str) -> list[tuple[str, str, str]]:
    (only,) = compared(f"# 4 Pumps\n\n{old}\n\nEach pump is red.\n", f"# 4 Pumps\n\n{new}\n\nEach pump is red.\n")
    return [(each.name, each.before, each.after) for each in only.changes]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "Bei Pumpen ist die Absenkung bis zum Wert der Klasse A zulässig.",
            "Bei Pumpen ist die Absenkung bis zum Wert der Klasse A, bei Ventilen zum Wert der Klasse B zulässig.",
        ),
        (
            "Am Rand sind auf Blättern des Antrags, der Pläne, der Liste und der Tafel zwei Flächen frei zu lassen.",
            "Am Rand sind auf Blättern der Pläne, der Liste und der Tafel zwei Flächen frei zu lassen.",
        ),
        (
            "Der Betreiber ist verpflichtet die verwirkten Strafen mit den Vergütungen aufzurechnen.",
            "Der Betreiber ist verpflichtet, die verwirkten Strafen mit den Vergütungen aufzurechnen.",
        ),
        (
            "Die Prüfer dürfen die Daten, deren Schutz im Interesse eines Dritten liegt, auch Namen, nicht erheben,"
            " auch wenn sie nicht mehr im Dienst sind.",
            "Die Prüfer dürfen die Daten, deren Schutz im Interesse der Ämter, der Kunden oder eines Dritten liegt,"
            " auch Namen, nicht erheben, auch wenn sie nicht mehr im Dienst sind.",
        ),
        (
            "Der Betreiber muss für Geräte die Werte der letzten drei Tage an das Amt melden.",
            "Der Betreiber muss für Geräte, die den Dienst der Zentrale nicht nutzen, die Werte der letzten drei Tage"
            " an das Amt melden.",
        ),
        (
            "The server shall close a link with a frame that is other than empty.",
            "The server shall close a link with a frame that does not stay empty.",
        ),
        (
            "The server shall close the links of devices after the test of the line.",
            "The server shall close the links of devices that do not answer after the test of the line.",
        ),
        (
            "Nichttragbare Geräte und Läufe dürfen beim Laden weder auslösen noch rutschen.",
            "Nicht tragbare Geräte und Läufe dürfen beim Laden weder auslösen noch rutschen.",
        ),
        (
            "Soweit in § 31 nicht anderes bestimmt ist, müssen die Preise und die Umsätze den Händlern bekannt gemacht"
            " werden.",
            "Soweit in Titel II der Verordnung (EU) Nr. 600/2014 nichts anderes bestimmt ist, müssen die Preise und die"
            " Umsätze den Händlern bekannt gemacht werden.",
        ),
        (
            "Der Betreiber meldet die Stoffe, die für die Herstellung der Pumpen erforderlich sind, am Montag.",
            "Der Betreiber meldet die für die Herstellung der Pumpen erforderlichen Stoffe am Montag.",
        ),
    ],
)
def test_force_that_nobody_touched_is_not_told(old: str, new: str) -> None:
    for found in (_changes_in(old, new), _changes_in(new, old)):
        assert "force" not in {name for name, _, _ in found}


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("Das Ventil darf im Betrieb öffnen.", "Das Ventil darf im Betrieb nicht öffnen.", ("darf", "darf … nicht")),
        ("Das Ventil darf nicht öffnen.", "Das Ventil darf öffnen, wenn es nicht nass ist.", ("darf nicht", "darf")),
        (
            "Der Dienst hat den Zweck, die Werte aller Pumpen und Ventile im Werk am Montag dem Amt zu melden.",
            "Vom Dienst sind die Werte aller Pumpen und Ventile im Werk am Montag dem Amt zu melden.",
            ("", "zu melden"),
        ),
        ("Die Pumpe ist zu prüfen.", "Die Pumpe ist geprüft.", ("zu prüfen", "")),
        ("The valve may open at night.", "The valve may only open at night.", ("may", "may only")),
    ],
)
def test_force_that_was_touched_is_told(old: str, new: str, found: tuple[str, str]) -> None:
    assert ("force", *found) in _changes_in(old, new)


@pytest.mark.parametrize("text", ["We chose two pumps for several reasons.", "A pump with 16 mm pipes can be loud."])
def test_text_that_binds_nobody_may_become_a_note(text: str) -> None:
    assert {name for name, _, _ in _changes_in(text, f"NOTE {text}")} == {"words"}


def test_one_power_in_two_notations_is_the_same_number() -> None:
    assert "number" not in {name for name, _, _ in _changes_in("Keys are used 2^32 times.", "Keys are used 2³² times.")}
    assert _changes_in("Keys are used 2^24.5 times.", "Keys are used 2^25.5 times.") == [("number", "2^24.5", "2^25.5")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("5. Le service est autorisé à fournir l'avis.", "5° Le service est autorisé à fournir l'avis."),
        ("Il suit l'article L. 142-4 du code.", "Il suit l'article L. 142-2 du code."),
        ("Il suit les mesures des 1° et 2° du I.", "Il suit les mesures des 1° et 3° du I."),
    ],
)
def test_numbers_of_french_articles_and_items_are_no_limits(old: str, new: str) -> None:
    assert "number" not in {name for name, _, _ in _changes_in(old, new)}


def test_an_angle_is_a_limit() -> None:
    assert _changes_in("La pente est de 30° au plus.", "La pente est de 25° au plus.")[0][0] == "number"
