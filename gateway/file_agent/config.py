"""Settings of the file-agent, from the environment (``SLUICE_FILES_...``)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bridge.wellknown import FILES_SOCKET, HOMES_DIR, SLUICE_UID, USERS_DIR


class Settings(BaseSettings):
    """All of them have defaults that fit the containers."""

    model_config = SettingsConfigDict(env_prefix="SLUICE_FILES_", frozen=True)

    socket: str = FILES_SOCKET
    roots: str = HOMES_DIR
    """Shared folders, separated by colons."""
    users_dir: Path = Path(USERS_DIR)
    deadline_s: Annotated[float, Field(gt=0, le=300)] = 10.0
    client_uid: Annotated[int, Field(ge=0)] = SLUICE_UID
    """The one uid that may ask."""

    @field_validator("roots")
    @classmethod
    def _absolute(cls, value: str) -> str:
        for root in value.split(":"):
            if not root.startswith("/") or ".." in root.split("/") or root.rstrip("/") == "":
                raise ValueError(f"root {root!r} is not an absolute folder below /; write for example /home")
        return value

    @model_validator(mode="after")
    def _different_places(self) -> Self:
        if any(self.socket.startswith(root.rstrip("/") + "/") for root in self.shared_roots):
            raise ValueError("the socket lies inside a shared root; put it elsewhere")
        return self

    @property
    def shared_roots(self) -> tuple[str, ...]:
        """The roots without final slashes."""
        return tuple(root.rstrip("/") for root in self.roots.split(":"))
