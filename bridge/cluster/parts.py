"""The parts of a local stack, in the order in which they start.

Pure. What flows in: the pool, the images' references, rendered configuration, the gateway's port. What
flows out: `Part` descriptions. Each part gets the volumes, the user and the capabilities that it needs and
no more; docs/explanation/security.md says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from bridge import wellknown
from bridge.cluster.ages import Ages
from bridge.cluster.part import Health, Mount, Part, Published, digest
from bridge.cluster.pool import Confinement, Node, Pool
from bridge.cluster.subnet import Subnet

GATEWAY_PORT: Final = 8080
REST_PORT: Final = 6820

PREPARE: Final = "prepare"
ETC: Final = Mount(volume="etc-slurm", path="/etc/slurm", read_only=True)
USERS: Final = Mount(volume="users", path=wellknown.USERS_DIR, read_only=True)
SLURM_KEY: Final = Mount(volume="slurm-key", path="/run/secrets/slurm-key", read_only=True)
JWT_KEY: Final = Mount(volume="jwt-key", path="/run/secrets/jwt-key", read_only=True)
DBD_CONF: Final = Mount(volume="dbd-conf", path="/run/secrets/dbd-conf", read_only=True)
DB_SECRET: Final = Mount(volume="db-secret", path="/run/secrets/db-secret", read_only=True)
CTLD_STATE: Final = Mount(volume="ctld-state", path="/var/spool/slurmctld")
POLICY: Final = Mount(volume="policy", path=wellknown.POLICY_DIR)
SSS: Final = Mount(volume="sss", path="/var/lib/sss/pipes", read_only=True)
"""Sockets of an SSSD, where a site has one: users and groups of its own directory."""
SAID: Final = Mount(volume="said", path=wellknown.SAID_DIR)
HOMES: Final = Mount(volume="home", path=wellknown.HOMES_DIR)
DATABASE: Final = Mount(volume="mariadb", path="/var/lib/mysql")
TENANTS: Final = Mount(volume="tenants", path=wellknown.TENANTS_DIR)
GATEWAY_STATE: Final = Mount(volume="gateway", path=wellknown.GATEWAY_STATE_DIR)
RUN_AGENT: Final = Mount(volume="run-agent", path="/run/sluice/agent")
RUN_BRIDGE: Final = Mount(volume="run-bridge", path="/run/sluice/bridge")
RUN_FILES: Final = Mount(volume="run-files", path="/run/sluice/files")

PREPARED: Final = (
    *(ETC, USERS, SLURM_KEY, JWT_KEY, DBD_CONF, DB_SECRET, DATABASE, CTLD_STATE, POLICY, SAID),
    *(HOMES, SSS, TENANTS, GATEWAY_STATE, RUN_AGENT, RUN_BRIDGE, RUN_FILES),
)
"""All volumes: the prepare part sets their owners, modes and first files."""

VOLUMES: Final = tuple(mount.volume for mount in PREPARED)

SACK: Final = (("/run/slurm", f"uid={wellknown.SLURM_UID},gid={wellknown.SLURM_UID},mode=0755"),)
"""Where sackd serves auth/slurm's socket to clients of a container without a Slurm daemon."""

_CONNECTS: Final = "import socket,sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
_ANSWERS: Final = "import sys,urllib.request; urllib.request.urlopen(sys.argv[1], timeout=5)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """References (name and content hash) of the stack's images."""

    mariadb: str
    slurm: str
    agent: str
    login: str
    gateway: str


