"""The command lines of the compose file and of the Kubernetes manifest are ones that `ringcast` takes."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest

from ringcast.cli.node import command
from ringcast.errors import ConfigError
from ringcast.security import Keyring, new_key, read_keyring, write_keyring

yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra ringcast[docs]")
DEPLOY = Path(__file__).resolve().parents[3] / "deploy"


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((DEPLOY / name).read_text()))


def parsed(words: list[str]) -> dict[str, Any]:
    """Without joining."""
    assert words[0] == "node"
    values = [word.replace("$(POD_NAME)", "shop-0").replace("$(POD_IP)", "10.0.0.1") for word in words[1:]]
    return click.Context(command, info_name="node").command.make_context("node", values).params


def test_each_member_of_the_compose_file_stays_and_answers_probes() -> None:
    (compose,) = documents("compose.yml")
    for name, service in compose["services"].items():
        place = parsed(service["command"])
        assert place["stay"] and place["name"] == name and place["metrics"] == "0.0.0.0:9464"
        assert place["advertise"] == f"{name}:7001"
        seeds = service["environment"]["RINGCAST_NODE_SEED"].split()
        assert seeds == [f"{other}:7001" for other in compose["services"]]


def test_the_stateful_set_finds_its_members_by_its_headless_service() -> None:
    service, _, pods = documents("kubernetes.yml")
    (container,) = pods["spec"]["template"]["spec"]["containers"]
    place = parsed(container["args"])
    assert (
        place["discover"] == f"dns://{service['metadata']['name']}:7001" and place["expect"] == pods["spec"]["replicas"]
    )
    assert service["spec"]["clusterIP"] == "None" and service["spec"]["publishNotReadyAddresses"]
    assert service["spec"]["selector"] == pods["spec"]["selector"]["matchLabels"]
    assert {container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")} == {
        "/healthz",
        "/readyz",
    }
    mounted = {volume["name"]: volume["mountPath"] for volume in container["volumeMounts"]}
    keys = [each["value"] for each in container["env"] if each["name"] == "RINGCAST_KEY_FILE"]
    assert keys == [f"{mounted['key']}/key"]


def test_the_key_is_copied_to_where_only_the_member_can_read_it(tmp_path: Path) -> None:
    _, _, pods = documents("kubernetes.yml")
    (copying,) = pods["spec"]["template"]["spec"]["initContainers"]
    secret, place = tmp_path / "secret", tmp_path / "place"
    for directory in (secret, place):
        directory.mkdir()
    write_keyring(secret / "key", Keyring((new_key(),)), is_new=True)
    (secret / "key").chmod(0o440)
    with pytest.raises(ConfigError):
        read_keyring(secret / "key")
    line = copying["command"][2].replace("/secret", str(secret)).replace("/etc/ringcast", str(place))
    subprocess.run(["sh", "-c", line], check=True)
    assert read_keyring(place / "key")


def test_the_image_runs_a_command_that_there_is() -> None:
    lines = (DEPLOY / "Dockerfile").read_text().splitlines()
    (entry,) = [line for line in lines if line.startswith("ENTRYPOINT")]
    assert shlex.split(entry.partition(" ")[2].strip("[]")) == ["ringcast"]


def test_the_alerts_parse() -> None:
    """By promtool where it is installed; elsewhere by what once was wrong: matching between a number and a vector."""
    file = DEPLOY / "prometheus-alerts.yml"
    (alerts,) = documents(file.name)
    rules = [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]
    assert [rule for rule in rules if re.search(r"[\d.] [-+*/] (on|ignoring) ", rule)] == []
    if promtool := shutil.which("promtool"):
        subprocess.run([promtool, "check", "rules", file], check=True)


def test_the_image_takes_ringcast_from_the_local_wheel_only_and_all_else_by_hash() -> None:
    """A package of that name on the index came before the wheel, and nothing was pinned."""
    installs = [line for line in (DEPLOY / "Dockerfile").read_text().splitlines() if "pip install" in line]
    others, own = installs
    assert "--require-hashes -r /wheels/image.txt" in others
    assert {"--no-index", "--no-deps", "--find-links"} <= set(own.split()) and own.split()[-2] == "ringcast"
    locked = (DEPLOY.parent / "locks" / "image.txt").read_text()
    everything = (DEPLOY.parent / "locks" / "all.txt").read_text()
    pins = [line.split()[0] for line in locked.splitlines() if "==" in line]
    assert {pin.partition("==")[0] for pin in pins} >= {"msgspec", "cryptography", "prometheus-client", "dnspython"}
    assert all(f"\n{pin}" in everything for pin in pins), "the versions that the tests ran with"


def test_members_in_a_cluster_are_reached_by_members_and_metrics_by_prometheus_only() -> None:
    service, policy, pods = documents("kubernetes.yml")
    assert policy["kind"] == "NetworkPolicy"
    labels = pods["spec"]["template"]["metadata"]["labels"]
    assert policy["spec"]["podSelector"]["matchLabels"] == labels
    rules = {rule["ports"][0]["port"]: rule["from"] for rule in policy["spec"]["ingress"]}
    assert set(rules) == {port["port"] for port in service["spec"]["ports"]} and all(rules.values())
    pod = pods["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
