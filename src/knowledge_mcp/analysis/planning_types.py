"""What kind of planning document this is: by its file name, else by its words, else `other` (B appendix)."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import PurePosixPath

from knowledge_mcp.model.document import Classification, Document

__all__ = ["PlanningClassifier", "PlanningType"]


class PlanningType(StrEnum):
    """Kinds of planning document."""

    TRANSPORT_ASSESSMENT = "transport_assessment"
    DESIGN_ACCESS_STATEMENT = "design_access_statement"
    SITE_PLAN = "site_plan"
    FLOOR_PLAN = "floor_plan"
    ELEVATION = "elevation"
    PLANNING_STATEMENT = "planning_statement"
    ENVIRONMENTAL_STATEMENT = "environmental_statement"
    NOISE_ASSESSMENT = "noise_assessment"
    FLOOD_RISK_ASSESSMENT = "flood_risk_assessment"
    ECOLOGY_REPORT = "ecology_report"
    HERITAGE_STATEMENT = "heritage_statement"
    ARBORICULTURAL_REPORT = "arboricultural_report"
    OTHER = "other"


_OPENING = 20_000
"""Characters of the text that are looked at."""

_T = PlanningType
_BY_NAME: tuple[tuple[PlanningType, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"\b(?:{pattern})\b"))
    for kind, pattern in (
        # What a report is about stands before what a drawing shows: "flood risk assessment site plan appendix" is read
        # as the report, and the type named last in a tie is never a report.
        (_T.DESIGN_ACCESS_STATEMENT, r"design (?:and |& )?access(?: statement)?|d ?(?:and|&) ?a(?: statement)?|das"),
        (
            _T.TRANSPORT_ASSESSMENT,
            r"transport(?:ation)? (?:assessment|statement|report|note)s?|travel plans?|traffic (?:impact|assessment|"
            r"statement|survey)s?(?: assessment)?|highways? (?:statement|assessment|report|technical note)s?",
        ),
        (
            _T.ENVIRONMENTAL_STATEMENT,
            r"environmental (?:impact )?(?:statement|assessment|report)s?|eia|environmental impact|"
            r"es (?:volume|chapter|non technical summary)|non technical summary",
        ),
        (
            _T.NOISE_ASSESSMENT,
            r"noise (?:impact )?(?:assessment|report|survey|statement)s?|acoustics?(?: \w+)?|noise and vibration",
        ),
        (
            _T.FLOOD_RISK_ASSESSMENT,
            r"flood(?: risk)?(?: assessment| statement| report)?|fra|(?:surface water |foul )?drainage (?:strategy|"
            r"statement|report|assessment|scheme)|suds (?:strategy|statement|report)|suds",
        ),
        (
            _T.ECOLOGY_REPORT,
            r"ecolog(?:y|ical)(?: \w+)*|(?:bat|badger|newt|reptile|bird|habitat|great crested newt)s? (?:roost )?"
            r"(?:survey|report|assessment|emergence)s?(?: survey)?|biodiversity(?: \w+)*|bng|"
            r"phase 1 habitat(?: survey)?|pea",
        ),
        (
            _T.HERITAGE_STATEMENT,
            r"heritage(?: \w+)*|archaeolog(?:y|ical)(?: \w+)*|historic (?:building|environment)(?: \w+)*|"
            r"conservation area (?:statement|appraisal)",
        ),
        (
            _T.ARBORICULTURAL_REPORT,
            r"arboricultur(?:al|e)(?: \w+)*|tree (?:survey|report|constraints|protection|schedule|condition)s?"
            r"(?: \w+)*|aia|bs ?5837",
        ),
        (
            _T.PLANNING_STATEMENT,
            r"planning (?:supporting |support )?statements?|supporting (?:planning )?statements?|covering letter|"
            r"planning (?:policy )?(?:justification|appraisal)(?: statement)?",
        ),
        (
            _T.FLOOR_PLAN,
            r"floor ?plans?|(?:ground|first|second|third|fourth|fifth|upper|lower|lower ground|basement|attic|typical)"
            r" floors?(?: plans?| layout)?|roof plans?|basement plans?",
        ),
        (_T.ELEVATION, r"elevations?|elevational|street ?scenes?|(?:front|rear|side|north|south|east|west) elev"),
        (
            _T.SITE_PLAN,
            r"(?:site|location|block|layout|master|master ?plan|landscape|parking)(?: \w+)? ?plans?|site layout|"
            r"location map|masterplan|red line(?: boundary| plan)?",
        ),
    )
)

_BY_WORDS: dict[PlanningType, tuple[str, ...]] = {
    _T.TRANSPORT_ASSESSMENT: (
        r"transport assessment",
        r"travel plan",
        r"trip (?:generation|rates?)",
        r"\btrics\b",
        r"vehicle movements?",
        r"junction capacity",
        r"modal split",
        r"cycle parking",
        r"highway (?:network|safety)",
        r"peak hours?",
        r"visibility splays?",
        r"bus (?:stops?|services?)",
    ),
    _T.DESIGN_ACCESS_STATEMENT: (
        r"design (?:and|&) access",
        r"design (?:principles|rationale|evolution|concept)",
        r"massing",
        r"materiality",
        r"inclusive access",
        r"appearance",
        r"scale and (?:form|layout)",
        r"character of the area",
        r"street frontage",
    ),
    _T.SITE_PLAN: (
        r"(?:site|location|block) plan",
        r"scale 1 ?: ?(?:200|500|1250|2500)",
        r"site boundary",
        r"red line",
        r"ordnance survey",
        r"north point",
        r"crown copyright",
    ),
    _T.FLOOR_PLAN: (
        r"(?:ground|first|second) floor",
        r"floor plans?",
        r"kitchen",
        r"bedroom",
        r"bathroom",
        r"\blanding\b",
        r"\ben-?suite\b",
        r"living room",
        r"gross internal",
    ),
    _T.ELEVATION: (
        r"(?:front|rear|side|north|south|east|west) elevation",
        r"elevations? as (?:proposed|existing)",
        r"proposed elevations?",
        r"ridge (?:height|level)",
        r"eaves (?:height|level)",
        r"facing brick",
    ),
    _T.PLANNING_STATEMENT: (
        r"planning statement",
        r"national planning policy framework",
        r"\bnppf\b",
        r"local plan",
        r"planning history",
        r"material considerations?",
        r"planning balance",
        r"development plan",
        r"section 38\(6\)",
        r"five[- ]year housing",
    ),
    _T.ENVIRONMENTAL_STATEMENT: (
        r"environmental (?:impact assessment|statement)",
        r"significant effects?",
        r"scoping opinion",
        r"baseline conditions",
        r"cumulative effects?",
        r"mitigation measures",
        r"sensitive receptors?",
        r"\beia regulations\b",
        r"residual effects?",
    ),
    _T.NOISE_ASSESSMENT: (
        r"noise (?:assessment|survey|levels?)",
        r"\bdb(?:\(a\))?\b",
        r"\bl ?a(?:eq|90|max)\b",
        r"bs ?(?:8233|4142)",
        r"sound (?:insulation|pressure|reduction)",
        r"acoustic",
        r"glazing",
        r"noise[- ]sensitive",
    ),
    _T.FLOOD_RISK_ASSESSMENT: (
        r"flood risk",
        r"flood zone [123]",
        r"surface water",
        r"sequential test",
        r"attenuation",
        r"greenfield run-?off",
        r"\bsuds\b",
        r"annual exceedance",
        r"infiltration",
        r"drainage strategy",
        r"climate change allowance",
    ),
    _T.ECOLOGY_REPORT: (
        r"ecolog(?:y|ical)",
        r"\bbats?\b",
        r"great crested newts?",
        r"habitats?",
        r"biodiversity net gain",
        r"protected species",
        r"roosts?",
        r"hedgerows?",
        r"\bbadgers?\b",
        r"nesting birds",
        r"site of special scientific interest",
    ),
    _T.HERITAGE_STATEMENT: (
        r"listed building",
        r"conservation area",
        r"heritage assets?",
        r"significance",
        r"historic england",
        r"archaeolog",
        r"scheduled monument",
        r"setting of the",
        r"grade ii\b",
        r"historic environment record",
    ),
    _T.ARBORICULTURAL_REPORT: (
        r"arboricultur",
        r"tree (?:survey|preservation order)",
        r"root protection areas?",
        r"\brpa\b",
        r"bs ?5837",
        r"category [abcu]\b",
        r"canopy",
        r"crown (?:spread|lift|reduction)",
        r"stem diameter",
        r"tree protection fenc",
    ),
}
_COMPILED = {
    kind: tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns) for kind, patterns in _BY_WORDS.items()
}
_FEWEST_KEYWORDS = 2
_ENOUGH = 4.0
_MOST_MENTIONS = 6


class PlanningClassifier:
    """Classify planning documents (`ports.Classifier`).

    A pattern in the file name decides with a confidence of 0.95 (0.85 where names of two kinds stand in it: the one
    named first wins), the words of the opening 20,000 characters with 0.5 to 0.75, by how clearly they speak. Where
    neither does it is `other`, with 0.2.
    """

    def __call__(self, document: Document) -> Classification:
        """Classify by name, then by text."""
        by_name = _by_name(document.source_uri)
        if by_name is not None:
            return by_name
        by_words = _by_words(f"{document.title}\n{document.text[:_OPENING]}")
        return by_words or Classification(_T.OTHER.value, 0.2, "neither name nor words tell")


def _by_name(uri: str) -> Classification | None:
    name = _plain(PurePosixPath(uri).stem)
    found: list[tuple[int, PlanningType, str]] = []
    for kind, pattern in _BY_NAME:
        match = pattern.search(name)
        if match is not None:
            found.append((match.start(), kind, match.group()))
    if not found:
        return None
    _, kind, words = min(found, key=lambda one: one[0])
    return Classification(kind.value, 0.95 if len(found) == 1 else 0.85, f"file name: {words.strip()}")


def _plain(stem: str) -> str:
    """Write a file name's stem as words: `TransportAssessment_v2` becomes `transport assessment v2`."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", stem.replace("%20", " "))
    return " ".join(re.sub(r"[\W_]+", " ", spaced.replace("&", " and ")).lower().split())


def _by_words(text: str) -> Classification | None:
    """Score each kind by its keywords: how many different ones stand in the text, and a little by how often."""
    scores: list[tuple[float, int, PlanningType]] = []
    for kind, patterns in _COMPILED.items():
        mentions = [min(_MOST_MENTIONS, sum(1 for _ in pattern.finditer(text))) for pattern in patterns]
        different = sum(1 for count in mentions if count)
        scores.append((different + sum(mentions) / _MOST_MENTIONS, different, kind))
    scores.sort(key=lambda one: -one[0])
    (best, different, kind), (second, _, _) = scores[0], scores[1]
    if different < _FEWEST_KEYWORDS or best < _ENOUGH - 1.5 or best - second < 0.3:
        return None
    clear = min(1.0, (best - second) / _ENOUGH)
    return Classification(kind.value, round(0.5 + 0.25 * clear, 2), f"{different} keywords in the text")
