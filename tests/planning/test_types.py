"""The types of planning documents: by file name, by words, else other; each with its confidence."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.document_types import PlanningClassifier, PlanningType
from knowledge_mcp.model.document import Classification, Document

T = PlanningType

NAMES = {
    T.TRANSPORT_ASSESSMENT: [
        "Transport Assessment.pdf",
        "TravelPlan_v2.pdf",
        "25-01178-REM traffic_impact_assessment.pdf",
        "Transport Statement.pdf",
        "Highways Technical Note.pdf",
        "Transport Technical Note 02.pdf",
    ],
    T.DESIGN_ACCESS_STATEMENT: [
        "Design and Access Statement.pdf",
        "D&A Statement.pdf",
        "DESIGN_&_ACCESS_STATEMENT_REV_A.PDF",
        "DAS Part 1.pdf",
        "DesignAndAccessStatement.pdf",
        "D+A Statement.pdf",
        "D_A_STATEMENT-1870014.pdf",
        "AB-0001A_DESIGNACCESSSTATEMENT.pdf",
    ],
    T.SITE_PLAN: [
        "Site Plan.pdf",
        "1234-LocationPlan.pdf",
        "Block_Plan_1-500.pdf",
        "Layout plan rev C.pdf",
        "site layout plan.pdf",
        "Landscaping plan.pdf",
        "LANDSCAPE_LAYOUT.pdf",
    ],
    T.FLOOR_PLAN: [
        "Proposed Floor Plans.pdf",
        "Ground floor.pdf",
        "First Floor Plan.pdf",
        "FirstFloor.pdf",
        "A101-FLOORPLAN.pdf",
        "PROPOSED_SECTION_AND_ROOFPLAN.pdf",
        "PROPOSED_GF_PLAN.pdf",
    ],
    T.ELEVATION: ["Proposed Elevations.pdf", "street scene.pdf", "North-Elevation.pdf", "A-201_elevation_rev2.pdf"],
    T.PLANNING_STATEMENT: [
        "Planning Statement.pdf",
        "Supporting_Statement.pdf",
        "planning-supporting-statement.pdf",
        "Cover Letter.pdf",
    ],
    T.ENVIRONMENTAL_STATEMENT: [
        "Environmental Impact Assessment.pdf",
        "Environmental_Statement_Vol_1.pdf",
        "EIA screening.pdf",
        "ES_Vol_1_Chapter_7.pdf",
    ],
    T.NOISE_ASSESSMENT: [
        "Noise Assessment.pdf",
        "noise-report.pdf",
        "NoiseSurvey.pdf",
        "Acoustic Design.pdf",
        "Noise Impact Assessment.pdf",
        "BS4142 Assessment.pdf",
    ],
    T.FLOOD_RISK_ASSESSMENT: [
        "Flood Risk Assessment.pdf",
        "FRA.pdf",
        "Drainage_Strategy.pdf",
        "Surface Water Drainage Strategy.pdf",
    ],
    T.ECOLOGY_REPORT: [
        "Ecology Report.pdf",
        "ecology_survey.pdf",
        "Preliminary Ecological Appraisal.pdf",
        "Bat Survey 2025.pdf",
        "Biodiversity Net Gain.pdf",
        "EcIA rev B.pdf",
        "Preliminary Roost Assessment.pdf",
        "BAT_SCOPING_SURVEY.pdf",
    ],
    T.HERITAGE_STATEMENT: [
        "Heritage Statement.pdf",
        "heritage-assessment.pdf",
        "AB-PLANNING-HERITAGESTATEMENT.pdf",
        "Archaeological desk based assessment.pdf",
        "Statement of Significance.pdf",
    ],
    T.ARBORICULTURAL_REPORT: [
        "Arboricultural Report.pdf",
        "Tree Survey.pdf",
        "arboricultural_survey.pdf",
        "TreeSurvey.pdf",
        "ARB_METHOD_STATEMENT.pdf",
    ],
    T.OTHER: [
        "scan0001.pdf",
        "correspondence.pdf",
        "platform.pdf",
        "fragment.pdf",
    ],
}

WORDS = {
    T.TRANSPORT_ASSESSMENT: "Trip generation was derived from TRICS. Vehicle movements in the peak hours are low, "
    "junction capacity is not exceeded, and cycle parking is provided. Bus services pass the site.",
    T.DESIGN_ACCESS_STATEMENT: "The design rationale follows the character of the area. Massing and materiality were "
    "tested; scale and form respond to the street frontage. Inclusive access is provided. Appearance matters.",
    T.SITE_PLAN: "Site Plan. Scale 1:500. Site boundary shown by a red line. North point. "
    "Ordnance Survey, Crown copyright.",
    T.FLOOR_PLAN: "Ground floor. Kitchen. Living room. Bedroom 1 with en-suite. Bathroom. Landing. "
    "Gross internal area.",
    T.ELEVATION: "Front elevation. Rear elevation. Side elevation. Ridge height 8.2. Eaves level 5.1. Facing brick.",
    T.PLANNING_STATEMENT: "The National Planning Policy Framework (NPPF) and the Local Plan are material "
    "considerations. The development plan and the planning history are set out, then the planning balance.",
    T.ENVIRONMENTAL_STATEMENT: "Under the EIA Regulations a scoping opinion was sought. Baseline conditions, "
    "significant effects on sensitive receptors, mitigation measures, residual effects and cumulative effects follow.",
    T.NOISE_ASSESSMENT: "Noise levels of 55 dB LAeq were measured. BS 8233 and BS 4142 apply to noise-sensitive "
    "rooms; glazing gives the sound insulation that the acoustic model asks for.",
    T.FLOOD_RISK_ASSESSMENT: "The site lies in Flood Zone 2. Surface water is held by attenuation to the "
    "greenfield runoff rate; infiltration was tested. The sequential test and a climate change allowance "
    "are met. SuDS are used.",
    T.ECOLOGY_REPORT: "Habitats and hedgerows were walked. No bat roosts, great crested newts or badgers were found. "
    "Protected species and nesting birds need care; biodiversity net gain is ten per cent.",
    T.HERITAGE_STATEMENT: "The listed building (Grade II) stands in the conservation area. Its significance and the "
    "setting of the church are heritage assets; Historic England was asked. Archaeological remains are unlikely.",
    T.ARBORICULTURAL_REPORT: "To BS 5837 each tree was put into category B by stem diameter and crown spread. The root "
    "protection area (RPA) is kept by tree protection fencing; a tree preservation order applies to the canopy.",
    T.OTHER: "Dear Sir or Madam, please find enclosed the cheque for the fee. Yours faithfully.",
}


def classified(name: str, text: str = "", title: str = "") -> Classification:
    """Classify a document of this name and text."""
    return PlanningClassifier()(
        Document(
            id="x",
            title=title,
            document_type=None,
            text=text,
            sections=(),
            blocks=(),
            pages=(),
            sha256="",
            source_uri=f"planning:25/01178/REM:/data/raw/{name}",
            media_type="application/pdf",
        )
    )


def test_there_are_thirteen_types_and_each_has_examples_here() -> None:
    assert len(PlanningType) == 13
    assert set(NAMES) == set(WORDS) == set(PlanningType)


@pytest.mark.requirement("document-store-api:APP-document_types", "document-store-api:NICE-classification")
@pytest.mark.parametrize("kind", PlanningType)
def test_the_file_name_tells_the_type(kind: PlanningType) -> None:
    for name in NAMES[kind]:
        found = classified(name)
        assert found.kind == kind.value, name
        assert found.confidence is not None
        assert found.confidence >= 0.85 if kind is not T.OTHER else found.confidence <= 0.3


@pytest.mark.requirement("document-store-api:APP-document_types", "document-store-api:NICE-classification")
@pytest.mark.parametrize("kind", PlanningType)
def test_the_words_tell_the_type_where_the_name_does_not(kind: PlanningType) -> None:
    found = classified("scan0001.pdf", WORDS[kind])
    assert found.kind == kind.value, found
    assert found.confidence is not None
    assert 0.5 <= found.confidence < 0.85 if kind is not T.OTHER else found.confidence <= 0.3
    assert found.reason


@pytest.mark.requirement("document-store-api:APP-document_types")
def test_the_name_is_asked_before_the_words() -> None:
    assert classified("Noise Report.pdf", WORDS[T.ECOLOGY_REPORT]).kind == "noise_assessment"


def test_a_name_of_two_kinds_is_less_certain_than_a_plain_one() -> None:
    double = classified("Flood Risk Assessment - site plan.pdf").confidence
    assert double is not None
    assert (classified("Flood Risk Assessment.pdf").confidence or 0) > double
    assert classified("Flood Risk Assessment - site plan.pdf").kind == "flood_risk_assessment"


def test_the_folder_does_not_tell_the_type() -> None:
    document = classified("noise report/scan.pdf")
    assert document.kind == "other"


@pytest.mark.parametrize(
    "name",
    [
        "23_01234_FUL-APPLICATION_FORM-1870001.pdf",
        "Application form.pdf",
        "ApplicationFormRedacted.pdf",
        "DECISION_NOTICE-1899999.pdf",
        "Delegated Report.pdf",
        "Ecology consultation response.pdf",
        "Heritage and Conservation Officer response.pdf",
        "CONSULTEE_COMMENT_LEAD_LOCAL_FLOOD_AUTHORITY.pdf",
        "LLFA response - drainage strategy.pdf",
        "Mr Eia objection.pdf",
        "Pea Lane site notice.pdf",
        "Appeal Decision 3312345.pdf",
        "LEAD_LOCAL_FLOOD_AUTHORITY-1881004.pdf",
        "Ecology Officer.pdf",
        "Tree Officer reply.pdf",
        "Public Comment - Mrs Heritage.pdf",
        "Email to agent - flood risk.pdf",
        "Officer Report - drainage.pdf",
        "APPLICATIONFORMREDACTED-1885634.pdf",
        "REP_-_5_Heath_Courts-1820366.pdf",
        "CON_-_NUISANCE-1800474.pdf",
        "CIL_QUESTIONS-1877881.pdf",
        "CIL form.pdf",
        "WEEKLY_LIST-1807076.pdf",
        "77193-FUL-22_-_DECISION.pdf",
    ],
)
def test_a_form_a_notice_or_what_others_say_is_no_report_of_the_applicant(name: str) -> None:
    found = classified(name, WORDS[T.FLOOD_RISK_ASSESSMENT])
    assert (found.kind, found.confidence) == ("other", 0.95)


def test_the_applicant_s_answer_to_a_consultee_is_of_the_kind_that_it_names() -> None:
    assert classified("Drainage Strategy - response to LLFA comments.pdf").kind == "flood_risk_assessment"
    assert (
        classified("Statement of Community Consultation.pdf", WORDS[T.PLANNING_STATEMENT]).kind == "planning_statement"
    )
    assert classified("SuDS Strategy.pdf").kind == "flood_risk_assessment"


@pytest.mark.requirement("document-store-api:APP-document_types", "document-store-api:NICE-classification")
@pytest.mark.parametrize(
    ("title", "text", "kind"),
    [
        ("Residential Travel Plan", "A coordinator is appointed.", T.TRANSPORT_ASSESSMENT),
        ("Heritage Statement", WORDS[T.TRANSPORT_ASSESSMENT], T.HERITAGE_STATEMENT),
        ("Officer Report", WORDS[T.TRANSPORT_ASSESSMENT], T.OTHER),
        ("", "Client\n\nHarrow Homes\n\nDrawing Title\n\nProposed Site Layout\n\nScale\n\n1:500", T.SITE_PLAN),
        ("", "Sheet title: North elevation", T.ELEVATION),
        ("Officers' Mess, Design and Access Statement", "", T.DESIGN_ACCESS_STATEMENT),
    ],
)
def test_the_title_tells_the_type_where_the_file_name_does_not(title: str, text: str, kind: PlanningType) -> None:
    found = classified("1880203.pdf", text, title)
    assert (found.kind, found.confidence) == (kind.value, 0.75)
    assert found.reason
    assert found.reason.startswith("title: ")


@pytest.mark.parametrize(
    "answer",
    [
        "Dear Sir, I wish to object to the application. ",
        "The Highway Authority raises no objection. ",
        "Thank you for consulting us. ",
        "The Council hereby REFUSES PERMISSION. ",
        "Comments for Planning Application 77193/FUL/22. ",
        "Community Infrastructure Levy (CIL) - Form 1. ",
    ],
)
def test_who_judges_or_answers_with_the_words_of_a_report_has_not_written_it(answer: str) -> None:
    for kind in set(PlanningType) - {T.OTHER}:
        assert classified("scan0001.pdf", answer + WORDS[kind]).kind == "other"
        summed_up = f"{WORDS[kind]} {'More of the same. ' * 200} {answer}"
        assert classified("scan0001.pdf", summed_up).kind == kind.value
