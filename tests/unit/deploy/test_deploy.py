"""Deployment files: complete, without privileges, and with settings that kafkabal reads."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafkabal.config import cluster_address, resolve

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
UNITS = [
    *(DEPLOY / "systemd").iterdir(),
    *(ROOT / "monitoring").glob("*.service"),
    *(ROOT / "monitoring").glob("*.timer"),
]
# what a permission implies need not be granted, as docs/permissions.md says
IMPLIES = {
    "AlterConfigs": "DescribeConfigs",
    "Create": "Describe",
    "Alter": "Describe",
    "Read": "Describe",
    "Write": "Describe",
}


def _documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text()))


def _pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """The pod specifications, with the kind of their resource."""
    for document in _documents("kubernetes/kafkabal.yaml"):
        if document["kind"] == "CronJob":
            yield "CronJob", document["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        elif document["kind"] == "Deployment":
            yield "Deployment", document["spec"]["template"]["spec"]


@pytest.mark.parametrize(("kind", "pod"), list(_pods()), ids=lambda each: each if isinstance(each, str) else "")
def test_pods_have_no_privileges(kind: str, pod: dict[str, Any]) -> None:
    """Not root, a read-only root file system, no token, no capability, and time to stop gracefully."""
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["terminationGracePeriodSeconds"] >= 330
    for container in [*pod["initContainers"], *pod["containers"]]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_every_night_has_the_same_host_name() -> None:
    """Otherwise a run that was killed would be one of another host, which ``rebalance --yes`` does not resume."""
    (job,) = [pod for kind, pod in _pods() if kind == "CronJob"]
    assert job["hostname"]


def _nightly_commands() -> dict[str, str]:
    """The command of every scheduler that rebalances at night."""
    (job,) = [pod for kind, pod in _pods() if kind == "CronJob"]
    unit = (DEPLOY / "systemd" / "kafkabal-rebalance@.service").read_text()
    crontab = (ROOT / "docs" / "how-to" / "nightly-rebalance.md").read_text()
    return {
        "pod": " ".join(job["containers"][0]["args"]),
        "unit": next(line for line in unit.splitlines() if line.startswith("ExecStart=")),
        "crontab": next(line for line in crontab.splitlines() if line.startswith("0 1 * * *")),
    }


@pytest.mark.parametrize(("kind", "command"), list(_nightly_commands().items()), ids=lambda each: each.split()[0])
def test_a_night_that_ends_with_3_has_left_something_broken(kind: str, command: str) -> None:
    """The time limit of a nightly job makes it wait, and never ends it with the exit code of findings."""
    assert "--window 01:00-05:00" in command
    assert "--max-runtime" not in command


def test_findings_fail_the_nightly_unit() -> None:
    """Besides 0, only 75 is a success: another run is active, and nothing is wrong."""
    unit = (DEPLOY / "systemd" / "kafkabal-rebalance@.service").read_text()
    assert re.findall(r"^SuccessExitStatus=(.*)$", unit, re.MULTILINE) == ["75"]


@pytest.mark.parametrize(("kind", "pod"), list(_pods()), ids=lambda each: each if isinstance(each, str) else "")
def test_mounted_volumes_exist(kind: str, pod: dict[str, Any]) -> None:
    """Every mount has a volume and every volume is mounted; config map and claim are in the same file."""
    mounted = {m["name"] for c in [*pod["initContainers"], *pod["containers"]] for m in c["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
    made = {(d["kind"], d["metadata"]["name"]) for d in _documents("kubernetes/kafkabal.yaml")}
    for volume in pod["volumes"]:
        if "configMap" in volume:
            assert ("ConfigMap", volume["configMap"]["name"]) in made
        if "persistentVolumeClaim" in volume:
            assert ("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]) in made
    user = {volume["secret"]["secretName"] for volume in pod["volumes"] if volume["name"] == "user"}
    assert user == {_documents("kubernetes/strimzi-user.yaml")[0]["metadata"]["name"]}


def test_the_state_of_each_pod_outlives_it() -> None:
    """Without its state folder, a new pod of the watch would not give back leadership that the last one moved away."""
    claims = [
        v["persistentVolumeClaim"]["claimName"] for _, pod in _pods() for v in pod["volumes"] if v["name"] == "state"
    ]
    assert len({*claims}) == len(list(_pods()))


def test_the_config_map_is_a_profile(tmp_path: Path) -> None:
    """kafkabal reads the profile and its client.properties, and trusts and shows what the pod mounts."""
    data = _documents("kubernetes/kafkabal.yaml")[0]["data"]
    for name, text in data.items():
        (tmp_path / name).write_text(text)
    settings = resolve({"profile": "prod"}, environ={}, profiles_file=tmp_path / "profiles.yaml")
    address: Any = cluster_address(settings)
    assert address.bootstrap_servers == ("my-cluster-kafka-bootstrap.kafka.svc:9093",)
    assert address.tls.ca_file == "/cluster-ca/ca.crt"
    assert address.tls.certificate_file == "/identity/keystore.pem"


def test_the_user_has_the_documented_permissions_and_no_others() -> None:
    """Every permission in the table of docs/permissions.md is granted or implied; nothing else is granted."""
    granted = {
        (operation, acl["resource"]["type"].capitalize(), acl["resource"].get("name", ""))
        for acl in _documents("kubernetes/strimzi-user.yaml")[0]["spec"]["authorization"]["acls"]
        for operation in acl["operations"]
    }
    table = (ROOT / "docs" / "permissions.md").read_text()
    rows = re.findall(r"^\| (?!step|---)[a-z ]+ \| .+ \| (.+) \|$", table, re.MULTILINE)
    needed = {found for row in rows for found in re.findall(r"(\w+) on (\w+)(?: ([^\s;]+))?", row)}
    implied = {(IMPLIES[operation], *on) for operation, *on in granted if operation in IMPLIES}
    assert needed <= granted | implied
    assert granted <= needed


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_units_are_well_formed(unit: Path) -> None:
    """systemd reports no problem, except the program, which is not installed here."""
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )
    complaints = [
        line for line in done.stderr.splitlines() if str(unit.name) in line and "is not executable" not in line
    ]
    assert complaints == []


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_units_share_the_owner_of_the_state_folder(unit: Path) -> None:
    """systemd gives a state folder to the user of the unit that starts, so a second user would lock out the first."""
    text = unit.read_text()
    if "StateDirectory=" in text:
        assert "\nUser=kafkabal\nDynamicUser=yes\n" in text


@pytest.mark.parametrize("unit", [u for u in UNITS if u.suffix == ".service"], ids=lambda path: path.name)
def test_units_share_one_state_folder(unit: Path) -> None:
    """What one unit records of a cluster, such as the history of its sizes, the others find; none runs as root."""
    settings = {line.strip() for line in unit.read_text().splitlines()}
    assert {"StateDirectory=kafkabal", "User=kafkabal"} <= settings
    assert any(
        "XDG_STATE_HOME=/var/lib" in line.split("=", 1)[1].split() for line in settings if "Environment=" in line
    )


def _instructions() -> list[tuple[str, str]]:
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines]


def test_the_image_runs_as_an_unprivileged_user() -> None:
    """Known instructions only, the command as entry point, and the user that the pods name."""
    found = _instructions()
    assert {name for name, _ in found} <= {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "ENTRYPOINT", "CMD"}
    assert dict(found)["ENTRYPOINT"] == '["kafkabal"]'
    _, pod = next(_pods())
    assert dict(found)["USER"] == f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}"


def test_the_files_copied_into_the_image_are_enough_to_build(tmp_path: Path) -> None:
    """A wheel is built from just the files that the first stage copies; the build needs no others."""
    source = tmp_path / "source"
    source.mkdir()
    for what in (words for name, words in _instructions() if name == "COPY" and "--from" not in words):
        *files, target = what.split()
        for file in files:
            if (ROOT / file).is_dir():
                shutil.copytree(ROOT / file, source / target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / file, source / target)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            str(tmp_path),
            str(source),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "kafkabal/cli/main.py" in names
    assert "kafkabal/documentation/permissions.md" in names


def test_the_workflow_changes_nothing() -> None:
    """It may read the repository and comment, and its steps change nothing."""
    workflow = yaml.safe_load((DEPLOY / "ci" / "github-plan.yml").read_text())
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    runs = "\n".join(step.get("run", "") for step in workflow["jobs"]["plan"]["steps"])
    assert set(re.findall(r"kafkabal (doctor|rebalance \w+|create|\w+)", runs)) == {"doctor", "rebalance plan"}
