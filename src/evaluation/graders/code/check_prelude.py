"""What every check needs; goes before its program."""

import os
import types

read_file = open


def starved_seconds():
    """How long this process was ready while the machine was busy with others; 0 where the system does not tell."""
    try:
        with read_file("/proc/self/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
