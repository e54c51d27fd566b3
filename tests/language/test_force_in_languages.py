"""What one sentence of another language than English does: oblige, advise, permit, enable, or nothing of these."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.demands import force_words
from knowledge_mcp.language.force import Convention, detect_convention, force_of
from knowledge_mcp.language.statements import find_statements
from knowledge_mcp.model.chunk import Modality
from knowledge_mcp.model.document import BlockKind
from tests.fakes.documents import Part, build_document

_R, _S, _M, _C = Modality.REQUIREMENT, Modality.RECOMMENDATION, Modality.PERMISSION, Modality.POSSIBILITY

_SENTENCES = [
    ("de", "Das Ventil muss innerhalb von 2 s schließen.", _R, False),
    ("de", "Das Ventil darf nicht undicht sein.", _R, True),
    ("de", "Die Prüfer dürfen Daten der Kunden, der Ämter und der Bauherren nicht erheben.", _R, True),
    ("de", "Die Tür darf rot sein, das Fenster nicht.", _M, False),
    ("de", "Er darf Daten anfordern sowie Namen, Orte und den nicht vorliegenden Plan.", _M, False),
    ("de", "Die Tür darf offen stehen, wenn das Fenster nicht offen steht.", _M, False),
    ("de", "(2) Soll die Pumpe geändert werden, so kann der Betreiber davon absehen.", _C, False),
    ("de", "b) Muss die Pumpe ruhen, ist das Ventil zu schließen.", _R, False),
    ("de", "Zum Schutz der nicht rauchenden Gäste ist eine Wand aufzustellen.", _R, False),
    ("de", "In nicht öffentlichen Räumen darf geraucht werden.", _M, False),
    ("de", "Nicht benutzte Öffnungen sind zu verschließen.", _R, False),
    ("de", "Das Ergebnis bei nicht fernablesbaren Zählern soll mitgeteilt werden.", _S, False),
    ("de", "Der Raum darf nicht unter Spannung stehen.", _R, True),
    ("de", "Die Temperatur darf 50 °C nicht überschreiten.", _R, True),
    ("de", "Es darf kein Wasser eindringen.", _R, True),
    ("de", "Niemand darf die Zelle betreten.", _R, True),
    ("de", "Die Temperatur darf höchstens 50,5 °C betragen.", _R, False),
    ("de", "Nur Fachkräfte dürfen die Anlage öffnen.", _R, False),
    ("de", "Der Deckel darf geöffnet werden.", _M, False),
    ("de", "Der Bericht sollte ein Jahr aufbewahrt werden.", _S, False),
    ("de", "Die Dichtung soll nicht wiederverwendet werden.", _S, True),
    ("de", "Es wird empfohlen, das Öl zu wechseln.", _S, False),
    ("de", "Das Messgerät kann negative Werte anzeigen.", _C, False),
    ("de", "Das Gerät kann keine negativen Werte anzeigen.", _C, True),
    ("de", "Die Dichtung muss nicht ersetzt werden.", _M, True),
    ("de", "Die Prüfung braucht nicht wiederholt zu werden.", _M, True),
    ("de", "Eine Prüfung ist nicht erforderlich.", _M, True),
    ("de", "Das Gehäuse muss aus nicht brennbarem Werkstoff sein.", _R, False),
    ("de", "Der Bericht muss nicht nur auflisten, sondern erklären.", _R, False),
    ("de", "Die Grenzwerte sind einzuhalten.", _R, False),
    ("de", "Der Betreiber hat die Anlage jährlich zu prüfen.", _R, False),
    ("de", "Die Luke ist nicht zu öffnen.", _R, True),
    ("de", "Rauchen ist verboten.", _R, True),
    ("de", "Das Betreten ist nicht erlaubt.", _R, True),
    ("de", "Wenn die Pumpe bewegt werden muss, sollte das Ventil geschlossen sein.", _S, False),
    ("de", "The valve shall close within the time that is given.", _R, False),
    ("fr", "La vanne doit se fermer en 2 s.", _R, False),
    ("fr", "La vanne ne doit pas fuir.", _R, True),
    ("fr", "Aucun opérateur ne doit entrer.", _R, True),
    ("fr", "Le produit ne doit être utilisé que par des experts.", _R, False),
    ("fr", "Il est interdit de fumer.", _R, True),
    ("fr", "L'entrée n'est pas autorisée.", _R, True),
    ("fr", "Il convient de conserver le registre.", _S, False),
    ("fr", "Il convient que le registre soit conservé.", _S, False),
    ("fr", "Il convient de ne pas réutiliser le joint.", _S, True),
    ("fr", "Si la pompe doit être déplacée, la vanne devrait être fermée.", _S, False),
    ("fr", "Le joint peut être réutilisé.", _M, False),
    ("fr", "Il n'est pas nécessaire de remplacer le joint.", _M, True),
    ("fr", "Le manomètre ne peut pas indiquer de valeurs négatives.", _C, True),
    ("es", "La válvula deberá cerrarse en 2 s.", _R, False),
    ("es", "La válvula no debe tener fugas.", _R, True),
    ("es", "La válvula no deberá abrirse.", _R, True),
    ("es", "Ningún operador debe entrar.", _R, True),
    ("es", "El operador no podrá abrir la puerta.", _R, True),
    ("es", "No se permite fumar.", _R, True),
    ("es", "Queda prohibido fumar.", _R, True),
    ("es", "El sistema tiene que registrar los accesos.", _R, False),
    ("es", "No solo debe enumerar los fallos.", _R, False),
    ("es", "El registro debería conservarse un año.", _S, False),
    ("es", "Se recomienda conservar el registro.", _S, False),
    ("es", "La junta puede reutilizarse.", _M, False),
    ("es", "No es necesario cambiar la junta.", _M, True),
    ("es", "El manómetro no puede indicar valores negativos.", _C, True),
    ("es", "Cuando la bomba deba moverse, la válvula deberá cerrarse.", _R, False),
    ("it", "La valvola deve chiudersi in 2 s.", _R, False),
    ("it", "La valvola non deve perdere.", _R, True),
    ("it", "Nessun operatore dovrà entrare.", _R, True),
    ("it", "È vietato fumare.", _R, True),
    ("it", "Non è consentito fumare.", _R, True),
    ("it", "Il gestore è tenuto a conservare il registro.", _R, False),
    ("it", "Il registro dovrebbe essere conservato un anno.", _S, False),
    ("it", "Si raccomanda di cambiare l'olio.", _S, False),
    ("it", "La guarnizione può essere riutilizzata.", _M, False),
    ("it", "Non è necessario sostituire la guarnizione.", _M, True),
    ("it", "Se la pompa deve essere spostata, la valvola dovrà essere chiusa.", _R, False),
    ("pt", "A válvula deverá fechar em 2 s.", _R, False),
    ("pt", "A válvula não deve vazar.", _R, True),
    ("pt", "O operador não poderá abrir a porta.", _R, True),
    ("pt", "É vedado fumar.", _R, True),
    ("pt", "O controlador fica obrigado a guardar o registro.", _R, False),
    ("pt", "Convém guardar o registro por um ano.", _S, False),
    ("pt", "A junta pode ser usada de novo.", _M, False),
    ("pt", "Não é necessário trocar a junta.", _M, True),
    ("pt", "Quando a bomba deve ser movida, a válvula deverá estar fechada.", _R, False),
    ("de", "Der Schalldruckpegel darf 35 dB(A) nicht überschreiten.", _R, True),
    ("de", "Die Anlage darf (siehe Tabelle 1) nicht betrieben werden.", _R, True),
    ("de", "Die Türen dürfen, sofern Rauchabzüge fehlen, nicht verriegelt werden.", _R, True),
    ("de", "Die Türen dürfen verriegelt werden, wenn keine Personen anwesend sind, und sonst offen stehen.", _M, False),
    ("de", "Eine Prüfung ist, soweit nicht anders vereinbart, nicht erforderlich.", _M, True),
    ("de", "Kein Teil (Schrauben ausgenommen) darf überstehen.", _R, True),
    ("de", "Die Leitung muss geerdet werden (nicht bei Schutzklasse II).", _R, False),
    ("de", "Der Wert muss 30 mm betragen und darf nicht kleiner sein.", _R, False),
    ("fr", "Les tuyaux sont à poser en pente.", _R, False),
    ("es", "Ninguna puerta (ni ventana) debe bloquearse.", _R, True),
    ("es", "La válvula habrá de comprobarse cada dos años.", _R, False),
    ("it", "Le condotte sono da posare in pendenza.", _R, False),
    ("it", "Le prove vanno ripetute ogni due anni.", _R, False),
    ("nl", "De luchtstroom moet ten minste 30 m³/h bedragen.", _R, False),
    ("nl", "Het geluidsniveau mag niet hoger zijn dan 35 dB(A).", _R, True),
    ("nl", "Het niveau mag (zie tabel 1) niet hoger zijn.", _R, True),
    ("nl", "De installatie dient jaarlijks te worden gecontroleerd.", _R, False),
    ("nl", "De temperatuur behoort tussen 18 °C en 24 °C te liggen.", _S, False),
    ("nl", "De deur zou gesloten moeten zijn.", _S, False),
    ("nl", "De deur mag open staan.", _M, False),
    ("nl", "De deur mag alleen door vakmensen worden geopend.", _R, False),
    ("nl", "De leiding hoeft niet geaard te zijn.", _M, True),
    ("nl", "Roken is verboden.", _R, True),
    ("nl", "Roken is niet toegestaan.", _R, True),
    ("nl", "De klep kan worden geopend.", _C, False),
    ("nl", "Als de pomp moet draaien, moet de klep dicht zijn.", _R, False),
    ("sv", "Luftflödet ska vara minst 30 m³/h.", _R, False),
    ("sv", "Dörren får inte låsas.", _R, True),
    ("sv", "Dörren bör vara stängd.", _S, False),
    ("sv", "Dörren får låsas.", _M, False),
    ("sv", "Rören behöver inte jordas.", _M, True),
    ("sv", "Rökning är förbjuden.", _R, True),
    ("sv", "Det krävs en lucka.", _R, False),
    ("no", "Luftmengden skal være minst 30 m³/h.", _R, False),
    ("no", "Døren må ikke låses.", _R, True),
    ("no", "Døren bør være lukket.", _S, False),
    ("no", "Døren kan låses.", _M, False),
    ("no", "Røret trenger ikke jordes.", _M, True),
    ("no", "Røyking er forbudt.", _R, True),
    ("da", "Luftmængden skal være mindst 30 m³/h.", _R, False),
    ("da", "Døren må ikke låses.", _R, True),
    ("da", "Døren må låses.", _M, False),
    ("da", "Døren bør være lukket.", _S, False),
    ("da", "Røret behøver ikke at jordes.", _M, True),
    ("ru", "Расход воздуха должен быть не менее 30 м³/ч.", _R, False),
    ("ru", "Уровень шума не должен превышать 35 дБА.", _R, True),
    ("ru", "Температуру следует поддерживать.", _R, False),
    ("ru", "Не допускается курение.", _R, True),
    ("ru", "Допускается применять трубы.", _M, False),
    ("ru", "Допускается применять только трубы.", _R, False),
    ("ru", "Рекомендуется проверять ежегодно.", _S, False),
    ("ru", "Запрещается курить.", _R, True),
    ("ru", "Испытание не требуется.", _M, True),
    ("ru", "Если насос должен работать, клапан следует закрыть.", _R, False),
    ("zh", "新风量应不小于每人30 m³/h。", _R, False),
    ("zh", "噪声级不应超过35 dB(A)。", _R, True),
    ("zh", "设备宜每年检查一次。", _S, False),
    ("zh", "不得吸烟。", _R, True),
    ("zh", "不宜使用木材。", _S, True),
    ("zh", "可以使用铜管。", _M, False),
    ("zh", "不必接地。", _M, True),
]


@pytest.mark.requirement("A-REQ-DATA-005")
@pytest.mark.parametrize(("language", "sentence", "modality", "negated"), _SENTENCES)
def test_a_sentence_has_the_force_of_its_language(
    language: str, sentence: str, modality: Modality, negated: bool
) -> None:
    force = force_of(sentence, Convention(language=language))
    assert force is not None
    assert (force.modality, force.negated) == (modality, negated)


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("de", "Die Pumpe läuft."),
        ("de", "Die Teile, die ausgetauscht werden müssen, sind markiert."),
        ("de", "Ist ein Nachweis erforderlich, wird er beigelegt."),
        ("de", "Das Gehäuse ist leicht zu reinigen."),
        ("de", "Das Wort „muss“ bezeichnet eine Anforderung."),
        ("fr", "La pompe tourne."),
        ("fr", "Il est à noter que la pompe tourne."),
        ("it", "Il tubo va da una parete all'altra."),
        ("fr", "Le mot « doit » désigne une exigence."),
        ("fr", "Ces règles conviennent à tous."),
        ("es", "La bomba funciona."),
        ("es", "La palabra «debe» indica un requisito."),
        ("it", "La pompa gira."),
        ("pt", "A bomba funciona."),
        ("nl", "De lamp dient als signaal."),
        ("nl", "De pomp draait."),
        ("sv", "Pumpen går."),
        ("ru", "Насос работает."),
        ("zh", "该应用程序运行。"),
        ("zh", "相应的泵运行。"),
        ("pt", "O titular tem acesso aos dados."),
    ],
)
def test_sentences_without_force_have_none_in_any_language(language: str, sentence: str) -> None:
    assert force_of(sentence, Convention(language=language)) is None


def test_a_document_is_read_by_the_words_of_its_language() -> None:
    assert detect_convention("Die Pumpe muss laufen, und der Deckel darf nicht offen sein.").language == "de"
    assert detect_convention("The pump shall run, and the cover shall not be open.").language == ""


def test_words_in_capitals_count_alone_where_a_german_document_declares_them() -> None:
    text = (
        "Die Schlüsselwörter MUSS, DARF NICHT und SOLL sind nach RFC 2119 zu verstehen. Der Dienst MUSS antworten. "
        "Der Client DARF NICHT warten, er SOLL sich abmelden."
    )
    convention = detect_convention(text)
    assert convention.capitals
    assert force_of("Der Dienst MUSS die Anfrage beantworten.", convention) is not None
    assert force_of("Der Dienst muss die Anfrage beantworten.", convention) is None


@pytest.mark.requirement("A-REQ-DATA-005")
def test_statements_of_a_german_standard_leave_out_notes_forewords_and_informative_annexes() -> None:
    def heading(text: str, number: str | None = None, *, informative: bool = False) -> Part:
        return Part(BlockKind.HEADING, text, 1, number, informative)

    def text(words: str) -> Part:
        return Part(BlockKind.PARAGRAPH, words)

    found = find_statements(
        build_document(
            (
                heading("Vorwort"),
                text("Dieses Dokument muss mit dem Vorgänger und seinen Änderungen gelesen werden."),
                heading("Prüfung", "5"),
                text("Der Rahmen muss 5,5 kN tragen, z. B. bei der Montage. Er ist grau. Er sollte leicht sein."),
                text("ANMERKUNG 1 Der Rahmen darf nicht aus Holz sein."),
                text("Hinweis: Der Rahmen muss leicht sein."),
                text("Der Lieferant muss:"),
                Part(BlockKind.LIST_ITEM, "- die Prüfung aufzeichnen;", depth=0),
                heading("Hinweise", "B", informative=True),
                text("Der Rahmen darf nicht aus Holz sein."),
            )
        )
    )
    assert [(each.text, each.modality, each.clause_number) for each in found] == [
        ("Der Rahmen muss 5,5 kN tragen, z. B. bei der Montage.", _R, "5"),
        ("Er sollte leicht sein.", _S, "5"),
        ("Der Lieferant muss: - die Prüfung aufzeichnen;", _R, "5"),
    ]


@pytest.mark.parametrize("english_first", [True, False])
def test_a_document_in_two_languages_obliges_in_both(english_first: bool) -> None:
    english = "The pump is in a house by the well and shall be painted before it is used by the people. " * 40
    french = "La pompe est dans une maison près du puits et doit être peinte avant son emploi par les gens. " * 40
    text = f"{english}\n\n{french}" if english_first else f"{french}\n\n{english}"
    convention = detect_convention(text)
    for sentence in ("The valve of the pump shall be closed.", "Le robinet de la pompe doit être fermé."):
        force = force_of(sentence, convention)
        assert force is not None
        assert force.modality is _R
        (word,) = force_words(sentence, convention)
        assert sentence[word.start : word.end] in {"shall", "doit"}


def test_a_paragraph_in_another_language_makes_no_document_in_two() -> None:
    english = "The pump is in a house by the well and shall be painted before it is used by the people. " * 200
    french = "La pompe est dans une maison près du puits et doit être peinte avant son emploi par les gens. " * 10
    assert detect_convention(f"{english}\n\n{french}").others == ()
