"""sbatch's options as data: one row an option, in the order of Slurm's own table.

The order matters: getopt lists the possibilities of an ambiguous name in it. Names, short letters and
arguments are those of common_options[] in src/common/slurm_opt.c of Slurm 26.05 (older versions have
fewer: `since`), variables those of src/sbatch/opt.c. What a value means is its grammar's business
(`bridge.sbatch.grammar`); the reference page is written from this table (`bridge.sbatch.reference`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from bridge.sbatch.getopt import Argument


class Support(StrEnum):
    """What becomes of an option."""

    CARRIED = "carried"
    """It reaches Slurm as sbatch would send it."""
    CLIENT = "client"
    """It tells the client what to do; slurmctld never sees it."""
    REFUSED = "refused"
    """Refused by its name; nothing is sent."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option."""

    name: str
    """Long name; empty for what only a variable can say."""
    short: str
    argument: Argument
    grammar: str
    """Key of the value's grammar in `bridge.sbatch.grammar.GRAMMARS`."""
    into: tuple[str, ...]
    """Fields of the draft that it sets, and that a negative variable puts back."""
    about: str
    support: Support = Support.CARRIED
    early: bool = False
    """Heeded among the arguments only: sbatch passes over it in a script."""
    alias_of: str = ""
    since: str = ""
    """First Slurm version that has it, when later than 24.11."""
    id: str = ""
    """Stands in for the name where there is none."""

    @property
    def key(self) -> str:
        """What the option is called inside: two names of one option share it."""
        return self.alias_of or self.name or self.id


_N, _R, _O = Argument.NONE, Argument.REQUIRED, Argument.OPTIONAL
_SAYS_NO: Final = Support.REFUSED
_CLIENT: Final = Support.CLIENT

