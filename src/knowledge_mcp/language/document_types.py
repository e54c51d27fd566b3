"""Classifies documents that do not state their type, by metadata, title, file name and opening text."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import PurePosixPath

from knowledge_mcp.model.document import Classification, Document, DocumentType

_OPENING = 6000
"""Code points of the opening text that are read."""

_METADATA_KEYS = ("document_type", "doc_type", "type", "category", "subject", "keywords")
_TITLE_WEIGHT = 4.0
_NAME_WEIGHT = 3.0
_METADATA_WEIGHT = 3.0
_TEXT_WEIGHT = 1.0
_ENOUGH = 2.0
_DENSE = 1.0
"""Mandatory words per thousand code points that are enough to classify a specification."""

_T = DocumentType
_WORDS: tuple[tuple[DocumentType, float, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (kind, weight, tuple(stems.split("|")) if stems else (), re.compile(pattern))
    for kind, weight, stems, pattern in (
        (
            _T.HANDBOOK,
            1.5,
            "handbook|mil-hdbk|body of knowledge|compendium",
            r"\bhandbook\b|\bmil-hdbk\b|\bbody of knowledge\b|\bcompendium\b",
        ),
        (
            _T.GUIDE,
            1.2,
            "guid|tutorial|primer|how-to|how to|manual|best practice",
            r"\bguide(?:lines?|book)?\b|\bguidance\b|\btutorial\b|\bprimer\b|\bhow[- ]to\b|\bmanual\b|\bbest"
            r" practices?\b",
        ),
        (
            _T.POLICY,
            1.3,
            "polic|directive|regulation|executive order|code of conduct|bylaw|by-law",
            r"\bpolic(?:y|ies)\b|\bdirective\b|\bregulations?\b|\bexecutive order\b|\bcode of conduct\b|\bby-?laws?\b",
        ),
        (
            _T.SPECIFICATION,
            1.5,
            "spec|srs|sss|irs|interface control|icd|data item description|di-|mil-|rfc|protocol",
            r"\bspecifications?\b|\bspec\b|\bsrs\b|\bsss\b|\birs\b|\binterface control\b|\bicd\b"
            r"|\bdata item description\b|\bdi-[a-z]{4}-\d|\bmil-(?:prf|dtl|spec)-\d|\brfc\s?\d{3,5}\b|\bprotocol\b",
        ),
        (_T.SPECIFICATION, 0.5, "requirement", r"\brequirements?\b"),
        (
            _T.STANDARD,
            1.2,
            "",
            r"\bstandards?\b|\bmil-std\b|\b(?:iso|iec|ieee|en|din|bs|ansi|astm|asme|etsi"
            r"|itu-t)(?:/[a-z]++){0,6}+[ _-](?:std\.?\s)?[a-z]{0,3}\d{2,}"
            r"|\bnist[ _.-](?:sp|special publication)\b|\bfips\b|\brecommended practice\b|\bspecial publication\b",
        ),
        (
            _T.REPORT,
            1.1,
            "report|whitepaper|white paper|proceedings|findings|statistic|10-|master plan|investigation",
            r"\breports?\b|\bwhite ?paper\b|\bproceedings\b|\bfindings\b|\bstatistic(?:s|al)\b|\b10-[kq]\b"
            r"|\bmaster plan\b|\binvestigations?\b",
        ),
        (
            _T.REPORT,
            0.45,
            "study|analysis|assessment|survey|evaluation",
            r"\bstudy\b|\banalysis\b|\bassessment\b|\bsurvey\b|\bevaluation\b",
        ),
    )
)
"""Type, weight, words of which a matching text contains at least one (none: unknown), and the pattern.

