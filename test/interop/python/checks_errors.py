"""What is refused, with the client's own exceptions, and that training goes on afterwards."""

import os
from collections.abc import Callable
from typing import Any

import tinker
from tinker import types

from reporting import Report
from session import (
    Session,
    datum,
    expect,
    expect_equal,
    expect_raises,
    expect_same_bits,
    greedy,
    measure,
    prompt,
    step,
    training_data,
    wait,
)

#: Clients wrap the answer to a submission differently: as it came, or as a ValueError.
REFUSED = (tinker.APIStatusError, tinker.RequestFailedError, ValueError)


def run(session: Session, report: Report) -> None:
    report.check("error: unknown base model", lambda: unknown_model(session))
    report.check("error: unknown loss", lambda: unknown_loss(session))
    report.check("error: unknown setting of a loss", lambda: unknown_setting(session))
    report.check("error: example longer than the context", lambda: long_example(session))
    report.check("error: prompt longer than the context", lambda: long_prompt(session))
    report.check("error: token outside the vocabulary", lambda: foreign_token(session))
    report.check("error: targets of another length", lambda: other_length(session))
    report.check("error: missing input of a loss", lambda: missing_input(session))
    report.check("error: checkpoint that is not there", lambda: missing_checkpoint(session))
    report.check("error: checkpoint of another rank", lambda: other_rank(session))
    report.check("error: name that leaves the folder", lambda: bad_name(session))
    report.check("error: parameters out of range", lambda: out_of_range(session))
    report.check("error: no key", lambda: no_key())


def unknown_model(session: Session) -> object:
    expect_raises(
        REFUSED,
        lambda: wait(session.service.create_lora_training_client(base_model="nobody/nothing", rank=4)),
        says="nobody/nothing",
    )
    return None


def unharmed(session: Session, refused: Callable[[Any], object], says: str) -> BaseException:
    """After the refusal the client trains on as if nothing had been asked."""
    client, twin = session.train(), session.train()
    error = expect_raises(REFUSED, lambda: refused(client), says=says)
    for other in (client, twin):
        step(other)
    expect_same_bits(measure(client), measure(twin), "a client that was refused something and another")
    return error


def forward_backward(client: Any, data: list[types.Datum], *more: Any) -> object:
    return wait(client.forward_backward(data, *more))


def unknown_loss(session: Session) -> object:
    unharmed(session, lambda c: forward_backward(c, training_data(), "nonsense"), says="nonsense")
    return None


def unknown_setting(session: Session) -> object:
    unharmed(
        session, lambda c: forward_backward(c, training_data(), "cross_entropy", {"beta": 1.0}), says="beta"
    )
    return None


def long_example(session: Session) -> object:
    error = unharmed(session, lambda c: forward_backward(c, [datum([9] * 300)], "cross_entropy"), says="256")
    expect_user_fault(error)
    return None


def expect_user_fault(error: BaseException) -> None:
    if isinstance(error, tinker.RequestFailedError):
        expect("user" in str(error.category).lower(), f"the category is {error.category}")
    else:
        expect(isinstance(error, tinker.APIStatusError), f"{type(error).__name__} is no status error")


def long_prompt(session: Session) -> object:
    sampler = session.base_sampler()
    error = expect_raises(
        REFUSED,
        lambda: wait(sampler.sample(types.ModelInput.from_ints([9] * 300), 1, greedy(1))),
        says="300 tokens",
    )
    expect_user_fault(error)
    expect_equal(len(wait(sampler.sample(prompt("The "), 1, greedy(1))).sequences), 1, "sequences afterwards")
    return None


def foreign_token(session: Session) -> object:
    unharmed(session, lambda c: forward_backward(c, [datum([9, 9999, 9])], "cross_entropy"), says="9999")
    sampler = session.base_sampler()
    expect_raises(
        REFUSED,
        lambda: wait(sampler.sample(types.ModelInput.from_ints([9999]), 1, greedy(1))),
        says="9999",
    )
    return None


def other_length(session: Session) -> object:
    wrong = types.Datum(
        model_input=types.ModelInput.from_ints([9, 10]),
        loss_fn_inputs={"target_tokens": [10, 11, 12], "weights": [1.0, 1.0, 1.0]},
    )
    error = unharmed(session, lambda c: forward_backward(c, [wrong], "cross_entropy"), says="target_tokens")
    expect_user_fault(error)
    return None


def missing_input(session: Session) -> object:
    unharmed(
        session, lambda c: forward_backward(c, training_data(), "importance_sampling"), says="logprobs"
    )
    return None


def missing_checkpoint(session: Session) -> object:
    path = "tinker://nobody:train:0/weights/nothing"
    expect_raises(
        REFUSED, lambda: wait(session.service.create_training_client_from_state(path)), says="nothing"
    )
    expect_raises(
        REFUSED,
        lambda: wait(
            session.sampler(path.replace("weights", "sampler_weights")).sample(prompt("The "), 1, greedy(1))
        ),
        says="nothing",
    )
    return None


def other_rank(session: Session) -> object:
    path = wait(session.train(rank=2).save_state("narrow")).path
    client = session.train(rank=8)
    expect_raises(REFUSED, lambda: wait(client.load_state(path)), says="rank 2")
    step(client)
    return None


def bad_name(session: Session) -> object:
    unharmed(session, lambda c: wait(c.save_state("../outside")), says="letters, digits")
    return None


def out_of_range(session: Session) -> object:
    sampler = session.base_sampler()
    for field, value in (("temperature", -1.0), ("top_p", 0.0), ("top_k", -7)):
        params = types.SamplingParams(**{"max_tokens": 1, field: value})
        expect_raises(
            (tinker.UnprocessableEntityError, ValueError),
            lambda given=params: wait(sampler.sample(prompt("The "), 1, given)),
            says=field,
        )
    unharmed(
        session,
        lambda c: wait(c.optim_step(types.AdamParams(learning_rate=-1.0))),
        says="learning_rate",
    )
    return None


def no_key() -> object:
    key = os.environ.pop("TINKER_API_KEY")
    try:
        expect_raises(
            (tinker.TinkerError, ValueError),
            lambda: tinker.ServiceClient().get_server_capabilities(),
            says="api_key",
        )
    finally:
        os.environ["TINKER_API_KEY"] = key
    return None
