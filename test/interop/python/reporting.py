"""One JSON line a check on standard output; what libraries print goes to standard error."""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable

# Results own the real standard output, so that nothing a library prints can be taken for one.
_results = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)


class Skip(Exception):
    """This client cannot do what the check is about."""


class Report:
    def __init__(self, only: str | None) -> None:
        self.only = only

    def check(self, name: str, body: Callable[[], object]) -> bool:
        """Runs one check; what it returns is compared between clients. True unless it failed."""
        if self.only is not None and self.only not in name:
            return True
        started = time.monotonic()
        try:
            fingerprint = body()
            self._write(name, "passed", started, fingerprint=fingerprint)
        except Skip as reason:
            self._write(name, "skipped", started, detail=str(reason))
        except BaseException as error:  # noqa: BLE001 - whatever it is, the other checks still run
            if isinstance(error, KeyboardInterrupt):
                raise
            traceback.print_exc()
            self._write(name, "failed", started, detail=describe(error))
            return False
        return True

    def _write(
        self,
        name: str,
        status: str,
        started: float,
        detail: str | None = None,
        fingerprint: object = None,
    ) -> None:
        line = {
            "check": name,
            "status": status,
            "seconds": round(time.monotonic() - started, 3),
            "detail": detail,
            "fingerprint": None if fingerprint is None else str(fingerprint),
        }
        _results.write(json.dumps(line) + "\n")
        _results.flush()


def describe(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if os.path.dirname(frame.filename) == os.path.dirname(__file__)]
    place = f" ({os.path.basename(ours[-1].filename)}:{ours[-1].lineno})" if ours else ""
    return f"{type(error).__name__}: {str(error)[:400]}{place}"


def fail_start(error: BaseException) -> None:
    """The session could not even begin."""
    traceback.print_exc()
    _results.write(
        json.dumps(
            {
                "check": "start",
                "status": "failed",
                "seconds": 0,
                "detail": describe(error),
                "fingerprint": None,
            }
        )
        + "\n"
    )
    _results.flush()
    sys.exit(1)
