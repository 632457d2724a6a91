"""An environment of the package `verifiers`: sums of two digits, asked again once where the answer is no number."""

from __future__ import annotations

import random
import re
from typing import Any

import verifiers as vf
from datasets import Dataset


class DigitSums(vf.MultiTurnEnv):
    async def env_response(self, messages: Any, state: Any, **kwargs: Any) -> Any:
        return [{"role": "user", "content": "number?"}]

    @vf.stop
    async def is_answered(self, state: Any) -> bool:
        turns = state["trajectory"]
        return len(turns) > 0 and _number(turns[-1]["completion"]) is not None


async def correct(completion: Any, answer: str) -> float:
    return float(_number(completion) == answer)


async def is_number(completion: Any) -> float:
    return float(_number(completion) is not None)


def load_environment(count: int = 64, seed: int = 0, max_turns: int = 2) -> vf.Environment:
    draw = random.Random(seed)
    rows = [_row(draw.randrange(10), draw.randrange(10)) for _ in range(count + 16)]
    rubric = vf.Rubric(funcs=[correct, is_number], weights=[1.0, 0.1])
    return DigitSums(
        dataset=Dataset.from_list(rows[:count]),
        eval_dataset=Dataset.from_list(rows[count:]),
        rubric=rubric,
        max_turns=max_turns,
    )


def _row(left: int, right: int) -> dict[str, Any]:
    return {"prompt": [{"role": "user", "content": f"{left}+{right}="}], "answer": str(left + right)}


def _number(completion: Any) -> str | None:
    said = [message["content"] for message in completion if message["role"] == "assistant"]
    numbers = re.findall(r"\d+", said[-1] or "") if said else []
    return numbers[0] if numbers else None
