"""Tests of the evaluations: sets, judging, measures, chance, comparison, report, drafts."""