def stack_parts(
    pool: Pool,
    confinement: Confinement,
    images: Images,
    *,
    subnet: Subnet,
    config: Mapping[str, str],
    port: int,
    ages: Ages,
) -> tuple[Part, ...]:
    """Describe all parts.

    Parameters
    ----------
    config
        Files of /etc/slurm by name (`bridge.cluster.slurmconf.render`).
    port
        Port on the host's loopback at which the gateway is published.
    ages
        How long Sluice's own parts wait.
    """
    content = digest(dict(config))
    nodes = [
        replace(_gpu_node(node, confinement, images), address=subnet.of_node(index))
        for index, node in enumerate(pool.nodes)
    ]
    url = f"http://{subnet.of_part('gateway')}:{GATEWAY_PORT}"
    daemons, login, agent = (
        [replace(part, address=subnet.of_part(part.name)) for part in parts]
        for parts in (_daemons(images), (_login(images, url),), (_agent(images),))
    )
    others = (_mariadb(images), _bridge(images), _gateway(images, port))
    mariadb, bridge, gateway = (replace(part, address=subnet.of_part(part.name)) for part in others)
    # A changed configuration replaces what reads it when it starts.
    slurm = [replace(part, depends_on_content=content) for part in (*daemons, *nodes, *login, *agent)]
    parts = (_prepare(images, config), mariadb, *slurm, _files(images), bridge, gateway)
    return tuple(replace(p, environment=(*p.environment, *ages.of_part(p.name))) for p in parts)


def names_of(pool: Pool) -> tuple[str, ...]:
    """Return the names of all parts, known before anything is made."""
    daemons = ("mariadb", "slurmdbd", "slurmctld", "slurmrestd")
    return (
        PREPARE,
        *daemons,
        *(node.name for node in pool.nodes),
        "login",
        "agent",
        "files",
        "bridge",
        "gateway",
    )


def _prepare(images: Images, config: Mapping[str, str]) -> Part:
    writable = tuple(replace(mount, read_only=False) for mount in PREPARED)
    # slurmdbd.conf still lacks its password; the script completes it in slurmdbd's own volume.
    names = {name: f"{name}.in" if name == "slurmdbd.conf" else name for name in config}
    return Part(
        name=PREPARE,
        image=images.slurm,
        command=("prepare",),
        user="root",
        mounts=writable,
        files=tuple((f"/etc/slurm/{names[name]}", text) for name, text in sorted(config.items())),
        once=True,
    )


def _mariadb(images: Images) -> Part:
    return Part(
        name="mariadb",
        image=images.mariadb,
        command=("/usr/local/sbin/start",),
        mounts=(DATABASE, DB_SECRET),
        capabilities=(),
        health=Health(command=("mariadb", "--user=health", "--execute=SELECT 1")),
        after=(PREPARE,),
        stop_grace_s=60,
    )


def _daemons(images: Images) -> tuple[Part, ...]:
    slurm = Part(name="", image=images.slurm, command=(), user="slurm", capabilities=(), stop_grace_s=30)
    answers = ("curl", "--silent", "--output", "/dev/null", f"http://127.0.0.1:{REST_PORT}/")
    return (
        replace(
            slurm,
            name="slurmdbd",
            command=("slurmdbd", "-D"),
            mounts=(ETC, USERS, SLURM_KEY, JWT_KEY, DBD_CONF),
            health=Health(command=("sacctmgr", "--quiet", "ping")),
            after=("mariadb",),
        ),
        replace(
            slurm,
            name="slurmctld",
            command=("start-slurmctld",),
            mounts=(
                *(ETC, USERS, SLURM_KEY, JWT_KEY, CTLD_STATE),
                *(replace(POLICY, read_only=True), SAID, SSS),
            ),
            health=Health(command=("scontrol", "ping")),
            after=("slurmdbd",),
        ),
        replace(
            slurm,
            name="slurmrestd",
            # Neither root nor SlurmUser, without keys: each request brings its own token.
            user="slurmrestd",
            command=("slurmrestd", "-a", "rest_auth/jwt", f"0.0.0.0:{REST_PORT}"),
            mounts=(ETC, USERS, SSS),
            # The unshare calls want CAP_SYS_ADMIN and guard against other processes; it is alone here.
            environment=(
                ("SLURM_JWT", "daemon"),
                ("SLURMRESTD_SECURITY", "disable_unshare_sysv,disable_unshare_files"),
            ),
            health=Health(command=answers),
            after=("slurmctld",),
        ),
    )


