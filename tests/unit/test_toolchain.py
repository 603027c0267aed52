"""The toolchain without its root: everything that needs no network, no rights and no compiler."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ironsweep.errors import UserError
from ironsweep.toolchain import apt, cuda, describe, enter, probe, record, root, runtime, settings

REPOSITORY = Path(__file__).parents[2]
DEBIAN = REPOSITORY / "config/toolchains/debian.yaml"
PATH = REPOSITORY / "config/toolchains/path.yaml"


def script(file: Path, text: str) -> Path:
    """Write an executable shell script."""
    enter.write_executable(file, f"#!/bin/sh\n{text}\n")
    return file


class TestSettings:
    """The toolchain files."""

    def test_shipped_files_are_valid(self) -> None:
        debian, path = settings.read(DEBIAN), settings.read(PATH)
        assert (debian.kind, path.kind) == ("debian", "path")
        assert set(describe.REQUIRED_TOOLS) <= debian.tools.keys() & path.tools.keys()

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (("cuda: auto", "cuda: maybe"), "cuda: 'maybe' is not one of"),
            (("kind: debian", "kind: path"), "Additional properties are not allowed"),
            (("  trixie-backports:", "  sarge:"), "sarge is not one of `suites`"),
            (("kind: debian", "kind: [debian"), "is not YAML"),
        ],
    )
    def test_a_mistake_is_named(self, tmp_path: Path, change: tuple[str, str], words: str) -> None:
        file = tmp_path / "toolchain.yaml"
        file.write_text(DEBIAN.read_text().replace(*change))
        with pytest.raises(UserError) as error:
            settings.read(file)
        assert words in str(error.value) and str(file) in str(error.value)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="No such file"):
            settings.read(tmp_path / "none.yaml")


ONE_LINE = """\
# deb http://commented.example/debian bookworm main
deb [arch=amd64 signed-by=/keys/a.gpg,/keys/b.gpg] http://mirror.example/debian bookworm main contrib # remark
deb-src http://mirror.example/debian bookworm main
deb http://mirror.example/security bookworm-security main
"""
DEB822 = """\
Types: deb deb-src
# a remark
URIs: http://mirror.example/debian
Suites: trixie trixie-updates
Components: main
 contrib
Signed-By: /keys/a.gpg

Enabled: no
Types: deb
URIs: http://disabled.example/debian
Suites: trixie
Components: main

Types: deb
URIs: http://mirror.example/security/
Suites: trixie-security
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
"""


class TestHostArchive:
    """What is taken from the host's apt configuration."""

    def test_one_line_format(self) -> None:
        main, security = apt.parse_one_line(ONE_LINE)
        assert main == apt.Source(
            "http://mirror.example/debian", "bookworm", ("main", "contrib"), ("/keys/a.gpg", "/keys/b.gpg")
        )
        assert security.suite == "bookworm-security" and security.signed_by == ()

    def test_deb822_format(self) -> None:
        main, updates, security = apt.parse_deb822(DEB822)
        assert main == apt.Source("http://mirror.example/debian", "trixie", ("main", "contrib"), ("/keys/a.gpg",))
        assert updates.suite == "trixie-updates"
        assert security.uri == "http://mirror.example/security/"
        assert "mQINBF" in security.signed_by[0]

    def test_both_formats_are_read(self, tmp_path: Path) -> None:
        (tmp_path / "sources.list.d").mkdir()
        (tmp_path / "sources.list").write_text(ONE_LINE)
        (tmp_path / "sources.list.d/debian.sources").write_text(DEB822)
        assert len(apt.host_sources(tmp_path)) == 5

    def archive(
        self, tmp_path: Path, sources: str, mirrors: tuple[str | None, str | None] = (None, None)
    ) -> apt.Archive:
        (tmp_path / "key.gpg").touch()
        wanted = replace(
            settings.read(DEBIAN), keyring=str(tmp_path / "key.gpg"), mirror=mirrors[0], security_mirror=mirrors[1]
        )
        return apt.find_archive(wanted, list(apt.parse_deb822(sources)))

    def test_suites_get_the_archive_that_they_belong_to(self, tmp_path: Path) -> None:
        lines = self.archive(tmp_path, DEB822).source_lines(("trixie", "trixie-security"))
        assert [line.split()[2:] for line in lines] == [
            ["http://mirror.example/debian", "trixie", "main"],
            ["http://mirror.example/security", "trixie-security", "main"],
        ]

    def test_other_archives_are_not_taken_for_debians(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match=r"no Debian archive for `mirror`: set it in .*debian\.yaml"):
            self.archive(tmp_path, DEB822.replace("trixie", "noble"))

    def test_the_toolchain_file_comes_first(self, tmp_path: Path) -> None:
        archive = self.archive(tmp_path, "", ("http://own/debian", "http://own/security"))
        assert (archive.mirror, archive.security_mirror) == ("http://own/debian", "http://own/security")

    def test_no_keyring_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="debian-archive-keyring"):
            apt.find_archive(replace(settings.read(DEBIAN), keyring="/none"), list(apt.parse_deb822(DEB822)))


