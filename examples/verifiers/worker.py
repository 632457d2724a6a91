"""
A Python worker that plays environments of the package `verifiers`.

    pip install -r requirements.txt
    python worker.py
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
# Everstep's side of the contract lies beside the other example; a project of your own has a copy.
sys.path[:0] = [str(HERE), str(HERE.parent / "python-worker")]

import verifiers_environment  # noqa: E402,F401
from everstep_worker import main  # noqa: E402

if __name__ == "__main__":
    main()
