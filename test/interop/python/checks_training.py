"""Forward, backward and the optimizer: numbers against formulas, and one client against another."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import tinker
from tinker import types

from reporting import Report
from session import (
    BASE_MODEL,
    PLAIN_GRADIENT,
    RANK,
    Session,
    datum,
    digest,
    expect,
    expect_close,
    expect_equal,
    expect_same_bits,
    flat,
    logprobs_of,
    measure,
    step,
    text_tokens,
    training_data,
    wait,
)

CLIP = {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2}


def run(session: Session, report: Report) -> None:
    report.check("capabilities name the model", lambda: capabilities(session))
    report.check("a training client says what it is", lambda: introduction(session))
    report.check("the tokenizer loads from the server's folder", lambda: tokenizer(session))
    report.check("forward trains nothing", lambda: forward_only(session))
    report.check("training lowers the loss, same numbers every time", lambda: training(session))
    report.check("gradients add up until the optimizer step", lambda: accumulation(session))
    report.check("Adam: zero rate changes nothing, clipping and decay act", lambda: adam_settings(session))
    for name, config in LOSSES.items():
        report.check(f"loss {name}: value and gradient", lambda n=name, c=config: policy_loss(session, n, c))
    report.check("loss cross_entropy: weights scale value and gradient", lambda: weighted(session))
    report.check("loss custom through forward_backward_custom", lambda: custom_loss(session))
    report.check("a batch of several chunks keeps its order", lambda: chunks(session))
    report.check("clients at the same time do not disturb one another", lambda: concurrent(session))


def capabilities(session: Session) -> object:
    models = session.service.get_server_capabilities().supported_models
    named = {model.model_name: model for model in models}
    expect(BASE_MODEL in named, f"{BASE_MODEL} is not among {sorted(map(str, named))}")
    expect_equal(getattr(named[BASE_MODEL], "max_context_length", 256), 256, "context length")
    return None


def introduction(session: Session) -> object:
    client = session.train()
    info = wait(client.get_info())
    expect_equal(info.model_id, str(client.model_id), "model id")
    expect(":train:" in str(client.model_id), f"model id {client.model_id} has another form")
    expect_equal(info.model_data.model_name, BASE_MODEL, "base model")
    expect_equal((info.is_lora, info.lora_rank), (True, RANK), "LoRA")
    return None


def tokenizer(session: Session) -> object:
    read = session.train().get_tokenizer()
    text = "What is 37 plus 58? äß"
    expect_equal(list(read.encode(text, add_special_tokens=False)), text_tokens(text), "tokens")
    expect_equal(read.decode(text_tokens(text)), text, "text")
    return None


def forward_only(session: Session) -> object:
    client = session.train()
    before = measure(client)
    update = wait(client.optim_step(types.AdamParams(learning_rate=0.1)))
    after = measure(client)
    expect_same_bits(after, before, "log-probabilities after an update without gradients")
    loss = wait(client.forward(training_data(), "cross_entropy")).metrics["loss:sum"]
    expect_close(loss, -float(np.sum(flat(before))), "loss and log-probabilities", 1e-3)
    expect(update is not None, "no answer to optim_step")
    return digest(flat(before))


def training(session: Session) -> object:
    def losses() -> tuple[list[float], list[np.ndarray]]:
        client = session.train()
        seen = [step(client)[0].metrics["loss:sum"] for _ in range(6)]
        return seen, measure(client)

    (first, weights), (second, again) = losses(), losses()
    expect(first[-1] < 0.8 * first[0], f"the loss went from {first[0]:g} to {first[-1]:g} only")
    expect_equal(second, first, "losses of the second client")
    expect_same_bits(again, weights, "models of the same seed")
    other = measure(session.train(seed=8))
    expect_same_bits(other, measure(session.train(seed=9)), "fresh adapters, which change nothing yet,")
    return digest([*first, *flat(weights)])


def accumulation(session: Session) -> object:
    whole, halves = session.train(), session.train()
    data = training_data()
    wait(whole.forward_backward(data, "cross_entropy"))
    for part in (data[:2], data[2:]):
        wait(halves.forward_backward(part, "cross_entropy"))
    norms = [wait(c.optim_step(types.AdamParams(**PLAIN_GRADIENT))).metrics for c in (whole, halves)]
    expect_close(grad_norm(norms[1]), grad_norm(norms[0]), "gradient norms", 1e-3)
    expect_close(flat(measure(halves)), flat(measure(whole)), "updated models")
    before = measure(halves)
    wait(halves.optim_step(types.AdamParams(learning_rate=0.0)))
    expect_same_bits(measure(halves), before, "models before and after a step of rate 0")
    return None


def grad_norm(metrics: dict[str, float] | None) -> float:
    found = [value for key, value in (metrics or {}).items() if "grad_norm" in key]
    expect(len(found) == 1, f"the optimizer reports no gradient norm: {metrics}")
    return found[0]


def adam_settings(session: Session) -> object:
    start = measure(session.train())

    def moved(**more: float) -> float:
        client = session.train()
        wait(client.forward_backward(training_data(), "cross_entropy"))
        wait(client.optim_step(types.AdamParams(**{**PLAIN_GRADIENT, **more})))
        return float(np.max(np.abs(flat(measure(client)) - flat(start))))

    free, still = moved(), moved(learning_rate=0.0)
    clipped = moved(grad_clip_norm=1e-3)
    expect(free > 1e-3, f"an ordinary step moves the log-probabilities by {free:g} only")
    expect_equal(still, 0.0, "movement at rate 0")
    expect(clipped < 0.1 * free, f"clipping leaves {clipped:g} of {free:g}")
    decayed = [session.train(), session.train()]
    for client, decay in zip(decayed, (0.0, 0.5), strict=True):
        step(client)
        step(client, weight_decay=decay)
    difference = float(np.max(np.abs(flat(measure(decayed[0])) - flat(measure(decayed[1])))))
    expect(difference > 0, "weight decay changes nothing")
    return None


#: Ratios below, between and above the thresholds, each with advantages of both signs: the lengths share no factor.
OFFSETS = [0.5, -0.5, 0.05, -0.05, 1.7, -1.7]
ADVANTAGES = [1.0, -1.0, 0.5, -2.0, 1.5]


def importance_sampling(p: np.ndarray, q: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    value = np.exp(p - q) * a
    return -value, -value


def ppo(p: np.ndarray, q: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    ratio = np.exp(p - q)
    clipped = np.clip(ratio, CLIP["clip_low_threshold"], CLIP["clip_high_threshold"])
    is_free = ratio * a <= clipped * a
    return -np.minimum(ratio * a, clipped * a), np.where(is_free, -ratio * a, 0.0)


def cispo(p: np.ndarray, q: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    factor = np.clip(np.exp(p - q), CLIP["clip_low_threshold"], CLIP["clip_high_threshold"]) * a
    return -factor * p, -factor


def dro(p: np.ndarray, q: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return -(p * a - 0.5 * 0.3 * (p - q) ** 2), 0.3 * (p - q) - a


#: Loss by name: its settings and, per token, its value and slope in the log-probability.
LOSSES: dict[str, tuple[dict[str, float] | None, Any]] = {
    "importance_sampling": (None, importance_sampling),
    "ppo": (CLIP, ppo),
    "cispo": (CLIP, cispo),
    "dro": ({"beta": 0.3}, dro),
}


def policy_loss(session: Session, name: str, definition: tuple[dict[str, float] | None, Any]) -> object:
    config, formula = definition
    client, reference = session.train(), session.train()
    p = measure(client)
    q = [row + np.resize(OFFSETS, len(row)) for row in p]
    a = [np.resize(ADVANTAGES, len(row)) for row in p]
    sentences = [input_tokens(item) for item in training_data()]
    data = [
        datum(tokens, logprobs=list(map(float, old)), advantages=list(map(float, advantage)))
        for tokens, old, advantage in zip(sentences, q, a, strict=True)
    ]
    q = [np.asarray(row, np.float32).astype(np.float64) for row in q]
    output = wait(client.forward_backward(data, name, config))
    terms = [formula(*columns) for columns in zip(p, q, a, strict=True)]
    expected = float(sum(np.sum(loss) for loss, _ in terms))
    plain = float(sum(np.sum(importance_sampling(*columns)[0]) for columns in zip(p, q, a, strict=True)))
    expect(config is None or abs(expected - plain) > 1, f"the data do not tell {name} from importance sampling")
    expect_close(output.metrics["loss:sum"], expected, "loss", 1e-3 * max(1.0, abs(expected)))
    expect_same_bits(logprobs_of(output), p, "log-probabilities of forward and of the loss")
    expect_same_update(client, reference, [-slope for _, slope in terms])
    return digest([output.metrics["loss:sum"]])


def expect_same_update(client: Any, reference: Any, weights: Sequence[np.ndarray]) -> None:
    """The client's gradients are those of cross-entropy with these weights."""
    data = [
        datum(input_tokens(item), weights=list(map(float, row)))
        for item, row in zip(training_data(), weights, strict=True)
    ]
    wait(reference.forward_backward(data, "cross_entropy"))
    norms = [
        grad_norm(wait(c.optim_step(types.AdamParams(**PLAIN_GRADIENT))).metrics) for c in (client, reference)
    ]
    expect_close(norms[0], norms[1], "gradient norms", 1e-3 * max(1.0, norms[1]))
    expect(norms[0] > 0.1, f"the gradient norm is {norms[0]:g}")
    expect_close(flat(measure(client)), flat(measure(reference)), "updated models", 1e-3)