class FakeApt(apt.PrivateApt):
    """An apt whose answers are given by the test."""

    def __init__(self, versions: dict[str, list[str]], depends: str = "") -> None:
        self.versions = versions
        self.depends = depends

    def available(self, package: str) -> list[str]:
        return self.versions.get(package, [])

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(arguments, 0, stdout=self.depends, stderr="")


LOCK = {"clang-22": "1:22.1.8-1", "lld-22": "1:22.1.8-1", "llvm-22": "1:22.1.8-1", "libc6": "2.41-12"}


class TestLock:
    """Exact versions."""

    def test_simulation_is_read(self) -> None:
        text = "Inst libc6 (2.41-12 Debian:13 [amd64])\nInst gcc:amd64 [1] (4:14.2 Debian:13 [amd64])\nConf libc6 (2)"
        assert apt.parse_simulation(text) == {"libc6": "2.41-12", "gcc": "4:14.2"}

    def test_text_and_back(self) -> None:
        assert apt.parse_lock("# remark\n\n" + apt.format_lock(LOCK), "debian.lock") == LOCK

    @pytest.mark.parametrize("text", ["libc6", "libc6=", "=1", "libc6=1\nlibc6=2"])
    def test_a_damaged_line_is_named(self, text: str) -> None:
        with pytest.raises(UserError, match=r"debian\.lock, line \d"):
            apt.parse_lock(text, "debian.lock")

    def test_a_version_that_is_gone_is_named(self) -> None:
        available = {**{name: [version] for name, version in LOCK.items()}, "libc6": ["2.41-14", "2.41-13"]}
        with pytest.raises(UserError, match=r"libc6: wanted 2\.41-12, available 2\.41-14, 2\.41-13"):
            apt.check_frozen(LOCK, FakeApt(available), "my.lock")

    def test_rustcs_llvm_is_read_from_its_library(self) -> None:
        fake = FakeApt({}, "Package: libstd-rust-1.97\nDepends: libc6 (>= 2.39), libllvm22 (>= 1:22.1)\n")
        assert apt.rustc_llvm_major({"libstd-rust-1.97": "1.97.1"}, fake) == 22

    def test_matching_llvm_is_accepted_beside_hipccs_older_one(self) -> None:
        apt.check_llvm({**LOCK, "llvm-17": "1:17.0.6-22", "clang-17": "1:17.0.6-22"}, 22, "debian.lock")

    @pytest.mark.parametrize("lock", [LOCK, {**LOCK, "llvm-23": "1:23.1"}, {"libc6": "2.41-12"}])
    def test_another_llvm_than_rustcs_is_refused(self, lock: apt.Lock) -> None:
        with pytest.raises(UserError, match=r"rustc is built with LLVM 23.*name the packages of LLVM 23"):
            apt.check_llvm(lock, 23, "debian.lock")


FAKE_MMDEBSTRAP = r"""
for argument; do case $argument in */root.part) root=$argument ;; esac; done
mkdir -p "$root/var/lib/dpkg" "$root/etc/apt" "$root/usr/bin"
printf 'Package: libc6\nVersion: %s\n' "${FAKE_VERSION:-2.41-12}" > "$root/var/lib/dpkg/status"
exit "${FAKE_STATUS:-0}"
"""


