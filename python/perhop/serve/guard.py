"""Access: loopback names, a token, forms of our own; and a strict policy in every answer."""

from __future__ import annotations

import asyncio
import re
import secrets
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perhop.serve.connections import SILENT_S

HOST = "127.0.0.1"
"""Where it listens."""

_LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)
_LARGEST_BODY = 1_000_000
_CLOSED = (
    "This address opens with the link that `perhop serve` printed; it works once. For a new one press Enter "
    "where it runs, or `Link for another browser` on its first page."
)
_TOO_MUCH = "That is too much."
_SAFE = ("GET", "HEAD")

_ALWAYS = {
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def policy(nonce: str) -> str:
    """Return the Content-Security-Policy of the server's own pages."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )


class Guard:
    """ASGI middleware that lets requests through with the token, from a page of this server.

    Its cookie is called by the port, as browsers send cookies to every port.
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._port = port
        self._cookie = f"perhop-{port}"
        self._secret = secrets.token_urlsafe(32)
        self.token: str | None = None
        """What opens the server once; None when it has."""

    def link(self) -> str:
        """Return a new link, which opens the server once, in any browser; an older one opens it no more."""
        self.token = secrets.token_urlsafe(32)
        return f"http://{HOST}:{self._port}/?token={self.token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on with a nonce for the page that it gets."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {})["nonce"] = nonce
        headers = _headers(scope)
        refused = _refused(scope, headers)
        if refused is None and not self._has_cookie(headers.get("cookie", "")):
            if self._opens(scope):
                cookie = f"{self._cookie}={self._secret}; HttpOnly; SameSite=Strict; Path=/"
                opened = PlainTextResponse("", 303, {"location": "/", "set-cookie": cookie})
                await opened(scope, receive, _with_headers(send))
                return
            refused = 403, _CLOSED
        if refused is not None:
            status, text = refused
            await PlainTextResponse(text, status)(scope, receive, _with_headers(send))
            return
        await self._app(scope, _bounded(receive), _with_headers(send))

    def _has_cookie(self, text: str) -> bool:
        pairs = [pair.strip().partition("=") for pair in text.split(";")]
        given = [value for name, _, value in pairs if name == self._cookie]
        return any(secrets.compare_digest(one.encode(), self._secret.encode()) for one in given)

    def _opens(self, scope: Scope) -> bool:
        """Return whether a request has the token, which then has done its work."""
        if scope["path"] != "/" or scope["method"] != "GET" or self.token is None:
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return False
        self.token = None
        return True


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers; of one that comes twice, both, so that neither is overlooked."""
    given = Headers(scope=scope)
    return {name: "; ".join(given.getlist(name)) for name in given}


def _refused(scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
    """Return why a request is answered to nobody, whatever token it has."""
    host = headers.get("host", "")
    if not _LOOPBACK.fullmatch(host):
        return 421, "The address is not one of this machine: open 127.0.0.1 or localhost."
    if scope["method"] not in (*_SAFE, "POST"):
        return 405, "Only GET, HEAD and POST are answered."
    own = f"http://{host}"
    if scope["method"] not in _SAFE and headers.get("origin") != own:
        return 403, "This did not come from a page of this server."
    site, mode = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode", "")
    if site not in ("none", "same-origin") and mode != "navigate":
        return 403, "Pages of others may lead here and nothing else."
    length = headers.get("content-length", "0")
    return None if length.isdigit() and int(length) <= _LARGEST_BODY else (413, _TOO_MUCH)


def _bounded(receive: Receive) -> Receive:
    """Refuse requests larger than ever needed, announced or not, or silent within a body."""
    left, whole = _LARGEST_BODY, False

    async def bounded() -> Message:
        nonlocal left, whole
        try:
            # after the body what comes is the end of the connection, for which pages wait
            message = await (receive() if whole else asyncio.wait_for(receive(), SILENT_S))
        except TimeoutError:
            raise HTTPException(408, "The rest of it never came.") from None
        left -= len(message.get("body", b""))
        whole = not message.get("more_body", False)
        if left < 0:
            raise HTTPException(413, _TOO_MUCH)
        return message

    return bounded


def _with_headers(send: Send) -> Send:
    """Put security headers into every answer; without a policy of its own a page may do nothing."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _ALWAYS.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
