"""What every check needs: clients of one server, small data, and comparisons that say what differs."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tinker
from tinker import types

BASE_MODEL = "everstep/tiny"
RANK = 4
FIRST_BYTE = 8
USER, ASSISTANT, END = 4, 5, 6
LEARNING_RATE = 0.01
#: With an epsilon this large Adam's step is proportional to the gradient, so gradients can be compared.
PLAIN_GRADIENT = {"learning_rate": 10.0, "beta1": 0.9, "beta2": 0.95, "eps": 1000.0}

SENTENCES = [
    "What is 37 plus 58? 95",
    "Reverse the word stone: enots",
    "Which is larger, 12 or 9? 12",
    "Copy this: blue river",
]


def wait(value: Any, timeout: float = 120.0) -> Any:
    """The result of a promise; some client generations answer with the value itself."""
    return value.result(timeout=timeout) if hasattr(value, "result") else value


def text_tokens(text: str) -> list[int]:
    """The model reads bytes; its eight special tokens come first."""
    return [FIRST_BYTE + byte for byte in text.encode("utf-8")]


def prompt(text: str) -> types.ModelInput:
    return types.ModelInput.from_ints(text_tokens(text))


def question(text: str) -> types.ModelInput:
    """A user's message and the header of the answer."""
    return types.ModelInput.from_ints([USER, *text_tokens(text), END, ASSISTANT])


def datum(tokens: Sequence[int], **inputs: Sequence[float]) -> types.Datum:
    """Every position predicts the next token; without inputs each weighs one."""
    given: dict[str, Any] = {"target_tokens": list(tokens[1:])}
    given.update(inputs or {"weights": [1.0] * (len(tokens) - 1)})
    return types.Datum(model_input=types.ModelInput.from_ints(list(tokens[:-1])), loss_fn_inputs=given)


def training_data() -> list[types.Datum]:
    return [datum(text_tokens(sentence)) for sentence in SENTENCES]


def logprobs_of(output: types.ForwardBackwardOutput) -> list[np.ndarray]:
    return [np.asarray(row["logprobs"].data, dtype=np.float64) for row in output.loss_fn_outputs]


def flat(rows: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.asarray(row, dtype=np.float64) for row in rows])


def digest(values: Any) -> str:
    """Bits of float32 numbers or of integers, so that clients of different codecs can be compared."""
    array = np.asarray(values)
    kind = np.int64 if array.dtype.kind in "iu" else np.float32
    return hashlib.sha256(array.astype(kind).tobytes()).hexdigest()[:16]


def expect(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def expect_equal(actual: Any, expected: Any, what: str) -> None:
    expect(actual == expected, f"{what} is {actual!r}, expected {expected!r}")


def expect_same_bits(actual: Sequence[np.ndarray], expected: Sequence[np.ndarray], what: str) -> None:
    worst = float(np.max(np.abs(flat(actual) - flat(expected))))
    expect(np.array_equal(flat(actual), flat(expected)), f"{what} differ by up to {worst:g}")


def expect_close(actual: Any, expected: Any, what: str, tolerance: float = 1e-4) -> None:
    worst = float(np.max(np.abs(np.asarray(actual, np.float64) - np.asarray(expected, np.float64))))
    expect(worst <= tolerance, f"{what} differ by {worst:g}, more than {tolerance:g}")


def expect_raises(kinds: tuple[type[BaseException], ...], call: Callable[[], object], says: str) -> BaseException:
    """Refused with one of these exceptions, and the reason reaches the person."""
    try:
        value = call()
    except kinds as error:
        expect(says.lower() in str(error).lower(), f'"{says}" is not in the message: {str(error)[:300]}')
        return error
    except Exception as error:
        names = ", ".join(kind.__name__ for kind in kinds)
        raise AssertionError(f"{type(error).__name__} instead of {names}: {str(error)[:300]}") from error
    raise AssertionError(f"accepted, and answered {str(value)[:200]}")


class Session:
    def __init__(self) -> None:
        self.service = tinker.ServiceClient(user_metadata={"made_by": "interop"})
        self.rest = self.service.create_rest_client()
        self.version = tuple(int(part) for part in tinker.__version__.split(".")[:2])

    def train(self, seed: int = 7, rank: int = RANK, **more: Any) -> Any:
        return wait(
            self.service.create_lora_training_client(base_model=BASE_MODEL, rank=rank, seed=seed, **more)
        )

    def base_sampler(self) -> Any:
        return wait(self.service.create_sampling_client(base_model=BASE_MODEL))

    def sampler(self, path: str) -> Any:
        return wait(self.service.create_sampling_client(model_path=path))


def adam(**more: float) -> types.AdamParams:
    return types.AdamParams(**{"learning_rate": LEARNING_RATE, **more})


def step(client: Any, data: Sequence[types.Datum] | None = None, **more: float) -> tuple[Any, Any]:
    """One update, both requests submitted before either is waited for."""
    forward = client.forward_backward(list(data or training_data()), "cross_entropy")
    update = client.optim_step(adam(**more))
    return wait(forward), wait(update)


def measure(client: Any, data: Sequence[types.Datum] | None = None) -> list[np.ndarray]:
    return logprobs_of(wait(client.forward(list(data or training_data()), "cross_entropy")))


def greedy(max_tokens: int, **more: Any) -> types.SamplingParams:
    return types.SamplingParams(max_tokens=max_tokens, temperature=0.0, **more)


def text_of(sequence: types.SampledSequence) -> str:
    read = bytes(token - FIRST_BYTE for token in sequence.tokens if token >= FIRST_BYTE)
    return read.decode("utf-8", "replace")
