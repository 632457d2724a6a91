"""Weights for other programs, copies, stored losses, and what the engine refuses; most of it came with newer clients."""

import json
import struct
import urllib.request
from collections.abc import Callable
from typing import Any

import tinker

from reporting import Report, Skip
from session import (
    RANK,
    Session,
    adam,
    expect,
    expect_equal,
    expect_raises,
    expect_same_bits,
    measure,
    step,
    training_data,
    wait,
)

REFUSED = (tinker.BadRequestError, tinker.UnprocessableEntityError)


def run(session: Session, report: Report) -> None:
    report.check("external weights are a PEFT adapter", lambda: external(session))
    report.check("a copy trains on as its source would", lambda: copy(session))
    report.check("loss custom through a stored loss", lambda: stored_loss(session))
    report.check("open sessions are listed", lambda: sessions(session))
    report.check("what means nothing here is refused with a reason", lambda: refusals(session))


def method(owner: Any, name: str) -> Callable[..., Any]:
    if not hasattr(owner, name):
        raise Skip(f"this client has no {name}")
    return getattr(owner, name)


def external(session: Session) -> object:
    client = session.train()
    save = method(client, "save_weights_external")
    step(client)
    path = wait(save("to-serve", ttl_seconds=7200)).path
    listed = wait(session.rest.list_checkpoints(client.model_id)).checkpoints
    expect_equal([(item.checkpoint_type, item.tinker_path) for item in listed], [("external", path)], "checkpoints")
    urls = wait(session.rest.get_external_weights_urls(path)).urls
    expect_equal(sorted(urls), ["adapter_config.json", "adapter_model.safetensors"], "files")
    files = {}
    for name, url in urls.items():
        with urllib.request.urlopen(url) as answer:
            files[name] = answer.read()
    config = json.loads(files["adapter_config.json"])
    expect_equal((config["peft_type"], config["r"]), ("LORA", RANK), "adapter_config.json")
    weights = files["adapter_model.safetensors"]
    (size,) = struct.unpack("<Q", weights[:8])
    shapes = [entry["shape"] for name, entry in json.loads(weights[8 : 8 + size]).items() if "lora_A" in name]
    expect(len(shapes) > 0 and all(RANK in shape for shape in shapes), f"shapes of lora_A: {shapes[:3]}")
    refused = (tinker.RequestFailedError,)
    wrong = lambda: wait(save("secret", age_encryption_recipients=["age1x"]))
    expect_raises(refused, wrong, says="is no recipient of age")
    return None


def copy(session: Session) -> object:
    into_project = method(session.rest, "copy_weights")
    client = session.train()
    step(client)
    source = wait(client.save_state("original")).path
    copies = [
        wait(into_project(source, "a-project")),
        wait(tinker.ServiceClient(project_id="another").copy_weights(source, ttl_seconds=7200)),
    ]
    step(client)
    expected = measure(client)
    wait(session.rest.delete_checkpoint_from_tinker_path(source))
    for path in copies:
        again = wait(session.service.create_training_client_from_state_with_optimizer(path))
        step(again)
        expect_same_bits(measure(again), expected, "log-probabilities after a step on the copy")
    return None


def stored_loss(session: Session) -> object:
    create = method(session.service, "create_custom_loss")

    def squares(logprobs, weights):  # type: ignore[no-untyped-def]
        return (weights * logprobs * logprobs).sum(), {"custom/count:sum": weights.sum()}

    loss = wait(create(squares, {"logprobs": 1, "weights": 1}))
    client, reference = session.train(), session.train()
    data = training_data()
    output = wait(client.forward_backward_custom(data, loss))
    wait(client.optim_step(adam()))
    expect_equal(output.metrics["custom/count:sum"], float(sum(len(d.model_input.to_ints()) for d in data)), "count")

    def by_hand(_, logprobs):  # type: ignore[no-untyped-def]
        return sum((row * row).sum() for row in logprobs), {}

    wait(reference.forward_backward_custom(data, by_hand))
    wait(reference.optim_step(adam()))
    expect_same_bits(measure(client), measure(reference), "log-probabilities after the step")
    return None


def sessions(session: Session) -> object:
    client = session.train()
    own = str(client.model_id).split(":")[0]
    listed = wait(session.rest.list_sessions(limit=100)).sessions
    expect(own in listed, f"{own} is not among {listed}")
    one = wait(session.rest.get_session(own))
    expect(str(client.model_id) in one.training_run_ids, f"{client.model_id} is not among {one.training_run_ids}")
    return None


def refusals(session: Session) -> object:
    client = session.train()
    own = str(client.model_id).split(":")[0]
    calls: dict[str, tuple[tuple[object, ...], str]] = {
        "assign_session_project": ((own, "a-project"), "no accounts"),
        "export_session_trace": ((own,), "no traces"),
        "get_current_checkpoint_storage_usage": ((), "size_bytes"),
        "get_billing_usage": (("2026-01-01", "2026-01-02"), "no accounts"),
        "get_audit_log": ((), "no accounts"),
    }
    known = [name for name in calls if hasattr(session.rest, name)]
    for name in known:
        arguments, reason = calls[name]
        expect_raises(REFUSED, lambda: wait(getattr(session.rest, name)(*arguments)), says=reason)
    if not known:
        raise Skip("this client has none of these calls")
    return None
