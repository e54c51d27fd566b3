"""Texts that the service refuses, and answers that are wrong: with the real library against the stand-in."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from knowledge_mcp.model.errors import ConfigError, ContentRefusedError, ErrorCode, InvalidInputError, WrongAnswerError
from tests.embedders.remote_world import Pauses, openai_embedder
from tests.servers import openai_faults as faults
from tests.servers.openai_faults import Fault
from tests.servers.openai_server import OpenAIServer

TEXTS = [f"clause {number}" for number in range(12)]


# ---- what is refused for its content


@pytest.mark.requirement("CLARIFY-002")
@pytest.mark.parametrize("concurrency", [1, 4])
def test_refused_texts_are_found_by_halving_and_all_others_keep_their_vectors(
    server: OpenAIServer, concurrency: int
) -> None:
    pauses = Pauses()
    texts = [f"passage {number}" for number in range(40)]
    bad = {3, 17, 18}
    server.refuse = lambda text: text in {texts[index] for index in bad}
    embedder = openai_embedder(server, pauses, embedding_batch_size=20, embedding_concurrency=concurrency)
    with pytest.raises(ContentRefusedError) as failure:
        embedder.embed_documents(texts)
    error = failure.value
    assert error.code is ErrorCode.INVALID_INPUT
    assert error.reasons == dict.fromkeys(sorted(bad), "The input is invalid.")
    assert error.vectors == tuple(None if n in bad else server.vector(text) for n, text in enumerate(texts))
    assert "3 of 40" in error.message
    expected = Counter(text for n, text in enumerate(texts) if n not in bad)
    assert server.answered - Counter({"probe": 1}) == expected, "each other text is paid for once"
    assert pauses.taken == []
    embedder.close()


def test_one_refused_text_of_eight_costs_seven_requests_and_one_harmless_one(server: OpenAIServer) -> None:
    server.refuse = lambda text: text == TEXTS[5]
    embedder = openai_embedder(server)
    with pytest.raises(ContentRefusedError):
        embedder.embed_documents(TEXTS[:8])
    assert [len(request.texts) for request in server.requests] == [8, 1, 4, 4, 2, 1, 1, 2]
    assert server.requests[1].texts == ("probe",)
    with pytest.raises(ContentRefusedError):
        embedder.embed_documents(TEXTS[4:6])
    assert len(server.requests) == 8 + 3, "the settings are known to be right by then"
    embedder.close()


def test_a_refusal_that_names_the_content_needs_no_harmless_request(server: OpenAIServer) -> None:
    server.refusal = faults.filtered()
    server.refuse = lambda text: text == TEXTS[1]
    embedder = openai_embedder(server)
    with pytest.raises(ContentRefusedError) as failure:
        embedder.embed_documents(TEXTS[:2])
    assert [request.texts for request in server.requests] == [tuple(TEXTS[:2]), (TEXTS[0],), (TEXTS[1],)]
    assert "content management policy" in failure.value.reasons[1]
    embedder.close()


def test_a_text_that_stands_twice_is_refused_at_both_places(server: OpenAIServer) -> None:
    server.refuse = lambda text: text == "bad"
    embedder = openai_embedder(server)
    with pytest.raises(ContentRefusedError) as failure:
        embedder.embed_documents(["bad", "good", "bad"])
    assert sorted(failure.value.reasons) == [0, 2]
    assert failure.value.vectors == (None, server.vector("good"), None)
    embedder.close()


@pytest.mark.requirement("CLARIFY-002")
def test_a_refused_question_is_invalid_input_with_the_services_words(server: OpenAIServer) -> None:
    server.refuse = lambda text: text == "bad"
    embedder = openai_embedder(server)
    with pytest.raises(InvalidInputError, match="The input is invalid") as failure:
        embedder.embed_query("bad")
    assert not isinstance(failure.value, ContentRefusedError)
    assert embedder.embed_query("good")
    embedder.close()


@pytest.mark.parametrize("fault", [faults.too_many_tokens(), faults.error(413, "Payload too large")])
def test_a_request_that_is_too_large_as_a_whole_is_halved_until_it_fits(server: OpenAIServer, fault: Fault) -> None:
    server.faults.extend([None, fault, fault])
    embedder = openai_embedder(server)
    embedder.embed_query("a question first")
    assert embedder.embed_documents(TEXTS) == [server.vector(text) for text in TEXTS]
    assert [len(request.texts) for request in server.requests] == [1, 12, 6, 3, 3, 6]
    embedder.close()


@pytest.mark.parametrize(
    ("fault", "requests"),
    [
        (faults.refused("invalid model ID", code="invalid_model"), 1),
        (faults.refused("Unknown name", param="dimensions"), 1),
        (faults.refused("Unsupported api version", code="UnsupportedApiVersion"), 1),
        (faults.refused("This model does not support specifying dimensions."), 2),
        (faults.text("bad request", status=400, content_type="text/plain"), 2),
    ],
)
def test_a_refusal_that_meets_every_request_alike_is_a_config_error_and_not_taken_for_content(
    server: OpenAIServer, fault: Fault, requests: int
) -> None:
    server.always = fault
    embedder = openai_embedder(server)
    with pytest.raises(ConfigError, match="refuses every request") as failure:
        embedder.embed_documents(TEXTS)
    assert "EMBEDDING_DIMENSIONS" in failure.value.suggestion
    assert len(server.requests) == requests
    with pytest.raises(ConfigError):
        embedder.embed_query("a question")
    embedder.close()


# ---- answers that are wrong


WRONG: list[tuple[Fault, str]] = [
    (faults.wrong_dimensions(-1), "1535 components"),
    (faults.wrong_dimensions(3), "1539 components"),
    (faults.not_a_number(), "no finite number"),
    (faults.not_a_number(math.inf), "no finite number"),
    (faults.not_a_number(-math.inf), "no finite number"),
    (faults.no_direction(), "no direction"),
    (faults.doubled_index(), "two vectors with the index 0"),
    (faults.one_missing(), "11 vectors for 12 texts"),
    (Fault(change=lambda items: [*items, items[0]]), "13 vectors for 12 texts"),
    (Fault(change=lambda items: [(index + 1, each) for index, each in items]), "index 12 among 12"),
    (Fault(change=lambda items: []), "unknown form"),
    (faults.text('{"object": "list"}'), "unknown form"),
    (faults.text("[]"), "unknown form"),
    (faults.text('{"data": [{"index": 0}], "model": "m"}'), "1 vectors for 12 texts"),
]


@pytest.mark.parametrize(("fault", "said"), WRONG, ids=[said for _, said in WRONG])
def test_a_wrong_answer_is_an_internal_error_that_names_what_is_wrong(
    server: OpenAIServer, fault: Fault, said: str
) -> None:
    pauses = Pauses()
    server.always = fault
    embedder = openai_embedder(server, pauses)
    with pytest.raises(WrongAnswerError, match=said) as failure:
        embedder.embed_documents(TEXTS)
    assert (failure.value.recoverable, pauses.taken, len(server.requests)) == (False, [], 1)
    server.always = None
    assert embedder.embed_documents(TEXTS) == [server.vector(text) for text in TEXTS]
    embedder.close()


@pytest.mark.parametrize(
    "body",
    [
        '{"data": [{"index": 0, "embedding": null}]}',
        '{"data": [{"index": 0, "embedding": "%%%"}]}',
        '{"data": [{"index": 0, "embedding": ["a"]}]}',
        '{"data": [{"index": 0, "embedding": [[1.0]]}]}',
        '{"data": [{"index": 0, "embedding": [1.0, 2.0]}]}',
        '{"data": [{"index": "0", "embedding": [1.0, 2.0]}]}',
        '{"data": [{"index": true, "embedding": [1.0, 2.0]}]}',
        '{"data": [{"index": 0}]}',
        '{"data": [null]}',
        '{"data": {"index": 0}}',
        "null",
    ],
)
def test_an_answer_of_another_form_is_an_internal_error_and_nothing_else(server: OpenAIServer, body: str) -> None:
    server.always = faults.text(body)
    embedder = openai_embedder(server)
    with pytest.raises(WrongAnswerError, match="returned an"):
        embedder.embed_query("a question")
    embedder.close()


def test_an_answer_of_another_known_model_is_a_config_error(server: OpenAIServer) -> None:
    server.always = faults.text(
        '{"data": [{"index": 0, "embedding": [1.0]}], "model": "text-embedding-ada-002-v2", "usage": {}}'
    )
    embedder = openai_embedder(server)
    with pytest.raises(ConfigError, match="text-embedding-ada-002"):
        embedder.embed_query("a question")
    embedder.close()


def test_an_answer_that_does_not_bill_is_counted_by_our_own_tokens(server: OpenAIServer) -> None:
    components = ", ".join(["1.0"] * 256)
    server.always = faults.text(f'{{"data": [{{"index": 0, "embedding": [{components}]}}]}}')
    embedder = openai_embedder(server, embedding_dimensions=256)
    embedder.embed_query("hello world")
    assert embedder.usage.tokens == 2
    embedder.close()