class TestRoot:
    """Building the root with a fake mmdebstrap."""

    lock = "libc6=2.41-12\n"
    archive = apt.Archive("http://mirror.example/debian", "http://mirror.example/security", ("/key",))

    @pytest.fixture(autouse=True)
    def _programs(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        script(tmp_path / "bin/mmdebstrap", FAKE_MMDEBSTRAP)
        for name in ("bwrap", "newuidmap"):
            script(tmp_path / "bin" / name, "")
        monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
        monkeypatch.setattr(os, "geteuid", lambda: 0)

    def build(self, tmp_path: Path) -> Path:
        folder = tmp_path / "toolchain/root"
        with (tmp_path / "log").open("w") as log:
            root.build(settings.read(DEBIAN), self.archive, self.lock, folder, log)
        return folder

    def test_a_whole_root_is_marked_and_kept(self, tmp_path: Path) -> None:
        folder = self.build(tmp_path)
        assert root.is_whole(folder, root.lock_digest(self.lock))
        assert not root.is_whole(folder, root.lock_digest("libc6=2.41-13\n"))
        (folder / "kept").touch()
        assert (self.build(tmp_path) / "kept").exists()

    def test_the_mirror_does_not_stay_in_the_root(self, tmp_path: Path) -> None:
        assert not (self.build(tmp_path) / "etc/apt").exists()

    def test_a_half_built_root_is_not_taken_for_whole(self, tmp_path: Path) -> None:
        leftovers = tmp_path / "toolchain/root.part", tmp_path / "toolchain/root"
        for folder in leftovers:
            (folder / "etc").mkdir(parents=True)
            (folder / "leftover").touch()
            (folder / root.MARK).write_text("{half")
        folder = self.build(tmp_path)
        assert root.is_whole(folder, root.lock_digest(self.lock))
        assert not (folder / "leftover").exists() and not leftovers[0].exists()

    def test_a_failed_installation_leaves_no_root(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FAKE_STATUS", "25")
        with pytest.raises(UserError, match="mmdebstrap failed with exit status 25"):
            self.build(tmp_path)
        assert not (tmp_path / "toolchain/root").exists()

    def test_other_versions_than_the_locks_are_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FAKE_VERSION", "2.41-13")
        with pytest.raises(UserError, match=r"libc6: wanted 2\.41-12, installed 2\.41-13"):
            self.build(tmp_path)
        assert not (tmp_path / "toolchain/root").exists()

    def test_what_is_missing_is_said_in_one_line(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/nonexistent")
        assert root.missing() == "install what is missing with `apt-get install mmdebstrap bubblewrap` (as root)"

    def test_missing_rights_are_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        monkeypatch.setattr(root, "user_namespaces", lambda: False)
        assert "root or user namespaces" in str(root.missing())

    def test_a_mount_that_cannot_be_undone_stops_the_removal(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "root/proc").mkdir(parents=True)
        script(tmp_path / "bin/umount", "exit 1")
        monkeypatch.setattr(root, "_mount_points", lambda prefix: [f"{prefix}proc"])
        with pytest.raises(UserError, match="still mounted"):
            root.remove(tmp_path / "root")
        assert (tmp_path / "root/proc").exists()


class TestWrappers:
    """The wrapper of a tool and the enter script of kind path."""

    @pytest.fixture
    def tool(self, tmp_path: Path) -> Path:
        script(
            tmp_path / "real/show",
            'printf "[%s]" "$@"; echo " $PWD $RUSTC_BOOTSTRAP $MODULE"; exit "${SHOW_STATUS:-0}"',
        )
        enter.write_executable(tmp_path / "enter", enter.path_script({"MODULE": "it's set"}))
        enter.write_executable(tmp_path / "bin/show", enter.wrapper(str(tmp_path / "real/show")))
        return tmp_path / "bin/show"

    def run(self, command: Sequence[str], cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False
        )

    def test_arguments_folder_and_environment_arrive(self, tool: Path, tmp_path: Path) -> None:
        (tmp_path / "a b").mkdir()
        done = self.run([str(tool), "two words", "*", "'\"$x", ""], tmp_path / "a b")
        assert done.stdout == f"[two words][*]['\"$x][] {tmp_path}/a b 1 it's set\n"

    def test_exit_status_and_signal_come_back(self, tool: Path, tmp_path: Path) -> None:
        assert self.run([str(tool)], tmp_path, SHOW_STATUS="7").returncode == 7
        script(tmp_path / "real/show", "kill -SEGV $$")
        assert self.run([str(tool)], tmp_path).returncode == -11

    def test_it_is_found_through_path_and_from_its_own_folder(self, tool: Path, tmp_path: Path) -> None:
        assert self.run(["show"], tmp_path, PATH=f"{tool.parent}:{os.environ['PATH']}").returncode == 0
        assert self.run(["./show"], tool.parent).returncode == 0
        assert self.run(["sh", "show"], tool.parent).returncode == 0


MODULES = """
module() {
    [ "$1" = load ] || return 1
    case $2 in
        good) export PATH=/opt/good/bin:$PATH GOOD_HOME=/opt/good ;;
        *) echo "Unable to locate a modulefile for '$2'" >&2; return 1 ;;
    esac
}
"""


class TestModules:
    """Environment modules, with a `module` command of the test's own."""

    def test_what_they_set_is_found(self, tmp_path: Path) -> None:
        (tmp_path / "init.sh").write_text(MODULES)
        changed = enter.module_environment(str(tmp_path / "init.sh"), ("good",))
        assert changed.keys() == {"PATH", "GOOD_HOME"}
        assert changed["PATH"].startswith("/opt/good/bin:")

    def test_one_that_cannot_be_loaded_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "init.sh").write_text(MODULES)
        with pytest.raises(UserError, match=r"environment module bad cannot be loaded \(Unable to locate"):
            enter.module_environment(str(tmp_path / "init.sh"), ("good", "bad"))

    def test_none_needs_no_module_command(self) -> None:
        assert enter.module_environment(None, ()) == {}


# Answers as compilers of each generation do; "" stands for one without offload.
FAKE_RUSTC = """
case " $* " in
    *" -vV "*) echo "LLVM version: $FAKE_LLVM"; exit ;;
    *" --version "*) echo "rustc 1.97.1 (abc 2026-07-14)"; exit ;;
    *-Zoffload=HostMetadata=*) case $FAKE_GENERATION in
        three-pass|self-linking) exit ;;
        *) echo 'error: incorrect value `HostMetadata` for unstable option `offload`' >&2; exit 1 ;;
    esac ;;
    *-Zoffload=Host=*) [ "$FAKE_GENERATION" = self-linking ] && echo '"cc" "-lomptarget"'; exit ;;
    *-Zoffload=Test*)
        for last; do :; done
        [ "$FAKE_GENERATION" = two-pass ] && echo "call @__tgt_target_kernel" > "$last" && exit
        exit 1 ;;
esac
"""


class TestGeneration:
    """The generation of rustc's offload support."""

    @pytest.mark.parametrize("generation", ["two-pass", "three-pass", "self-linking", "none"])
    def test_it_is_told_by_compiling(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, generation: str) -> None:
        monkeypatch.setenv("FAKE_GENERATION", generation)
        assert probe.generation([str(script(tmp_path / "rustc", FAKE_RUSTC))]) == generation

    @pytest.mark.parametrize("generation", ["three-pass", "self-linking", "none"])
    def test_all_but_the_first_are_refused_by_name(self, generation: str) -> None:
        probe.check_generation("two-pass")
        with pytest.raises(UserError, match=f"`{generation}`.*not supported yet"):
            probe.check_generation(generation)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("rustc 1.97.1 (8bab26f4f 2026-07-14)", "1.97.1"),
        ("LLVM (http://llvm.org/):\n  Debian LLVM version 22.1.8", "22.1.8"),
        ("Cuda compilation tools, release 13.0, V13.0.88", "13.0.88"),
        ("no number", None),
    ],
)
def test_versions_are_found_in_what_tools_say(text: str, found: str | None) -> None:
    assert probe.version_in(text) == found