Texts are lower-cased before the search, which takes half the time of ignoring case. Looking for the words first takes a
fifth of that.
"""
_CLAUSES = re.compile(
    r"^[^\w\n]*+(?:\d++\s+)?+(?:scope|normative references|terms and definitions|referenced documents)[^\w\n]*+$",
    re.I | re.M,
)
_SHALL = re.compile(r"\b(?:shall|SHALL|MUST)\b")


class DocumentClassifier:
    """Classifies documents by words that name their type (`ports.Classifier`).

    A type named in the title has the largest weight, then file name and metadata, then the opening text. A layout of
    scope, normative references and terms indicates a standard, and frequent "shall" a standard or specification.
    Without clear evidence the document is `custom`.
    """

    def __call__(self, document: Document) -> Classification:
        """Classify by name, title and opening text; a type stated by the document wins."""
        stated = document.document_type or _stated_type(document)
        if stated is not None:
            return Classification(stated.value)
        scores = _scores(document)
        best = max(scores, key=lambda kind: scores[kind])
        return Classification((best if scores[best] >= _ENOUGH else DocumentType.CUSTOM).value)


def _stated_type(document: Document) -> DocumentType | None:
    for key, value in document.metadata:
        if key.lower() in {"document_type", "doc_type"} and value.strip().lower() in {
            kind.value for kind in DocumentType
        }:
            return DocumentType(value.strip().lower())
    return None


def _scores(document: Document) -> dict[DocumentType, float]:
    title = document.title.lower()
    name = re.sub(r"[_+.]|%20", " ", PurePosixPath(document.source_uri).stem).lower()
    metadata = " ; ".join(value for key, value in document.metadata if key.lower() in _METADATA_KEYS).lower()
    opening = document.text[:_OPENING].lower()
    scores = dict.fromkeys(DocumentType, 0.0)
    for kind, weight, stems, pattern in _WORDS:
        for words, place in ((title, _TITLE_WEIGHT), (name, _NAME_WEIGHT), (metadata, _METADATA_WEIGHT)):
            if words and (found := list(pattern.finditer(words))):
                last = found[-1].end() / max(1, len(words))
                scores[kind] += weight * place * (0.8 + 0.2 * last)
        if not stems or any(map(opening.__contains__, stems)):
            mentions = min(3, sum(1 for _ in pattern.finditer(opening)))
            scores[kind] += weight * _TEXT_WEIGHT * mentions / 3
    clauses = len({match.group().strip(" \n#*0123456789.").lower() for match in _CLAUSES.finditer(document.text)})
    if clauses >= 2:
        scores[DocumentType.STANDARD] += 1.6 * clauses
    force = len(_SHALL.findall(document.text)) / max(1.0, len(document.text) / 1000)
    if force >= 0.5:
        scores[DocumentType.SPECIFICATION] += 1.0 if force < _DENSE else _ENOUGH
        scores[DocumentType.STANDARD] += 0.7
    return scores


class PlanningType(StrEnum):
    """Types of planning document."""

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


_PLANNING_OPENING = 20_000
"""Characters of the text that are read."""

_P = PlanningType
_ANY_WORD = r"(?: \w+)"
"""A further word of a name; blanks between other words may be missing: "LOCATIONPLAN"."""
_BY_NAME: tuple[tuple[PlanningType, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"\b(?:{pattern.replace(' ', ' ?').replace(_ANY_WORD.replace(' ', ' ?'), _ANY_WORD)})\b"))
    for kind, pattern in (
        # Subjects of reports come before contents of drawings: "flood risk assessment site plan appendix" is read as
        # the report, and in a tie a report wins over a drawing.
        (
            _P.DESIGN_ACCESS_STATEMENT,
            r"design (?:and |& )?access(?: statement)?|design statement|d ?and ?a(?: statement)?|d a statement|das",
        ),
        (
            _P.TRANSPORT_ASSESSMENT,
            r"transport(?:ation)? (?:technical )?(?:assessment|statement|report|note)s?|travel plans?|"
            r"traffic (?:impact|assessment|statement|survey)s?(?: assessment)?|"
            r"highways? (?:technical )?(?:statement|assessment|report|note)s?",
        ),
        (
            _P.ENVIRONMENTAL_STATEMENT,
            r"environmental (?:impact )?(?:statement|assessment|report)s?|eia|environmental impact|"
            r"es (?:vol(?:ume)?|chapter|nts|non technical summary)|non technical summary",
        ),
        (
            _P.NOISE_ASSESSMENT,
            r"noise (?:impact )?(?:assessment|report|survey|statement)s?|acoustics?(?: \w+)?|noise and vibration|"
            r"bs ?4142(?: \w+)?",
        ),
        (
            _P.FLOOD_RISK_ASSESSMENT,
            r"flood(?: risk)?(?: assessment| statement| report)?|fra|(?:surface water |foul )?drainage (?:strategy|"
            r"statement|report|assessment|scheme)|suds (?:strategy|statement|report)|su ?ds",
        ),
        (
            _P.ECOLOGY_REPORT,
            r"ecolog(?:y|ical)(?: \w+)*|(?:bat|badger|newt|reptile|bird|habitat|great crested newt)s? "
            r"(?:roost |scoping )?(?:survey|report|assessment|emergence)s?(?: survey)?|biodiversity(?: \w+)*|bng|"
            r"phase 1 habitat(?: survey)?|pea|ec ?ia|(?:preliminary )?roost assessment",
        ),
        (
            _P.HERITAGE_STATEMENT,
            r"heritage(?:statement|assessment)?(?: \w+)*|archaeolog(?:y|ical)(?: \w+)*|statement of significance|"
            r"historic (?:building|environment)(?: \w+)*|conservation area (?:statement|appraisal)",
        ),
        (
            _P.ARBORICULTURAL_REPORT,
            r"arboricultur(?:al|e)(?: \w+)*|arb (?:impact|method|report|survey)(?: \w+)*|"
            r"tree (?:survey|report|constraints|protection|schedule|condition)s?(?: \w+)*|aia|bs ?5837",
        ),
        (
            _P.PLANNING_STATEMENT,
            r"planning (?:supporting |support )?statements?|supporting (?:planning )?statements?|cover(?:ing)? letter|"
            r"planning (?:policy )?(?:justification|appraisal)(?: statement)?",
        ),
        (
            _P.FLOOR_PLAN,
            r"floor ?plans?|(?:ground|first|second|third|fourth|fifth|upper|lower|lower ground|basement|attic|typical)"
            r" floors?(?: plans?| layout)?|(?:roof|loft|basement|[gf]f) plans?",
        ),
        (_P.ELEVATION, r"elevations?|elevational|street ?scenes?|(?:front|rear|side|north|south|east|west) elev"),
        (
            _P.SITE_PLAN,
            r"(?:site|location|block|layout|master|master ?plan|landscap(?:e|ing)|parking)(?: \w+)? ?plans?|"
            r"(?:site|parking|landscap(?:e|ing)) layout|location map|masterplan|red line(?: boundary| plan)?",
        ),
    )
)

_OF_OTHERS = re.compile(
    r"\A(?:rep|con)\b|\bdecision\Z|\b(?:application ?forms?(?: ?redacted)?|cil|community infrastructure levy|"
    r"weekly lists?|e ?mails?|decision (?:notice|letter)s?|notice of decision|appeal decisions?|"
    r"inspectors? (?:report|decision)s?|(?:officers?|delegated|committee) (?:report|response|repl)(?:s|y|ies)?|"
    r"(?:trees?|conservation|ecology|biodiversity|heritage|landscape|housing|health|highways?|drainage|urban design|"
    r"archaeology|case|planning) officers?|(?:flood|highways?|planning) authority|(?:site|press|developer) notices?|"
    r"consultees?|objections?|objectors?|objects|representations?|comments?|neighbours? (?:letter|response)s?|"
    r"(?:consultation|council|agency|llfa|highways?|historic england|natural england|water) "
    r"(?:reply|replies|response)s?)\b"
)
"""Names of forms, notices, and papers of authorities, consultees and neighbours, which portals call REP and CON.