def input_tokens(item: types.Datum) -> list[int]:
    """All tokens of a datum: what is read and the last target."""
    return [*item.model_input.to_ints(), int(item.loss_fn_inputs["target_tokens"].data[-1])]


def weighted(session: Session) -> object:
    plain, masked = session.train(), session.train()
    p = measure(plain)
    rows = [np.resize([0.0, 0.25, 2.0], len(row)) for row in p]
    data = [
        datum(input_tokens(item), weights=list(map(float, row)))
        for item, row in zip(training_data(), rows, strict=True)
    ]
    loss = wait(masked.forward_backward(data, "cross_entropy")).metrics["loss:sum"]
    expected = -float(sum(np.sum(w * row) for w, row in zip(rows, p, strict=True)))
    expect_close(loss, expected, "loss", 1e-3)
    nothing = [datum(input_tokens(item), weights=[0.0] * len(row)) for item, row in zip(training_data(), p)]
    wait(plain.forward_backward(nothing, "cross_entropy"))
    wait(plain.optim_step(types.AdamParams(learning_rate=0.1)))
    expect_same_bits(measure(plain), p, "models trained on nothing")
    return digest([loss])


def custom_loss(session: Session) -> object:
    import torch

    def squares(data: list[types.Datum], logprobs: list[torch.Tensor]) -> tuple[torch.Tensor, dict[str, float]]:
        loss = sum((row**2).sum() for row in logprobs)
        return loss, {"squares:sum": float(loss.detach())}

    client, reference = session.train(), session.train()
    p = measure(client)
    data = [
        types.Datum(
            model_input=item.model_input,
            loss_fn_inputs={"target_tokens": item.loss_fn_inputs["target_tokens"]},
        )
        for item in training_data()
    ]
    output = wait(client.forward_backward_custom(data, squares))
    expected = float(np.sum(flat(p) ** 2))
    expect_close(output.metrics["squares:sum"], expected, "loss", 1e-3 * expected)
    expect_same_update(client, reference, [-2.0 * row for row in p])
    return None


