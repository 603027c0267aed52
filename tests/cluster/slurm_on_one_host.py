"""A real Slurm on one machine: munged, slurmctld and a slurmd for every node, all below one folder.

As a program it starts the cluster, says how to use it, and ends it when it is interrupted:

    python tests/cluster/slurm_on_one_host.py                 without accounting
    python tests/cluster/slurm_on_one_host.py --accounting    with slurmdbd and MariaDB

It has a node without GPUs (partition `cpu`), two with four "H100" each and one with four "MI300A" (partition `gpu`;
`scavenge` and `urgent` are the same nodes, and jobs in `urgent` take them from those in `scavenge`). GPUs are links to
/dev/null: Slurm hands them out and sets CUDA_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES, but there is no hardware behind
them.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

SYSTEM_CONF = Path("/etc/slurm/slurm.conf")
MARK = "# made by ironsweep's tests/cluster"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scancel", "scontrol")
ACCOUNTING_PROGRAMS = ("slurmdbd", "sacctmgr", "sacct", "mariadbd", "mariadb-install-db")
NODES = {
    "cpu1": "",
    "nv1": "Gres=gpu:h100:4 Features=h100",
    "nv2": "Gres=gpu:h100:4 Features=h100",
    "amd1": "Gres=gpu:mi300a:4 Features=mi300a",
}
GPUS = 4

SLURM_CONF = """\
{mark}
ClusterName=ironsweep
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/spool-%n
SlurmdLogFile={folder}/%n.log
# No cgroups: this must work inside a container.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
{accounting}
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
KillWait=2
# squeue knows ended jobs for this long (s); the executor learns from it how they ended.
MinJobAge=300
# A short queue that is looked at often: nobody else waits.
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,requeue_delay=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
# A line for every job that ended, and how.
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/ended_jobs
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
# Nodes may claim more cores than the machine has.
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=DEFAULT CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=64000 State=UNKNOWN
{nodes}
PartitionName=cpu Nodes=cpu1 Default=YES MaxTime=60 DefMemPerCPU=500 State=UP
PartitionName=gpu Nodes=nv1,nv2,amd1 MaxTime=60 DefMemPerCPU=500 PriorityTier=10 State=UP
PartitionName=scavenge Nodes=nv1,nv2,amd1 MaxTime=60 DefMemPerCPU=500 PriorityTier=1 PreemptMode=REQUEUE State=UP
PartitionName=urgent Nodes=nv1,nv2,amd1 MaxTime=60 DefMemPerCPU=500 PriorityTier=100 PreemptMode=OFF State=UP
"""

ACCOUNTING = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={folder}/munge.sock
AccountingStorageTRES=gres/gpu
AccountingStorageEnforce=associations,limits
"""

SLURMDBD_CONF = """\
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
DbdHost=localhost
DbdPort={port}
SlurmUser=root
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct
"""

# What mariadbd does first. The password protects nothing: the socket is in a folder of root's.
DATABASE = """\
CREATE DATABASE IF NOT EXISTS slurm_acct;
CREATE USER IF NOT EXISTS slurm@localhost IDENTIFIED BY 'slurm';
GRANT ALL ON slurm_acct.* TO slurm@localhost;
"""
MARIADB = (
    *("--no-defaults", "--user=root", "--skip-networking", "--innodb-buffer-pool-size=64M"),
    *("--innodb-lock-wait-timeout=900", "--innodb-flush-log-at-trx-commit=0"),
)


def program(name: str) -> str:
    """Path of one of Slurm's programs; empty if it is not installed."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") or ""


def why_not(accounting: bool = False) -> str:
    """Why a cluster, without or with accounting, cannot be started on this machine; empty if it can."""
    missing = [name for name in PROGRAMS if not program(name)]
    if missing:
        return f"no {', '.join(missing)} (Debian: apt-get install slurmctld slurmd slurm-client munge)"
    missing = [name for name in ACCOUNTING_PROGRAMS if accounting and not program(name)]
    if missing:
        return f"no {', '.join(missing)} (Debian: apt-get install slurmdbd mariadb-server-core mariadb-client-core)"
    if os.geteuid() != 0:
        return "slurmd and munged must be started by root"
    if SYSTEM_CONF.exists() and MARK not in SYSTEM_CONF.read_text():
        return f"{SYSTEM_CONF} exists: this machine has a Slurm of its own"
    return ""


def _end_with_parent() -> None:
    """In a daemon before it starts: end when the process that started it is gone."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


