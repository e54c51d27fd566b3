"""Every variable of the deployment is a setting, and every setting is in the deployment or left out for a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from pydantic import SecretStr

from knowledge_mcp import wiring
from knowledge_mcp.model.errors import AuthError
from knowledge_mcp.settings import Reading, choose_embedding, choose_store, read_settings, variables
from tests.deploy.containerfile import environment as image_environment
from tests.deploy.containerfile import parse
from tests.deploy.manifests import (
    BUILDS,
    COMPONENTS,
    DEPLOY,
    OF_THE_OPERATOR,
    build,
    container,
    environment,
    named,
    of_kind,
    secrets,
    settings_of,
)
from tests.servers.qdrant_server import QdrantServer

OTHER_SURFACES = {"Repositories surface"}
"""Groups of settings that nothing deployed here reads; REPO_CLONE_PATH is set in the image for pk-mcp all the same."""

LEFT_OUT = {
    "MCP_TRUSTED_PROXIES": "which addresses the router's pods have is the cluster's own",
    "AUDIT_LOG": "a file in a pod ends with the pod; whoever wants the log mounts a volume for it",
    "OAUTH_AUDIENCE": "as OAUTH_ISSUER",
    "OAUTH_GROUPS_CLAIM": "as OAUTH_ISSUER",
    "OAUTH_INTROSPECTION_CLIENT_ID": "as OAUTH_ISSUER",
    "OAUTH_INTROSPECTION_CLIENT_SECRET": "as OAUTH_ISSUER",
    "OAUTH_ISSUER": "the manifests bring keys; which issuer a company has is its own: docs/access.md",
    "OAUTH_RESOURCE": "as OAUTH_ISSUER",
    "OAUTH_SCOPES": "as OAUTH_ISSUER",
    "SOURCE_LOGINS": "sources are synced where `knowledge sync` runs, not in the service",
    "CHROMADB_HOST": "the store is Qdrant, or SQLite in dev; the image has no ChromaDB",
    "CHROMADB_PATH": "as CHROMADB_HOST",
    "CHROMADB_PORT": "as CHROMADB_HOST",
    "CHROMADB_SSL": "as CHROMADB_HOST",
    "CHROMADB_TOKEN": "as CHROMADB_HOST",
    "CHUNK_OVERLAP": "the default; a change cuts every document again",
    "CHUNK_SIZE_MAX": "as CHUNK_OVERLAP",
    "CHUNK_SIZE_MIN": "as CHUNK_OVERLAP",
    "ALLOWED_ROOTS": "a server in a pod may read no file for its clients, which is the default",
    "DOCUMENT_PASSWORDS_FILE": "protected files come with their password removed; whoever wants it mounts a Secret",
    "EMBEDDING_BATCH_SIZE": "the default is what the service takes",
    "EMBEDDING_CACHE": "on by default; the data volume has room for it",
    "EMBEDDING_DIMENSIONS": "the model's own",
    "EMBEDDING_MODEL_PATH": "the image has the model in MODELS_PATH",
    "EMBEDDING_MAX_RETRIES": "the specified three",
    "EMBEDDING_PRICE": "the list price of the model is known",
    "EMBEDDING_TIMEOUT_MS": "the specified minute",
    "EMBEDDING_VARIANT": "the image holds int8, the default, only",
    "HEALTH_LATENCY_THRESHOLD_MS": "the default",
    "PRUNE": "no folder is ingested in a pod; who ingests one says it there",
    "HYBRID_FUSION": "scores are blended by default",
    "IMAGE_RATIO_THRESHOLD": "the planning surface's",
    "IMAGE_SKIP": "the planning surface's",
    "INDEX_MEMORY_MB": "Qdrant holds the indexes",
    "MCP_MAX_BODY_BYTES": "the MCP server takes questions and addresses only; uploads have RAG_MAX_UPLOAD_BYTES",
    "OCR_ENGINE": "tesseract is the one in the image",
    "OCR_LANGUAGE": "the image has the data of English only",
    "OPENAI_API_KEY": "texts are embedded by Azure OpenAI, or locally",
    "OPENAI_BASE_URL": "as OPENAI_API_KEY",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "no collector is assumed; docs/deploying.md says how to add one",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "as OTEL_EXPORTER_OTLP_ENDPOINT",
    "QDRANT_COLLECTION": "each request of the REST service names its collection",
    "QDRANT_HYBRID_SEARCH": "on by default",
    "QDRANT_ON_DISK": "the size of the cluster decides; docs/sizing.md",
    "QDRANT_QUANTIZATION": "as QDRANT_ON_DISK",
    "QDRANT_SHARDS": "as QDRANT_ON_DISK",
    "RAG_FETCH_ALLOWED_HOSTS": "opens private addresses, so whoever needs it says so, here and in the NetworkPolicy",
    "RERANKER": "none is assumed; docs/deploying.md says how to add one",
    "RERANKER_API_KEY": "as RERANKER",
    "RERANKER_BUDGET_MS": "as RERANKER",
    "RERANKER_MODEL": "as RERANKER",
    "RERANKER_MODEL_PATH": "as RERANKER",
    "RERANKER_TOP": "as RERANKER",
    "RERANKER_URL": "as RERANKER",
    "SYNONYMS": "none is assumed; docs/deploying.md says how to add one",
}

NOT_OURS = {
    "HF_HUB_OFFLINE": "keeps every library from downloading a model",
    "HOME": "for libraries that want one; a user without an entry in /etc/passwd has none",
    "PATH": "where the commands are",
    "PGSSLMODE": "PostgreSQL's client library's own",
    "PGSSLROOTCERT": "as PGSSLMODE",
    "POD_IP": "for MCP_ALLOWED_HOSTS",
    "PUBLIC_HOSTS": "for MCP_ALLOWED_HOSTS",
    "PYTHONDONTWRITEBYTECODE": "the root is read-only",
    "PYTHONUNBUFFERED": "a log line is out when it is written",
    "QDRANT__SERVICE__API_KEY": "Qdrant's own",
    "QDRANT__TELEMETRY_DISABLED": "Qdrant's own",
    "IS_PERSISTENT": "ChromaDB's own",
    "ANONYMIZED_TELEMETRY": "ChromaDB's own",
}


def _compose_variables() -> set[str]:
    found: set[str] = set()
    for path in sorted(DEPLOY.glob("*compose.yaml")):
        content = cast("dict[str, Any]", yaml.safe_load(path.read_text(encoding="utf-8")))
        for service in content["services"].values():
            found |= set(service.get("environment", {}))
    return found


def _image_variables() -> set[str]:
    return set(image_environment(parse((DEPLOY / "Containerfile").read_text(encoding="utf-8"))[-1]))


def _manifest_variables() -> set[str]:
    return {name for overlay in BUILDS for component in COMPONENTS for name in environment(build(overlay), component)}


@pytest.mark.requirement("D-REQ-8.3", "D-REQ-10.1", "D-REQ-10.2")
@pytest.mark.parametrize("where", [_compose_variables, _image_variables, _manifest_variables])
def test_every_variable_of_the_deployment_is_a_setting(where: Any) -> None:
    settings = {name for each in variables() for name in (each.name, *each.older)}
    assert where() - settings - set(NOT_OURS) == set()


def test_every_setting_is_in_the_deployment_or_left_out_for_a_reason() -> None:
    deployed = _compose_variables() | _image_variables() | _manifest_variables()
    known = {each.name for each in variables()}
    expected = {each.name for each in variables() if each.group not in OTHER_SURFACES}
    assert expected - deployed - set(LEFT_OUT) == set(), "say it in a ConfigMap or why not in LEFT_OUT"
    assert set(LEFT_OUT) & deployed == set(), "it is not left out"
    assert set(LEFT_OUT) - known == set(), "no such setting"
    assert set(NOT_OURS) - deployed == set(), "nothing sets it"


@pytest.mark.requirement("D-REQ-8.4")
def test_a_secret_never_stands_in_a_configmap_an_image_or_in_clear_in_a_manifest() -> None:
    secret = {each.name for each in variables() if each.secret}
    assert secret & _image_variables() == set()
    template = {key for each in secrets() for key in each["stringData"]}
    for overlay in BUILDS:
        for component in COMPONENTS:
            assert secret & set(settings_of(build(overlay), component)) == set()
            for entry in container(build(overlay), component)["env"]:
                if entry["name"] in secret:
                    assert set(entry["valueFrom"]) == {"secretKeyRef"}
                    source = entry["valueFrom"]["secretKeyRef"]
                    assert source["key"] == entry["name"] or source["name"] in OF_THE_OPERATOR
    assert template - {each.name for each in variables()} == {"rag-api-keys.json", "mcp-tokens", "token"}


def _read(overlay: str, component: str, folder: Path) -> Reading:
    environ = environment(build(overlay), component)
    return read_settings(surface="rag", environ=environ, folder=folder)


@pytest.mark.parametrize("overlay", BUILDS)
@pytest.mark.parametrize("component", COMPONENTS)
def test_the_settings_of_each_component_are_right_together(component: str, overlay: str, tmp_path: Path) -> None:
    assert _read(overlay, component, tmp_path).problems == ()


@pytest.mark.requirement("D-REQ-8.3", "D-REQ-8.5", "D-REQ-10.3", "D-REQ-10.4", "D-REQ-10.5", "D-REQ-10.6", "D-REQ-10.7")
def test_the_rest_service_takes_qdrant_and_azure_from_configmap_and_secret(tmp_path: Path) -> None:
    settings = _read("overlays/production", "rag-api", tmp_path).settings
    config = settings_of(build("overlays/production"), "rag-api")
    assert choose_store(settings).backend == "qdrant"
    assert settings.qdrant_url == config["QDRANT_URL"]
    assert settings.qdrant_api_key is not None
    assert settings.qdrant_api_key.get_secret_value() == "CHANGE-ME"
    embedding = choose_embedding(settings, "rag")
    assert (embedding.provider, embedding.model) == ("azure", "text-embedding-3-small")
    assert settings.azure_openai_endpoint == config["AZURE_OPENAI_ENDPOINT"]
    assert settings.azure_openai_key is not None
    assert settings.azure_openai_key.get_secret_value() == "CHANGE-ME"
    assert settings.azure_openai_embedding_deployment == config["AZURE_OPENAI_EMBEDDING_DEPLOYMENT"]


@pytest.mark.requirement("D-REQ-8.5", "D-REQ-10.3", "D-REQ-10.4")
def test_deployed_it_connects_to_the_qdrant_that_it_is_told_with_the_key_of_the_secret(tmp_path: Path) -> None:
    environ = {**environment(build("overlays/production"), "rag-api"), "QDRANT_GRPC": "off"}
    server = QdrantServer(api_key=environ["QDRANT_API_KEY"])
    try:
        reading = read_settings(
            surface="rag",
            environ={**environ, "QDRANT_URL": server.url},
            folder=tmp_path,
        )
        start = wiring.try_start(reading.settings, surfaces=["rag"])
        assert (start.backend, start.degraded, start.problems) == ("qdrant", "", ())
        assert server.seen.paths != []
        wrong = reading.settings.model_copy(update={"qdrant_api_key": SecretStr("another")})
        assert [type(each) for each in wiring.try_start(wrong, surfaces=["rag"]).problems] == [AuthError]
    finally:
        server.stop()


@pytest.mark.requirement("D-REQ-10.2")
def test_the_remote_mcp_server_takes_the_address_and_the_key_of_the_rest_service(tmp_path: Path) -> None:
    settings = _read("overlays/production", "rag-mcp", tmp_path).settings
    assert settings.rag_api_url == "http://rag-api:8000"
    assert settings.rag_api_key is not None
    assert settings.rag_api_key.get_secret_value() == "CHANGE-ME"


def test_the_overlay_with_postgresql_takes_the_operators_database_and_nothing_of_qdrant(tmp_path: Path) -> None:
    objects = build("overlays/postgres")
    environ = environment(objects, "rag-api")
    settings = read_settings(surface="rag", environ=environ, folder=tmp_path).settings
    assert choose_store(settings).backend == "postgres"
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value() == OF_THE_OPERATOR["knowledge-db-app"]["uri"]
    assert "QDRANT_API_KEY" not in environ
    (cluster,) = of_kind(objects, "Cluster")
    initial = cluster["spec"]["bootstrap"]["initdb"]
    assert (initial["encoding"], initial["postInitApplicationSQL"]) == ("UTF8", ["CREATE EXTENSION vector"])
    assert cluster["spec"]["instances"] > cluster["spec"]["postgresql"]["synchronous"]["number"]
    mounts = {each["name"]: each["mountPath"] for each in container(objects, "rag-api")["volumeMounts"]}
    assert environ["PGSSLROOTCERT"] == f"{mounts['database']}/ca.crt"
    egress = named(objects, "NetworkPolicy", "rag-api")["spec"]["egress"]
    assert {"podSelector": {"matchLabels": {"cnpg.io/cluster": "knowledge-db"}}} in egress[1]["to"]
    assert "qdrant" not in str(egress)


def test_dev_needs_neither_qdrant_nor_azure(tmp_path: Path) -> None:
    settings = _read("overlays/dev", "rag-api", tmp_path).settings
    assert choose_store(settings).backend == "sqlite"
    assert choose_embedding(settings, "rag").provider == "local"
    assert {"QDRANT_API_KEY", "AZURE_OPENAI_KEY"} & set(environment(build("overlays/dev"), "rag-api")) == set()
