"""
A whole session of the official Python client against one server, check by check.

    TINKER_BASE_URL=http://127.0.0.1:PORT TINKER_API_KEY=tml-local python sdk.py [part of a check's name]
"""

import logging
import sys
import warnings

warnings.simplefilter("ignore")
logging.basicConfig(level=logging.ERROR)

from reporting import Report, fail_start  # noqa: E402

try:
    import checks_checkpoints
    import checks_errors
    import checks_exports
    import checks_sampling
    import checks_training
    from session import Session

    session = Session()
except Exception as error:
    fail_start(error)

report = Report(sys.argv[1] if len(sys.argv) > 1 else None)
for checks in (checks_training, checks_sampling, checks_checkpoints, checks_exports, checks_errors):
    checks.run(session, report)
