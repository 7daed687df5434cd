"""Draw points in a page and see the boundary: Python learns, the page predicts by itself.

    python examples/draw/draw.py            then open the address it prints

The page sends all points whenever one is drawn. A Budgetron learns them and is returned as JSON
(`budgetron.export.to_json`); the page colours the plane with budgetron.js, without another request.
"""

from __future__ import annotations

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

from budgetron import BudgetronClassifier
from budgetron.errors import BudgetronError
from budgetron.export import to_json
from budgetron.export.json_text import javascript

PAGE = Path(__file__).with_name("draw.html")
MOST = 1_000_000  # limit of a request in bytes


def learned(points: list[list[float]], budget: int) -> str:
    """Learn points (x, y, class); return the model as JSON text."""
    table = np.array(points, dtype=np.float64).reshape(-1, 3)
    model = BudgetronClassifier(budget=budget, random_state=0)
    return to_json(model.fit(table[:, :2], table[:, 2].astype(int)))


class Handler(BaseHTTPRequestHandler):
    budget = 30

    def do_GET(self) -> None:
        pages = {"/": ("text/html", PAGE.read_text(encoding="utf-8"))}
        pages["/budgetron.js"] = ("text/javascript", javascript())
        kind, text = pages.get(self.path, ("text/plain", ""))
        self.answer(200 if text else 404, kind, text)

    def do_POST(self) -> None:
        try:
            size = min(int(self.headers.get("Content-Length", 0)), MOST)
            self.answer(
                200, "application/json", learned(json.loads(self.rfile.read(size)), self.budget)
            )
        except (BudgetronError, ValueError, TypeError) as error:
            self.answer(400, "text/plain", str(error))

    def answer(self, code: int, kind: str, text: str) -> None:
        content = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Do not log requests."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw points and see the boundary.")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--budget", type=int, default=30)
    given = parser.parse_args()
    Handler.budget = given.budget
    with ThreadingHTTPServer(("127.0.0.1", given.port), Handler) as server:
        print(f"open http://127.0.0.1:{server.server_address[1]} (Ctrl-C ends)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
