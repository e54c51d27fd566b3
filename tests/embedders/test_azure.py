"""The Azure embedder against the stand-in: the port's contract, Azure's address, key and its own forms of errors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from knowledge_mcp.embedders.services.providers import from_azure_options
from knowledge_mcp.model.errors import AuthError, ConfigError, ContentRefusedError, QuotaExceededError, RateLimitedError
from knowledge_mcp.ports import Embedder
from knowledge_mcp.testing.embedders import EmbedderContract
from tests.embedders.remote_world import Options, Pauses, azure_embedder, options_for
from tests.servers import openai_faults as faults
from tests.servers.openai_server import OpenAIServer

DEPLOYMENTS = {
    "text-embedding-3-small": "text-embedding-3-small",
    "our-large-one": "text-embedding-3-large",
    "text-embedding-ada-002": "text-embedding-3-small",
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with OpenAIServer(key="0123456789abcdef0123456789abcdef", deployments=DEPLOYMENTS) as server:
        yield server


class TestAzureEmbedder(EmbedderContract):
    @pytest.fixture(autouse=True)
    def _with_the_stand_in(self, server: OpenAIServer) -> None:
        self.server = server

    def make_embedder(self) -> Embedder:
        return azure_embedder(self.server, embedding_dimensions=256)


@pytest.mark.requirement("D-REQ-7.2")
def test_the_deployment_is_asked_at_the_endpoint_with_the_api_version_and_the_key_in_its_own_header(
    server: OpenAIServer,
) -> None:
    embedder = azure_embedder(
        server, azure_openai_endpoint=f"{server.endpoint}/", azure_openai_api_version="2025-01-01"
    )
    texts = ["first passage", "second passage"]
    assert embedder.embed_documents(texts) == [server.vector(text) for text in texts]
    (request,) = server.requests
    assert request.path == "/openai/deployments/text-embedding-3-small/embeddings?api-version=2025-01-01"
    assert request.headers["api-key"] == server.key
    assert server.key not in request.headers.get("authorization", "")
    assert request.encoding == "base64"
    embedder.close()


def test_the_space_names_the_model_behind_the_deployment(server: OpenAIServer) -> None:
    embedder = azure_embedder(
        server, azure_openai_embedding_deployment="our-large-one", embedding_model="text-embedding-3-large"
    )
    assert (embedder.space.label, embedder.price) == ("azure/text-embedding-3-large (3072)", 0.13)
    assert len(embedder.embed_query("a question")) == 4 * 3072
    embedder.close()


def test_a_deployment_of_a_name_that_is_no_models_asks_for_the_model(server: OpenAIServer) -> None:
    with pytest.raises(ConfigError, match="our-large-one") as failure:
        azure_embedder(server, azure_openai_embedding_deployment="our-large-one")
    assert "EMBEDDING_MODEL" in failure.value.suggestion


def test_a_deployment_that_answers_with_another_model_is_refused(server: OpenAIServer) -> None:
    embedder = azure_embedder(server, azure_openai_embedding_deployment="text-embedding-ada-002")
    with pytest.raises(ConfigError, match="answered with text-embedding-3-small, but text-embedding-ada-002"):
        embedder.embed_query("a question")
    embedder.close()


def test_every_missing_setting_is_named_in_one_error() -> None:
    with pytest.raises(ConfigError) as failure:
        from_azure_options(Options(azure_openai_key=SecretStr(""), azure_openai_embedding_deployment=None))
    for name in ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_KEY", "AZURE_OPENAI_EMBEDDING_DEPLOYMENT"):
        assert name in failure.value.message


def test_an_unknown_deployment_is_a_config_error_that_names_the_variable(server: OpenAIServer) -> None:
    pauses = Pauses()
    embedder = azure_embedder(
        server, pauses, azure_openai_embedding_deployment="gone", embedding_model="text-embedding-3-small"
    )
    with pytest.raises(ConfigError, match="'gone'") as failure:
        embedder.embed_documents(["a passage"])
    assert "AZURE_OPENAI_EMBEDDING_DEPLOYMENT" in failure.value.suggestion
    assert "deploymentnotfound" in failure.value.details
    assert (len(server.requests), pauses.taken) == (1, [])
    embedder.close()


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_refused_key_in_either_of_azures_forms_is_an_auth_error(server: OpenAIServer, wrapped: bool) -> None:
    words = "Access denied due to invalid subscription key or wrong API endpoint."
    inner = f'{{"code": "401", "statusCode": 401, "message": "{words}"}}'
    server.always = faults.text(f'{{"error": {inner}}}' if wrapped else inner, status=401)
    embedder = azure_embedder(server)
    with pytest.raises(AuthError) as failure:
        embedder.embed_documents(["a passage"])
    assert words in failure.value.details
    assert "AZURE_OPENAI_KEY" in failure.value.suggestion
    embedder.close()


@pytest.mark.requirement("CLARIFY-002")
def test_a_rate_limit_is_waited_for_in_seconds_or_milliseconds(server: OpenAIServer) -> None:
    pauses = Pauses()
    words = "Requests to the Embeddings_Create Operation have exceeded the call rate limit."
    server.faults.extend(
        [
            faults.error(429, words, code="429", headers={"Retry-After": "8"}),
            faults.error(429, words, code="429", headers={"Retry-After": "9", "retry-after-ms": "8500"}),
        ]
    )
    embedder = azure_embedder(server, pauses)
    embedder.embed_documents(["a passage"])
    assert pauses.taken == [8.0, 8.5]
    server.always = faults.error(429, words, code="429", headers={"Retry-After": "8"})
    with pytest.raises(RateLimitedError) as failure:
        embedder.embed_documents(["another passage"])
    assert not isinstance(failure.value, QuotaExceededError)
    embedder.close()


@pytest.mark.requirement("CLARIFY-002")
def test_used_up_quota_names_azures_portal(server: OpenAIServer) -> None:
    server.always = faults.error(429, "The quota of this resource is used up.", code="insufficient_quota")
    embedder = azure_embedder(server)
    with pytest.raises(QuotaExceededError, match="quota of this resource") as failure:
        embedder.embed_documents(["a passage"])
    assert "portal.azure.com" in failure.value.suggestion
    assert len(server.requests) == 1
    embedder.close()


@pytest.mark.requirement("CLARIFY-002")
def test_a_text_that_the_content_filter_stops_is_left_out_and_the_others_are_kept(server: OpenAIServer) -> None:
    body = (
        '{"error": {"message": "The response was filtered.", "type": null, "param": "prompt", "code": "content_filter",'
        ' "status": 400, "innererror": {"code": "ResponsibleAIPolicyViolation"}}}'
    )
    server.refusal = faults.text(body, status=400)
    server.refuse = lambda text: "filtered" in text
    embedder = azure_embedder(server)
    with pytest.raises(ContentRefusedError) as failure:
        embedder.embed_documents(["one", "the filtered one", "three"])
    assert failure.value.reasons == {1: "The response was filtered."}
    assert failure.value.vectors == (server.vector("one"), None, server.vector("three"))
    embedder.close()


@pytest.mark.parametrize("code", ["OperationNotSupported", "UnsupportedApiVersion"])
def test_a_deployment_that_cannot_embed_is_a_config_error_after_one_request(server: OpenAIServer, code: str) -> None:
    server.always = faults.error(400, "The embeddings operation does not work with the specified model.", code=code)
    embedder = azure_embedder(server)
    with pytest.raises(ConfigError, match="does not work with the specified model"):
        embedder.embed_documents(["one", "two"])
    assert len(server.requests) == 1
    embedder.close()


def test_an_address_of_a_wrong_form_is_a_config_error() -> None:
    options = Options(azure_openai_endpoint="https://host:not-a-port", azure_openai_key=SecretStr("key-of-nobody"))
    embedder = from_azure_options(options)
    with pytest.raises(ConfigError, match="client cannot be created") as failure:
        embedder.embed_query("a question")
    assert "AZURE_OPENAI_ENDPOINT" in failure.value.suggestion
    embedder.close()


def test_the_real_library_reads_azures_answers_from_the_stand_in(server: OpenAIServer) -> None:
    import openai

    options = options_for(server)
    assert options.azure_openai_endpoint is not None
    with openai.AzureOpenAI(
        azure_endpoint=options.azure_openai_endpoint, api_key=server.key, api_version="2024-10-21", max_retries=0
    ) as client:
        answer = client.embeddings.create(model="our-large-one", input=["a", "b"], encoding_format="float")
        with pytest.raises(openai.NotFoundError):
            client.embeddings.create(model="gone", input=["a"])
    assert [len(each.embedding) for each in answer.data] == [3072, 3072]
    assert (answer.model, answer.usage.prompt_tokens) == ("text-embedding-3-large", 2)
