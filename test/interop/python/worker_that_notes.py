"""
The worker of the example with a slow grader, which writes down each completion it judges.

    python worker_that_notes.py EXAMPLE_FOLDER NOTES_FILE
"""

import sys
import time

EXAMPLE, NOTES = sys.argv[1:3]
sys.path.insert(0, EXAMPLE)
sys.argv = sys.argv[:1]

import worker  # noqa: E402, F401
from everstep_worker import grader, main  # noqa: E402


@grader("slow")
def slow(completion, example):
    time.sleep(0.15)
    with open(NOTES, "a", encoding="utf-8") as notes:
        notes.write(example["id"] + "\n")
    return worker.same_number(completion, example)


main()
