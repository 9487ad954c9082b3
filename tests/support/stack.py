"""The running test stack as pytest fixtures: gateway clients, the login node, a tenant of one's own.

`./sluice test` brings the stack up (name in SLUICE_TEST_STACK, ``sluice-test`` when unset); by hand:
``./sluice up --stack sluice-test --no-demo``. Without a running stack a test that asks for one is
skipped with the reason, or fails when SLUICE_TEST_REQUIRED is set, so that CI never skips by mistake.

What doesn't belong here: assertions about the product.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import yaml

from bridge.job import FINISHED
from tests.support.waiting import wait_for

CHECKOUT: Final = Path(__file__).resolve().parents[2]
STACK_NAME: Final = os.environ.get("SLUICE_TEST_STACK", "sluice-test")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command said: exit status and both outputs as text."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def text(self) -> str:
        """Both outputs, for messages."""
        return f"{self.stdout}{self.stderr}"


@dataclass(frozen=True, slots=True)
class LoginNode:
    """A shell of one user on the login node."""

    stack: Stack
    user: str

    def run(
        self, command: str, *, stdin: str | bytes | None = None, check: bool = True, timeout_s: float = 60
    ) -> Ran:
        """Run a shell command as the user in a login shell, in the user's home."""
        as_user = ("login-as", self.user, "bash", "-lc", command)
        return self.stack.exec("login", *as_user, stdin=stdin, check=check, timeout_s=timeout_s)

    def write(self, path: str, content: str | bytes) -> None:
        """Write a file (relative to the home) as the user."""
        self.run(f'mkdir -p "$(dirname "{path}")" && cat > "{path}"', stdin=content)

    def sbatch(self, arguments: str = "", *, script: str | None = None) -> int:
        """Submit by real sbatch (the script on stdin, when given); returns Slurm's number."""
        said = self.run(f"sbatch --parsable {arguments}", stdin=script).stdout
        return int(said.strip().splitlines()[-1].split(";")[0])


@dataclass(frozen=True, slots=True)
class GatewayClient:
    """HTTP as one user: an `httpx.Client` with the user's key, and a few words for jobs."""

    http: httpx.Client
    user: str

    def submit(self, script: str | bytes, *arguments: str, **query: str) -> Json:
        """POST a raw script with sbatch arguments; returns the job, fails the test on a refusal."""
        answer = self.try_submit(script, *arguments, **query)
        assert answer.status_code == 201, answer.text
        job: Json = answer.json()
        return job

    def try_submit(self, script: str | bytes, *arguments: str, **query: str) -> httpx.Response:
        """POST a raw script and return whatever the gateway answers."""
        return self.http.post(
            "/v1/jobs",
            params={"arg": list(arguments), **query},
            content=script,
            headers={"Content-Type": "text/x-shellscript"},
        )

    def job(self, job_id: str | int) -> Json:
        """GET one job."""
        answer = self.http.get(f"/v1/jobs/{job_id}")
        assert answer.status_code == 200, answer.text
        job: Json = answer.json()
        return job

    def ended(self, job_id: str | int, *, deadline_s: float = 90) -> Json:
        """Wait until the job's run is over and return it."""

        def over() -> Json | None:
            answer = self.http.get(f"/v1/jobs/{job_id}")
            if answer.status_code == 404:  # sbatch's job, not mirrored yet
                return None
            assert answer.status_code == 200, answer.text
            job: Json = answer.json()
            done = job["state"] in FINISHED and "COMPLETING" not in job["flags"]
            return job if done else None

        return wait_for(over, f"job {job_id} ended", deadline_s=deadline_s)

    def report(self, **query: str) -> list[Json]:
        """GET the usage report's rows."""
        answer = self.http.get("/v1/reports/usage", params=query)
        assert answer.status_code == 200, answer.text
        rows: list[Json] = answer.json()["rows"]
        return rows


