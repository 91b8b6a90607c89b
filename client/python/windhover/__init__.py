"""A client of the Windhover API:

    with Windhover("http://localhost:8080", api_key="wh_…") as windhover:
        started = windhover.start_process(source_uuid=source_uuid)

`AsyncWindhover` has the same methods for `await`.
"""

from __future__ import annotations

from types import TracebackType

from .live import read_messages, read_messages_async
from .operations import API_VERSION, AsyncOperations, Operations
from .transport import Answer, ApiError, ApiKey, AsyncTransport, Fault, Form, LIMIT_SECONDS, Transport
from .webhooks import is_from_windhover

__all__ = [
    "API_VERSION",
    "Answer",
    "ApiError",
    "AsyncWindhover",
    "Fault",
    "Form",
    "Windhover",
    "is_from_windhover",
    "read_messages",
    "read_messages_async",
]


class Windhover(Operations):
    def __init__(self, url: str, api_key: ApiKey = None, *, timeout: float = LIMIT_SECONDS) -> None:
        self._transport = Transport(url, api_key, timeout)
        super().__init__(self._transport.send)

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Windhover:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncWindhover(AsyncOperations):
    def __init__(self, url: str, api_key: ApiKey = None, *, timeout: float = LIMIT_SECONDS) -> None:
        self._transport = AsyncTransport(url, api_key, timeout)
        super().__init__(self._transport.send)

    async def aclose(self) -> None:
        await self._transport.aclose()

    async def __aenter__(self) -> AsyncWindhover:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