def _gpu_node(node: Node, confinement: Confinement, images: Images) -> Part:
    part = Part(
        name=node.name,
        image=images.slurm,
        command=("start-slurmd",),
        user="root",
        mounts=(ETC, USERS, SLURM_KEY, HOMES, SSS),
        # slurmd makes a namespace to read a user's login environment (--export=NONE, --get-user-env), and
        # ends itself when clone() is refused (measured on 26.05.5).
        more_capabilities=("SYS_ADMIN",),
        environment=(
            ("SLUICE_CONFINEMENT", confinement.value),
            ("SLUICE_GPUS", str(node.gpu_count)),
        ),
        health=Health(command=("node-ready",)),
        after=("slurmctld",),
        stop_grace_s=20,
    )
    if confinement is Confinement.NONE:
        return part
    # The cgroup tree must be writable and a device filter (eBPF) attached to it, which SYS_ADMIN allows; on
    # hosts with AppArmor the default profile forbids the remount.
    return replace(
        part,
        security=(*part.security, "apparmor=unconfined"),
        device_rules=(f"c {SIMULATED_MAJOR}:* rwm",),
    )


SIMULATED_MAJOR: Final = 240
"""Device major of simulated GPUs where devices are confined: a range that Linux keeps for local use."""


def _login(images: Images, gateway: str) -> Part:
    return Part(
        name="login",
        image=images.login,
        command=("start-login",),
        user="root",
        mounts=(ETC, USERS, SLURM_KEY, HOMES, SSS),
        tmpfs=SACK,
        files=(("/etc/sluice/url", f"{gateway}\n"),),
        health=Health(command=("scontrol", "ping")),
        after=("slurmctld",),
    )


def _agent(images: Images) -> Part:
    return Part(
        name="agent",
        image=images.agent,
        command=("with-sackd", "python", "-m", "bridge.agent"),
        user="slurm",
        mounts=(ETC, USERS, SLURM_KEY, JWT_KEY, RUN_AGENT, SSS),
        tmpfs=SACK,
        capabilities=(),
        health=Health(command=("python", "-c", _CONNECTS, wellknown.AGENT_SOCKET)),
        after=("slurmctld", "slurmrestd"),
    )


def _files(images: Images) -> Part:
    return Part(
        name="files",
        image=images.gateway,
        command=("python", "-m", "gateway.file_agent"),
        user="0",
        mounts=(RUN_FILES, replace(HOMES, read_only=True), USERS),
        capabilities=("SETUID", "SETGID"),
        read_only_root=True,
        health=Health(command=("python", "-c", _CONNECTS, wellknown.FILES_SOCKET)),
        after=(PREPARE,),
    )


def _bridge(images: Images) -> Part:
    return Part(
        name="bridge",
        image=images.gateway,
        command=("python", "-m", "bridge"),
        user="sluice",
        mounts=(
            *(RUN_AGENT, RUN_BRIDGE, TENANTS, replace(USERS, read_only=False), POLICY, SSS),
            replace(SAID, read_only=True),
        ),
        capabilities=(),
        health=Health(command=("python", "-c", _CONNECTS, wellknown.BRIDGE_SOCKET)),
        after=("agent",),
    )


def _gateway(images: Images, port: int) -> Part:
    url = f"http://127.0.0.1:{GATEWAY_PORT}/healthz"
    return Part(
        name="gateway",
        image=images.gateway,
        command=("python", "-m", "gateway"),
        user="sluice",
        mounts=(RUN_AGENT, RUN_BRIDGE, RUN_FILES, GATEWAY_STATE),
        capabilities=(),
        published=(Published(container_port=GATEWAY_PORT, host_port=port),),
        health=Health(command=("python", "-c", _ANSWERS, url)),
        after=("agent", "bridge", "files"),
        stop_grace_s=30,
    )
