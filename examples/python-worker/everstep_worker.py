"""
Graders, evaluators, dataset readers and environments in Python, for Everstep.

    from everstep_worker import dataset, environment, evaluator, grader, main

    @grader("contains")
    def contains(completion, example):
        return example["target"] in completion

    main()

`main` connects to the Temporal server that Everstep uses and polls a task queue of its own. Where it connects:
TEMPORAL_ADDRESS (default 127.0.0.1:7233), TEMPORAL_NAMESPACE (default everstep), TEMPORAL_API_KEY, EVERSTEP_PYTHON_QUEUE
(default everstep-python).

Functions may be plain or `async`. Plain ones run in threads, so they may block; what they share they have to guard.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import inspect
import json
import math
import os
import signal
import socket
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.worker import Worker

DEFAULT_QUEUE = "everstep-python"
# How often a function of yours that raises is called, before its failure stands.
ATTEMPTS = 3
# Everstep gives the work of a worker that says nothing for ten seconds to another.
HEARTBEAT_SECONDS = 2
THREADS = 8


@dataclass(frozen=True)
class Checkpoint:
    """What an evaluator measures. It samples by itself: with the Tinker SDK, or through an OpenAI-compatible address."""

    model: str
    """Base model, e.g. `everstep/tiny`."""
    path: str
    """Sampler weights, e.g. `tinker://…`."""
    engine_url: str
    """The training service that has them."""
    weights: str
    """What they are: `<run>/<step>/<lineage>`."""
    options: dict[str, Any] = field(default_factory=dict)
    """`options` of the config."""


Grader = Callable[[str, dict[str, Any]], Any]
Evaluator = Callable[[Checkpoint], Any]
DatasetReader = Callable[[dict[str, Any]], Any]
EnvironmentMaker = Callable[[dict[str, Any]], Any]

_graders: dict[str, Grader] = {}
_evaluators: dict[str, Evaluator] = {}
_datasets: dict[str, DatasetReader] = {}
_environments: dict[str, EnvironmentMaker] = {}


def grader(name: str) -> Callable[[Grader], Grader]:
    """Judges a completion: `(completion, example) -> 0…1, bool, or {"value", "answer", "explanation"}`."""
    return _registering(_graders, name)


def evaluator(name: str) -> Callable[[Evaluator], Evaluator]:
    """Measures a checkpoint: `(checkpoint) -> {metric: number}`."""
    return _registering(_evaluators, name)


def dataset(name: str) -> Callable[[DatasetReader], DatasetReader]:
    """Reads a dataset: `(options) -> rows`, each as a line of a JSONL dataset, e.g. `{"messages": [...]}`."""
    return _registering(_datasets, name)


def environment(name: str) -> Callable[[EnvironmentMaker], EnvironmentMaker]:
    """
    Something to train on: `(options) -> ` an object with

        problems        a list, or a function that gives one; plain JSON, the same on every call
        test_problems   the same, never trained on (optional)
        make(problem)   a new environment, for one rollout
        tags(problem)   names that metrics are split by (optional)

    An environment has `initial_observation()`, which gives messages or `{"messages", "tools"}`, and `step(message)`, which
    gives `{"reward", "is_done", "next_messages", "metrics", "logs", "answer", "stop_reason"}`, of which the first two are
    needed; it may have `close()`, and `judges_cut_replies`. Messages are those of OpenAI's chat API. `step` may take a
    second argument, `{"stop_reason", "is_malformed"}`. What it answers has to follow from what the model says: where its
    worker dies, another one plays it again.
    """
    return _registering(_environments, name)


def _registering(registry: dict[str, Any], name: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        if name in registry:
            raise ValueError(f'"{name}" is registered twice')
        registry[name] = function
        return function

    return register


# What Everstep calls. The names and shapes of these three activities are the contract.


@activity.defn(name="gradeCompletions")
async def grade_completions(request: dict[str, Any]) -> dict[str, Any]:
    """`{grader, items: [{completion, example}], timeoutSeconds}` → `{scores}`, one for each item, in their order.

    An item that cannot be judged is `{"error"}`; the others keep their scores.
    """
    judge = _find(_graders, "grader", request["grader"])
    async with _heartbeats():
        scores = await asyncio.gather(
            *(_grade(judge, item, request["timeoutSeconds"]) for item in request["items"])
        )
    return {"scores": scores}


async def _grade(judge: Grader, item: dict[str, Any], timeout: float) -> dict[str, Any]:
    completion = item["completion"]
    try:
        given = await _call(judge, completion, item["example"], timeout=timeout)
        return _score_of(given, completion)
    except (TimeoutError, asyncio.TimeoutError):
        return {"error": f"timeout ({timeout:g}s)"}
    except Exception as error:
        return {"error": _words(error)}


def _score_of(given: Any, completion: str) -> dict[str, Any]:
    details = given if isinstance(given, dict) else {"value": given, "answer": completion.strip() or None}
    value = _number(details.get("value"), "the grader")
    if not 0 <= value <= 1:
        raise TypeError(f"the grader returned {value:g}; return a number from 0 to 1")
    answer, explanation = details.get("answer"), details.get("explanation")
    score: dict[str, Any] = {"value": value, "answer": None if answer is None else str(answer)}
    return score if explanation is None else {**score, "explanation": str(explanation)}


@activity.defn(name="runEvaluator")
async def run_evaluator(request: dict[str, Any]) -> dict[str, float]:
    """`{evaluator, model, path, engineUrl, weights, options}` → metrics by name."""
    measure = _find(_evaluators, "evaluator", request["evaluator"])
    checkpoint = Checkpoint(
        model=request["model"],
        path=request["path"],
        engine_url=request["engineUrl"],
        weights=request["weights"],
        options=request.get("options") or {},
    )
    async with _heartbeats(), _tried_again():
        metrics = await _call(measure, checkpoint)
        if not isinstance(metrics, dict) or not metrics:
            raise TypeError(f"the evaluator returned {metrics!r:.100}; return numbers by name")
        return {str(name): _number(value, f'"{name}"') for name, value in metrics.items()}


@activity.defn(name="readDataset")
async def read_dataset(request: dict[str, Any]) -> dict[str, Any]:
    """`{dataset, options, path}` → `{path, rowCount}`. The rows are written to `path`, a file of Everstep's store."""
    read = _find(_datasets, "dataset", request["dataset"])
    async with _heartbeats(), _tried_again():
        rows = await _call(read, request.get("options") or {})
        count = await asyncio.to_thread(_write_rows, Path(request["path"]), rows)
        return {"path": request["path"], "rowCount": count}