@dataclass(frozen=True, slots=True)
class OwnTenant:
    """A tenant that one test made: its name and the Linux users in it."""

    name: str
    users: tuple[str, ...]
    document: Mapping[str, Any]

    @property
    def user(self) -> str:
        """The first member."""
        return self.users[0]


@dataclass(frozen=True, slots=True)
class Stack:
    """A running stack: where its gateway is and how to run commands in its containers."""

    name: str
    url: str
    _keys: dict[str, str] = field(default_factory=dict, repr=False)

    def container(self, part: str) -> str:
        """The name of a part's container."""
        return f"{self.name}-{part}"

    def exec(
        self,
        part: str,
        *argv: str,
        user: str | None = None,
        stdin: str | bytes | None = None,
        check: bool = True,
        timeout_s: float = 60,
    ) -> Ran:
        """Run a command in a part's container (as root unless `user` says otherwise)."""
        as_user = ["-u", user] if user else ["-u", "0"]
        command = ["docker", "exec", "-i", *as_user, self.container(part), *argv]
        return run(command, stdin=stdin, check=check, timeout_s=timeout_s)

    def logs(self, part: str) -> str:
        """Everything that a part has said."""
        return run(["docker", "logs", self.container(part)]).text

    def python(self, part: str, module: str, *arguments: str, stdin: str | None = None) -> Ran:
        """Run one of our modules in a part's container as the container's own user."""
        argv = ["docker", "exec", "-i", self.container(part), "python", "-m", module, *arguments]
        return run(argv, stdin=stdin, check=False)

    def login_node(self, user: str) -> LoginNode:
        """A shell of `user` on the login node."""
        return LoginNode(self, user)

    def key(self, user: str) -> str:
        """An API key of `user`, made once for this run."""
        if user not in self._keys:
            self.make_keys((user,))
        return self._keys[user]

    def make_keys(self, users: Sequence[str]) -> None:
        """Make a key for each user with one call; a call costs a second or more."""
        named = [word for user in users for word in ("--user", user)]
        made = self.python("gateway", "gateway.keys", "ensure", "--label", f"test-{uuid.uuid4().hex}", *named)
        assert made.returncode == 0, made.text
        self._keys.update(json.loads(made.stdout))

    @contextmanager
    def client(self, user: str) -> Iterator[GatewayClient]:
        """Speak HTTP as `user`."""
        headers = {"Authorization": f"Bearer {self.key(user)}"}
        with httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False) as http:
            yield GatewayClient(http, user)

    @contextmanager
    def administrator(self) -> Iterator[httpx.Client]:
        """Speak HTTP with an administrator's key."""
        made = self.python(
            "gateway", "gateway.keys", "create", "--admin", "--user", "administrator", "--label", "test"
        )
        assert made.returncode == 0, made.text
        headers = {"Authorization": f"Bearer {made.stdout.split()[-1]}"}
        with httpx.Client(base_url=self.url, headers=headers, timeout=60, trust_env=False) as http:
            yield http

    def apply(self, document: Mapping[str, Any]) -> Ran:
        """Apply one tenant document through the bridge; the caller judges the answer."""
        text = yaml.safe_dump(dict(document), sort_keys=False)
        sources = json.dumps([{"file": f"{document['name']}.yaml", "text": text}])
        return self.python("bridge", "bridge.tenants.command", "--wait", "60", "apply", "-", stdin=sources)

    def knows(self, tenant: OwnTenant) -> bool:
        """Whether the gateway has seen that the tenant's members belong to it."""
        for user in tenant.users:
            with self.client(user) as gateway:
                answer = gateway.http.get("/v1/whoami")
            if answer.status_code != 200 or tenant.name not in answer.text:
                return False
        return True

    def remove_tenant(self, name: str) -> None:
        """Cancel the tenant's jobs, wait until they are gone, remove the tenant."""
        self.exec("login", "scancel", f"--account={name}", check=False)
        count = ("squeue", "-h", "-A", name, "-o", "%i")
        wait_for(
            lambda: not self.exec("login", *count, check=False).stdout.strip(),
            f"no job of {name} is left",
        )
        removed = self.python("bridge", "bridge.tenants.command", "--wait", "30", "remove", name)
        assert removed.returncode == 0, removed.text


