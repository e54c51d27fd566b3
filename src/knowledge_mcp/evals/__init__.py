"""Measures answer quality: evaluation sets, runs through the product, measures, comparisons, reports and drafts."""

from knowledge_mcp.evals.comparing import (
    DEFAULT_TOLERANCE,
    RunComparison,
    compare,
    list_configuration_changes,
    list_fallen,
)
from knowledge_mcp.evals.drafting import Draft, draft_questions, drafts_as_jsonl
from knowledge_mcp.evals.measures import COLUMNS, need_measures
from knowledge_mcp.evals.report import report_html
from knowledge_mcp.evals.results import Run, SetResult, commit_of_build, read_run, run_as_json
from knowledge_mcp.evals.running import QuestionOptions, ask_set, ingest_set
from knowledge_mcp.evals.sets import AnswerPlace, EvalSet, Question, open_set

__all__ = [
    "COLUMNS",
    "DEFAULT_TOLERANCE",
    "AnswerPlace",
    "Draft",
    "EvalSet",
    "Question",
    "QuestionOptions",
    "Run",
    "RunComparison",
    "SetResult",
    "ask_set",
    "commit_of_build",
    "compare",
    "draft_questions",
    "drafts_as_jsonl",
    "ingest_set",
    "list_configuration_changes",
    "list_fallen",
    "need_measures",
    "open_set",
    "read_run",
    "report_html",
    "run_as_json",
]
