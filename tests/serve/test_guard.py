"""Permissions: tokens, hosts, pages of other sites, headers."""

from __future__ import annotations

import pytest

from budgetron.client import Client, ServeError
from budgetron.errors import BudgetronError
from budgetron.serve import Settings, running
from budgetron.serve.guard import Guard
from tests.serve.serving import ask, rings, taught

X, Y = rings(5)
LEARN = {"rows": X.tolist(), "labels": Y}


def test_a_token_is_needed_for_what_changes_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with running({"rings": taught()}, Settings(learn=True, token="kräuter")) as url:
        at = "/v2/models/rings"
        for shown in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Basic kräuter"}):
            latin = {k: v.encode().decode("latin-1") for k, v in shown.items()}
            for path, body in ((f"{at}/learn", LEARN), (f"{at}/file", None)):
                reply = ask(url, path, body, headers=latin)
                assert reply.status == 401
                assert reply.headers["www-authenticate"] == "Bearer"
            kept = ask(url, f"{at}/infer", {"rows": [[0, 0]], "id": "a"}, headers=latin)
            assert kept.status == (401 if shown else 200)
            if not shown:  # it is answered, and not kept
                assert kept.json["parameters"] == {"kept": False}
        assert ask(url, f"{at}/infer", {"rows": [[0, 0]]}).status == 200
        assert ask(url, f"{at}/stats").json["rows"] == 300
        token = "kräuter".encode().decode("latin-1")
        assert Client(url, "rings", token=token).learn(X, Y).learned == 5
        monkeypatch.setenv("BUDGETRON_TOKEN", token)
        assert Client(url, "rings").learn(X, Y).learned == 5
        with pytest.raises(ServeError, match="token is missing or wrong"):
            Client(url, "rings", token="y").learn(X, Y)


def test_the_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def compare(a: bytes, b: bytes) -> bool:
        asked.append((a, b))
        return a == b

    monkeypatch.setattr("budgetron.serve.guard.hmac.compare_digest", compare)
    guard = Guard(Settings(token="secret"))
    guard.check_token({"headers": [(b"authorization", b"Bearer secret")]})
    assert asked == [(b"secret", b"secret")]


def test_learning_beyond_loopback_takes_a_token() -> None:
    for host in ("0.0.0.0", "::"):
        with (
            pytest.raises(BudgetronError, match="needs a secret token"),
            running({"rings": taught()}, Settings(learn=True, host=host)),
        ):
            pass


def test_pages_of_other_sites_are_refused() -> None:
    with running({"rings": taught()}) as url:
        own = {"Origin": url}
        assert ask(url, "/v2/models/rings/learn", LEARN, headers=own).status == 200
        for headers in ({"Origin": "http://example.org"}, {"Host": "example.org"}):
            for path, body in (("/v2/models/rings/learn", LEARN), ("/events", None), ("/", None)):
                assert ask(url, path, body, headers=headers).status == 403, (headers, path)
        simple = {"Content-Type": "text/plain"}  # which a page may send without asking
        assert ask(url, "/v2/models/rings/learn", LEARN, headers=simple).status == 415
        reply = ask(url, "/v2/models/rings/learn", method="OPTIONS", headers=own)
        assert reply.status == 405
        assert not any(name.startswith("access-control") for name in reply.headers)


@pytest.mark.parametrize("path", ["/", "/page.js", "/page.css", "/v2", "/metrics", "/no/such"])
def test_headers_keep_the_page_safe(path: str) -> None:
    with running({"rings": taught(50)}) as url:
        headers = ask(url, path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert "server" not in headers
