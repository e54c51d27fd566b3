"""The same clauses in English and in French, and what a document says of them."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge_mcp.model.document import Document

Clause = tuple[str, str, str]
"""Number, title and text."""
ENGLISH: Sequence[Clause] = (
    ("1", "Scope", "This part applies to the pumps that are used in the wells of a town and to all of their pipes."),
    (
        "2",
        "Pipes",
        "The pipes shall be tested by the maker before they are laid in the ground, and the records of the tests "
        "shall be kept with those of the well for as long as there is water in it.",
    ),
    ("2.1", "Steel", "Pipes of steel shall not be in contact with those of another metal, if they are in the ground."),
    (
        "2.2",
        "Joints",
        "The joints shall be made by a person who has been trained by the maker of the pipes. They should be seen "
        "from the gate of the well, so that what is lost there is found by those who are near.",
    ),
    ("3", "Pumps", "A pump shall be stopped by hand from the outside of the house that it is in."),
    ("4", "Records", "What was done to a pump shall be written in the book which is kept at the well."),
)
FRENCH: Sequence[Clause] = (
    ("1", "Domaine", "La présente partie est applicable aux pompes qui sont utilisées dans les puits d'une ville."),
    (
        "2",
        "Tuyaux",
        "Les tuyaux doivent être essayés par le fabricant avant la pose dans le sol, et les relevés de ces essais "
        "doivent être conservés avec ceux du puits aussi longtemps que l'eau est présente dans ce puits.",
    ),
    ("2.1", "Acier", "Les tuyaux en acier ne doivent pas être en contact avec ceux d'un autre métal dans le sol."),
    (
        "2.2",
        "Joints",
        "Les joints doivent être réalisés par une personne qui a été formée par le fabricant de ces tuyaux. Il "
        "convient que les joints soient vus depuis la porte du puits, afin que la perte soit trouvée par les voisins.",
    ),
    ("3", "Pompes", "Une pompe doit être arrêtée à la main depuis l'extérieur de la maison dans laquelle elle est."),
    ("4", "Relevés", "Les travaux sur une pompe doivent être inscrits dans le livre qui est conservé près du puits."),
)


def clauses_of(document: Document) -> list[Clause]:
    """List the sections with the text of each above those below it."""
    found: list[Clause] = []
    for section in document.sections:
        below = [each.span.start for each in document.sections if each.span.start > section.span.start]
        end = min([*below, section.span.end])
        found.append((section.number or "", section.title, " ".join(document.text[section.heading.end : end].split())))
    return found