@activity.defn(name="listNames")
async def list_names(_request: dict[str, Any]) -> dict[str, Any]:
    """What is registered here."""
    return {
        "graders": sorted(_graders),
        "evaluators": sorted(_evaluators),
        "datasets": sorted(_datasets),
        "environments": sorted(_environments),
    }


@activity.defn(name="readProblems")
async def read_problems(request: dict[str, Any]) -> dict[str, Any]:
    """`{environment, options, path}` → `{path, rowCount}`: a row `{problem, isTest, tags}` for each problem."""
    async with _heartbeats(), _tried_again():
        collection = await _collection(request)
        rows: list[dict[str, Any]] = []
        for attribute, is_test in (("problems", False), ("test_problems", True)):
            given = getattr(collection, attribute, None)
            problems = await _call(given) if callable(given) else given
            for problem in problems or []:
                row = {"problem": problem, "isTest": is_test}
                if hasattr(collection, "tags"):
                    row["tags"] = list(collection.tags(problem))
                rows.append(row)
        count = await asyncio.to_thread(_write_rows, Path(request["path"]), rows)
        return {"path": request["path"], "rowCount": count}


@activity.defn(name="playEnvironments")
async def play_environments(request: dict[str, Any]) -> dict[str, Any]:
    """
    `{environment, options, calls, patienceSeconds}` → `{queue, answers}`, one for each call, in their order.

    A call is `{rollout, turn, …}`: turn 0 opens the rollout, −1 closes it, the others are steps. The same call gets the same
    answer however often it is made. `pending` is not done yet, `lost` is a rollout that this worker does not have.
    """
    async with _heartbeats():
        collection = await _collection(request)
        answering = [asyncio.ensure_future(_answer(collection, call)) for call in request["calls"]]
        await _some_time(answering, request["patienceSeconds"])
        answers = []
        for one in answering:
            if one.done():
                answers.append(one.result())
            else:
                one.cancel()
                answers.append({"pending": True})
        return {"queue": OWN_QUEUE, "answers": answers}


