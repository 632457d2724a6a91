"""
Environments of the package `verifiers`, played by Everstep.

An environment of the package asks a model by itself, through a client of OpenAI's. Here that client hands each question to
Everstep, waits for what the model in training says, and gives it back as the answer. So any environment with a chat goes,
with or without tools; its rubric gives the reward and the metrics.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any
from unittest import mock

import verifiers
import verifiers.envs.environment as package
from openai.types.chat import ChatCompletion

from everstep_worker import environment


@environment("verifiers")
class Collection:
    """`options`: `{"id", "args"}`, as `verifiers.load_environment` takes them."""

    def __init__(self, options: dict[str, Any]) -> None:
        # It would take SIGTERM from the worker, and may do so from the main thread alone.
        with mock.patch.object(package, "signal"):
            loaded = verifiers.load_environment(options["id"], **options.get("args", {}))
        if loaded.message_type != "chat":
            raise ValueError(f'"{options["id"]}" completes texts; only environments with a chat can be played')
        if any(loaded.rubric._is_group_func(function) for function in loaded.rubric.funcs):
            raise ValueError(f'"{options["id"]}" rewards groups as a whole, which is not passed on')
        self.loaded = loaded

    def problems(self) -> list[dict[str, Any]]:
        return [_plain(row) for row in self.loaded.get_dataset()]

    def test_problems(self) -> list[dict[str, Any]]:
        held_out = self.loaded.eval_dataset
        return [] if held_out is None else [_plain(row) for row in held_out]

    def tags(self, problem: dict[str, Any]) -> list[str]:
        return [str(problem.get("task", "verifiers"))]

    def make(self, problem: dict[str, Any]) -> "Rollout":
        return Rollout(self.loaded, problem)


class Rollout:
    judges_cut_replies = True

    def __init__(self, loaded: Any, problem: dict[str, Any]) -> None:
        self.loaded = loaded
        self.problem = problem
        self.questions: asyncio.Queue[Any] = asyncio.Queue()
        self.answers: asyncio.Queue[Any] = asyncio.Queue()
        self.conversation: list[Any] = []
        self.chat = self
        self.completions = self
        self.playing: asyncio.Task[Any] | None = None

    # What the environment sees of the client: `client.chat.completions.create`.
    async def create(self, *, messages: list[Any], tools: Any = None, **_sampling: Any) -> ChatCompletion:
        await self.questions.put({"messages": [_plain(one) for one in messages], "tools": tools or []})
        return await self.answers.get()

    async def initial_observation(self) -> dict[str, Any]:
        self.playing = asyncio.ensure_future(self._play())
        question = await self._next()
        if question is None:
            raise ValueError("the environment was over before it asked anything")
        self.conversation = question["messages"]
        return {"messages": self.conversation, "tools": [_plain(tool) for tool in question["tools"]]}

    async def step(self, message: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        self.conversation = [*self.conversation, message]
        await self.answers.put(_completion(message, facts["stop_reason"]))
        question = await self._next()
        if question is None:
            return self._ending()
        told = question["messages"]
        if len(told) < len(self.conversation):
            raise ValueError("the environment rewrites the conversation, which cannot be passed on")
        new = told[len(self.conversation) :]
        self.conversation = told
        return {"reward": 0.0, "is_done": False, "next_messages": new}

    async def close(self) -> None:
        if self.playing is not None:
            self.playing.cancel()

    async def _play(self) -> Any:
        state = await self.loaded.rollout(self.problem, self, "policy", {})
        if state.get("error") is not None:
            raise RuntimeError(f"the environment failed: {state['error']!r}")
        await self.loaded.rubric.score_group([state], score_sem=contextlib.nullcontext())
        return state

    async def _next(self) -> Any:
        """The next question, or None at the end."""
        asking = asyncio.ensure_future(self.questions.get())
        await asyncio.wait({asking, self.playing}, return_when=asyncio.FIRST_COMPLETED)
        if asking.done():
            return asking.result()
        asking.cancel()
        self.playing.result()
        return None

    def _ending(self) -> dict[str, Any]:
        state = self.playing.result()
        metrics = {name: value for name, value in (state["metrics"] or {}).items() if value is not None}
        answer = {"reward": float(state["reward"]), "is_done": True, "metrics": metrics}
        if state.get("stop_condition") == "max_turns_reached":
            answer["stop_reason"] = "max_turns"
        return answer


def _completion(message: dict[str, Any], stop_reason: str) -> ChatCompletion:
    """What the model said, as OpenAI's client would have given it."""
    said = {**message, "content": _text(message.get("content"))}
    reason = "length" if stop_reason == "length" else "tool_calls" if message.get("tool_calls") else "stop"
    return ChatCompletion.model_validate(
        {
            "id": "everstep",
            "object": "chat.completion",
            "created": 0,
            "model": "policy",
            "choices": [{"index": 0, "finish_reason": reason, "message": said}],
        }
    )


def _text(content: Any) -> str:
    """Without reasoning, which the renderer tells apart."""
    if not isinstance(content, list):
        return content or ""
    return "".join(part.get("text", "") for part in content if part.get("type") == "text")


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=_without_nothing))


def _without_nothing(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_none=True)
    raise TypeError(f"{type(value).__name__} has no JSON")
