"""
Runs `inspect`, and ends with whoever holds the other end of standard input: a worker that is killed leaves nothing behind.
`--check CONFIG TASK` in place of its words says whether the task is there and takes the arguments in that file, and runs nothing.
"""

import difflib
import inspect
import json
import os
import shutil
import signal
import sys
import threading
import time
from pathlib import Path

GRACE_SECONDS = 10
# Exit code and beginning of a line that say what is wrong with what was given.
REFUSED = 64
REFUSAL = "everstep: "
COUNTS = 3


def die_with_parent(descriptor):
    try:
        while os.read(descriptor, 4096):
            pass
    finally:
        orphaned.set()
        # As Ctrl-C does: containers of sandboxes are not of this group, and Inspect ends them.
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(GRACE_SECONDS)
        end_all()


def end_all():
    # Its working folder is one for this run alone, and who made it is gone.
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def refuse(text):
    print(f"\n{REFUSAL}{text}", file=sys.stderr, flush=True)
    sys.exit(REFUSED)


def split_task(task):
    """As Inspect does: a folder may have an @ in its name."""
    file, mark, name = task.rpartition("@")
    return (file, name) if mark else (task, "")


def is_file_task(task):
    return split_task(task)[0].endswith((".py", ".ipynb"))


def require_one(task):
    """Each task has a result of its own, so a file that holds several cannot be one."""
    if not task.endswith((".py", ".ipynb")) or not os.path.isfile(task):
        return
    folder_of_task, file = os.path.split(os.path.abspath(task))
    names = [info.name for info in list_tasks(file, root_dir=Path(folder_of_task))]
    if not names:
        refuse(f"{task} holds no function that is marked @task.")
    if len(names) > 1:
        refuse(f"{task} holds several tasks: {', '.join(names)}. Name one, e.g. {task}@{names[0]}")


def require_task(task):
    """A file that Inspect can read holds the task, or nothing is begun; what is wrong with another file Inspect says itself."""
    file, name = split_task(task)
    if not name or not is_file_task(task):
        return
    try:
        folder_of_task, base = os.path.split(os.path.abspath(file))
        names = [info.name for info in list_tasks(base, root_dir=Path(folder_of_task))]
    except Exception:
        return
    if names and name not in names and find_factory(task) is None:
        near = difflib.get_close_matches(name, names, 1)
        meant = f" Did you mean {near[0]}?" if near else ""
        refuse(f"{file} has no task {name}.{meant} It has: {', '.join(names)}.")


def find_factory(task):
    """The function that makes the task; None where it is Inspect's to say what is wrong with it."""
    try:
        from inspect_ai._eval.loader import load_file_tasks
        from inspect_ai._util.registry import registry_lookup

        if not is_file_task(task):
            return registry_lookup("task", task)
        file, name = split_task(task)
        load_file_tasks(Path(file).absolute())
        return registry_lookup("task", name or only_name(file))
    except Exception:
        return None


def only_name(file):
    folder_of_task, name = os.path.split(os.path.abspath(file))
    return list_tasks(name, root_dir=Path(folder_of_task))[0].name


def require_arguments(task, given):
    """Inspect warns of an argument that the task does not have, and leaves it out."""
    factory = find_factory(task) if given else None
    if factory is None:
        return
    parameters = inspect.signature(factory).parameters.values()
    if any(each.kind == each.VAR_KEYWORD for each in parameters):
        return
    names = [each.name for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            meant = f" Did you mean {near[0]}?" if near else ""
            has = f"It has: {', '.join(names)}." if names else "It has none."
            refuse(f"inspect:{task} has no argument {name}.{meant} {has}")


def given_arguments(words):
    """Of the file that `--task-config` names."""
    flag = "--task-config="
    config = next((word[len(flag) :] for word in words if word.startswith(flag)), None)
    return read_arguments(config) if config else {}


def read_arguments(config):
    return json.loads(Path(config).read_text(encoding="utf-8"))


def count_samples():
    """How many samples are done, for whoever reads the other end; versions of Inspect without hooks tell nothing."""
    try:
        os.set_inheritable(COUNTS, False)
        from inspect_ai.hooks import Hooks, hooks
    except (ImportError, OSError):
        return

    count = {"done": 0, "total": 0}

    def tell():
        try:
            os.write(COUNTS, f"{json.dumps(count)}\n".encode())
        except OSError:
            pass

    @hooks(name="everstep_counts", description="Counts samples for Everstep")
    class Counts(Hooks):
        async def on_task_start(self, data):
            dataset, config = data.spec.dataset, data.spec.config
            ids = dataset.sample_ids
            each = len(ids) if ids is not None else dataset.samples or 0
            count["total"] += each * (config.epochs or 1)
            tell()

        async def on_sample_end(self, data):
            count["done"] += 1
            tell()


folder = os.getcwd()
orphaned = threading.Event()

# What Inspect starts must neither read from that end nor keep it open.
watched = os.dup(0)
nothing = os.open(os.devnull, os.O_RDONLY)
os.dup2(nothing, 0)
os.close(nothing)
threading.Thread(target=die_with_parent, args=(watched,), daemon=True).start()

try:
    from inspect_ai import list_tasks
    from inspect_ai._cli.main import main

    if sys.argv[1] == "--check":
        require_one(sys.argv[3])
        require_task(sys.argv[3])
        require_arguments(sys.argv[3], read_arguments(sys.argv[2]))
    else:
        require_one(sys.argv[-1])
        require_arguments(sys.argv[-1], given_arguments(sys.argv))
        count_samples()
        sys.argv[0] = "inspect"
        main()
finally:
    if orphaned.is_set():
        end_all()