# Only this process polls it: what it remembers of a rollout, no other worker knows.
OWN_QUEUE = f"{DEFAULT_QUEUE}/{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
# Those that are done do not wait much longer for those that are not.
STRAGGLER_SECONDS = 0.2
FORGOTTEN_AFTER_SECONDS = 2 * 3600
_collections: dict[str, asyncio.Task[Any]] = {}
_rollouts: dict[str, "_Rollout"] = {}


@dataclass
class _Rollout:
    played: Any = None
    turns: list[asyncio.Task[Any]] = field(default_factory=list)
    used_at: float = 0


async def _collection(request: dict[str, Any]) -> Any:
    """The object behind a name and its options, made once."""
    make = _find(_environments, "environment", request["environment"])
    options = request.get("options") or {}
    key = json.dumps([request["environment"], options], sort_keys=True)
    if key not in _collections:
        _collections[key] = asyncio.ensure_future(_call(make, options))
    try:
        return await asyncio.shield(_collections[key])
    except Exception:
        _collections.pop(key, None)
        raise


async def _some_time(work: list[asyncio.Future[Any]], seconds: float) -> None:
    """Until all are done, or those that are not have had their time."""
    ends = time.monotonic() + seconds
    while True:
        left = ends - time.monotonic()
        is_some = any(one.done() for one in work)
        open_ones = [one for one in work if not one.done()]
        if not open_ones or left <= 0:
            return
        wait = min(left, STRAGGLER_SECONDS) if is_some else left
        done, _ = await asyncio.wait(open_ones, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        if is_some and not done:
            return


async def _answer(collection: Any, call: dict[str, Any]) -> dict[str, Any]:
    name, turn = call["rollout"], call["turn"]
    if turn < 0:
        return {"value": await _close(name)}
    if turn == 0 and name not in _rollouts:
        _forget_old()
        _rollouts[name] = _Rollout()
    rollout = _rollouts.get(name)
    if rollout is None or turn > len(rollout.turns):
        return {"lost": True}
    rollout.used_at = time.monotonic()
    if turn == len(rollout.turns):
        work = _open(collection, rollout, call) if turn == 0 else _step(rollout, call)
        rollout.turns.append(asyncio.ensure_future(work))
    try:
        return {"value": await asyncio.shield(rollout.turns[turn])}
    except Exception as error:
        return {"error": _words(error)}


async def _open(collection: Any, rollout: _Rollout, call: dict[str, Any]) -> dict[str, Any]:
    rollout.played = await _call(collection.make, call["problem"])
    given = await _call(rollout.played.initial_observation)
    observation = dict(given) if isinstance(given, dict) else {"messages": list(given)}
    observation["judgesCutReplies"] = bool(getattr(rollout.played, "judges_cut_replies", False))
    return _plain(observation)


async def _step(rollout: _Rollout, call: dict[str, Any]) -> dict[str, Any]:
    facts = {"stop_reason": call["stopReason"], "is_malformed": call["isMalformed"]}
    step = rollout.played.step
    takes_facts = len(inspect.signature(step).parameters) > 1
    given = await _call(step, call["message"], *([facts] if takes_facts else []))
    names = {"is_done": "isDone", "next_messages": "nextMessages", "stop_reason": "stopReason"}
    answer = {names.get(key, key): value for key, value in given.items()}
    answer["reward"] = _number(answer.get("reward"), "step")
    answer["metrics"] = {
        key: _number(value, f'"{key}"') for key, value in (answer.get("metrics") or {}).items()
    }
    return _plain(answer)


async def _close(name: str) -> bool:
    rollout = _rollouts.pop(name, None)
    if rollout is None:
        return False
    for turn in rollout.turns:
        turn.cancel()
    if hasattr(rollout.played, "close"):
        await _call(rollout.played.close)
    return True


def _forget_old() -> None:
    """Whoever played these is gone and did not close them."""
    oldest = time.monotonic() - FORGOTTEN_AFTER_SECONDS
    for name in [name for name, rollout in _rollouts.items() if rollout.turns and rollout.used_at < oldest]:
        asyncio.ensure_future(_close(name))


def _plain(answer: dict[str, Any]) -> dict[str, Any]:
    """Only what has JSON travels; anything else of an environment's is its mistake."""
    return json.loads(json.dumps(answer, ensure_ascii=False, allow_nan=False))


def _write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    """Whole or not at all: a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    count = 0
    with temporary.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
            count += 1
    temporary.replace(path)
    return count


def _find(registry: dict[str, Any], kind: str, name: str) -> Any:
    if name in registry:
        return registry[name]
    known = ", ".join(sorted(registry)) or "none"
    remedy = "Workers that have other names need a queue of their own: --task-queue, and taskQueue in the config."
    message = f'The Python worker has no {kind} "{name}". It has: {known}. {remedy}'
    raise ApplicationError(message, type="unknown-python-name", non_retryable=True)


def _number(value: Any, whose: str) -> float:
    is_number = isinstance(value, (bool, int, float)) or hasattr(value, "__float__")
    if not is_number or isinstance(value, str) or not math.isfinite(float(value)):
        raise TypeError(f"{whose} returned {value!r:.100}; return a number")
    return float(value)


_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="everstep")


async def _call(function: Callable[..., Any], *given: Any, timeout: float | None = None) -> Any:
    """Plain functions run in a thread. One that outlives its time keeps its thread until it ends."""
    if inspect.iscoroutinefunction(function):
        return await asyncio.wait_for(function(*given), timeout)
    started = asyncio.Event()
    loop = asyncio.get_running_loop()

    def run() -> Any:
        loop.call_soon_threadsafe(started.set)
        return function(*given)

    work = loop.run_in_executor(_threads, run)
    # Waiting for a thread is not the function's time.
    await started.wait()
    return await asyncio.wait_for(work, timeout)


@contextlib.asynccontextmanager
async def _heartbeats() -> AsyncIterator[None]:
    """Says that this worker lives for as long as the work takes."""

    async def beat() -> None:
        while True:
            activity.heartbeat()
            await asyncio.sleep(HEARTBEAT_SECONDS)

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()


@contextlib.asynccontextmanager
async def _tried_again() -> AsyncIterator[None]:
    """What raises is tried again; the last failure is the result."""
    try:
        yield
    except ApplicationError:
        raise
    except Exception as error:
        is_last = activity.info().attempt >= ATTEMPTS
        raise ApplicationError(_words(error), type=type(error).__name__, non_retryable=is_last) from error


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


ACTIVITIES = [
    grade_completions,
    run_evaluator,
    read_dataset,
    list_names,
    read_problems,
    play_environments,
]


def main() -> None:
    """Polls until SIGINT or SIGTERM."""
    parser = argparse.ArgumentParser(description="A Python worker for Everstep")
    parser.add_argument("--address", default=os.environ.get("TEMPORAL_ADDRESS", "127.0.0.1:7233"))
    parser.add_argument("--namespace", default=os.environ.get("TEMPORAL_NAMESPACE", "everstep"))
    parser.add_argument("--task-queue", default=os.environ.get("EVERSTEP_PYTHON_QUEUE", DEFAULT_QUEUE))
    flags = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(flags.address, flags.namespace, flags.task_queue))


async def _serve(address: str, namespace: str, task_queue: str) -> None:
    api_key = os.environ.get("TEMPORAL_API_KEY")
    client = await _connect(address, namespace, api_key)
    stopped = asyncio.Event()
    for wanted in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(wanted, stopped.set)
    common = Worker(client, task_queue=task_queue, activities=ACTIVITIES)
    own = Worker(client, task_queue=OWN_QUEUE, activities=[play_environments])
    async with common, own:
        names = ", ".join([*_graders, *_evaluators, *_datasets, *_environments]) or "nothing"
        print(f"Python worker ready: {names} on {task_queue} at {address}", flush=True)
        await stopped.wait()


async def _connect(address: str, namespace: str, api_key: str | None) -> Client:
    """Waits for a server that is not there yet."""
    is_told = False
    while True:
        try:
            return await Client.connect(
                address, namespace=namespace, api_key=api_key, tls=True if api_key else False
            )
        except (RuntimeError, RPCError) as error:
            if not is_told:
                print(f"No Temporal server at {address} yet ({error}); trying again", flush=True)
            is_told = True
            await asyncio.sleep(1)