OPTIONS: Final[tuple[Option, ...]] = (
    Option("account", "A", _R, "text", ("account",), "charge the job to this account"),
    Option("acctg-freq", "", _R, "acctg-freq", ("acctg_freq",), "sampling intervals of accounting"),
    Option("array", "a", _R, "text", ("array",), "submit an array of jobs"),
    Option("autocomplete", "", _R, "never", (), "complete an option for a shell", _SAYS_NO),
    Option("batch", "", _R, "text", ("batch_features",), "features of the node that runs the script"),
    Option("begin", "b", _R, "begin", ("begin",), "don't start before this moment"),
    Option("bb", "", _R, "text", ("burst_buffer",), "burst buffer request"),
    Option("bbf", "", _R, "text", ("burst_buffer_file",), "file with burst buffer lines for the script"),
    Option("cluster-constraint", "", _R, "text", ("cluster_features",), "features of the cluster"),
    Option("chdir", "D", _R, "path", ("chdir",), "working directory of the job"),
    Option("cluster", "", _R, "text", ("clusters",), "clusters to choose from; only this one is served"),
    Option("clusters", "M", _R, "text", ("clusters",), "clusters to choose from; only this one is served"),
    Option("comment", "", _R, "text", ("comment",), "arbitrary comment"),
    Option(
        *("consolidate-segments", "", _N, "flag", ("consolidate_segments",), "fill blocks with segments"),
        since="25.11",
    ),
    Option("container", "", _R, "text", ("container",), "path of an OCI bundle"),
    Option("container-id", "", _R, "text", ("container_id",), "id of an OCI container"),
    Option(*("container-type", "", _R, "text", ("container_type",), "type of the container"), since="26.05"),
    Option("context", "", _R, "text", ("selinux_context",), "SELinux context"),
    Option("contiguous", "", _N, "flag", ("contiguous",), "only nodes that stand side by side"),
    Option("constraint", "C", _R, "text", ("features",), "features that nodes must have"),
    Option("core-spec", "S", _R, "core-spec", ("core_spec", "thread_spec"), "cores kept for the system"),
    Option("cores-per-socket", "", _R, "count", ("cores_per_socket",), "at least so many cores a socket"),
    Option("cpu-freq", "", _R, "cpu-freq", ("cpu_freq",), "CPU frequency or governor"),
    Option("cpus-per-gpu", "", _R, "count", ("cpus_per_gpu",), "CPUs for each GPU"),
    Option("cpus-per-task", "c", _R, "count", ("cpus_per_task",), "CPUs for each task"),
    Option("deadline", "", _R, "deadline", ("deadline",), "remove the job when it can't end before"),
    Option("delay-boot", "", _R, "delay-boot", ("delay_boot_s",), "wait so long before booting nodes"),
    Option("dependency", "d", _R, "text", ("dependency",), "start after other jobs"),
    Option("distribution", "m", _R, "distribution", ("distribution",), "how tasks go to nodes and cores"),
    Option("error", "e", _R, "file", ("stderr",), "file for standard error"),
    Option("exclude", "x", _R, "text", ("exclude",), "nodes not to use"),
    Option("exclusive", "", _O, "exclusive", ("shared",), "share nodes with nobody, or only as said"),
    Option("export", "", _R, "text", ("export",), "variables that the job gets"),
    Option("export-file", "", _R, "text", ("export_file",), "file with variables for the job"),
    Option("external", "", _N, "flag", ("external",), "an allocation without a script", since="25.05"),
    Option("extra", "", _R, "text", ("extra",), "text for site plugins and node filters"),
    Option(
        *("extra-node-info", "B", _R, "sockets-cores-threads"),
        ("extra_node_info", "sockets_per_node", "cores_per_socket", "threads_per_core"),
        "sockets, cores and threads that nodes must have",
    ),
    Option("get-user-env", "", _N, "flag", ("get_user_env",), "load the user's login environment"),
    Option("gid", "", _R, "root-only", (), "group to run as (root only)", _SAYS_NO),
    Option("gpu-bind", "", _R, "gpu-bind", ("tres_bind",), "binding of tasks to GPUs"),
    Option("gpu-freq", "", _R, "gpu-freq", ("gpu_freq", "tres_freq"), "frequency of GPUs"),
    Option("gpus", "G", _R, "text", ("gpus",), "GPUs for the job, [TYPE:]N"),
    Option("gpus-per-node", "", _R, "text", ("gpus_per_node",), "GPUs on each node"),
    Option("gpus-per-socket", "", _R, "text", ("gpus_per_socket",), "GPUs on each socket"),
    Option("gpus-per-task", "", _R, "text", ("gpus_per_task",), "GPUs for each task"),
    Option("gres", "", _R, "gres", ("gres",), "generic resources on each node, NAME[:TYPE][:N]"),
    Option("gres-flags", "", _R, "gres-flags", ("gres_flags",), "how generic resources bind"),
    Option("help", "h", _N, "never", (), "print help", _SAYS_NO, early=True),
    Option("hint", "", _R, "text", ("hint",), "the application's kind of load"),
    Option("hold", "H", _N, "flag", ("hold",), "submit held"),
    Option("ignore-pbs", "", _N, "flag", ("ignore_pbs",), "pass over #PBS and #BSUB lines", _CLIENT),
    Option("input", "i", _R, "file", ("stdin",), "file for standard input"),
    Option("job-name", "J", _R, "text", ("name",), "name of the job"),
    Option(
        *("kill-on-invalid-dep", "", _R, "yes-or-no", ("kill_on_invalid_dependency",)),
        "end the job when it can never start",
    ),
    Option("licenses", "L", _R, "text", ("licenses",), "licences, NAME[:N]"),
    Option("mail-type", "", _R, "mail-type", ("mail_type",), "events that send mail"),
    Option("mail-user", "", _R, "text", ("mail_user",), "who gets mail"),
    Option("mcs-label", "", _R, "text", ("mcs_label",), "multi-category security label"),
    Option("mem", "", _R, "mib", ("memory_per_node_mib",), "memory on each node, 0 = all of it"),
    Option("mem-bind", "", _R, "mem-bind", ("mem_bind",), "binding of tasks to memory"),
    Option("mem-per-cpu", "", _R, "mib", ("memory_per_cpu_mib",), "memory for each CPU"),
    Option("mem-per-gpu", "", _R, "mib", ("memory_per_gpu_mib",), "memory for each GPU"),
    Option(
        *("mem-update", "", _R, "mem-update", ("memory_update_margin_percent", "memory_update_delay_min")),
        *("lower the memory of a running job",),
        since="26.05",
    ),
    Option("mincpus", "", _R, "count", ("mincpus",), "at least so many CPUs on each node"),
    Option("network", "", _R, "text", ("network",), "network request"),
    Option("nice", "", _O, "nice", ("nice",), "lower the priority by this much (100)"),
    Option("no-kill", "k", _O, "no-kill", ("no_kill",), "go on when a node fails"),
    Option("no-requeue", "", _N, "no-requeue", ("requeue",), "never run the job a second time"),
    Option("nodefile", "F", _R, "nodefile", ("nodelist",), "file with node names"),
    Option("nodelist", "w", _R, "text", ("nodelist",), "nodes that the job must have"),
    Option("nodes", "N", _R, "nodes", ("nodes", "nodes_min", "nodes_max", "node_sizes"), "number of nodes"),
    Option("ntasks", "n", _R, "count", ("ntasks", "ntasks_set"), "number of tasks"),
    Option("ntasks-per-core", "", _R, "count", ("ntasks_per_core",), "tasks on each core"),
    Option("ntasks-per-gpu", "", _R, "count", ("ntasks_per_gpu",), "tasks for each GPU"),
    Option("ntasks-per-node", "", _R, "count", ("ntasks_per_node",), "tasks on each node"),
    Option("ntasks-per-socket", "", _R, "count", ("ntasks_per_socket",), "tasks on each socket"),
    Option("ntasks-per-tres", "", _R, "count", ("ntasks_per_tres",), "tasks for each GPU"),
    Option("oom-kill-step", "", _O, "oom-kill", ("oom_kill_step",), "kill a whole step out of memory"),
    Option("open-mode", "", _R, "open-mode", ("open_mode",), "append to output files or truncate them"),
    Option("output", "o", _R, "file", ("stdout",), "file for standard output"),
    Option("overcommit", "O", _N, "flag", ("overcommit",), "more tasks than CPUs"),
    Option("oversubscribe", "s", _N, "oversubscribe", ("shared",), "share resources with other jobs"),
    Option("parsable", "", _N, "flag", ("parsable",), "print the job's number only", _CLIENT),
    Option("partition", "p", _R, "text", ("partition",), "partition, or several to choose from"),
    Option("prefer", "", _R, "text", ("prefer",), "features that nodes had better have"),
    Option("priority", "", _R, "priority", ("priority",), "priority (operators), or TOP"),
    Option("profile", "", _R, "profile", ("profile",), "what the profiler records"),
    Option("propagate", "", _O, "propagate", ("propagate",), "limits taken to the job; only NONE can be"),
    Option("qos", "q", _R, "text", ("qos",), "quality of service"),
    Option("quiet", "Q", _N, "tally", ("quiet",), "say less", _CLIENT, early=True),
    Option("reboot", "", _N, "flag", ("reboot",), "reboot nodes first (administrators)"),
    Option("requeue", "", _O, "requeue", ("requeue", "expedited_requeue"), "let the job run a second time"),
    Option("resources", "", _R, "text", ("resources",), "hierarchical resources", since="25.11"),
    Option("reservation", "", _R, "text", ("reservation",), "take nodes of this reservation"),
    Option("resv-ports", "", _O, "resv-ports", ("reserve_ports",), "reserve ports (with --stepmgr)"),
    Option("segment", "", _R, "segment", ("segment_size",), "size of segments in a block topology"),
    Option("signal", "", _R, "signal", ("signal",), "signal some time before the end"),
    Option("sockets-per-node", "", _R, "count", ("sockets_per_node",), "at least so many sockets a node"),
    Option("spread-job", "", _N, "flag", ("spread",), "spread the job over many nodes"),
    Option(
        *("spread-segments", "", _N, "flag", ("spread_segments",), "segments on blocks of their own"),
        since="25.11",
    ),
    Option("stepmgr", "", _N, "flag", ("step_manager",), "manage steps on a node of the job"),
    Option("", "", _R, "req-switch", ("switches",), "as --switches", id="req-switch"),
    Option("", "", _R, "wait4switch", ("switches", "switches_wait_s"), "as --switches", id="wait4switch"),
    Option("switches", "", _R, "switches", ("switches", "switches_wait_s"), "at most so many leaf switches"),
    Option(
        "tasks-per-node", "", _R, "count", ("ntasks_per_node",), "tasks a node", alias_of="ntasks-per-node"
    ),
    Option("test-only", "", _N, "flag", ("test_only",), "only ask when it would start", _CLIENT),
    Option("thread-spec", "", _R, "thread-spec", ("core_spec", "thread_spec"), "threads kept for the system"),
    Option("threads-per-core", "", _R, "count", ("threads_per_core",), "threads of each core to use"),
    Option("time", "t", _R, "time-limit", ("time_limit_min",), "time limit; a number alone is minutes"),
    Option("time-min", "", _R, "time-limit", ("time_min_min",), "least time limit"),
    Option("tmp", "", _R, "mib", ("tmp_disk_per_node_mib",), "temporary disk on each node"),
    Option("tres-bind", "", _R, "text", ("tres_bind",), "binding of tasks to resources"),
    Option("tres-per-task", "", _R, "text", ("tres_per_task",), "resources for each task"),
    Option("uid", "", _R, "root-only", (), "user to run as (root only)", _SAYS_NO),
    Option("use-min-nodes", "", _N, "flag", ("use_min_nodes",), "of a range of nodes, take the fewest"),
    Option("verbose", "v", _N, "tally", ("verbose",), "say more", _CLIENT, early=True),
    Option("version", "V", _N, "never", (), "print the version", _SAYS_NO, early=True),
    Option("", "", _N, "umask", ("umask",), "file mode mask, from #PBS -W umask=", id="umask"),
    Option("usage", "", _N, "never", (), "print a short help", _SAYS_NO, early=True),
    Option("wait", "W", _N, "flag", ("wait",), "wait until the job has ended", _CLIENT),
    Option("wait-all-nodes", "", _R, "yes-no", ("wait_all_nodes",), "start when all nodes are ready"),
    Option("wckey", "", _R, "text", ("wckey",), "workload characterization key"),
    Option("wrap", "", _R, "text", ("wrap",), "a command in place of a script", _CLIENT, early=True),
)

