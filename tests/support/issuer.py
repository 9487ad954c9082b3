"""An OIDC issuer for tests: a real HTTP server with keys that can be rotated, taken away, broken.

``issuer.token(sub="ada")`` signs with the newest key. What doesn't belong here: assertions.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

AUDIENCE: Final = "sluice"
DISCOVERY: Final = "/.well-known/openid-configuration"
JWKS: Final = "/keys"
Key = Any


@cache
def spare_key(kind: str, number: int) -> Key:
    """Return a private key; the same number gives the same key, since making one costs much."""
    del number
    match kind:
        case "RS256":
            return rsa.generate_private_key(65537, 2048)
        case "ES256":
            return ec.generate_private_key(ec.SECP256R1())
        case _:
            return ed25519.Ed25519PrivateKey.generate()


@dataclass
class Issuer:
    """A running issuer."""

    url: str
    keys: dict[str, tuple[str, Key]] = field(default_factory=dict)
    """Key id to algorithm and private key; all of them are published."""
    more: list[Mapping[str, Any]] = field(default_factory=list)
    """Other entries of the key set, as they are."""
    asked: Counter[str] = field(default_factory=Counter)
    down: bool = False
    """Whether it answers 503 to everything."""
    answers: dict[str, bytes] = field(default_factory=dict)
    """Path to a body that is sent instead of the right one."""
    slow_s: float = 0.0

    def rotate(self, key_id: str, algorithm: str = "RS256", *, keep: bool = True) -> None:
        """Publish a new key, which signs from now on; without `keep` the others are taken away."""
        if not keep:
            self.keys.clear()
        self.keys[key_id] = (algorithm, spare_key(algorithm, len(self.keys)))

    def token(
        self,
        *,
        key: Key = None,
        algorithm: str | None = None,
        headers: Mapping[str, Any] | None = None,
        without: tuple[str, ...] = (),
        **claims: Any,
    ) -> str:
        """Sign a token; a claim that is given replaces the usual one."""
        key_id = next(reversed(self.keys))
        own_algorithm, own = self.keys[key_id]
        now = int(time.time())
        whole = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "subject-1",
            "iat": now,
            "exp": now + 300,
            **claims,
        }
        return jwt.encode(
            {name: value for name, value in whole.items() if name not in without},
            own if key is None else key,
            algorithm=algorithm or own_algorithm,
            headers={"kid": key_id, **(headers or {})},
        )

    def key_set(self) -> dict[str, Any]:
        """Return what is published."""
        listed = [_public(key_id, algorithm, key) for key_id, (algorithm, key) in self.keys.items()]
        return {"keys": [*listed, *self.more]}

    def body(self, path: str) -> bytes | None:
        """Return the answer to a path; None is 404."""
        if path in self.answers:
            return self.answers[path]
        match path:
            case "/.well-known/openid-configuration":
                return json.dumps({"issuer": self.url, "jwks_uri": f"{self.url}{JWKS}"}).encode()
            case "/keys":
                return json.dumps(self.key_set()).encode()
            case _:
                return None


def _public(key_id: str, algorithm: str, key: Key) -> dict[str, Any]:
    public: Any = key.public_key()
    kinds: Mapping[str, Any] = {"RS256": jwt.algorithms.RSAAlgorithm, "ES256": jwt.algorithms.ECAlgorithm}
    kind = kinds.get(algorithm, jwt.algorithms.OKPAlgorithm)
    return {**kind.to_jwk(public, as_dict=True), "kid": key_id, "alg": algorithm, "use": "sig"}


@contextmanager
def running_issuer(*, host: str = "127.0.0.1", name: str | None = None) -> Iterator[Issuer]:
    """Run an issuer that has one key; `name` is the host in its address, for clients elsewhere."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked[self.path] += 1
            time.sleep(issuer.slow_s)  # what is tested is a server that is slow
            body = None if issuer.down else issuer.body(self.path)
            self.send_response(503 if issuer.down else 404 if body is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, format: str, *arguments: Any) -> None:
            del format, arguments

    server = ThreadingHTTPServer((host, 0), Handler)
    server.daemon_threads = True
    issuer = Issuer(f"http://{name or host}:{server.server_port}")
    issuer.rotate("first")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
