"""What is left is the least of what the user, the tenant and those above it have left."""

from bridge.policy.pool import pool_of
from bridge.policy.table import table_of
from bridge.policy.tenant import Tenant
from bridge.slurm.fake import FakeSlurm
from bridge.slurm.port import AssociationUse
from gateway.standing import Amount, accounts_to_ask, standings

GPU = "gres/gpu:h100"
ABOVE = Tenant.model_validate({"name": "science", "flavors": {"h100": {"limit": 8, "guarantee": 4}}})
ASTRO = Tenant.model_validate(
    {
        "name": "astro",
        "parent": "science",
        "members": [{"user": "ada", "role": "manager"}],
        "flavors": {"h100": {"limit": 6, "guarantee": 2}},
        "classes": {"allowed": ["production", "batch"], "default": "batch"},
        "limits": {"max_walltime_min": 90, "max_gpus_per_job": 3},
    }
)
DOCUMENTS = (ABOVE, ASTRO)
FAKE = FakeSlurm()
TABLE = table_of(DOCUMENTS, pool_of(FAKE.nodes(), FAKE.partitions()))
USES = (
    AssociationUse(account="science", limit={GPU: 8}, used={GPU: 7}, submitted_jobs=9, max_submitted_jobs=10),
    AssociationUse(
        account="astro",
        limit={GPU: 6, "node": 4},
        used={GPU: 2, "node": 1},
        running_jobs=2,
        submitted_jobs=3,
        max_submitted_jobs=100,
    ),
    AssociationUse(
        account="astro", user="ada", limit={"cpu": 64}, used={"cpu": 70}, running_jobs=1, submitted_jobs=2
    ),
)


def test_left_counts_the_tenants_above() -> None:
    (astro,) = standings("ada", {"astro": "manager"}, DOCUMENTS, TABLE, USES)
    assert astro.gpus == {"h100": Amount(limit=6, used=2, left=1)}
    assert astro.jobs["submitted"] == Amount(limit=100, used=3, left=1)
    assert astro.jobs["running"] == Amount(limit=None, used=2, left=None)
    assert astro.others["nodes"] == Amount(limit=4, used=1, left=3)
    assert astro.default
    assert (astro.role, astro.default_class, astro.max_gpus_per_job) == ("manager", "batch", 3)
    assert astro.guarantees == {"h100": 2}


def test_classes_have_their_times() -> None:
    (astro,) = standings("ada", {"astro": "manager"}, DOCUMENTS, TABLE, USES)
    assert {rule.name: (rule.default_min, rule.max_min) for rule in astro.classes} == {
        "production": (90, 90),
        "batch": (90, 90),
    }


def test_nothing_is_ever_less_than_nothing_left() -> None:
    (astro,) = standings("ada", {"astro": "manager"}, DOCUMENTS, TABLE, USES)
    assert astro.own["cpus"] == Amount(limit=64, used=70, left=0)
    assert astro.own["submitted"].used == 2


def test_without_slurmctld_the_rest_is_said_all_the_same() -> None:
    (astro,) = standings("ada", {"astro": "manager"}, DOCUMENTS, TABLE, ())
    assert (astro.gpus, astro.jobs, astro.own) == ({}, {}, {})
    assert astro.default_class == "batch"


def test_a_tenant_that_slurm_does_not_know_has_no_amounts_of_those_above_it() -> None:
    (astro,) = standings("ada", {"astro": "manager"}, DOCUMENTS, TABLE, USES[:1])
    assert astro.gpus == {}


def test_accounts_to_ask_are_the_tenants_and_those_above() -> None:
    assert accounts_to_ask(["astro", "unknown"], DOCUMENTS) == ("astro", "science")
    assert accounts_to_ask([], DOCUMENTS) == ()
