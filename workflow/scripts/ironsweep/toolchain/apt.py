"""Finds the host's Debian archive and resolves the exact versions of all packages of the root (the lock).

apt-get runs here with a folder of its own (lists, cache, an empty package status): the host's own is only read.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ironsweep.errors import UserError
from ironsweep.toolchain.settings import Settings

DEBIAN_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

# Suites of Debian's own archive, by which its entry is told from other archives' (which may sit on the same host).
DEBIAN_RELEASES = frozenset(
    [
        "bullseye",
        "bookworm",
        "trixie",
        "forky",
        "duke",
        "sid",
        "oldoldstable",
        "oldstable",
        "stable",
        "testing",
        "unstable",
    ]
)

# The host's apt options that matter for reaching an archive.
_NETWORK_OPTION = re.compile(r"^Acquire::(https?|ForceIPv[46]|Retries|Check-Valid-Until|Proxy)", re.IGNORECASE)

Lock = dict[str, str]
"""Package name to exact version."""


@dataclass(frozen=True)
class Source:
    """One archive entry of an apt configuration."""

    uri: str
    suite: str
    components: tuple[str, ...]
    signed_by: tuple[str, ...] = ()
    """Key files, or a single text that is the key itself."""


@dataclass(frozen=True)
class Archive:
    """Where the packages come from."""

    mirror: str
    security_mirror: str
    keys: tuple[str, ...]
    network_options: tuple[str, ...] = field(default=())
    """Lines for an apt.conf: the host's proxy and the like."""

    def source_lines(self, suites: tuple[str, ...]) -> list[str]:
        """One-line apt sources for these suites (component main)."""
        uris = {suite: self.security_mirror if is_security(suite) else self.mirror for suite in suites}
        return [f"deb [signed-by={','.join(self.keys)}] {uri} {suite} main" for suite, uri in uris.items()]


def is_security(suite: str) -> bool:
    """Whether a suite belongs to the security archive."""
    return suite.endswith(("-security", "/updates"))


def parse_one_line(text: str) -> Iterator[Source]:
    """Entries of a ``sources.list`` file; ``deb-src`` lines and comments are left out."""
    for line in text.splitlines():
        match = re.match(
            r"\s*deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s*(?P<components>[^#]*)", line
        )
        if match is None:
            continue
        options = dict(option.split("=", 1) for option in (match["options"] or "").split() if "=" in option)
        keys = tuple(key for key in options.get("signed-by", "").split(",") if key)
        yield Source(match["uri"], match["suite"], tuple(match["components"].split()), keys)


def parse_deb822(text: str) -> Iterator[Source]:
    """Entries of a ``.sources`` file; disabled stanzas and other types than ``deb`` are left out."""
    for stanza in re.split(r"\n[ \t]*\n", text):
        fields = _deb822_fields(stanza)
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").lower() in ("no", "false", "0"):
            continue
        signed_by = fields.get("signed-by", "")
        keys = (signed_by,) if "BEGIN PGP" in signed_by else tuple(signed_by.replace(",", " ").split())
        for uri in fields.get("uris", "").split():
            for suite in fields.get("suites", "").split():
                yield Source(uri, suite, tuple(fields.get("components", "").split()), keys)