A consultee's letter on noise is not an assessment.
"""
_ANSWERING = re.compile(r"\b(?:response|reply|rebuttal|answer)s? to\b")
"""The applicant's own answer to such a paper, followed by its name."""

_ANSWERS = re.compile(
    r"\b(?:i|we)(?: \w+){0,3} (?:object|oppose)\b|\bno objections?\b|"
    r"\b(?:raises?|maintains?|lodges?) (?:an? |our |its )?(?:holding )?objections?\b|"
    r"\bthank you for (?:consulting|notifying|your (?:consultation|notification|letter|e-?mail))\b|"
    r"\bhereby (?:grants?|refuses?|permits?)\b|\bcomments for planning application\b|"
    r"\bpublication of applications on planning authority websites\b|"
    r"\bcommunity infrastructure levy \(cil\)\W{1,3}form\b",
    re.IGNORECASE,
)
"""Words that papers of authorities and consultees, comments and forms of portals begin with; the applicant's reports
have the same subjects.
"""
_BEGINNING = 2500
"""Characters that are searched for them: a letter's first page. Reports summarise the answers of others later."""
_DRAWING_TITLE = re.compile(r"\b(?:drawing|sheet|dwg\.?) title[^\S\n]*:?\s{0,20}([^\n]{3,80})", re.IGNORECASE)