OF_ONE_COMPONENT: Final[frozenset[str]] = frozenset(
    (
        *("bb", "consolidate-segments", "constraint", "contiguous", "core-spec", "cores-per-socket"),
        *("cpu-freq", "cpus-per-gpu", "cpus-per-task", "distribution", "exclusive", "external"),
        *("extra-node-info", "gpu-bind", "gpu-freq", "gpus", "gpus-per-node", "gpus-per-socket"),
        *("gpus-per-task", "gres", "gres-flags", "hint", "licenses", "mail-type", "mail-user", "mem-bind"),
        *("mem-per-cpu", "mem-per-gpu", "mincpus", "network", "nodefile", "nodelist", "nodes", "ntasks"),
        *("ntasks-per-core", "ntasks-per-gpu", "ntasks-per-node", "ntasks-per-socket", "ntasks-per-tres"),
        *("overcommit", "oversubscribe", "partition", "req-switch", "resources", "resv-ports", "segment"),
        *("sockets-per-node", "spread-job", "spread-segments", "switches", "thread-spec"),
        *("threads-per-core", "tmp", "tres-bind", "tres-per-task", "umask", "use-min-nodes", "wait4switch"),
    )
)
"""Keys of options that each component of a het job says anew; the others hold for the components after it."""

EARLY_VARIABLES: Final[Mapping[str, str]] = MappingProxyType(
    {"SBATCH_IGNORE_PBS": "ignore-pbs", "SBATCH_DEBUG": "verbose"}
)
"""What sbatch reads before the script."""

VARIABLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "SBATCH_ACCOUNT": "account",
        "SBATCH_ARRAY_INX": "array",
        "SBATCH_ACCTG_FREQ": "acctg-freq",
        "SBATCH_BATCH": "batch",
        "SBATCH_BURST_BUFFER": "bb",
        "SBATCH_CLUSTER_CONSTRAINT": "cluster-constraint",
        "SBATCH_CLUSTERS": "clusters",
        "SLURM_CLUSTERS": "clusters",
        "SBATCH_CONSOLIDATE_SEGMENTS": "consolidate-segments",
        "SBATCH_CONTAINER": "container",
        "SBATCH_CONTAINER_ID": "container-id",
        "SBATCH_CONTAINER_TYPE": "container-type",
        "SBATCH_CONSTRAINT": "constraint",
        "SBATCH_CORE_SPEC": "core-spec",
        "SBATCH_CPU_FREQ_REQ": "cpu-freq",
        "SBATCH_CPUS_PER_GPU": "cpus-per-gpu",
        "SBATCH_DELAY_BOOT": "delay-boot",
        "SBATCH_DISTRIBUTION": "distribution",
        "SBATCH_EXCLUSIVE": "exclusive",
        "SBATCH_EXPORT": "export",
        "SBATCH_GET_USER_ENV": "get-user-env",
        "SBATCH_GRES": "gres",
        "SBATCH_GRES_FLAGS": "gres-flags",
        "SBATCH_GPUS": "gpus",
        "SBATCH_GPU_BIND": "gpu-bind",
        "SBATCH_GPU_FREQ": "gpu-freq",
        "SBATCH_GPUS_PER_NODE": "gpus-per-node",
        "SBATCH_GPUS_PER_SOCKET": "gpus-per-socket",
        "SBATCH_GPUS_PER_TASK": "gpus-per-task",
        "SLURM_HINT": "hint",
        "SBATCH_HINT": "hint",
        "SBATCH_JOB_NAME": "job-name",
        "SBATCH_MEM_BIND": "mem-bind",
        "SBATCH_MEM_PER_CPU": "mem-per-cpu",
        "SBATCH_MEM_PER_GPU": "mem-per-gpu",
        "SBATCH_MEM_PER_NODE": "mem",
        "SBATCH_NETWORK": "network",
        "SBATCH_NO_KILL": "no-kill",
        "SBATCH_NO_REQUEUE": "no-requeue",
        "SBATCH_OPEN_MODE": "open-mode",
        "SBATCH_OVERCOMMIT": "overcommit",
        "SBATCH_PARTITION": "partition",
        "SBATCH_PROFILE": "profile",
        "SBATCH_QOS": "qos",
        "SBATCH_REQ_SWITCH": "req-switch",
        "SBATCH_REQUEUE": "requeue",
        "SBATCH_RESERVATION": "reservation",
        "SBATCH_SEGMENT_SIZE": "segment",
        "SBATCH_SIGNAL": "signal",
        "SBATCH_SPREAD_JOB": "spread-job",
        "SBATCH_SPREAD_SEGMENTS": "spread-segments",
        "SBATCH_THREAD_SPEC": "thread-spec",
        "SBATCH_THREADS_PER_CORE": "threads-per-core",
        "SBATCH_TIMELIMIT": "time",
        "SBATCH_TRES_BIND": "tres-bind",
        "SBATCH_TRES_PER_TASK": "tres-per-task",
        "SBATCH_USE_MIN_NODES": "use-min-nodes",
        "SBATCH_WAIT": "wait",
        "SBATCH_WAIT_ALL_NODES": "wait-all-nodes",
        "SBATCH_WAIT4SWITCH": "wait4switch",
        "SBATCH_WCKEY": "wckey",
        "SBATCH_ERROR": "error",
        "SBATCH_INPUT": "input",
        "SBATCH_OUTPUT": "output",
    }
)
"""Variable to option, in the order in which sbatch reads them, after the script."""

BY_KEY: Final[Mapping[str, Option]] = MappingProxyType({option.key: option for option in reversed(OPTIONS)})