def _deb822_fields(stanza: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    name = ""
    for line in stanza.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line[0] in " \t":  # continuation; " ." stands for an empty line (in a key)
            text = line.strip()
            fields[name] = fields.get(name, "") + "\n" + ("" if text == "." else text)
        elif ":" in line:
            name, value = line.split(":", 1)
            name = name.strip().lower()
            fields[name] = value.strip()
    return fields


def host_sources(etc_apt: Path = Path("/etc/apt")) -> list[Source]:
    """All enabled entries of the host's apt configuration."""
    one_line = [etc_apt / "sources.list", *sorted((etc_apt / "sources.list.d").glob("*.list"))]
    found = [
        source for file in one_line if file.is_file() for source in parse_one_line(file.read_text(errors="replace"))
    ]
    for file in sorted((etc_apt / "sources.list.d").glob("*.sources")):
        found.extend(parse_deb822(file.read_text(errors="replace")))
    return found


def find_archive(settings: Settings, sources: list[Source], network_options: tuple[str, ...] = ()) -> Archive:
    """The archive that the toolchain file or else the host's apt configuration names.

    Raises UserError naming the key of the toolchain file to set if there is none.
    """
    usable = [s for s in sources if "main" in s.components and not s.uri.startswith("cdrom:")]
    main = next((s for s in usable if s.suite in DEBIAN_RELEASES), None)
    security = next(
        (s for s in usable if is_security(s.suite) and re.split("[-/]", s.suite)[0] in DEBIAN_RELEASES), None
    )
    uris = {"mirror": settings.mirror or (main and main.uri)}
    if any(is_security(suite) for suite in settings.suites):
        uris["security_mirror"] = settings.security_mirror or (security and security.uri)
    for key, uri in uris.items():
        if not uri:
            raise UserError(
                f"this machine's apt configuration names no Debian archive for `{key}`: set it in {settings.file}, "
                "or take a toolchain of kind `path` (config/toolchains/path.yaml)"
            )
    return Archive(
        mirror=str(uris["mirror"]).rstrip("/"),
        security_mirror=str(uris.get("security_mirror") or "").rstrip("/"),
        keys=_keys(settings, [s for s in (main, security) if s is not None]),
        network_options=network_options,
    )


def _keys(settings: Settings, sources: list[Source]) -> tuple[str, ...]:
    """Key files of the archive.

    Debian's whole keyring joins the keys that the host trusts for its own release, which may lack the root's release.
    """
    if settings.keyring:
        keys = [settings.keyring]
    else:
        keys = [key for source in sources for key in source.signed_by if "BEGIN PGP" not in key] + [str(DEBIAN_KEYRING)]
    existing = tuple(dict.fromkeys(key for key in keys if Path(key).is_file()))
    if not existing:
        raise UserError(
            "no keyring of the Debian archive: `apt-get install debian-archive-keyring`, "
            f"or set `keyring` in {settings.file}"
        )
    return existing


def host_network_options() -> tuple[str, ...]:
    """The host's apt options for reaching an archive (proxies, certificates), as lines of an apt.conf."""
    dump = subprocess.run(["apt-config", "dump", "Acquire"], capture_output=True, text=True, check=False).stdout
    return tuple(line for line in dump.splitlines() if _NETWORK_OPTION.match(line) and not line.endswith(' "";'))


class PrivateApt:
    """apt-get with a folder of its own, so that nothing of the host's package system is read or changed."""

    def __init__(self, folder: Path, archive: Archive, suites: tuple[str, ...]) -> None:
        """Write the configuration into the (empty) folder."""
        self.folder = folder.resolve()
        for name in (
            "etc/preferences.d",
            "etc/apt.conf.d",
            "etc/trusted.gpg.d",
            "state/lists/partial",
            "cache/archives/partial",
        ):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "state/status").touch()
        (self.folder / "etc/sources.list").write_text("\n".join(archive.source_lines(suites)) + "\n")
        options = {
            "Dir::Etc": "etc", "Dir::State": "state", "Dir::Cache": "cache", "Dir::State::status": "state/status",
            "Dir::Etc::parts": "etc/apt.conf.d",
        }  # fmt: skip
        lines = [f'{key} "{self.folder / value}";' for key, value in options.items()]
        lines += [
            'APT::Architecture "amd64";', 'APT::Architectures { "amd64"; };', 'APT::Install-Recommends "false";',
            'APT::Sandbox::User "root";', 'Acquire::Languages "none";', *archive.network_options,
        ]  # fmt: skip
        self.config = self.folder / "apt.conf"
        self.config.write_text("\n".join(lines) + "\n")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run apt-get or apt-cache (the first argument) with the private configuration."""
        environment = {**os.environ, "APT_CONFIG": str(self.config), "LC_ALL": "C.UTF-8"}
        return subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)

    def update(self) -> None:
        """Fetch the package lists. Raises UserError with apt's own words if that fails."""
        done = self.run("apt-get", "-q", "update")
        trouble = [line for line in done.stderr.splitlines() if line.startswith(("E:", "W: Failed", "Err:"))]
        if done.returncode != 0 or trouble:
            raise UserError(
                "cannot fetch the package lists of the Debian archive: " + " ".join(trouble or [done.stderr.strip()])
            )

    def resolve(self, *wanted: str) -> Lock:
        """The versions that an installation of `wanted` into an empty system would have.

        Raises UserError with apt's own words if the packages cannot be installed together.
        """
        done = self.run("apt-get", "-q", "--simulate", "install", *wanted)
        if done.returncode != 0:
            said = done.stdout.partition("unmet dependencies:")[2] + " " + done.stderr
            raise UserError("the packages of the toolchain cannot be installed together: " + " ".join(said.split()))
        return parse_simulation(done.stdout)

    def prefer(self, packages: tuple[str, ...], suite: str) -> None:
        """Take these packages, and all others built from the same sources, from this suite."""
        sources = set()
        for package in packages:
            shown = self.run("apt-cache", "show", package).stdout
            named = re.search(r"^Source: (\S+)", shown, re.MULTILINE)
            sources.add(named[1] if named else package)
        with (self.folder / "etc/preferences").open("a") as file:
            for source in sorted(sources):
                file.write(f"Package: src:{source}\nPin: release n={suite}\nPin-Priority: 990\n\n")

    def available(self, package: str) -> list[str]:
        """All versions of a package that the archive has, newest first."""
        lines = self.run("apt-cache", "madison", package).stdout.splitlines()
        return list(dict.fromkeys(line.split("|")[1].strip() for line in lines if line.count("|") >= 2))


