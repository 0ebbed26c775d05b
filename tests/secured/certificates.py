"""Certificates made by the openssl of this machine: an authority, and what it signs."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Authority"]

_DAYS = "2"
_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"]


@dataclass(frozen=True)
class Authority:
    """A certificate authority: `certificate` is what clients trust."""

    certificate: Path
    key: Path

    @classmethod
    def make(cls, folder: Path, name: str) -> Authority:
        """Make one."""
        made = cls(folder / f"{name}.pem", folder / f"{name}.key")
        subject = ["-subj", f"/CN={name}", "-addext", "keyUsage=critical,keyCertSign"]
        _openssl("req", "-x509", *_KEY, *subject, "-days", _DAYS, *made._files())
        return made

    def sign_server(self, folder: Path, address: str) -> Path:
        """Make a server's PEM file for an IP address: its key, then its certificate."""
        one, other, both = folder / "server.key", folder / "server.crt", folder / "server.pem"
        _openssl(
            "req", "-x509", *_KEY, "-days", _DAYS, "-subj", f"/CN={address}",
            "-CA", str(self.certificate), "-CAkey", str(self.key),
            "-addext", f"subjectAltName=IP:{address}", "-addext", "basicConstraints=CA:FALSE",
            "-keyout", str(one), "-out", str(other),
        )  # fmt: skip
        both.write_text(one.read_text("ascii") + other.read_text("ascii"), "ascii")
        return both

    def _files(self) -> list[str]:
        return ["-keyout", str(self.key), "-out", str(self.certificate)]


def _openssl(*arguments: str) -> None:
    run = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
