"""The manifests as a cluster would see them: built by kustomize, looked up by kind and name, held against schemas.

The Kubernetes schemas are those that the package kubernetes-validate carries, read as data. Those of OpenShift's Route,
of Prometheus' ServiceMonitor and of CloudNativePG's Cluster are ours (`schemas/`), from the documented fields that we
use, closed to all others.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import subprocess
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest
import yaml
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from tests.machine import in_ci, needs

Object = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
OPENSHIFT = DEPLOY / "openshift"
BUILDS = ("base", "overlays/dev", "overlays/production", "overlays/postgres")
COMPONENTS = ("rag-api", "rag-mcp")
CLUSTERS = ("1.29", "1.33", "1.37")
"""Kubernetes versions: of OpenShift 4.16, of 4.20, and the newest that has schemas here."""

_SCHEMAS = Path(__file__).parent / "schemas"
_OURS = {
    "monitoring.coreos.com/v1": "ServiceMonitor",
    "postgresql.cnpg.io/v1": "Cluster",
    "route.openshift.io/v1": "Route",
}
OF_THE_OPERATOR = {
    "knowledge-db-app": {"uri": "postgresql://knowledge:CHANGE-ME@knowledge-db-rw.knowledge-rag:5432/knowledge"},
    "knowledge-db-ca": {"ca.crt": "CHANGE-ME"},
}
"""Secrets that CloudNativePG makes beside its cluster `knowledge-db`, with those of their keys that are used."""
_OLDEST_KUSTOMIZE = 5


@functools.cache
def _kubectl() -> str:
    """Return kubectl's path; leave the test where it is missing or too old, as `needs` does."""
    path = needs("kubectl")
    output = subprocess.run(
        [path, "version", "--client"], capture_output=True, text=True, check=False, timeout=60
    ).stdout
    found = re.search(r"Kustomize Version: v(\d+)", output)
    if found is not None and int(found[1]) >= _OLDEST_KUSTOMIZE:
        return path
    reason = (
        f"kubectl with kustomize {_OLDEST_KUSTOMIZE} or newer (kubectl 1.27) is needed, this is: {output.strip()!r}"
    )
    raise pytest.fail.Exception(reason, pytrace=False) if in_ci() else pytest.skip.Exception(reason)


@functools.cache
def _built(name: str) -> str:
    """Build once and keep it as JSON, which is read in no time."""
    command = [_kubectl(), "kustomize", str(OPENSHIFT / name)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == "", "kustomize warns of what it will drop"
    return json.dumps(list(yaml.safe_load_all(finished.stdout)))


def build(name: str) -> list[Object]:
    """Build `base` or an overlay and return its objects, new ones at each call."""
    return cast("list[Object]", json.loads(_built(name)))


def secrets() -> list[Object]:
    """Return the Secrets that the template names."""
    return cast("list[Object]", json.loads(_template()))


@functools.cache
def _template() -> str:
    return json.dumps(list(yaml.safe_load_all((OPENSHIFT / "secrets.example.yaml").read_text(encoding="utf-8"))))


def of_kind(objects: list[Object], kind: str) -> list[Object]:
    """Return the objects of one kind."""
    return [each for each in objects if each["kind"] == kind]


def named(objects: list[Object], kind: str, name: str) -> Object:
    """Return the one object of a kind and a name; a generated name may have its hash behind it."""
    found = [
        each
        for each in of_kind(objects, kind)
        if re.fullmatch(rf"{re.escape(name)}(-[a-z0-9]{{10}})?", str(each["metadata"]["name"]))
    ]
    assert len(found) == 1, f"{len(found)} {kind} called {name}"
    return found[0]


def container(objects: list[Object], component: str) -> Object:
    """Return the only container of a component's Deployment."""
    containers = named(objects, "Deployment", component)["spec"]["template"]["spec"]["containers"]
    assert len(containers) == 1
    return cast("Object", containers[0])


def settings_of(objects: list[Object], component: str) -> dict[str, str]:
    """Return a component's ConfigMap."""
    return cast("dict[str, str]", named(objects, "ConfigMap", component)["data"])


def environment(objects: list[Object], component: str, pod_ip: str = "10.128.2.7") -> dict[str, str]:
    """Return the variables that a component's process gets, as the kubelet puts them together.

    Variables of `env` win over those of `envFrom`, and `$(NAME)` stands for one that was named before it in `env`.
    """
    by_name = {**OF_THE_OPERATOR, **{each["metadata"]["name"]: each["stringData"] for each in secrets()}}
    config = settings_of(objects, component)
    own: dict[str, str] = {}
    for entry in container(objects, component)["env"]:
        source = entry.get("valueFrom", {})
        if "secretKeyRef" in source:
            own[entry["name"]] = by_name[source["secretKeyRef"]["name"]][source["secretKeyRef"]["key"]]
        elif "configMapKeyRef" in source:
            own[entry["name"]] = config[source["configMapKeyRef"]["key"]]
        elif "fieldRef" in source:
            assert source["fieldRef"]["fieldPath"] == "status.podIP"
            own[entry["name"]] = pod_ip
        else:
            own[entry["name"]] = re.sub(r"\$\((\w+)\)", lambda match: own.get(match[1], match[0]), entry["value"])
    return {**config, **own}


def wrong_with(thing: Object, version: str) -> list[str]:
    """Hold an object against its schema of a Kubernetes version, in which unknown fields are errors."""
    validator: Any = _validator(thing["apiVersion"], thing["kind"], version)  # its overloads are partly untyped
    errors = sorted(validator.iter_errors(thing), key=str)
    return [f"{thing['kind']} {thing['metadata']['name']}: {each.json_path}: {each.message}" for each in errors]


@functools.cache
def _validator(api_version: str, kind: str, version: str) -> jsonschema.Draft202012Validator:
    if api_version in _OURS:
        assert _OURS[api_version] == kind
        return jsonschema.Draft202012Validator(_read(_SCHEMAS / f"{kind}.json"))
    spec = importlib.util.find_spec("kubernetes_validate")
    assert spec is not None, "the test group of pyproject.toml has kubernetes-validate"
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0], "kubernetes-json-schema", f"v{version}.0-local-strict")
    group = re.sub(r"^([^./]*)(\.[^/]*)?/", r"\1-", api_version)
    schema = _read(folder / f"{kind.lower()}-{group}.json")
    return jsonschema.Draft202012Validator(schema, registry=_definitions(folder))


@functools.cache
def _definitions(folder: Path) -> Registry[Any]:
    content = _read(folder / "_definitions.json")
    empty: Registry[Any] = Registry()
    return empty.with_resource(content["$id"], DRAFT202012.create_resource(content))


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
