"""A bridge's tenants on the fake Slurm, in a temporary folder."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from bridge.policy.pool import Pool, pool_of
from bridge.policy.script import script_text
from bridge.slurm.fake import FakeSlurm
from bridge.tenants.flow import Tenants
from bridge.tenants.policy_files import PolicyFiles
from bridge.tenants.source import Folder, Text
from bridge.tenants.users import UserFiles

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "tenants"
SCRIPT = script_text()
MOMENT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def examples() -> list[Text]:
    return [Text(path.name, path.read_text()) for path in sorted(EXAMPLES.glob("*.yaml"))]


def document(name: str, *members: str, **more: str) -> Text:
    lines = [
        f"name: {name}",
        f"members: [{', '.join(f'{{user: {user}}}' for user in members)}]",
        "flavors: {h100: {limit: 2}}" if "flavors" not in more else "",
        *(f"{key}: {value}" for key, value in more.items()),
    ]
    return Text(f"{name}.yaml", "\n".join(filter(None, lines)) + "\n")


class Site:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.slurm = FakeSlurm(clock=lambda: MOMENT)
        self.policy = PolicyFiles(folder=root / "policy", script=SCRIPT)
        self.tenants = self.restarted()

    def restarted(self) -> Tenants:
        return Tenants(
            slurm=self.slurm,
            folder=Folder(self.root / "tenants"),
            users=UserFiles(tenants_dir=self.root / "tenants", users_dir=self.root / "users"),
            policy=self.policy,
            clock=lambda: MOMENT,
        )

    def pool(self) -> Pool:
        return pool_of(self.slurm.nodes(), self.slurm.partitions())

    def apply(self, *texts: Text, prune: bool = False) -> list[str]:
        actions = self.tenants.apply(texts, actor="test", prune=prune)
        # As on a real host: slurmctld knows the users as soon as the files are there.
        for line in (self.root / "users" / "passwd").read_text().splitlines():
            self.slurm.add_user(line.split(":")[0], int(line.split(":")[2]))
        return [f"{action.verb} {action.kind} {action.name}" for action in actions]
