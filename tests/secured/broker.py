"""One node that wants TLS, a password (SCRAM-SHA-512), and leave for each topic (ACLs)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from tests.cluster.nodes import QUICK_AGAIN, Node, new_cluster_id
from tests.secured.certificates import Authority
from turnlog.broker.admin import cluster_id
from turnlog.broker.command import Tools
from turnlog.broker.home import Home
from turnlog.broker.ports import free_ports
from turnlog.broker.settings import HOST, Ports, server_settings

__all__ = ["ADMIN", "USERS", "SecuredBroker", "running_secured"]

ADMIN = "admin"
#: Names and passwords; what each may do is granted by a test.
USERS = {ADMIN: "admin-secret", "writer": "writer-secret", "reader": "reader-secret",
         "blind": "blind-secret", "stranger": "stranger-secret"}  # fmt: skip

_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_PATIENCE_S = 60.0
_ANSWER_S = 10.0


@dataclass(frozen=True)
class SecuredBroker:
    """The running node."""

    bootstrap: str
    authority: Authority

    def client(
        self, user: str, *, password: str | None = None, ca: Path | None = None
    ) -> dict[str, Any]:
        """The settings of Kafka's client for a user, by default with what is right."""
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": USERS[user] if password is None else password,
            "ssl.ca.location": str(self.authority.certificate if ca is None else ca),
        }

    def admin(self) -> AdminClient:
        """A client that may do all."""
        settings = {"bootstrap.servers": self.bootstrap, "log_level": 0, **QUICK_AGAIN}
        return AdminClient({**settings, **self.client(ADMIN)})

    def grant(
        self,
        user: str,
        prefix: str,
        *operations: AclOperation,
        kind: ResourceType = ResourceType.TOPIC,
    ) -> None:
        """Let a user do this on all topics, or groups, whose names begin so."""
        admin = self.admin()
        bindings = [
            AclBinding(
                kind, prefix, ResourcePatternType.PREFIXED,
                f"User:{user}", "*", operation, AclPermissionType.ALLOW,
            )
            for operation in operations
        ]  # fmt: skip
        for answer in admin.create_acls(bindings, request_timeout=_ANSWER_S).values():
            answer.result(_ANSWER_S)

    def revoke(self, user: str, prefix: str, operation: AclOperation) -> None:
        """Take that leave away."""
        grant = AclBindingFilter(
            ResourceType.TOPIC, prefix, ResourcePatternType.PREFIXED,
            f"User:{user}", "*", operation, AclPermissionType.ALLOW,
        )  # fmt: skip
        admin = self.admin()
        answers = admin.delete_acls([grant], request_timeout=_ANSWER_S)
        for answer in answers.values():
            assert len(answer.result(_ANSWER_S)) == 1


@contextmanager
def running_secured(folder: Path, tools: Tools, jars: Path) -> Iterator[SecuredBroker]:
    """Have such a node; it is gone at the end of the block."""
    home = Home(folder / "node", jars)
    ports = free_ports(None)
    authority = Authority.make(folder, "authority")
    server = authority.sign_server(folder, HOST)
    node = Node(home, tools, _settings(home.data, ports, server, authority.certificate))
    scram = [f"SCRAM-SHA-512=[name={name},password={word}]" for name, word in USERS.items()]
    node.format(new_cluster_id(), [part for each in scram for part in ("--add-scram", each)])
    broker = SecuredBroker(f"{HOST}:{ports.client}", authority)
    try:
        node.start()
        admin = broker.admin()
        deadline = time.monotonic() + _PATIENCE_S
        while cluster_id(admin, 1.0) is None:
            assert node.alive, home.log.read_text("utf-8", "replace")
            assert time.monotonic() < deadline, "it does not answer"
        yield broker
    finally:
        node.kill()


def _settings(data: Path, ports: Ports, server: Path, ca: Path) -> Mapping[str, str]:
    plain = server_settings(data, ports)
    client = f"SECURED://{HOST}:{ports.client}"
    secured = "listener.name.secured."
    login = f'{_SCRAM} required username="{ADMIN}" password="{USERS[ADMIN]}";'
    return {
        **plain,
        "listeners": f"{client},CONTROLLER://{HOST}:{ports.controller}",
        "advertised.listeners": client,
        "inter.broker.listener.name": "SECURED",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SECURED:SASL_SSL",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        f"{secured}scram-sha-512.sasl.jaas.config": login,
        f"{secured}ssl.keystore.type": "PEM",
        f"{secured}ssl.keystore.location": str(server),
        f"{secured}ssl.truststore.type": "PEM",
        f"{secured}ssl.truststore.location": str(ca),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        # The node's own controller speaks without a password, on a port that no client uses.
        "super.users": f"User:{ADMIN};User:ANONYMOUS",
    }