def run(
    argv: Sequence[str], *, stdin: str | bytes | None = None, check: bool = True, timeout_s: float = 60
) -> Ran:
    """Run a command; with `check` a failure fails the test with both outputs."""
    sent = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        list(argv),
        input=sent if sent is not None else b"",
        capture_output=True,
        timeout=timeout_s,
        check=False,
    )
    ran = Ran(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
    assert not check or ran.returncode == 0, f"{' '.join(argv)} ended with {ran.returncode}:\n{ran.text}"
    return ran


@functools.cache
def find_stack() -> Stack | str:
    """Return the running stack, or the reason why there is none."""
    state = CHECKOUT / ".sluice" / STACK_NAME / "stack.json"
    if not state.exists():
        return f"no stack {STACK_NAME}: ./sluice up --stack {STACK_NAME} --no-demo brings it up"
    url = str(json.loads(state.read_text())["url"])
    try:
        httpx.get(f"{url}/healthz", timeout=5, trust_env=False)
    except httpx.HTTPError as error:
        return f"the gateway of stack {STACK_NAME} does not answer on {url}: {error}"
    return Stack(STACK_NAME, url)


@pytest.fixture(scope="session")
def stack() -> Stack:
    """The running test stack."""
    found = find_stack()
    if isinstance(found, str):
        if os.environ.get("SLUICE_TEST_REQUIRED"):
            pytest.fail(found)
        pytest.skip(found)
    return found


@pytest.fixture
def client(stack: Stack) -> Iterator[Callable[[str], GatewayClient]]:
    """``client("alice")`` speaks HTTP as alice; closed at the end of the test."""
    with ExitStack() as opened:
        yield lambda user: opened.enter_context(stack.client(user))


@pytest.fixture
def make_tenant(stack: Stack) -> Iterator[Callable[..., OwnTenant]]:
    """Make tenants with names of their own, removed at the test's end."""
    with tenant_maker(stack) as make:
        yield make


@contextmanager
def tenant_maker(stack: Stack) -> Iterator[Callable[..., OwnTenant]]:
    """Make tenants with names of their own, removed at the end.

    ``make(members=2, limits={"max_gpus_per_job": 4})``: keywords are keys of the tenant document; `members`
    may be a number (user names are made up) or documents.
    """
    made: list[str] = []

    def make(*, members: int | Sequence[Mapping[str, Any]] = 1, **document: Any) -> OwnTenant:
        tenant = _tenant_document(members, document)
        made.append(tenant.name)
        answer = stack.apply(tenant.document)
        assert answer.returncode == 0, answer.text
        if tenant.users:  # a tenant of groups lists nobody
            stack.make_keys(tenant.users)
        wait_for(lambda: stack.knows(tenant), f"the gateway knows tenant {tenant.name}")
        return tenant

    try:
        yield make
    finally:
        for name in reversed(made):  # a parent after those below it
            stack.remove_tenant(name)


def _tenant_document(members: int | Sequence[Mapping[str, Any]], document: Mapping[str, Any]) -> OwnTenant:
    word = uuid.uuid4().hex[:8]
    name = f"t-{word}"
    people = (
        [{"user": f"t{word}{letter}"} for letter in "abcdefgh"[:members]]
        if isinstance(members, int)
        else [dict(member) for member in members]
    )
    whole = {
        "name": name,
        "members": people,
        "flavors": {"h100": {"limit": 8}, "a100": {"limit": 8}},
        **document,
    }
    return OwnTenant(name, tuple(str(person["user"]) for person in people), whole)


@pytest.fixture
def tenant(make_tenant: Callable[..., OwnTenant]) -> OwnTenant:
    """A plain tenant with two users, for tests that need no special one."""
    return make_tenant(members=2)