def parse_simulation(text: str) -> Lock:
    """Package versions out of what ``apt-get --simulate install`` prints."""
    return {m[1]: m[2] for m in re.finditer(r"^Inst (\S+?)(?::\w+)? (?:\[[^\]]*\] )?\((\S+)", text, re.MULTILINE)}


def parse_lock(text: str, name: str) -> Lock:
    """Read the ``name=version`` lines of a lock; `name` is the file's name for messages."""
    lock: Lock = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        package, equals, version = line.partition("=")
        if not (package and equals and version) or package in lock:
            raise UserError(f"lock {name}, line {number}: expected one `package=version` a package, found `{line}`")
        lock[package] = version
    return lock


def format_lock(lock: Mapping[str, str]) -> str:
    """The text of a lock file."""
    return "".join(f"{name}={version}\n" for name, version in sorted(lock.items()))


def resolve_lock(settings: Settings, apt: PrivateApt) -> Lock:
    """The newest versions of the toolchain's packages, each from the suite that the toolchain file says."""
    assert settings.packages is not None
    for suite, names in settings.packages.items():
        if suite != settings.release:  # the release's own suite and its updates are what apt takes by itself
            apt.prefer(names, suite)
    wanted = [name for names in settings.packages.values() for name in names]
    return apt.resolve("?essential", "apt", *wanted)


def check_frozen(lock: Lock, apt: PrivateApt, name: str) -> None:
    """Check that the archive still has every version of a frozen lock.

    Raises UserError that names each missing package, the version wanted and those available.
    """
    missing = []
    for package, version in lock.items():
        available = apt.available(package)
        if version not in available:
            missing.append(f"{package}: wanted {version}, available {', '.join(available) or 'none'}")
    if missing:
        raise UserError(
            f"lock {name} cannot be installed: {'; '.join(missing)}. Set `lock: null` to take the newest versions"
        )


def llvm_major(version: str) -> int | None:
    """The first number of a version such as ``1:22.1.8-1~deb13u5``; None if there is none."""
    match = re.match(r"(?:\d+:)?(\d+)", version)
    return int(match[1]) if match else None


def rustc_llvm_major(lock: Mapping[str, str], apt: PrivateApt) -> int:
    """LLVM's major version that the lock's rustc is linked with, read from its library's dependencies."""
    for package in lock:
        if package.startswith("libstd-rust-") and package != "libstd-rust-dev":
            shown = apt.run("apt-cache", "show", f"{package}={lock[package]}").stdout
            match = re.search(r"^Depends:.*\blibllvm(\d+)", shown, re.MULTILINE)
            if match:
                return int(match[1])
    raise UserError(
        "cannot tell which LLVM the lock's rustc is linked with: it has no libstd-rust package that needs libllvm"
    )


def check_llvm(lock: Mapping[str, str], rustc_llvm: int, name: str) -> None:
    """Check that clang, lld, llvm and liboffload are of rustc's LLVM major version.

    Raises UserError naming the versions otherwise: bitcode that one of them writes could not be read by the other.
    """
    others = {
        package: version
        for package, version in lock.items()
        if re.fullmatch(r"(clang|lld|llvm|liboffload)-\d+", package)
    }
    # hipcc brings an older LLVM of its own, which never meets rustc's bitcode: one matching set is enough
    kinds = {package.rpartition("-")[0] for package in others}
    matching = {package.rpartition("-")[0] for package, version in others.items() if llvm_major(version) == rustc_llvm}
    if kinds - matching or not matching:
        found = ", ".join(f"{package} {version}" for package, version in sorted(others.items())) or "no LLVM package"
        raise UserError(
            f"lock {name}: rustc is built with LLVM {rustc_llvm}, but the packages are {found}; "
            f"name the packages of LLVM {rustc_llvm} in the toolchain file (clang-{rustc_llvm}, …)"
        )