def test_versions_are_compared_by_number() -> None:
    assert probe.at_least("22.1.8", "22") and probe.at_least("1.100", "1.97") and not probe.at_least("9.9", "22")


def toolkit(folder: Path) -> Path:
    """A folder that looks like a CUDA toolkit."""
    for name in ("nvcc", "ptxas"):
        script(folder / "bin" / name, "echo 'release 13.0, V13.0.88'")
    (folder / "nvvm/libdevice").mkdir(parents=True)
    (folder / "nvvm/libdevice/libdevice.10.bc").touch()
    (folder / "lib64").mkdir()
    (folder / "lib64/libcudart_static.a").touch()
    return folder


class TestCuda:
    """Finding NVIDIA's compiler."""

    @pytest.fixture(autouse=True)
    def _no_variables(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CUDA_HOME", raising=False)
        monkeypatch.delenv("CUDA_PATH", raising=False)

    def test_the_toolkit_behind_a_script_a_link_or_itself(self, tmp_path: Path) -> None:
        home = toolkit(tmp_path / "cuda-13.0")
        script(tmp_path / "stub/nvcc", f'exec {home}/bin/nvcc "$@"')
        (tmp_path / "link").mkdir()
        (tmp_path / "link/ptxas").symlink_to(home / "bin/ptxas")
        for folder in (tmp_path / "stub", tmp_path / "link", home / "bin"):
            assert cuda.on_path(str(folder)) == home
        assert cuda.on_path(str(tmp_path)) is None

    def test_a_compiler_without_its_toolkit_is_not_taken(self, tmp_path: Path) -> None:
        script(tmp_path / "bin/nvcc", "")
        assert cuda.on_path(str(tmp_path / "bin")) is None

    def find(self, tmp_path: Path, mode: str) -> cuda.Cuda:
        requirements = tmp_path / "requirements.txt"
        requirements.write_text("./no-such-file.whl\n")
        return cuda.find(mode, tmp_path / "wheels", requirements, io.StringIO(), str(tmp_path))

    def test_none_is_a_reason(self, tmp_path: Path) -> None:
        assert self.find(tmp_path, "none") == cuda.Cuda("none", missing="the toolchain file says `cuda: none`")

    def test_path_alone_must_be_there(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="neither nvcc nor ptxas is on PATH"):
            self.find(tmp_path, "path")

    def test_wheels_that_cannot_be_had_are_a_reason_with_auto_and_an_error_otherwise(self, tmp_path: Path) -> None:
        found = self.find(tmp_path, "auto")
        assert found.source == "none" and "put the bin folder of a CUDA toolkit on PATH" in str(found.missing)
        with pytest.raises(UserError, match="cannot be installed"):
            self.find(tmp_path, "wheels")
        assert not (tmp_path / "wheels").exists()

    def test_wheels_of_the_same_lock_are_taken_as_they_are(self, tmp_path: Path) -> None:
        home = toolkit(tmp_path / "wheels/nvidia/cu13")
        assert self.find(tmp_path, "auto").source == "none"  # of another lock
        home = toolkit(tmp_path / "wheels/nvidia/cu13")
        lock = hashlib.sha256(b"./no-such-file.whl\n").hexdigest()
        (tmp_path / f"wheels/requirements-{lock}").touch()
        assert self.find(tmp_path, "auto") == cuda.Cuda("wheels", str(home))


class TestPathKind:
    """A toolchain of tools on PATH, here shell scripts that say a version."""

    @pytest.fixture
    def wanted(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> settings.Settings:
        monkeypatch.setenv("FAKE_GENERATION", "two-pass")
        monkeypatch.setenv("FAKE_LLVM", "22.1.8")
        wanted = settings.read(PATH)
        for name in wanted.tools:
            script(tmp_path / "tools" / name, "echo version 22.1.8")
        script(tmp_path / "tools/rustc", FAKE_RUSTC)
        for file in ("rust/core/src/lib.rs", "offload/libomptarget.so", "amd/ocml.bc"):
            (tmp_path / file).parent.mkdir(parents=True)
            (tmp_path / file).touch()
        folders = {
            "rust_src": (f"{tmp_path}/ru*t",),
            "offload_libs": (f"{tmp_path}/offload",),
            "device_libs": (f"{tmp_path}/none", f"{tmp_path}/amd"),
            "hip_libs": (f"{tmp_path}/none",),
        }
        return replace(wanted, path=(f"{tmp_path}/tools",), folders=folders)

    def describe(self, wanted: settings.Settings, tmp_path: Path) -> record.Toolchain:
        return describe.describe_path(wanted, {}, cuda.Cuda("none", missing="not here"), tmp_path / "toolchain")

    def test_it_is_described_and_can_be_read_again(self, wanted: settings.Settings, tmp_path: Path) -> None:
        toolchain = self.describe(wanted, tmp_path)
        assert (toolchain.kind, toolchain.generation, toolchain.enter) == ("path", "two-pass", "path")
        assert toolchain.tools["llc"] == record.Tool(f"{tmp_path}/tools/llc", "22.1.8")
        assert toolchain.tools["rust_src"].path == f"{tmp_path}/rust"
        assert toolchain.tools["device_libs"].path == f"{tmp_path}/amd"
        assert toolchain.reason("nvcc") == "nvcc: not here"
        assert "no folder with libamdhip64.so" in str(toolchain.reason("hip_libs"))
        (tmp_path / "toolchain.json").write_text(json.dumps(toolchain.as_json()))
        assert record.load(tmp_path / "toolchain.json") == toolchain
        assert {file.name for file in (tmp_path / "toolchain/bin").iterdir()} == wanted.tools.keys()

    def test_its_identity_is_of_versions_not_of_places(self, wanted: settings.Settings, tmp_path: Path) -> None:
        first = self.describe(wanted, tmp_path)
        (tmp_path / "tools").rename(tmp_path / "moved")
        moved = replace(wanted, path=(f"{tmp_path}/moved",))
        assert self.describe(moved, tmp_path).sha256 == first.sha256
        script(tmp_path / "moved/g++", "echo version 15.1.0")
        assert self.describe(moved, tmp_path).sha256 != first.sha256

    def test_required_tools_that_are_missing_or_old_are_all_named(
        self, wanted: settings.Settings, tmp_path: Path
    ) -> None:
        script(tmp_path / "tools/llc", "echo version 19.1.7")
        script(tmp_path / "tools/opt", "exit 1")
        with pytest.raises(UserError) as error:
            self.describe(wanted, tmp_path)
        assert "llc is version 19.1.7, 22 or newer is needed" in str(error.value)
        assert "opt does not start" in str(error.value)

    def test_a_tool_that_only_some_variants_need_may_be_missing(
        self, wanted: settings.Settings, tmp_path: Path
    ) -> None:
        (tmp_path / "tools/hipcc").unlink()
        without = replace(wanted, tools={**wanted.tools, "hipcc": settings.ToolSetting(("no-such-hipcc",))})
        assert "no no-such-hipcc found; install it" in str(self.describe(without, tmp_path).reason("hipcc"))
        assert not (tmp_path / "toolchain/bin/hipcc").exists()

    def test_another_llvm_than_rustcs_is_refused(
        self, wanted: settings.Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FAKE_LLVM", "23.0.1")
        with pytest.raises(UserError, match=r"rustc is built with LLVM 23\.0\.1, but clang 22\.1\.8"):
            self.describe(wanted, tmp_path)

    def test_another_generation_is_refused(
        self, wanted: settings.Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FAKE_GENERATION", "three-pass")
        with pytest.raises(UserError, match="`three-pass`"):
            self.describe(wanted, tmp_path)

    def test_programs_run_with_its_libraries(self, wanted: settings.Settings, tmp_path: Path) -> None:
        runtime.collect(self.describe(wanted, tmp_path), tmp_path / "toolchain/enter", tmp_path / "runtime")
        show = ["sh", "-c", 'echo "$LD_LIBRARY_PATH"; exit 4']
        done = subprocess.run(
            [str(tmp_path / "runtime/run"), *show], env={"PATH": os.defpath, "LD_LIBRARY_PATH": "/mine"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.stdout, done.returncode) == (f"{tmp_path}/offload:/mine\n", 4)


def test_a_toolchain_that_is_not_built_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="`make run` builds it"):
        record.load(tmp_path / "toolchain.json")
    (tmp_path / "toolchain.json").write_text("{}")
    with pytest.raises(UserError, match="damaged"):
        record.load(tmp_path / "toolchain.json")


def test_the_libraries_that_ldd_names() -> None:
    text = "a.so:\n\tlinux-vdso.so.1 (0x7)\n\tlibm.so.6 => /lib/libm.so.6 (0x7)\n\t/lib64/ld-linux-x86-64.so.2 (0x7)\n"
    assert runtime.needed(text) == {"libm.so.6": "/lib/libm.so.6"}
    with pytest.raises(UserError, match=r"libz3\.so\.4"):
        runtime.needed(text + "\tlibz3.so.4 => not found\n")
