"""Tokens of OIDC issuers, over HTTP: a real issuer on the loopback, the gateway's whole application."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
import yaml
from cryptography.hazmat.primitives import serialization

from bridge.policy.tenant import Tenant
from tests.component.gateway.conftest import World, WorldMaker
from tests.component.gateway.conftest import world as world  # noqa: PLC0414 - a fixture
from tests.component.gateway.rig import SCRIPT, until
from tests.support.issuer import AUDIENCE, DISCOVERY, JWKS, Issuer, running_issuer, spare_key

SUBJECT = "subject-1"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with running_issuer() as found:
        yield found


@pytest.fixture
def other() -> Iterator[Issuer]:
    with running_issuer() as found:
        yield found


Story = Callable[[World], Coroutine[Any, Any, None]]
Tell = Callable[..., None]


@pytest.fixture
def tell(world: WorldMaker, issuer: Issuer, tmp_path: Path) -> Tell:
    """Run a story in a gateway that knows the issuer."""

    def run(story: Story, *others: dict[str, Any], **settings: Any) -> None:
        plain = {"issuer": issuer.url, "audience": [AUDIENCE], "keys_pause_s": 3600, "leeway_s": 5}
        site = {"oidc": {"issuers": [{**plain, **settings}, *others]}}
        (tmp_path / "site.yaml").write_text(yaml.safe_dump(site))

        async def told() -> None:
            async with world(site_file=tmp_path / "site.yaml") as w:
                await story(w)

        asyncio.run(told())

    return run


async def ask(w: World, token: str, path: str = "/v1/whoami") -> httpx.Response:
    return await w.anonymous.get(path, headers={"Authorization": f"Bearer {token}"})


async def person(w: World, token: str) -> dict[str, Any]:
    answer = await ask(w, token)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def refused(w: World, token: str, status: int = 401) -> str:
    answer = await ask(w, token)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert not any(part and len(part) > 12 and part in answer.text for part in token.split("."))
    return str(answer.json()["detail"])


async def documents(w: World, *changes: dict[str, Any]) -> None:
    tenants = [tenant.model_dump(mode="json") for tenant in w.tenants.tenants]
    w.tenants.tenants = (
        tuple(
            Tenant.model_validate(tenant | change) for tenant, change in zip(tenants, changes, strict=False)
        )
        + w.tenants.tenants[len(changes) :]
    )
    await w.parts.directory.refresh()


def bela_is(subject: str, issuer: str | None = None) -> dict[str, Any]:
    return {
        "members": [
            {"user": "ada", "role": "manager"},
            {"user": "bela", "subject": subject, "issuer": issuer},
        ]
    }


def test_a_subject_that_a_document_names_is_that_member(tell: Tell, issuer: Issuer) -> None:
    async def story(w: World) -> None:
        await documents(w, bela_is(SUBJECT))
        me = await person(w, issuer.token())
        assert (me["user"], me["default_tenant"], me["admin"]) == ("bela", "astro", False)
        assert me["credential"] == f"token {SUBJECT} of {issuer.url}"
        assert issuer.asked[JWKS] == 1
        await person(w, issuer.token(jti="again"))
        assert issuer.asked[JWKS] == 1, "the keys are kept"
        assert "another" in await refused(w, issuer.token(sub="another"), 403)

    tell(story)


def test_a_token_submits_and_the_audit_log_names_it(tell: Tell, issuer: Issuer) -> None:
    async def story(w: World) -> None:
        await documents(w, bela_is(SUBJECT))
        headers = {"Authorization": f"Bearer {issuer.token()}"}
        made = await w.anonymous.post("/v1/jobs", json={"script": SCRIPT.decode()}, headers=headers)
        assert (made.status_code, made.json()["user"]) == (201, "bela")
        (entry,) = (await w.bela.get("/v1/audit")).json()["items"]
        assert (entry["action"], entry["actor"]) == ("job.submit", f"token {SUBJECT} of {issuer.url}")

    tell(story)


USER = {"claim": "email", "pattern": r"(?P<first>[a-z]+)@example\.org", "template": "{first}"}


def test_a_claim_becomes_a_user_only_when_it_matches_whole(tell: Tell, issuer: Issuer) -> None:
    async def story(w: World) -> None:
        claims: dict[str, Any] = {"email": "bela@example.org", "email_verified": True}
        assert (await person(w, issuer.token(**claims)))["user"] == "bela"
        wishes: tuple[dict[str, Any], ...] = (
            {"email": "bela@example.org"},
            {"email": "bela@example.org", "email_verified": "true"},
            {"email": "bela@example.org.evil.net", "email_verified": True},
            {"email": "x\nbela@example.org", "email_verified": True},
            {"email": "root@example.org", "email_verified": True},
            {"email": "slurm@example.org", "email_verified": True},
            {"email": ["bela@example.org"], "email_verified": True},
            {"email": "a" * 10_000 + "@example.org", "email_verified": True},
            {},
        )
        for wrong in wishes:
            await refused(w, issuer.token(**wrong), 403)

    tell(story, user=USER)


def test_groups_give_roles_and_administrators(tell: Tell, issuer: Issuer) -> None:
    async def story(w: World) -> None:
        claims: dict[str, Any] = {"preferred_username": "zoe"}
        bare = await person(w, issuer.token(**claims))
        assert bare["tenants"] == []
        lead = await person(w, issuer.token(**claims, realm={"roles": ["astro-leads", "staff", 7]}))
        assert [(t["name"], t["role"]) for t in lead["tenants"]] == [("astro", "manager")]
        assert not lead["admin"]
        boss = await person(w, issuer.token(**claims, realm={"roles": ["bosses"]}))
        assert boss["admin"]
        assert (await ask(w, issuer.token(**claims, realm={"roles": ["bosses"]}), "/v1/tenants")).json()[
            "items"
        ]
        for odd in ("bosses-not", ["Bosses"], {"bosses": True}, None, 7):
            assert not (await person(w, issuer.token(**claims, realm={"roles": odd})))["admin"]

    groups = {
        "claim": "realm.roles",
        "roles": [
            {"group": "staff", "tenant": "astro"},
            {"group": "astro-leads", "tenant": "astro", "role": "manager"},
            {"group": "staff", "tenant": "no-such-tenant"},
        ],
        "administrators": ["bosses"],
    }
    tell(story, user={}, groups=groups)


def _b64(value: object) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def forged(issuer: Issuer) -> dict[str, str]:
    """Tokens that must not be believed, by what is wrong with them."""
    now = int(time.time())
    _algorithm, key = issuer.keys["first"]
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    claims = {"iss": issuer.url, "aud": AUDIENCE, "sub": SUBJECT, "exp": now + 300}
    good = issuer.token()
    head, body, signature = good.split(".")
    another = spare_key("RS256", 99)
    embedded = jwt.algorithms.RSAAlgorithm.to_jwk(another.public_key(), as_dict=True)

    def hmac_signed(algorithm: str, secret: bytes) -> str:
        # By hand: the library itself refuses a public key as a secret.
        import hashlib
        import hmac

        text = f"{_b64({'alg': algorithm, 'kid': 'first'})}.{_b64(claims)}"
        digest = {"HS256": hashlib.sha256, "HS512": hashlib.sha512}[algorithm]
        return f"{text}.{_b64(hmac.new(secret, text.encode(), digest).digest())}"

    return {
        "wrong audience": issuer.token(aud="another"),
        "no audience": issuer.token(without=("aud",)),
        "expired": issuer.token(exp=now - 60),
        "no end": issuer.token(without=("exp",)),
        "not yet": issuer.token(nbf=now + 600),
        "issued in the future": issuer.token(iat=now + 600),
        "no subject": issuer.token(without=("sub",)),
        "empty subject": issuer.token(sub=""),
        "another issuer": issuer.token(iss="https://login.example.org"),
        "another issuer's slash": issuer.token(iss=f"{issuer.url}/"),
        "no issuer": issuer.token(without=("iss",)),
        "signed by somebody else": issuer.token(key=another),
        "unknown key": issuer.token(key=another, headers={"kid": "unknown"}),
        "key in the token": issuer.token(key=another, headers={"jwk": embedded}),
        "key elsewhere": issuer.token(key=another, headers={"jku": "http://127.0.0.1:1/keys"}),
        "unknown crit": issuer.token(headers={"crit": ["x"], "x": 1}),
        "none": f"{_b64({'alg': 'none', 'kid': 'first'})}.{_b64(claims)}.",
        "None": f"{_b64({'alg': 'None'})}.{_b64(claims)}.",
        "public key as secret": hmac_signed("HS256", public),
        "published secret": hmac_signed("HS256", b"published-secret-published-secret"),
        "HS512": hmac_signed("HS512", public),
        "another curve": issuer.token(key=spare_key("ES256", 1), algorithm="ES256"),
        "not in the list": issuer.token(algorithm="RS512"),
        "no signature": f"{head}.{body}.",
        "changed body": f"{head}.{_b64({**claims, 'sub': 'subject-2'})}.{signature}",
        "no JSON": f"{_b64(b'x')}.{_b64(b'y')}.{_b64(b'z')}",
        "a list": f"{head}.{_b64([1])}.{signature}",
        "huge": issuer.token(blob="x" * 100_000),
        "deep": f"{head}.{_b64(b'[' * 5000)}.{signature}",
        "words": "a.b.c",
        "binary": "\x7f.\x7f.\x7f",
    }


def test_no_forged_token_is_believed(tell: Tell, issuer: Issuer) -> None:
    issuer.more.append({"kty": "oct", "kid": "secret", "k": _b64(b"published-secret-published-secret")})

    async def story(w: World) -> None:
        await documents(w, bela_is(SUBJECT))
        await person(w, issuer.token())
        for what, token in forged(issuer).items():
            answer = await ask(w, token)
            assert answer.status_code == 401, (what, answer.text)
        await person(w, issuer.token())
        assert issuer.asked[JWKS] <= 2, "nobody makes the gateway ask the issuer again and again"

    tell(story)


@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA"])
def test_other_kinds_of_keys_work(tell: Tell, issuer: Issuer, algorithm: str) -> None:
    issuer.rotate("second", algorithm)

    async def story(w: World) -> None:
        await documents(w, bela_is(SUBJECT))
        assert (await person(w, issuer.token()))["user"] == "bela"

    tell(story)


def test_clocks_may_differ_a_little(tell: Tell, issuer: Issuer) -> None:
    async def story(w: World) -> None:
        await documents(w, bela_is(SUBJECT))
        now = int(time.time())
        await person(w, issuer.token(exp=now - 60, iat=now + 60, nbf=now + 60))

    tell(story, leeway_s=120)


def test_a_new_key_is_found_and_an_old_one_ends(tell: Tell, issuer: Issuer) -> None:
    async def story(w: World) -> None:
        await documents(w, bela_is(SUBJECT))
        old = issuer.token()
        await person(w, old)
        issuer.rotate("second", keep=False)
        await person(w, issuer.token())
        assert "does not publish" in await refused(w, old)

    tell(story, keys_pause_s=0.001)


def test_unknown_keys_make_one_request_in_a_while(tell: Tell, issuer: Issuer) -> None:
    async def story(w: World) -> None:
        await documents(w, bela_is(SUBJECT))
        await person(w, issuer.token())
        strange = [issuer.token(headers={"kid": f"strange-{number}"}) for number in range(50)]
        answers = await asyncio.gather(*(ask(w, token) for token in strange))
        assert {answer.status_code for answer in answers} == {401}
        assert issuer.asked[JWKS] == 1, "the pause after the first reading is not over"

    tell(story)


def test_the_last_good_keys_stay_while_the_issuer_is_away(tell: Tell, issuer: Issuer) -> None:
    async def story(w: World) -> None:
        await documents(w, bela_is(SUBJECT))
        await person(w, issuer.token())
        for body in (None, b"", b"[]", b'{"keys": 1}', b'{"keys": []}', b"<html>", b"x" * 2_000_000):
            issuer.down = body is None
            issuer.answers = {} if body is None else {JWKS: body}
            before = issuer.asked.total()

            async def asked_again(before: int = before) -> bool:
                await person(w, issuer.token())
                return issuer.asked.total() >= before + 2

            await until(asked_again)

    tell(story, keys_fresh_s=0.001, keys_pause_s=0.001)


def test_an_issuer_that_was_never_reached_is_said_and_found_later(tell: Tell, issuer: Issuer) -> None:
    issuer.down = True

    async def story(w: World) -> None:
        await documents(w, bela_is(SUBJECT))
        answer = await ask(w, issuer.token())
        assert answer.status_code == 503, answer.text
        assert int(answer.headers["retry-after"]) >= 0
        assert (await w.bela.get("/v1/whoami")).status_code == 200, "keys of our own need no issuer"
        issuer.down = False
        await person(w, issuer.token())

    tell(story, keys_pause_s=0.001)


def test_a_slow_issuer_holds_up_nobody_else(tell: Tell, issuer: Issuer) -> None:
    issuer.slow_s = 3.0

    async def story(w: World) -> None:
        await documents(w, bela_is(SUBJECT))
        slow = asyncio.create_task(ask(w, issuer.token()))
        assert (await w.bela.get("/v1/whoami")).status_code == 200
        assert not slow.done()
        assert (await slow).status_code == 503

    tell(story, timeout_s=0.5)


@pytest.mark.parametrize(
    "discovery",
    [
        {"issuer": "https://login.example.org", "jwks_uri": "http://127.0.0.1:9/keys"},
        {"issuer": "ISSUER", "jwks_uri": "http://example.org/keys"},
        {"issuer": "ISSUER"},
        {"issuer": "ISSUER", "jwks_uri": ["x"]},
    ],
)
def test_a_discovery_document_that_can_not_be_right_is_not_used(
    tell: Tell, issuer: Issuer, discovery: dict[str, Any]
) -> None:
    body = json.dumps(discovery).replace("ISSUER", issuer.url)
    issuer.answers[DISCOVERY] = body.encode()

    async def story(w: World) -> None:
        assert (await ask(w, issuer.token())).status_code == 503

    tell(story)


def services(issuer: Issuer, user: str = "bela") -> dict[str, Any]:
    return {"services": [{"kubernetes": "prod:runner", "issuer": issuer.url, "user": user}]}


def test_a_service_account_reaches_its_tenant_alone(tell: Tell, issuer: Issuer) -> None:
    async def story(w: World) -> None:
        both = {"members": [{"user": "chen"}, {"user": "bela"}]}
        await documents(w, services(issuer), both)
        w.slurm.add_tenant("genomics", users=("bela",))
        token = issuer.token(sub="system:serviceaccount:prod:runner")
        me = await person(w, token)
        assert (me["user"], [tenant["name"] for tenant in me["tenants"]]) == ("bela", ["astro"])
        headers = {"Authorization": f"Bearer {token}"}
        body = {"script": SCRIPT.decode(), "tenant": "genomics"}
        answer = await w.anonymous.post("/v1/jobs", json=body, headers=headers)
        assert (answer.status_code, "limited to astro" in answer.text) == (403, True)
        made = await w.anonymous.post("/v1/jobs", json=body | {"tenant": "astro"}, headers=headers)
        assert made.status_code == 201, made.text
        await refused(w, issuer.token(sub="system:serviceaccount:prod:another"), 403)
        key = await w.anonymous.post("/v1/keys", json={"scopes": ["read"]}, headers=headers)
        assert key.json()["scopes"] == ["read", "tenant=astro"]

    tell(story)


def test_an_issuer_can_not_speak_for_another_ones_subjects(tell: Tell, issuer: Issuer, other: Issuer) -> None:
    async def story(w: World) -> None:
        await documents(w, bela_is(SUBJECT, issuer.url), services(issuer, "chen"))
        assert (await person(w, issuer.token()))["user"] == "bela"
        await refused(w, other.token(), 403)
        await refused(w, other.token(sub="system:serviceaccount:prod:runner"), 403)
        other.keys["own"] = ("RS256", spare_key("RS256", 98))
        await refused(w, issuer.token(key=other.keys["own"][1], headers={"kid": "own"}))
        await documents(w, bela_is(SUBJECT))
        await refused(w, other.token(), 403)
        await refused(w, issuer.token(), 403)

    tell(story, {"issuer": other.url, "audience": [AUDIENCE], "keys_pause_s": 0.001})


def test_a_subject_of_two_users_is_nobodys(tell: Tell, issuer: Issuer) -> None:
    async def story(w: World) -> None:
        await documents(w, bela_is(SUBJECT), {"members": [{"user": "chen", "subject": SUBJECT}]})
        assert "several users" in await refused(w, issuer.token(), 403)

    tell(story)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"algorithms": ["HS256"]}, "algorithms"),
        ({"algorithms": ["none"]}, "algorithms"),
        ({"algorithms": []}, "algorithms"),
        ({"audience": []}, "audience"),
        ({"jwks_url": "http://keys.example.org/x"}, "not https"),
        ({"jwks_url": "file:///etc/passwd"}, "address"),
        ({"user": {"template": "{2}"}}, "no group"),
        ({"user": {"pattern": "("}}, "regular expression"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_settings_that_are_not_safe_or_make_no_sense_are_refused_at_the_start(
    tell: Tell, wrong: dict[str, Any], word: str
) -> None:
    async def story(w: World) -> None:
        raise AssertionError(w)

    with pytest.raises(Exception, match=word):
        tell(story, **wrong)