class Cluster:
    """The daemons that are running, and the folder with their configuration, state and logs."""

    def __init__(self, folder: Path, port: int = 17817, accounting: bool = False) -> None:
        """Nothing is started; ``port`` is slurmctld's, those after it are slurmd's and slurmdbd's."""
        self.folder = folder
        self.port = port
        self.accounting = accounting
        self._daemons: list[subprocess.Popen[bytes]] = []
        self._turn: IO[str] | None = None

    def environment(self) -> dict[str, str]:
        """Environment in which Slurm's commands talk to this cluster."""
        return {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def start(self) -> None:
        """Start all daemons and wait until all nodes are idle. Raises RuntimeError with the end of the logs."""
        self._wait_for_turn()
        self._write_configuration()
        # The executor's job step drops SLURM_CONF from its environment, so the file must be where Slurm looks for it.
        SYSTEM_CONF.parent.mkdir(parents=True, exist_ok=True)
        SYSTEM_CONF.unlink(missing_ok=True)
        SYSTEM_CONF.symlink_to(self.folder / "slurm.conf")
        key, sock = self.folder / "munge.key", self.folder / "munge.sock"
        files = [f"--{kind}-file={self.folder}/munge.{kind}" for kind in ("pid", "log", "seed")]
        self._daemon("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={sock}", *files)
        self._wait_for(sock.exists, "munged")
        if self.accounting:
            self._start_accounting()
        self.start_controller()
        for node in NODES:
            self._daemon("slurmd", "-D", "-N", node, "-f", str(self.folder / "slurm.conf"))
        self._wait_for(self._all_idle, "slurm")

    def _wait_for_turn(self, seconds: float = 900.0) -> None:
        """There is one /etc/slurm/slurm.conf: wait while another cluster like this one has it."""
        self._turn = (Path(tempfile.gettempdir()) / "ironsweep-slurm.lock").open("w")

        def is_free() -> bool:
            assert self._turn
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            return False

        self._wait_for(is_free, "because another cluster of these tests runs on this machine, slurm", seconds)

    def _start_accounting(self) -> None:
        """MariaDB, slurmdbd, and the one account that root has there."""
        data, sock = self.folder / "mysql", self.folder / "mysql.sock"
        common = ("--no-defaults", "--user=root", f"--datadir={data}", "--auth-root-authentication-method=normal")
        subprocess.run(
            [program("mariadb-install-db"), *common, "--skip-test-db"],
            stdout=(self.folder / "mariadb-install-db.out").open("wb"),
            stderr=subprocess.STDOUT,
            check=True,
        )
        (self.folder / "init.sql").write_text(DATABASE)
        log = f"--log-error={self.folder}/mariadbd.log"
        pid = f"--pid-file={self.folder}/mariadbd.pid"
        start = f"--init-file={self.folder}/init.sql"
        self._daemon("mariadbd", *MARIADB, f"--datadir={data}", f"--socket={sock}", pid, log, start)
        self._wait_for(sock.exists, "mariadbd")
        self._daemon("slurmdbd", "-D", MYSQL_UNIX_PORT=str(sock))
        self._wait_for(self._accounting_answers, "slurmdbd")
        self.call("sacctmgr", "--immediate", "add", "account", "tests", "Description=tests", "Organization=tests")
        self.call("sacctmgr", "--immediate", "add", "user", "root", "account=tests", "AdminLevel=Admin")

    def _accounting_answers(self) -> bool:
        with contextlib.suppress(subprocess.SubprocessError):
            self.call("sacctmgr", "--immediate", "add", "cluster", "ironsweep")
            return True
        return False

    def start_controller(self) -> None:
        """Start slurmctld; it goes on from the state that an earlier one left."""
        self._controller = self._daemon("slurmctld", "-D", "-f", str(self.folder / "slurm.conf"))

    def kill_controller(self) -> None:
        """SIGKILL to slurmctld."""
        self._daemons.remove(self._controller)
        self._controller.kill()
        self._controller.wait()

    def restart_controller(self) -> None:
        """SIGKILL to slurmctld, and a new one that has answered."""
        self.kill_controller()
        self.start_controller()
        self._wait_for(self._answers, "slurmctld")

    def _answers(self) -> bool:
        with contextlib.suppress(subprocess.SubprocessError):
            return bool(self.call("sinfo", "--noheader"))
        return False

    def node_down(self, name: str) -> None:
        """Take a node out of service: jobs on it end as NODE_FAIL."""
        self.call("scontrol", "update", f"nodename={name}", "state=down", "reason=test")

    def node_up(self, name: str) -> None:
        """Bring a node back into service; one that is back already stays as it is."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self.call("scontrol", "update", f"nodename={name}", "state=resume")

    def node_of(self, job: str) -> str:
        """Where a running job runs."""
        return self.call("squeue", "--noheader", "--format=%N", f"--jobs={job}").strip()

    def cancel(self, *jobs: str) -> None:
        """End jobs."""
        self.call("scancel", *jobs)

    def call(self, name: str, *arguments: str) -> str:
        """What one of Slurm's commands prints. Raises CalledProcessError, or TimeoutExpired after 20 s."""
        done = subprocess.run(
            [program(name), *arguments],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
        return done.stdout

    def jobs(self, *states: str) -> list[str]:
        """Numbers of the jobs in the queue, of all or of those in certain states."""
        chosen = ["--states", ",".join(states)] if states else []
        return self.call("squeue", "--noheader", "--format=%A", *chosen).split()

    def ended(self) -> list[dict[str, str]]:
        """What Slurm has noted of each job that ended: JobId, JobState, NodeList and more."""
        file = self.folder / "ended_jobs"
        lines = file.read_text(errors="replace").splitlines() if file.exists() else []
        return [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in lines]

    def stop(self) -> None:
        """End the daemons that this object started."""
        for daemon in reversed(self._daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self._daemons.clear()
        if SYSTEM_CONF.is_symlink() and SYSTEM_CONF.readlink() == self.folder / "slurm.conf":
            SYSTEM_CONF.unlink()
        if self._turn:
            self._turn.close()

    def _write_configuration(self) -> None:
        for name in ("state", "dev", *(f"spool-{node}" for node in NODES)):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        for number in range(GPUS):
            # Slurm sets the variables of visible devices only for files that lead to a character device.
            (self.folder / f"dev/nvidia{number}").symlink_to("/dev/null")
            (self.folder / f"dev/render{number}").symlink_to("/dev/null")
        host = socket.gethostname().partition(".")[0]
        nodes = "\n".join(
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={self.port + number} {more}"
            for number, (name, more) in enumerate(NODES.items(), 1)
        )
        accounting = "AccountingStorageType=accounting_storage/none"
        if self.accounting:
            own = {"folder": self.folder, "port": self.port + len(NODES) + 1}
            accounting = ACCOUNTING.format(**own)
            file = self.folder / "slurmdbd.conf"
            file.write_text(SLURMDBD_CONF.format(**own))
            file.chmod(0o600)  # slurmdbd insists
        text = SLURM_CONF.format(
            mark=MARK, host=host, port=self.port, folder=self.folder, nodes=nodes, accounting=accounting
        )
        (self.folder / "slurm.conf").write_text(text)
        (self.folder / "gres.conf").write_text(
            "AutoDetect=off\n"
            f"NodeName=nv[1-2] Name=gpu Type=h100 File={self.folder}/dev/nvidia[0-{GPUS - 1}] Flags=nvidia_gpu_env\n"
            f"NodeName=amd1 Name=gpu Type=mi300a File={self.folder}/dev/render[0-{GPUS - 1}] Flags=amd_gpu_env\n"
        )
        version = subprocess.run([program("slurmctld"), "-V"], capture_output=True, text=True, check=True).stdout
        if int(version.split()[1].partition(".")[0]) >= 23:  # older ones do not know this and need no such file
            (self.folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n")

    def _daemon(self, name: str, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.out").open("ab") as log:
            daemon = subprocess.Popen(
                [program(name), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment() | environment,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )
        self._daemons.append(daemon)
        return daemon

    def _all_idle(self) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            answer = subprocess.run(
                [program("sinfo"), "--noheader", "-N", "-o", "%N %T"],
                env=self.environment(),
                capture_output=True,
                text=True,
                timeout=5,
            )
            return set(answer.stdout.splitlines()) == {f"{node} idle" for node in NODES}
        return False

    def _wait_for(self, condition: Callable[[], bool], name: str, seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and all(daemon.poll() is None for daemon in self._daemons):
            if condition():
                return
            time.sleep(0.2)
        logs = [file.read_text(errors="replace")[-1000:] for file in sorted(self.folder.glob("*.log"))]
        raise RuntimeError("\n".join([f"{name} did not come up", *logs]))


@contextlib.contextmanager
def running(folder: Path, accounting: bool = False) -> Iterator[Cluster]:
    """A cluster below ``folder`` for the time of a ``with`` block."""
    cluster = Cluster(folder, accounting=accounting)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def main() -> None:
    """Start a cluster and keep it until the program is interrupted."""
    parser = argparse.ArgumentParser(description="Run a Slurm cluster on this machine until Ctrl-C.")
    parser.add_argument("--accounting", action="store_true", help="with slurmdbd and a MariaDB of its own")
    accounting = parser.parse_args().accounting
    reason = why_not(accounting)
    if reason:
        sys.exit(f"no cluster here: {reason}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: end the daemons first
    with (
        tempfile.TemporaryDirectory(prefix="slurm-") as folder,
        running(Path(folder), accounting),
        contextlib.suppress(KeyboardInterrupt),
    ):
        print("Slurm is up: try sinfo, or snakemake --profile slurm. Ctrl-C ends it.", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
