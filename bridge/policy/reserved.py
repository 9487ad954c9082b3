"""Users and groups of the system: nobody of a tenant may have their names. Pure.

A member has a group of the same name, so that both are refused.
"""

from __future__ import annotations

from typing import Final

_DEBIAN: Final = (
    *("_apt", "adm", "audio", "backup", "bin", "cdrom", "daemon", "dialout", "dip", "disk", "fax"),
    *("floppy", "games", "gnats", "irc", "kmem", "list", "lp", "mail", "man", "news", "nobody"),
    *("nogroup", "operator", "plugdev", "proxy", "root", "sasl", "shadow", "src", "staff", "sudo"),
    *("sync", "sys", "tape", "tty", "users", "utmp", "uucp", "video", "voice", "www-data"),
)
"""passwd and group of Debian's base-passwd."""

_PACKAGES: Final = (
    *("_ssh", "crontab", "dbus", "docker", "input", "kvm", "libvirt", "lxd", "messagebus", "munge"),
    *("mysql", "netdev", "polkitd", "postfix", "postgres", "rdma", "render", "sgx", "sluice", "slurm"),
    *("slurmrestd", "ssh", "sshd", "tss", "uuidd", "wheel"),
)
"""Those that common packages add, and those of Slurm and Sluice."""

RESERVED_USERS: Final = frozenset((*_DEBIAN, *_PACKAGES))
