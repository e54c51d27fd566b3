"""The OpenShift manifests: they build, every object fits its schema, and all that they name is there."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from knowledge_mcp import __version__
from knowledge_mcp.transports.shared.guards import AllowedNames
from knowledge_mcp.transports.shared.keys import parse_keys
from tests.deploy.manifests import (
    BUILDS,
    CLUSTERS,
    COMPONENTS,
    OF_THE_OPERATOR,
    OPENSHIFT,
    build,
    container,
    environment,
    named,
    of_kind,
    secrets,
    settings_of,
    wrong_with,
)

PORTS = {"rag-api": "RAG_API_PORT", "rag-mcp": "DOCUMENT_STORE_PORT"}


@pytest.mark.requirement("D-REQ-8.1", "D-REQ-8.2")
@pytest.mark.parametrize("version", CLUSTERS)
@pytest.mark.parametrize("name", BUILDS)
def test_every_object_fits_the_schema_of_the_cluster(name: str, version: str) -> None:
    assert [problem for each in build(name) for problem in wrong_with(each, version)] == []


@pytest.mark.parametrize("version", CLUSTERS)
def test_the_template_of_the_secrets_fits_the_schema(version: str) -> None:
    assert [problem for each in secrets() for problem in wrong_with(each, version)] == []


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Deployment", "spec.template.spec.containers.0.readinessProb", {}),
        ("Deployment", "spec.template.spec.containers.0.ports.0.containerPort", "http"),
        ("HorizontalPodAutoscaler", "spec.minReplica", 2),
        ("NetworkPolicy", "spec.egress.0.ports.0.port", {}),
        ("PodDisruptionBudget", "spec.maxUnavailable", []),
        ("Route", "spec.tls.termination", "Edge"),
        ("Route", "spec.to.weight", 300),
        ("Route", "spec.host", "https://rag.example.com"),
        ("Cluster", "spec.postgresql.synchronous.number", "1"),
        ("Cluster", "spec.bootstrap.initDB", {}),
        ("ServiceMonitor", "spec.endpoints.0.bearerToken", "x"),
        ("ServiceMonitor", "spec.endpoints.0.interval", 30),
    ],
)
def test_a_mistake_in_a_manifest_is_found(kind: str, path: str, value: object) -> None:
    thing = of_kind(build("overlays/postgres"), kind)[0]
    assert wrong_with(thing, CLUSTERS[0]) == []
    place: Any = thing
    *way, last = path.split(".")
    for step in way:
        place = place[int(step)] if step.isdecimal() else place[step]
    place[last] = value
    assert wrong_with(thing, CLUSTERS[0]) != []


@pytest.mark.requirement("D-REQ-8.1", "D-REQ-8.2", "D-REQ-8.3")
@pytest.mark.parametrize("name", BUILDS)
def test_there_is_one_of_each_kind_for_each_component(name: str) -> None:
    objects = build(name)
    for component in COMPONENTS:
        kinds = ["Deployment", "Service", "Route", "ConfigMap", "PodDisruptionBudget", "NetworkPolicy"]
        for kind in kinds:
            assert named(objects, kind, component)
    assert len(of_kind(objects, "HorizontalPodAutoscaler")) == (0 if name == "overlays/dev" else 1)
    assert named(objects, "ServiceMonitor", "rag-api")
    assert {each["metadata"].get("namespace", "") for each in objects} == {
        {"base": "", "overlays/dev": "knowledge-rag-dev"}.get(name, "knowledge-rag")
    }


@pytest.mark.parametrize("name", BUILDS)
def test_every_selector_finds_the_pods_that_it_is_for(name: str) -> None:
    objects = build(name)
    for component in COMPONENTS:
        deployment = named(objects, "Deployment", component)
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        expected = {"app.kubernetes.io/name": component}
        assert expected.items() <= labels.items()
        assert labels["app.kubernetes.io/part-of"] == "knowledge-rag"
        assert deployment["spec"]["selector"]["matchLabels"] == expected
        assert named(objects, "Service", component)["spec"]["selector"] == expected
        assert named(objects, "PodDisruptionBudget", component)["spec"]["selector"]["matchLabels"] == expected
        assert named(objects, "NetworkPolicy", component)["spec"]["podSelector"]["matchLabels"] == expected
        spread = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
        assert spread
        assert all(each["labelSelector"]["matchLabels"] == expected for each in spread)
    monitor = named(objects, "ServiceMonitor", "rag-api")["spec"]
    assert (
        monitor["selector"]["matchLabels"].items() <= named(objects, "Service", "rag-api")["metadata"]["labels"].items()
    )


@pytest.mark.requirement("D-REQ-8.2")
@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("component", COMPONENTS)
def test_route_service_and_container_meet_at_the_port_that_the_process_listens_on(component: str, name: str) -> None:
    objects = build(name)
    port = int(environment(objects, component)[PORTS[component]])
    (opened,) = container(objects, component)["ports"]
    assert (opened["name"], opened["containerPort"]) == ("http", port)
    (offered,) = named(objects, "Service", component)["spec"]["ports"]
    assert (offered["name"], offered["port"], offered["targetPort"]) == ("http", port, "http")
    route = named(objects, "Route", component)["spec"]
    assert (route["to"]["name"], route["port"]["targetPort"]) == (component, "http")
    assert route["tls"] == {"termination": "edge", "insecureEdgeTerminationPolicy": "Redirect"}


@pytest.mark.requirement("D-REQ-8.2")
@pytest.mark.parametrize("name", BUILDS[1:])
@pytest.mark.parametrize("component", COMPONENTS)
def test_a_component_answers_for_each_name_under_which_it_is_asked(component: str, name: str) -> None:
    objects = build(name)
    hosts = environment(objects, component, pod_ip="10.128.2.7")["MCP_ALLOWED_HOSTS"].split(",")
    port = environment(objects, component)[PORTS[component]]
    guard = AllowedNames(hosts)
    asked = [named(objects, "Route", component)["spec"]["host"], f"{component}:{port}", "localhost"]
    if component == "rag-api":
        asked.append(f"10.128.2.7:{port}")  # as Prometheus does
    assert [host for host in asked if not guard.admits_host(host)] == []
    assert not guard.admits_host("attacker.example.net")
    assert "*" not in hosts


@pytest.mark.parametrize("name", BUILDS)
def test_the_two_routes_of_all_builds_have_hosts_of_their_own(name: str) -> None:
    hosts = [route["spec"]["host"] for route in of_kind(build(name), "Route")]
    assert len(set(hosts)) == len(hosts) == 2


@pytest.mark.requirement("D-REQ-8.4")
@pytest.mark.parametrize("name", BUILDS)
def test_every_secret_and_every_configuration_that_is_named_is_there(name: str) -> None:
    objects = build(name)
    known = {each["metadata"]["name"]: set(each["stringData"]) for each in secrets()}
    if named_clusters := [each["metadata"]["name"] for each in of_kind(objects, "Cluster")]:
        assert named_clusters == ["knowledge-db"], "the operator names its Secrets after the cluster"
        known |= {secret: set(keys) for secret, keys in OF_THE_OPERATOR.items()}
    configured = {each["metadata"]["name"]: set(each["data"]) for each in of_kind(objects, "ConfigMap")}
    for component in COMPONENTS:
        for entry in container(objects, component)["env"]:
            source = entry.get("valueFrom", {})
            for kind, there in (("secretKeyRef", known), ("configMapKeyRef", configured)):
                if kind in source:
                    assert source[kind]["key"] in there[source[kind]["name"]], entry["name"]
        (settings,) = container(objects, component)["envFrom"]
        assert settings["configMapRef"]["name"] in configured
        spec = named(objects, "Deployment", component)["spec"]["template"]["spec"]
        assert {each["secret"]["secretName"] for each in spec["volumes"] if "secret" in each} <= set(known)
        assert spec["serviceAccountName"] in {each["metadata"]["name"] for each in of_kind(objects, "ServiceAccount")}
    credentials = named(objects, "ServiceMonitor", "rag-api")["spec"]["endpoints"][0]["authorization"]["credentials"]
    assert credentials["key"] in known[credentials["name"]]


@pytest.mark.requirement("D-REQ-8.4")
@pytest.mark.parametrize(("component", "setting"), [("rag-api", "RAG_API_KEYS_FILE"), ("rag-mcp", "MCP_API_KEYS_FILE")])
@pytest.mark.parametrize("name", BUILDS)
def test_the_file_of_keys_is_where_the_setting_says_and_follows_its_secret(
    name: str, component: str, setting: str
) -> None:
    objects = build(name)
    folder, _, file = environment(objects, component)[setting].rpartition("/")
    (mount,) = [each for each in container(objects, component)["volumeMounts"] if each["mountPath"] == folder]
    assert mount["readOnly"] is True
    assert "subPath" not in mount, "a file that is mounted alone never changes in a running pod"
    volumes = named(objects, "Deployment", component)["spec"]["template"]["spec"]["volumes"]
    (secret,) = [each["secret"] for each in volumes if each["name"] == mount["name"]]
    assert secret["defaultMode"] == 0o440
    (there,) = [each["stringData"] for each in secrets() if each["metadata"]["name"] == secret["secretName"]]
    assert file in there


@pytest.mark.requirement("D-REQ-8.4")
def test_the_template_of_keys_is_one_that_the_service_reads_and_gives_prometheus_nothing_to_read() -> None:
    (text,) = [
        each["stringData"]["rag-api-keys.json"] for each in secrets() if each["metadata"]["name"] == "rag-api-keys"
    ]
    numbers = iter("123")
    keys = {key.name: key for key in parse_keys(re.sub("CHANGE-ME", lambda _: next(numbers) * 64, text)).keys}
    assert set(keys) == {"rag-mcp", "developers", "prometheus"}
    assert not keys["prometheus"].may_read("default")
    assert keys["prometheus"].may_read_totals
    assert keys["rag-mcp"].may_write("default")
    assert not keys["developers"].may_write("default")


@pytest.mark.requirement("D-REQ-8.4")
def test_no_build_holds_a_secret_and_the_template_holds_no_value() -> None:
    for name in BUILDS:
        assert of_kind(build(name), "Secret") == []
    for each in secrets():
        for value in each["stringData"].values():
            texts = re.findall(r'"(?:sha256|key)": "([^"]*)"', value) or [value.partition(": ")[2].strip() or value]
            assert set(texts) == {"CHANGE-ME"}


@pytest.mark.parametrize("name", BUILDS)
def test_both_components_run_the_one_image_of_this_version(name: str) -> None:
    images = {container(build(name), component)["image"] for component in COMPONENTS}
    assert len(images) == 1
    repository, _, tag = images.pop().rpartition(":")
    assert tag == __version__
    assert "/" in repository, "the registry is named"


def test_a_change_of_configuration_gives_the_pods_another_configuration_to_name() -> None:
    first = named(build("base"), "ConfigMap", "rag-api")["metadata"]["name"]
    second = named(build("overlays/production"), "ConfigMap", "rag-api")["metadata"]["name"]
    assert first != second
    assert settings_of(build("base"), "rag-api") != settings_of(build("overlays/production"), "rag-api")


def test_the_schemas_of_ours_are_schemas() -> None:
    import jsonschema

    for path in sorted((OPENSHIFT.parents[1] / "tests" / "deploy" / "schemas").glob("*.json")):
        jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text(encoding="utf-8")))
