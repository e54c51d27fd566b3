"""Sets are read as they stand on disk, and every mistake in them is reported at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge_mcp.evals.sets import AnswerPlace, open_set
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from tests.evals.making import beir, jsonl

DOCUMENTS = {"a": "valves", "b": "pumps", "c": "filters"}
QUERIES = {"q1": "turn a valve", "q2": "run a pump", "q3": "never judged"}


def test_a_beir_folder_gives_its_judged_questions_and_documents_in_memory(tmp_path: Path) -> None:
    chosen = open_set(beir(tmp_path / "water", DOCUMENTS, QUERIES, ["q1 a 2", "q1 b 0", "q2 b 1", "q2 c -1"]))
    assert (chosen.name, chosen.kind) == ("water", "beir")
    assert {each.id: each.places for each in chosen.questions} == {
        "q1": (AnswerPlace("a", grade=2),),
        "q2": (AnswerPlace("b"),),
    }
    assert sorted(chosen.keys.values()) == ["a", "b", "c"]
    with chosen.documents[0].open() as stream:
        data = stream.read()
    assert data == b"valves\n"
    assert chosen.documents[0].size == len(data)
    assert "a" not in chosen.documents[0].name.removeprefix("d0").removesuffix(".md")


def test_a_beir_title_becomes_one_heading_line(tmp_path: Path) -> None:
    folder = beir(tmp_path / "water", {}, QUERIES, ["q1 a 1"])
    jsonl(folder / "corpus.jsonl", [{"_id": "a", "title": "Care of\nvalves", "text": "Turn them."}])
    with open_set(folder).documents[0].open() as stream:
        assert stream.read() == b"# Care of valves\n\nTurn them.\n"


def test_another_split_is_chosen_by_its_name_and_an_unknown_one_names_those_that_are_there(tmp_path: Path) -> None:
    folder = beir(tmp_path / "water", DOCUMENTS, QUERIES, ["q1 a 1"])
    (folder / "qrels" / "strict.tsv").write_text("q2 0 b 1\n".replace(" ", "\t"))
    assert [each.id for each in open_set(folder, split="strict").questions] == ["q2"]
    with pytest.raises(NotFoundError) as caught:
        open_set(folder, split="train")
    assert "strict, test" in caught.value.suggestion


def test_held_back_documents_leave_their_questions_without_an_answer(tmp_path: Path) -> None:
    names = [f"q{number}" for number in range(10)]
    folder = beir(
        tmp_path / "water",
        {f"d{number}": "text" for number in range(10)},
        dict.fromkeys(names, "a question"),
        [f"q{number} d{number} 1" for number in range(10)],
    )
    chosen = open_set(folder, hold_back=0.3)
    unanswerable = {each.id for each in chosen.questions if each.unanswerable}
    assert len(unanswerable) == 3
    assert set(chosen.keys.values()) == {f"d{name[1:]}" for name in set(names) - unanswerable}
    assert chosen == open_set(folder, hold_back=0.3) or chosen.questions == open_set(folder, hold_back=0.3).questions


@pytest.mark.parametrize(
    ("line", "said"),
    [("q1 a", "line 2"), ("q1 a much", "line 2"), ("q1 a nan", "line 2"), ("q1 a 1e999", "line 2")],
)
def test_a_judgement_of_another_form_is_reported_with_its_line(tmp_path: Path, line: str, said: str) -> None:
    folder = beir(tmp_path / "water", DOCUMENTS, QUERIES, [line])
    with pytest.raises(InvalidInputError, match=said):
        open_set(folder)


def test_pages_of_evidence_count_from_nought_and_become_physical_pages(tmp_path: Path) -> None:
    (tmp_path / "pdfs").mkdir()
    (tmp_path / "pdfs" / "REPORT.pdf").write_bytes(b"%PDF-")
    evidence = [{"doc": "REPORT", "page": 4, "text": "ignored"}, {"doc": "REPORT", "page": 9, "page_base": 1}]
    jsonl(
        tmp_path / "questions.jsonl",
        [
            {"_id": "f1", "text": "How much?", "evidence": evidence},
            {
                "financebench_id": "f2",
                "question": "And then?",
                "doc_name": "REPORT",
                "evidence": [{"evidence_doc_name": "REPORT", "evidence_page_num": 0}],
            },
            {"_id": "f3", "text": "Which?", "evidence": [{"doc": "MISSING", "page": 1}]},
        ],
    )
    chosen = open_set(tmp_path)
    assert {each.id: each.places for each in chosen.questions} == {
        "f1": (AnswerPlace("REPORT", page=5), AnswerPlace("REPORT", page=9)),
        "f2": (AnswerPlace("REPORT", page=1),),
    }
    assert chosen.files == tmp_path / "pdfs"
    assert "1 questions are left out" in chosen.notes[0]


def test_a_file_of_ones_own_questions_says_where_each_answer_stands(tmp_path: Path) -> None:
    path = jsonl(
        tmp_path / "mine.jsonl",
        [
            {"id": "one", "question": "How often?", "document": "valves", "clause": "2.", "quote": "once a year"},
            {"question": "Who?", "document_id": ["a", "b"], "page": "7"},
            {"question": "Why?", "unanswerable": True, "draft": True},
            {"question": "Where?", "expected": [{"document": "a", "grade": 2}, {"clause": "3"}]},
        ],
    )
    chosen = open_set(path)
    assert [each.places for each in chosen.questions] == [
        (AnswerPlace("valves", clause="2", quote="once a year"),),
        (AnswerPlace("a", page=7), AnswerPlace("b", page=7)),
        (),
        (AnswerPlace("a", grade=2), AnswerPlace(clause="3")),
    ]
    assert [each.id for each in chosen.questions] == ["one", "q0002", "q0003", "q0004"]
    assert chosen.notes == ("1 of 4 questions are drafts that nobody has read.",)


@pytest.mark.parametrize("separator", [",", ";"])
def test_rows_of_a_table_that_ask_the_same_add_up(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "mine.csv"
    rows = ["Question,Document ID,Page,Unanswerable", "How often?,a,2,", "How often?,b,,no", "Why?,,,yes"]
    path.write_text("\ufeff" + "\n".join(rows).replace(",", separator), encoding="utf-8")
    chosen = open_set(path)
    assert [(each.text, each.places) for each in chosen.questions] == [
        ("How often?", (AnswerPlace("a", page=2), AnswerPlace("b"))),
        ("Why?", ()),
    ]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"question": " "}, "there is no question"),
        ({"question": "Why?"}, "needs a document, clause, page or quote"),
        ({"question": "Why?", "document": "a", "unanswerable": "yes"}, "says where the answer is"),
        ({"question": "Why?", "page": 0}, "`page` must be a whole number of at least 1"),
        ({"question": "Why?", "document": "a", "unanswerable": "perhaps"}, "true or false"),
        ({"question": "Why?", "claus": "5"}, "did you mean 'clause'"),
        ({"question": "Why?", "expected": [{"grade": 2}]}, "a place in `expected`"),
        ({"question": "Why?", "expected": "a"}, "a list of places"),
    ],
)
def test_a_wrong_line_is_reported_with_what_is_wrong(tmp_path: Path, row: dict[str, object], said: str) -> None:
    path = jsonl(tmp_path / "mine.jsonl", [{"question": "Good?", "document": "a"}, row])
    with pytest.raises(InvalidInputError) as caught:
        open_set(path)
    assert said in caught.value.details
    assert caught.value.details.startswith("line 2")


def test_all_wrong_lines_are_reported_together(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "mine.jsonl", [{"question": "Why?"}] * 30)
    with pytest.raises(InvalidInputError, match="30 things are wrong") as caught:
        open_set(path)
    assert caught.value.details.splitlines()[-1] == "… and 10 more"


@pytest.mark.parametrize("content", ["[1]", "{", "\xff", ""])
def test_a_file_that_holds_something_else_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(InvalidInputError):
        open_set(path)


def test_what_is_no_set_is_refused_with_the_forms_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError) as caught:
        open_set(tmp_path)
    assert "corpus.jsonl" in caught.value.suggestion
    with pytest.raises(NotFoundError):
        open_set(tmp_path / "missing")
    folder = beir(tmp_path / "water", DOCUMENTS, QUERIES, ["q1 a 1"])
    with pytest.raises(InvalidInputError, match="--docs says nothing"):
        open_set(folder, documents=tmp_path)
    with pytest.raises(InvalidInputError, match="--split says nothing"):
        open_set(jsonl(tmp_path / "mine.jsonl", [{"question": "Why?", "page": 1}]), split="test")
