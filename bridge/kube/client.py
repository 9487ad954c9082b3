"""The port over a real API server. The only module that imports `kubernetes`.

Configuration is the usual one: a pod's ServiceAccount, else KUBECONFIG. Calls are plain REST with JSON;
errors become `bridge.errors` here, by HTTP status.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import urllib3
from kubernetes import client, config
from kubernetes.config.config_exception import ConfigException

from bridge.errors import Conflict, Denied, InputError, NotFound, Outdated, SluiceError, Unavailable
from bridge.kube.kinds import Kind, Object

PART: Final = "kube-apiserver"
PAGE: Final = 500
"""Objects in one answer of a listing."""
TIMEOUT_S: Final = 15.0
_FIRST_ERROR: Final = 400
_GONE: Final = 410
_CONFLICT: Final = 409
_OVERLOADED: Final = frozenset({429, 500, 502, 503, 504})


class KubeClient:
    """A `bridge.kube.port.Cluster`; thread-safe."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api

    def list(self, kind: Kind, *, namespace: str = "", selector: str = "") -> Sequence[Object]:
        """See the port; pages are read to the end."""
        found: list[Object] = []
        query: dict[str, str] = {"limit": str(PAGE)}
        if selector:
            query["labelSelector"] = selector
        while True:
            page = self._ask("GET", kind.path(namespace), query=query)
            found.extend(page.get("items") or [])
            following = (page.get("metadata") or {}).get("continue")
            if not following:
                return found
            query["continue"] = following

    def get(self, kind: Kind, name: str, *, namespace: str = "") -> Object | None:
        """See the port."""
        try:
            return self._ask("GET", kind.path(namespace, name))
        except NotFound:
            return None

    def create(self, kind: Kind, item: Object, *, namespace: str = "") -> Object:
        """See the port."""
        return self._ask("POST", kind.path(namespace), body=_complete(kind, item))

    def replace(self, kind: Kind, item: Object, *, namespace: str = "", subresource: str = "") -> Object:
        """See the port."""
        whole = _complete(kind, item)
        path = kind.path(namespace, str(whole["metadata"]["name"]), subresource)
        return self._ask("PUT", path, body=whole)

    def patch(
        self, kind: Kind, name: str, change: Object, *, namespace: str = "", subresource: str = ""
    ) -> Object:
        """See the port."""
        path = kind.path(namespace, name, subresource)
        return self._ask("PATCH", path, body=dict(change), content="application/merge-patch+json")

    def delete(self, kind: Kind, name: str, *, namespace: str = "") -> bool:
        """See the port."""
        try:
            self._ask("DELETE", kind.path(namespace, name))
        except NotFound:
            return False
        return True

    def watch(self, kind: Kind, *, selector: str = "", seconds: int = 60) -> Iterator[Object]:
        """See the port; bookmarks are swallowed, an ERROR event ends it."""
        listed = self._ask("GET", kind.path(), query={"limit": "1", "labelSelector": selector})
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(seconds),
            "labelSelector": selector,
            "resourceVersion": str(listed["metadata"]["resourceVersion"]),
        }
        answer = self._send("GET", kind.path(), query=query, timeout_s=seconds + TIMEOUT_S)
        try:
            for line in _lines(answer):
                event = json.loads(line)
                if event.get("type") == "ERROR":
                    return
                if event.get("type") != "BOOKMARK":
                    yield event["object"]
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise Unavailable(f"the watch of {kind.plural} broke off ({error})", part=PART) from error
        finally:
            answer.release_conn()

    def _ask(self, method: str, path: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - `_send`'s
        answer = self._send(method, path, **more)
        try:
            whole: dict[str, Any] = json.loads(answer.read())
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise Unavailable(f"the API server's answer broke off ({error})", part=PART) from error
        finally:
            answer.release_conn()
        return whole

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        content: str = "application/json",
        timeout_s: float = TIMEOUT_S,
    ) -> urllib3.BaseHTTPResponse:
        settings = self._api.configuration
        headers = {"Accept": "application/json", "Content-Type": content}
        token = settings.get_api_key_with_prefix("BearerToken")  # read again when the kubelet renews it
        if token:
            headers["Authorization"] = token
        try:
            answer: urllib3.BaseHTTPResponse = self._api.rest_client.pool_manager.request(
                method,
                f"{settings.host}{path}" + (f"?{urlencode(query)}" if query else ""),
                body=None if body is None else json.dumps(body).encode(),
                headers=headers,
                timeout=timeout_s,
                retries=False,
                preload_content=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise Unavailable(f"the API server does not answer ({error})", part=PART) from error
        if answer.status >= _FIRST_ERROR:
            raise _error(answer, f"{method} {path}")
        return answer


def connect() -> KubeClient:
    """Connect by the pod's ServiceAccount, else by KUBECONFIG; raises `InputError` without either."""
    try:
        config.load_incluster_config()  # type: ignore[no-untyped-call]
    except ConfigException:
        try:
            config.load_kube_config()  # type: ignore[no-untyped-call]
        except ConfigException as error:
            raise InputError(
                "no Kubernetes cluster is known here: run in a pod with a ServiceAccount, or set KUBECONFIG"
            ) from error
    return KubeClient(client.ApiClient())


def _complete(kind: Kind, item: Object) -> dict[str, Any]:
    return {"apiVersion": kind.api_version, "kind": kind.kind, **item}


def _lines(answer: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    for chunk in answer.stream(1 << 16, decode_content=False):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line for line in whole if line)


def _error(answer: urllib3.BaseHTTPResponse, what: str) -> SluiceError:
    status, words = answer.status, _words(answer)
    if status in _OVERLOADED:
        return Unavailable(f"the API server can't do {what} now: {words}", part=PART)
    if status in (401, 403):
        return Denied(f"the API server refuses {what}: {words}")
    if status in (404, _GONE):
        return NotFound(f"{what}: {words}")
    if status == _CONFLICT:
        return Conflict(words) if what.startswith("POST") else Outdated(words)
    return InputError(f"the API server refuses {what}: {words}", status=status)


def _words(answer: urllib3.BaseHTTPResponse) -> str:
    try:
        return str(json.loads(answer.read())["message"])
    except (ValueError, KeyError, TypeError, urllib3.exceptions.HTTPError):
        return f"{answer.status} {answer.reason}"
    finally:
        answer.release_conn()
