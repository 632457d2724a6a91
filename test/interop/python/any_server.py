"""
The smallest session of the official client against any server of the protocol, operation by operation. What another
operation builds on ends the rest. Each gets so long, because clients ask a server that fails again for minutes.

    TINKER_BASE_URL=http://127.0.0.1:PORT TINKER_API_KEY=tml-local python any_server.py BASE_MODEL SECONDS
"""

import logging
import os
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

warnings.simplefilter("ignore")
logging.basicConfig(level=logging.CRITICAL)

from reporting import Report  # noqa: E402

import tinker  # noqa: E402
from tinker import types  # noqa: E402

BASE_MODEL, SECONDS = sys.argv[1], float(sys.argv[2])
report = Report(None)
state: dict[str, Any] = {}


def wait(value: Any) -> Any:
    return value.result(timeout=SECONDS) if hasattr(value, "result") else value


def begin() -> None:
    state["service"] = tinker.ServiceClient()
    made = state["service"].create_lora_training_client(base_model=BASE_MODEL, rank=4, seed=1)
    state["client"] = wait(made)


def data() -> list[types.Datum]:
    tokens = [10, 11, 12, 13, 14, 15, 16, 17]
    inputs = {"target_tokens": tokens[1:] + [18], "weights": [1.0] * len(tokens)}
    return [types.Datum(model_input=types.ModelInput.from_ints(tokens), loss_fn_inputs=inputs)] * 2


def forward_backward() -> None:
    output = wait(state["client"].forward_backward(data(), "cross_entropy"))
    assert len(output.loss_fn_outputs) == 2, f"{len(output.loss_fn_outputs)} outputs for 2 examples"


def optim_step() -> None:
    wait(state["client"].optim_step(types.AdamParams(learning_rate=1e-3)))


def save() -> None:
    state["path"] = wait(state["client"].save_state("state")).path


def restore() -> None:
    wait(state["service"].create_training_client_from_state_with_optimizer(state["path"]))


def sample() -> None:
    path = wait(state["client"].save_weights_for_sampler("snapshot")).path
    sampler = wait(state["service"].create_sampling_client(model_path=path))
    params = types.SamplingParams(max_tokens=4, temperature=0.0, stop=["never"])
    output = wait(sampler.sample(types.ModelInput.from_ints([10, 11, 12]), 1, params))
    assert len(output.sequences) == 1, f"{len(output.sequences)} sequences instead of 1"


# The client's own waits cannot be called off, so they are left behind.
pool = ThreadPoolExecutor(max_workers=1)


def in_time(body: Callable[[], None]) -> Callable[[], None]:
    def run() -> None:
        try:
            pool.submit(body).result(timeout=SECONDS)
        except TimeoutError as error:
            raise TimeoutError(f"no result in {SECONDS:g} s, while the client asks again and again") from error

    return run


for name, operation in (
    ("create model", begin),
    ("forward_backward", forward_backward),
    ("optim_step", optim_step),
    ("save_state", save),
    ("restore", restore),
    ("sample", sample),
):
    if not report.check(name, in_time(operation)) and name in ("create model", "forward_backward"):
        break
    # A wait that was given up holds its thread.
    pool = ThreadPoolExecutor(max_workers=1)
os._exit(0)