def chunks(session: Session) -> object:
    """More data than one request takes: official clients send the first chunk last."""
    generator = np.random.default_rng(0)
    rows = [[1, *map(int, generator.integers(8, 264, 4))] for _ in range(2300)]
    client = session.train()
    output = wait(client.forward_backward([datum(row) for row in rows], "cross_entropy"))
    expect_equal(len(output.loss_fn_outputs), len(rows), "outputs")
    picked = [0, 1023, 1024, 2047, 2048, 2299]
    alone = measure(client, [datum(rows[index]) for index in picked])
    seen = logprobs_of(output)
    expect_same_bits([seen[index] for index in picked], alone, "rows of the batch and the same rows alone")
    expect_close(output.metrics["loss:sum"] / -float(np.sum(flat(seen))), 1.0, "loss and rows", 1e-4)
    wait(client.optim_step(types.AdamParams(learning_rate=0.01)))
    return digest(flat(measure(client, [datum(row) for row in rows[:50]])))


def concurrent(session: Session) -> object:
    alone = trained(session.train(seed=3))
    results: dict[int, list[np.ndarray]] = {}
    errors: list[BaseException] = []

    def work(index: int) -> None:
        try:
            own = tinker.ServiceClient()
            results[index] = trained(
                wait(own.create_lora_training_client(base_model=BASE_MODEL, rank=RANK, seed=3))
            )
        except BaseException as error:  # noqa: BLE001 - reported by the check
            errors.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    for index in sorted(results):
        expect_same_bits(results[index], alone, f"client {index} and one that was alone")
    return None


def trained(client: Any) -> list[np.ndarray]:
    for _ in range(3):
        step(client)
    return measure(client)
