"""Every requirement of the five specifications; a test that shows one is marked `@pytest.mark.requirement(id)`."""

from __future__ import annotations

from collections import Counter

from tests.requirements.model import Requirement, Specification, Status
from tests.requirements.planning import PLANNING
from tests.requirements.rag import RAG
from tests.requirements.repositories import REPOSITORIES
from tests.requirements.standards import CLARIFICATIONS, STANDARDS

REQUIREMENTS: tuple[Requirement, ...] = (*STANDARDS, *CLARIFICATIONS, *PLANNING, *REPOSITORIES, *RAG)

BY_ID: dict[str, Requirement] = {requirement.id: requirement for requirement in REQUIREMENTS}


def summary() -> list[str]:
    """Return one line for each specification and one for all: built, planned, deviations."""
    counts = Counter((requirement.specification, requirement.status) for requirement in REQUIREMENTS)
    lines = [
        f"{name:40} {counts[name, Status.BUILT]:4} built {counts[name, Status.PLANNED]:4} planned"
        for name in Specification
    ]
    built = sum(requirement.status is Status.BUILT for requirement in REQUIREMENTS)
    deviating = sum(requirement.deviation is not None for requirement in REQUIREMENTS)
    lines.append(
        f"{'all':40} {built:4} built {len(REQUIREMENTS) - built:4} planned, {deviating} with a recorded deviation"
    )
    return lines
