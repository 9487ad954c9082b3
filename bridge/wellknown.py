"""Names that several parts must spell alike: classes, paths inside containers, uids, labels.

Only constants. What a site may change is configuration (`bridge.config`, `gateway.config`).
"""

from __future__ import annotations

from typing import Final

CLASSES: Final = ("production", "training", "development", "batch")
"""The four classes, from the one that is never preempted to the one that is first."""

SHARED_QOS: Final = ("training", "development", "batch")
"""Classes that are one QOS for all tenants; production is one QOS a tenant."""

PRODUCTION_QOS_PREFIX: Final = "production-"

SLURM_UID: Final = 64030
"""uid and gid of SlurmUser; static in Debian's slurm packages."""

SLUICE_UID: Final = 7700
"""uid and gid that gateway and bridge run as; the images create it."""

FIRST_TENANT_UID: Final = 20000
LAST_TENANT_UID: Final = 59999
"""Inclusive range of uids (and equal gids) given to local users; never reused."""

AGENT_SOCKET: Final = "/run/sluice/agent/agent.sock"
BRIDGE_SOCKET: Final = "/run/sluice/bridge/bridge.sock"
FILES_SOCKET: Final = "/run/sluice/files/files.sock"

TENANTS_DIR: Final = "/var/lib/sluice/tenants"
"""Source of the tenant documents (``NAME.yaml``); only the bridge writes it."""

USERS_DIR: Final = "/var/lib/extrausers"
"""passwd, group and shadow of local users (libnss-extrausers); only the bridge writes them."""

SITE_USERS: Final = "site-passwd"
"""In the same folder: members whom the site's own directory knows, in passwd's form."""

POLICY_DIR: Final = "/var/lib/sluice/policy"
"""job_submit.lua and table.lua; slurmctld reads them, only the bridge writes them."""

SAID_DIR: Final = "/var/lib/sluice/said"
"""What job_submit.lua tells the bridge: which table is in force, refusals; only slurmctld writes them."""

GATEWAY_STATE_DIR: Final = "/var/lib/sluice/gateway"
HOMES_DIR: Final = "/home"

ADMIN_COMMENT_PREFIX: Final = "sluice:"
"""admin_comment of a job that came through Sluice: ``sluice:<door>:<intent id>``."""

LABEL_STACK: Final = "sh.sluice.stack"
LABEL_PART: Final = "sh.sluice.part"
LABEL_SPEC: Final = "sh.sluice.spec"
"""Docker labels of everything that `sluice up` makes: stack name, part, hash of its specification."""