_BY_WORDS: dict[PlanningType, tuple[str, ...]] = {
    _P.TRANSPORT_ASSESSMENT: (
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
    _P.DESIGN_ACCESS_STATEMENT: (
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
    _P.SITE_PLAN: (
        r"(?:site|location|block) plan",
        r"scale 1 ?: ?(?:200|500|1250|2500)",
        r"site boundary",
        r"red line",
        r"ordnance survey",
        r"north point",
        r"crown copyright",
    ),
    _P.FLOOR_PLAN: (
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
    _P.ELEVATION: (
        r"(?:front|rear|side|north|south|east|west) elevation",
        r"elevations? as (?:proposed|existing)",
        r"proposed elevations?",
        r"ridge (?:height|level)",
        r"eaves (?:height|level)",
        r"facing brick",
    ),
    _P.PLANNING_STATEMENT: (
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
    _P.ENVIRONMENTAL_STATEMENT: (
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
    _P.NOISE_ASSESSMENT: (
        r"noise (?:assessment|survey|levels?)",
        r"\bdb(?:\(a\))?\b",
        r"\bl ?a(?:eq|90|max)\b",
        r"bs ?(?:8233|4142)",
        r"sound (?:insulation|pressure|reduction)",
        r"acoustic",
        r"glazing",
        r"noise[- ]sensitive",
    ),
    _P.FLOOD_RISK_ASSESSMENT: (
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
    _P.ECOLOGY_REPORT: (
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
    _P.HERITAGE_STATEMENT: (
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
    _P.ARBORICULTURAL_REPORT: (
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
_PLANNING_ENOUGH = 4.0
_MOST_MENTIONS = 6
_BY_TITLE = 0.75
"""Highest confidence from content: a title says what a document is, but may be that of its first part."""


class PlanningClassifier:
    """Classifies planning documents (`ports.Classifier`).

    A pattern in the file name decides with a confidence of 0.95, or 0.85 if it contains names of two types; then the
    first wins. A form, a notice and comments of others on the application are `other`. Next comes a pattern in the
    document's title or in a drawing's title block, with 0.75. Words of authorities and consultees also count 0.75, for
    `other`. Words of the opening 20,000 characters count 0.5 to 0.75, depending on how clear they are. Otherwise the
    document is `other`, with 0.2.
    """

    def __call__(self, document: Document) -> Classification:
        """Classify by name, then by title, then by text."""
        named = _named(PurePosixPath(document.source_uri).stem)
        if named is not None:
            return Classification(named.kind, named.confidence, f"file name: {named.reason}")
        opening = document.text[:_PLANNING_OPENING]
        block = _DRAWING_TITLE.search(opening)
        for title in (document.title, block.group(1) if block else ""):
            named = _named(title)
            if named is not None:
                return Classification(named.kind, _BY_TITLE, f"title: {named.reason}")
        answer = _ANSWERS.search(opening, 0, _BEGINNING)
        if answer is not None:
            return Classification(_P.OTHER.value, _BY_TITLE, f"its words: {answer.group()}")
        by_words = _by_words(f"{document.title}\n{opening}")
        return by_words or Classification(_P.OTHER.value, 0.2, "neither name nor words tell")


def _named(name: str) -> Classification | None:
    """Return the type that a name or title states, with the matched words as the reason."""
    name = _plain(name)
    of_others = None if _ANSWERING.search(name) else _OF_OTHERS.search(name)
    if of_others is not None:
        return Classification(_P.OTHER.value, 0.95, of_others.group())
    found: list[tuple[int, PlanningType, str]] = []
    for kind, pattern in _BY_NAME:
        match = pattern.search(name)
        if match is not None:
            found.append((match.start(), kind, match.group()))
    if not found:
        return None
    _, kind, words = min(found, key=lambda one: one[0])
    return Classification(kind.value, 0.95 if len(found) == 1 else 0.85, words.strip())


def _plain(stem: str) -> str:
    """Convert a file name's stem to words: `TransportAssessment_v2` becomes `transport assessment v2`."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", stem.replace("%20", " "))
    return " ".join(re.sub(r"[\W_]+", " ", spaced.replace("&", " and ")).lower().split())


def _by_words(text: str) -> Classification | None:
    """Score each type by how many different keywords the text contains, and a little by how often."""
    scores: list[tuple[float, int, PlanningType]] = []
    for kind, patterns in _COMPILED.items():
        mentions = [min(_MOST_MENTIONS, sum(1 for _ in pattern.finditer(text))) for pattern in patterns]
        different = sum(1 for count in mentions if count)
        scores.append((different + sum(mentions) / _MOST_MENTIONS, different, kind))
    scores.sort(key=lambda one: -one[0])
    (best, different, kind), (second, _, _) = scores[0], scores[1]
    if different < _FEWEST_KEYWORDS or best < _PLANNING_ENOUGH - 1.5 or best - second < 0.3:
        return None
    clear = min(1.0, (best - second) / _PLANNING_ENOUGH)
    return Classification(kind.value, round(0.5 + 0.25 * clear, 2), f"{different} keywords in the text")
