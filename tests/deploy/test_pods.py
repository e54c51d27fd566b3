"""What a pod may and how it lives: restricted-v2, probes, resources, ends, who reaches it and whom it reaches."""

from __future__ import annotations

import ipaddress
import json
import subprocess
import sys
from typing import Any

import pytest

from knowledge_mcp.cli.serve.mcp import build_parser as mcp_parser
from knowledge_mcp.cli.serve.rest import build_parser as rag_api_parser
from knowledge_mcp.transports.mcp.http import CALL_SECONDS, STREAM_SECONDS
from tests.deploy.containerfile import environment as image_environment
from tests.deploy.containerfile import parse
from tests.deploy.manifests import BUILDS, COMPONENTS, DEPLOY, build, container, environment, named, of_kind

PROBES = {
    "rag-api": {"startupProbe": "/health", "livenessProbe": "/health", "readinessProbe": "/ready"},
    "rag-mcp": {"startupProbe": "/health", "livenessProbe": "/health", "readinessProbe": "/health"},
}


def _spec(name: str, component: str) -> dict[str, Any]:
    spec: dict[str, Any] = named(build(name), "Deployment", component)["spec"]["template"]["spec"]
    return spec


@pytest.mark.requirement("D-REQ-8.1")
@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("component", COMPONENTS)
def test_a_pod_asks_for_nothing_that_restricted_v2_refuses(component: str, name: str) -> None:
    spec = _spec(name, component)
    assert spec["securityContext"] == {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    assert container(build(name), component)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    kinds = {kind for volume in spec["volumes"] for kind in set(volume) - {"name"}}
    assert kinds <= {"emptyDir", "secret", "configMap", "persistentVolumeClaim"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    assert spec["automountServiceAccountToken"] is False
    assert of_kind(build(name), "ServiceAccount")[0]["automountServiceAccountToken"] is False


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("component", COMPONENTS)
def test_all_that_is_written_is_a_volume(component: str, name: str) -> None:
    image = image_environment(parse((DEPLOY / "Containerfile").read_text(encoding="utf-8"))[-1])
    mounts = {each["mountPath"]: each for each in container(build(name), component)["volumeMounts"]}
    assert {"/tmp", image["DATA_PATH"]} <= set(mounts)
    assert not any(mounts[path].get("readOnly", False) for path in ("/tmp", image["DATA_PATH"]))
    volumes = {each["name"]: each for each in _spec(name, component)["volumes"]}
    assert set(volumes) == {each["name"] for each in mounts.values()}
    for volume in volumes.values():
        assert "sizeLimit" in volume.get("emptyDir", {"sizeLimit": ""}), "a volume on the node that nothing bounds"


@pytest.mark.requirement("D-REQ-8.1")
@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("component", COMPONENTS)
def test_probes_ask_the_documented_paths_at_the_open_port_as_a_host_that_is_admitted(component: str, name: str) -> None:
    own = container(build(name), component)
    for probe, path in PROBES[component].items():
        asked = own[probe]["httpGet"]
        assert (asked["path"], asked["port"]) == (path, own["ports"][0]["name"])
        assert asked["httpHeaders"] == [{"name": "Host", "value": "localhost"}]
        assert own[probe]["timeoutSeconds"] <= own[probe]["periodSeconds"]
    patience = own["startupProbe"]["periodSeconds"] * own["startupProbe"]["failureThreshold"]
    assert patience >= 60, "the first start on a busy node takes its time"


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("component", COMPONENTS)
def test_a_pod_has_requests_and_limits_that_the_scheduler_can_keep(component: str, name: str) -> None:
    resources = container(build(name), component)["resources"]
    for what in ("cpu", "memory", "ephemeral-storage"):
        assert _amount(resources["requests"][what]) <= _amount(resources["limits"][what])
    on_the_node = sum(
        _amount(volume["emptyDir"]["sizeLimit"]) for volume in _spec(name, component)["volumes"] if "emptyDir" in volume
    )
    assert on_the_node <= _amount(resources["limits"]["ephemeral-storage"]), (
        "a pod is evicted before its volume is full"
    )


@pytest.mark.parametrize("name", BUILDS)
def test_the_rest_service_serves_on_while_the_router_forgets_it_and_has_time_to_end(name: str) -> None:
    parsed = rag_api_parser().parse_args(container(build(name), "rag-api")["command"][1:])
    assert parsed.drain >= 5
    assert parsed.drain + parsed.grace < _spec(name, "rag-api")["terminationGracePeriodSeconds"]
    assert not parsed.allow_unauthenticated


@pytest.mark.parametrize("name", BUILDS)
def test_the_mcp_server_is_held_back_from_its_end_without_a_shell(name: str) -> None:
    *command, code = container(build(name), "rag-mcp")["lifecycle"]["preStop"]["exec"]["command"]
    assert command[0] == "python"
    assert "sleep(5)" in code
    line = [sys.executable, *command[1:], code.replace("sleep(5)", "sleep(0)")]
    finished = subprocess.run(line, check=False, timeout=20, capture_output=True)
    assert (finished.returncode, finished.stderr) == (0, b"")
    assert _spec(name, "rag-mcp")["terminationGracePeriodSeconds"] >= 5 + CALL_SECONDS + STREAM_SECONDS


@pytest.mark.parametrize("name", BUILDS)
def test_the_components_are_the_commands_of_the_specification(name: str) -> None:
    assert container(build(name), "rag-api")["command"][0] == "rag-api"
    command = container(build(name), "rag-mcp")["command"]
    assert command == ["knowledge-mcp", "--surface", "rag", "--transport", "http"]
    parsed = mcp_parser().parse_args(command[1:])
    assert (parsed.host, parsed.allow_unauthenticated) == (None, False)


@pytest.mark.parametrize("name", [each for each in BUILDS if each != "overlays/dev"])
def test_a_rollout_and_a_drain_leave_somebody_who_answers(name: str) -> None:
    objects = build(name)
    autoscaler = named(objects, "HorizontalPodAutoscaler", "rag-api")["spec"]
    assert autoscaler["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "rag-api"}
    assert 2 <= autoscaler["minReplicas"] < autoscaler["maxReplicas"]
    deployment = named(objects, "Deployment", "rag-api")["spec"]
    assert "replicas" not in deployment, "the autoscaler's number would be undone at each apply"
    for component in COMPONENTS:
        strategy = named(objects, "Deployment", component)["spec"]["strategy"]
        assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
        budget = named(objects, "PodDisruptionBudget", component)["spec"]
        assert (budget["maxUnavailable"], budget["unhealthyPodEvictionPolicy"]) == (1, "AlwaysAllow")


def test_the_sqlite_file_of_dev_belongs_to_one_pod_at_a_time() -> None:
    objects = build("overlays/dev")
    deployment = named(objects, "Deployment", "rag-api")["spec"]
    assert (deployment["replicas"], deployment["strategy"]) == (1, {"type": "Recreate"})
    volumes = deployment["template"]["spec"]["volumes"]
    (claim,) = [each["persistentVolumeClaim"]["claimName"] for each in volumes if "persistentVolumeClaim" in each]
    assert named(objects, "PersistentVolumeClaim", claim)["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert "emptyDir" not in next(each for each in volumes if each["name"] == "data")


@pytest.mark.parametrize("name", BUILDS)
def test_a_client_of_the_mcp_server_stays_at_its_pod(name: str) -> None:
    objects = build(name)
    assert named(objects, "Service", "rag-mcp")["spec"]["sessionAffinity"] == "ClientIP"
    annotations = named(objects, "Route", "rag-mcp")["metadata"]["annotations"]
    assert annotations["haproxy.router.openshift.io/balance"] == "source"
    assert annotations["haproxy.router.openshift.io/timeout"] == "1h"


def _egress(name: str, address: str, port: int) -> bool:
    """Tell whether the REST service's pods may connect to an address by a rule on addresses."""
    for rule in named(build(name), "NetworkPolicy", "rag-api")["spec"]["egress"]:
        for peer in rule["to"]:
            block = peer.get("ipBlock")
            if block is None or port not in {each["port"] for each in rule["ports"]}:
                continue
            inside = ipaddress.ip_address(address) in ipaddress.ip_network(block["cidr"])
            if inside and not any(
                ipaddress.ip_address(address) in ipaddress.ip_network(each) for each in block["except"]
            ):
                return True
    return False


@pytest.mark.parametrize("name", BUILDS)
def test_the_service_reaches_public_https_and_no_private_or_metadata_address(name: str) -> None:
    assert _egress(name, "20.50.2.1", 443)
    assert not _egress(name, "20.50.2.1", 80)
    for closed in ("10.0.0.1", "172.20.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "127.0.0.1", "0.0.0.0"):
        assert not _egress(name, closed, 443), closed


@pytest.mark.parametrize("name", BUILDS)
def test_a_component_is_reached_by_the_router_and_reaches_names_and_what_it_calls(name: str) -> None:
    objects = build(name)
    for component in COMPONENTS:
        policy = named(objects, "NetworkPolicy", component)["spec"]
        assert policy["policyTypes"] == ["Ingress", "Egress"]
        (inward,) = policy["ingress"]
        assert [each["port"] for each in inward["ports"]] == [
            container(objects, component)["ports"][0]["containerPort"]
        ]
        result = json.dumps(policy)
        assert "policy-group.network.openshift.io/ingress" in result
        assert '{"protocol": "UDP", "port": 5353}' in result or '{"port": 5353, "protocol": "UDP"}' in result
    mcp = named(objects, "NetworkPolicy", "rag-mcp")["spec"]["egress"][-1]
    assert mcp["to"] == [{"podSelector": {"matchLabels": {"app.kubernetes.io/name": "rag-api"}}}]
    assert environment(objects, "rag-mcp")["RAG_API_URL"] == f"http://rag-api:{mcp['ports'][0]['port']}"
    callers = named(objects, "NetworkPolicy", "rag-api")["spec"]["ingress"][0]["from"]
    assert {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "rag-mcp"}}} in callers
    store = [
        rule
        for rule in named(objects, "NetworkPolicy", "rag-api")["spec"]["egress"]
        if any(each in json.dumps(rule) for each in ("qdrant", "cnpg.io"))
    ]
    expected = [5432] if name == "overlays/postgres" else [6333, 6334]
    assert [[each["port"] for each in rule["ports"]] for rule in store] == [expected]


def _amount(text: str) -> float:
    units = {"m": 1e-3, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
    for unit, factor in units.items():
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * factor
    return float(text)
