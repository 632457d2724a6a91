"""
A grader, an evaluator, a dataset and an environment of one's own.

    pip install -r requirements.txt
    python worker.py
"""

from __future__ import annotations

import random
import re
from typing import Any

from everstep_worker import Checkpoint, dataset, environment, evaluator, grader, main


@grader("same_number")
def same_number(completion: str, example: dict[str, Any]) -> dict[str, Any]:
    """The last number of the completion is that of the target."""
    numbers = re.findall(r"-?\d+", completion)
    answer = numbers[-1] if numbers else None
    return {"value": answer == example["target"], "answer": answer}


@evaluator("confidence")
def confidence(checkpoint: Checkpoint) -> dict[str, float]:
    """How likely the weights find a text, given as tokens; asked with the Tinker SDK."""
    import tinker

    service = tinker.ServiceClient(base_url=checkpoint.engine_url)
    client = service.create_sampling_client(model_path=checkpoint.path)
    prompt = tinker.types.ModelInput.from_ints(checkpoint.options["tokens"])
    scores = [score for score in client.compute_logprobs(prompt).result() if score is not None]
    return {"mean_logprob": sum(scores) / len(scores), "tokens": len(scores)}


@dataset("sums")
def sums(options: dict[str, Any]) -> Any:
    """Additions of two digits, the same for the same seed."""
    draw = random.Random(options.get("seed", 0))
    for _ in range(options.get("count", 64)):
        left, right = draw.randrange(10), draw.randrange(10)
        yield {
            "messages": [
                {"role": "user", "content": f"{left}+{right}="},
                {"role": "assistant", "content": str(left + right)},
            ]
        }


@environment("guess")
class Guess:
    """The model finds a number; it is told whether its guess was too low or too high."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.limit = options.get("limit", 9)
        self.turns = options.get("turns", 3)
        self.problems = list(range(self.limit + 1))

    def make(self, secret: int) -> "Guessing":
        return Guessing(secret, self.limit, self.turns)


class Guessing:
    judges_cut_replies = True

    def __init__(self, secret: int, limit: int, turns: int) -> None:
        self.secret = secret
        self.limit = limit
        self.turns_left = turns

    def initial_observation(self) -> list[dict[str, str]]:
        return [{"role": "user", "content": f"0-{self.limit}?"}]

    def step(self, message: dict[str, Any]) -> dict[str, Any]:
        numbers = re.findall(r"\d+", message["content"])
        guess = int(numbers[0]) if numbers else -1
        is_right = guess == self.secret
        self.turns_left -= 1
        is_done = is_right or self.turns_left == 0
        hint = "more" if guess < self.secret else "less"
        return {
            "reward": float(is_right),
            "is_done": is_done,
            "next_messages": [] if is_done else [{"role": "user", "content": hint}],
            "metrics": {"correct": float(is_right)} if is_done else {},
            "answer": str(guess) if is_done else None,
        }


if __name__ == "__main__":
    main()
