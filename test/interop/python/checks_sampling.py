"""Sampling with every parameter."""

import concurrent.futures
from typing import Any

import numpy as np
import tinker
from tinker import types

from reporting import Report, Skip
from session import (
    END,
    SENTENCES,
    Session,
    datum,
    digest,
    expect,
    expect_close,
    expect_equal,
    expect_raises,
    greedy,
    measure,
    prompt,
    question,
    step,
    text_of,
    text_tokens,
    wait,
)

QUESTION = "What is 37 plus 58?"
NEVER: list[int] = []
VOCABULARY = 264


def run(session: Session, report: Report) -> None:
    report.check("sampling: the base model answers", lambda: answer(session))
    report.check("sampling: the same seed gives the same tokens", lambda: seeds(session))
    report.check("sampling: num_samples are independent streams", lambda: several(session))
    report.check("sampling: stop strings", lambda: stop_strings(session))
    report.check("sampling: stop tokens", lambda: stop_tokens(session))
    report.check("sampling: max_tokens and stop reasons", lambda: limits(session))
    report.check("sampling: temperature, top_k and top_p", lambda: distribution(session))
    report.check("sampling: log-probabilities of what was drawn", lambda: drawn_logprobs(session))
    report.check("sampling: prompt log-probabilities", lambda: prompt_logprobs(session))
    report.check("compute_logprobs equals the forward pass", lambda: same_as_forward(session))
    report.check("sampling: top-k prompt log-probabilities", lambda: topk_prompt_logprobs(session))
    report.check("sampling: scores of a prompt's end", lambda: last_scores(session))
    report.check("sampling: top-k log-probabilities of what is drawn", lambda: topk_sample_logprobs(session))
    report.check("sampling: log-probabilities of tokens asked for", lambda: target_prompt_logprobs(session))
    report.check("sampling: alternatives to the prompt's tokens", lambda: prompt_alternatives(session))
    report.check("sampling: many requests at once", lambda: many(session))


def sample(client: Any, tokens: types.ModelInput, params: types.SamplingParams, count: int = 1, **more: Any) -> Any:
    return wait(client.sample(tokens, count, params, **more))


def drawn(seed: int, **more: Any) -> types.SamplingParams:
    return types.SamplingParams(**{"max_tokens": 16, "temperature": 1.0, "seed": seed, "stop": NEVER, **more})


def answer(session: Session) -> object:
    sequence = sample(session.base_sampler(), question(QUESTION), greedy(16)).sequences[0]
    expect_equal(text_of(sequence), "95", "the answer")
    expect_equal(sequence.stop_reason, "stop", "stop reason")
    expect_equal(sequence.tokens[-1], END, "last token")
    return digest(sequence.tokens)


def seeds(session: Session) -> object:
    first = sample(session.base_sampler(), prompt("The "), drawn(5)).sequences[0]
    again = sample(session.base_sampler(), prompt("The "), drawn(5)).sequences[0]
    other = sample(session.base_sampler(), prompt("The "), drawn(6)).sequences[0]
    expect_equal(list(again.tokens), list(first.tokens), "tokens of the same seed")
    expect_equal(list(again.logprobs or []), list(first.logprobs or []), "log-probabilities of the same seed")
    expect(list(other.tokens) != list(first.tokens), "another seed gives the same tokens")
    return digest(first.tokens)


def several(session: Session) -> object:
    client = session.base_sampler()
    four = sample(client, prompt("The "), drawn(5), 4).sequences
    one = sample(client, prompt("The "), drawn(5), 1).sequences
    expect_equal(len(four), 4, "sequences")
    expect_equal(list(four[0].tokens), list(one[0].tokens), "the first of four and the only one")
    expect_equal(len({tuple(sequence.tokens) for sequence in four}), 4, "different sequences")
    unseeded = [sample(client, prompt("The "), drawn_without_seed()).sequences[0].tokens for _ in range(2)]
    expect(list(unseeded[0]) != list(unseeded[1]), "two draws without a seed are the same")
    return digest([token for sequence in four for token in sequence.tokens])


def drawn_without_seed() -> types.SamplingParams:
    return types.SamplingParams(max_tokens=24, temperature=1.0, stop=NEVER)


def stop_strings(session: Session) -> object:
    client = session.base_sampler()
    whole = text_of(sample(client, question("Copy this: blue river"), greedy(24)).sequences[0])
    expect(len(whole) >= 6, f"the answer {whole!r} is too short to stop in")
    stop = whole[3:5]
    expected = whole[: whole.index(stop) + len(stop)]
    for given in (stop, [stop], ["never said", stop]):
        sequence = sample(client, question("Copy this: blue river"), greedy(24, stop=given)).sequences[0]
        expect_equal(text_of(sequence), expected, f"text with stop {given!r}")
        expect_equal(sequence.stop_reason, "stop", "stop reason")
    return expected


def stop_tokens(session: Session) -> object:
    client = session.base_sampler()
    whole = list(sample(client, question(QUESTION), greedy(8)).sequences[0].tokens)
    sequence = sample(client, question(QUESTION), greedy(8, stop=[whole[0]])).sequences[0]
    expect_equal(list(sequence.tokens), whole[:1], "tokens up to the stop token, which is included")
    expect_equal(sequence.stop_reason, "stop", "stop reason")
    past = sample(client, question(QUESTION), greedy(8, stop=NEVER)).sequences[0]
    expect_equal(len(past.tokens), 8, "tokens with an empty list of stops")
    return digest(past.tokens)


def limits(session: Session) -> object:
    client = session.base_sampler()
    for count in (1, 5):
        sequence = sample(client, prompt("The "), drawn(1, max_tokens=count)).sequences[0]
        expect_equal(len(sequence.tokens), count, "tokens")
        expect_equal(sequence.stop_reason, "length", "stop reason")
    unlimited = sample(client, prompt("The "), types.SamplingParams(seed=1, stop=NEVER)).sequences[0]
    expect(200 < len(unlimited.tokens) <= 256, f"{len(unlimited.tokens)} tokens without a limit")
    expect_equal(unlimited.stop_reason, "length", "stop reason at the end of the context")
    return digest(unlimited.tokens)


def distribution(session: Session) -> object:
    client = session.base_sampler()
    best = list(sample(client, prompt("The "), greedy(12, stop=NEVER)).sequences[0].tokens)
    for narrow in ({"top_k": 1}, {"top_p": 1e-6}):
        seen = list(sample(client, prompt("The "), drawn(3, max_tokens=12, **narrow)).sequences[0].tokens)
        expect_equal(seen, best, f"tokens with {narrow}")
    many = sample(client, prompt("The "), drawn(4, max_tokens=1, top_k=3), 64).sequences
    kinds = {sequence.tokens[0] for sequence in many}
    expect(2 <= len(kinds) <= 3, f"{len(kinds)} different tokens with top_k 3")
    hot = sample(client, prompt("The "), drawn(4, max_tokens=1, temperature=5.0), 64).sequences
    cold = sample(client, prompt("The "), drawn(4, max_tokens=1, temperature=0.2), 64).sequences
    spread = [len({sequence.tokens[0] for sequence in group}) for group in (hot, cold)]
    expect(spread[0] > spread[1], f"{spread[0]} different tokens at temperature 5, {spread[1]} at 0.2")
    nucleus = sample(client, prompt("The "), drawn(4, max_tokens=1, top_p=0.3), 64).sequences
    expect(len({s.tokens[0] for s in nucleus}) < spread[0], "top_p 0.3 cuts nothing off")
    return digest([sequence.tokens[0] for sequence in (*many, *hot, *cold, *nucleus)])


def drawn_logprobs(session: Session) -> object:
    client = session.base_sampler()
    start = text_tokens("The ")
    sequence = sample(client, prompt("The "), drawn(2)).sequences[0]
    expect(sequence.logprobs is not None, "no log-probabilities")
    scored = wait(client.compute_logprobs(types.ModelInput.from_ints([*start, *sequence.tokens])))
    expect_close(sequence.logprobs, scored[len(start) :], "log-probabilities drawn and scored")
    return None


def prompt_logprobs(session: Session) -> object:
    client = session.base_sampler()
    result = sample(client, prompt(SENTENCES[0]), greedy(1), include_prompt_logprobs=True)
    scores = result.prompt_logprobs
    expect(scores is not None and len(scores) == len(text_tokens(SENTENCES[0])), "one score a token")
    expect(scores[0] is None, "the first token has a score although nothing predicts it")
    expect_equal(list(scores), list(wait(client.compute_logprobs(prompt(SENTENCES[0])))), "compute_logprobs")
    without = sample(client, prompt(SENTENCES[0]), greedy(1)).prompt_logprobs
    expect(not without, f"scores nobody asked for: {without}")
    return digest(scores[1:])


def same_as_forward(session: Session) -> object:
    client = session.train()
    for _ in range(3):
        step(client)
    sampler = wait(client.save_weights_and_get_sampling_client())
    for sentence in SENTENCES:
        tokens = text_tokens(sentence)
        scored = wait(sampler.compute_logprobs(types.ModelInput.from_ints(tokens)))
        expect_close(scored[1:], measure(client, [datum(tokens)])[0], f"scores of {sentence!r}")
        loss = wait(client.forward([datum(tokens)], "cross_entropy")).metrics["loss:sum"]
        expect_close(-float(np.sum(scored[1:])), loss, "negative log-likelihood", 1e-3)
    return None


def topk_prompt_logprobs(session: Session) -> object:
    client = session.base_sampler()
    tokens = text_tokens(SENTENCES[0])
    scores = wait(client.compute_logprobs(prompt(SENTENCES[0])))
    tables = {}
    for count in (1, 20, VOCABULARY, VOCABULARY + 10):
        rows = sample(client, prompt(SENTENCES[0]), greedy(1), topk_prompt_logprobs=count).topk_prompt_logprobs
        expect_equal(len(rows), len(tokens), "rows")
        expect(rows[0] is None, "the first token has candidates although nothing predicts it")
        for index in range(1, len(tokens)):
            check_candidates(rows[index], min(count, VOCABULARY), f"row {index} of {count}")
        tables[count] = rows
    whole = tables[VOCABULARY]
    expect_equal(tables[VOCABULARY + 10], whole, "more candidates than the vocabulary has")
    for count in (1, 20):
        expect_equal(tables[count][1:], [row[:count] for row in whole[1:]], f"the best {count}")
    expect_equal([None, *(dict(row)[token] for row, token in zip(whole[1:], tokens[1:]))], scores, "compute_logprobs")
    for row in whole[1:]:
        expect_close([sum(np.exp(value) for _, value in row)], [1.0], "the sum of all probabilities", 1e-4)
    none = sample(client, prompt(SENTENCES[0]), greedy(1), topk_prompt_logprobs=0).topk_prompt_logprobs
    expect(not none, f"candidates nobody asked for: {none}")
    expect_raises(
        (tinker.UnprocessableEntityError,),
        lambda: sample(client, prompt(SENTENCES[0]), greedy(1), topk_prompt_logprobs=10**9),
        says="topk_prompt_logprobs",
    )
    return digest([number for row in tables[20][1:] for pair in row for number in pair])


def check_candidates(row: list[tuple[int, float]], count: int, what: str) -> None:
    expect_equal(len({token for token, _ in row}), count, f"different tokens in {what}")
    values = [value for _, value in row]
    expect_equal(values, sorted(values, reverse=True), f"order of {what}")


def last_scores(session: Session) -> object:
    needs(session, (0, 38))
    client = session.base_sampler()
    scores = wait(client.compute_logprobs(prompt(SENTENCES[0])))
    tail = wait(client.compute_logprobs(prompt(SENTENCES[0]), prompt_logprobs_last_n=4))
    expect_equal(tail, [None] * (len(scores) - 4) + scores[-4:], "scores of the last four tokens")
    options = {"include_prompt_logprobs": True, "topk_prompt_logprobs": 3}
    whole = sample(client, prompt(SENTENCES[0]), greedy(1), **options).topk_prompt_logprobs
    rows = sample(client, prompt(SENTENCES[0]), greedy(1), prompt_logprobs_last_n=4, **options).topk_prompt_logprobs
    expect_equal(rows, [None] * (len(scores) - 4) + whole[-4:], "candidates of the last four tokens")
    return None


def topk_sample_logprobs(session: Session) -> object:
    needs(session, (0, 38))
    client = session.base_sampler()
    for given in (drawn(8), drawn(8, temperature=0.5), greedy(8, stop=NEVER)):
        plain = sample(client, prompt("The "), given, 2).sequences
        scored = sample(client, prompt("The "), given, 2, topk_sample_logprobs=VOCABULARY).sequences
        for alone, sequence in zip(plain, scored, strict=True):
            expect(alone.topk_logprobs is None, "candidates nobody asked for")
            expect_equal(list(sequence.tokens), list(alone.tokens), "tokens with and without candidates")
            expect_equal(len(sequence.topk_logprobs), len(sequence.tokens), "rows")
            for row in sequence.topk_logprobs:
                check_candidates(row, VOCABULARY, "a row")
            found = [dict(row)[token] for row, token in zip(sequence.topk_logprobs, sequence.tokens)]
            expect_equal(found, list(sequence.logprobs), "candidates and log-probabilities of what was drawn")
    best = sample(client, prompt("The "), greedy(8, stop=NEVER), topk_sample_logprobs=1).sequences[0]
    expect_equal([row[0][0] for row in best.topk_logprobs], list(best.tokens), "the best candidates and greedy tokens")
    expect_raises(
        (tinker.UnprocessableEntityError,),
        lambda: sample(client, prompt("The "), greedy(8), topk_sample_logprobs=10**6),
        says="topk_sample_logprobs",
    )
    return digest([value for row in best.topk_logprobs for _, value in row])


def target_prompt_logprobs(session: Session) -> object:
    needs(session, (0, 38))
    client = session.base_sampler()
    tokens = text_tokens(SENTENCES[0])
    whole = sample(client, prompt(SENTENCES[0]), greedy(1), topk_prompt_logprobs=VOCABULARY).topk_prompt_logprobs
    ids = np.array([[token, -1, index % VOCABULARY] for index, token in enumerate(tokens[1:])], dtype=np.int64)
    dense = types.TensorData(data=ids.ravel().tolist(), dtype="int64", shape=list(ids.shape))
    answer = sample(client, prompt(SENTENCES[0]), greedy(1), target_prompt_logprobs=dense).target_prompt_logprobs
    expected = [
        [0.0 if token == -1 else dict(row)[int(token)] for token in wanted]
        for row, wanted in zip(whole[1:], ids, strict=True)
    ]
    expect_equal(answer.dtype, "float32", "dtype")
    expect_equal(answer.tolist(), expected, "scores of a full table")
    listed = types.TensorData(
        data=[65, 66],
        dtype="int64",
        shape=[len(ids), 4],
        sparse_crow_indices=[0] * len(ids) + [2],
        sparse_col_indices=[0, 3],
    )
    sparse = sample(client, prompt(SENTENCES[0]), greedy(1), target_prompt_logprobs=listed).target_prompt_logprobs
    expect_equal(list(sparse.shape), [len(ids), 4], "shape")
    expect_equal(list(sparse.sparse_crow_indices), [0] * len(ids) + [2], "row pointers")
    expect_equal(list(sparse.sparse_col_indices), [0, 3], "columns")
    expect_equal([float(value) for value in sparse.data], [dict(whole[-1])[65], dict(whole[-1])[66]], "listed scores")
    for data, shape, says in (
        ([1, 2], [2, 1], "rows"),
        ([-1] * len(ids), [len(ids), 1], "names no token"),
        ([VOCABULARY] * len(ids), [len(ids), 1], "vocabulary"),
    ):
        wrong = types.TensorData(data=data, dtype="int64", shape=shape)
        expect_raises(
            (tinker.UnprocessableEntityError,),
            lambda given=wrong: sample(client, prompt(SENTENCES[0]), greedy(1), target_prompt_logprobs=given),
            says=says,
        )
    return digest([value for row in expected for value in row])


def prompt_alternatives(session: Session) -> object:
    needs(session, (0, 38))
    client = session.base_sampler()
    tokens = text_tokens(SENTENCES[0])
    whole = sample(client, prompt(SENTENCES[0]), greedy(1), topk_prompt_logprobs=VOCABULARY).topk_prompt_logprobs
    params = drawn(9, max_tokens=1, temperature=0.7)
    first, again, other = (
        sample(client, prompt(SENTENCES[0]), given, prompt_alt_tokens_k=200).prompt_alt_tokens
        for given in (params, params, drawn(10, max_tokens=1, temperature=0.7))
    )
    expect_equal(list(first.tokens.shape), [len(tokens) - 1, 200], "shape")
    expect_equal(first.tokens.tolist(), again.tokens.tolist(), "draws of the same seed")
    expect(first.tokens.tolist() != other.tokens.tolist(), "another seed draws the same")
    for row, ids, values in zip(whole[1:], first.tokens.tolist(), first.logprobs.tolist(), strict=True):
        expect_equal(values, [dict(row)[token] for token in ids], "log-probabilities of the draws")
        weights = {token: float(np.exp(value / 0.7)) for token, value in row}
        share = weights[row[0][0]] / sum(weights.values())
        seen = ids.count(row[0][0]) / 200
        expect(abs(seen - share) <= 5 * (share * (1 - share) / 200) ** 0.5 + 1e-3, f"{seen} of {share} expected draws")
    greedily = sample(client, prompt(SENTENCES[0]), greedy(1), prompt_alt_tokens_k=2).prompt_alt_tokens.tokens
    expect_equal(greedily.tolist(), [[row[0][0]] * 2 for row in whole[1:]], "draws at temperature 0")
    return digest([token for row in first.tokens.tolist() for token in row])


def needs(session: Session, version: tuple[int, int]) -> None:
    if session.version < version:
        raise Skip(f"this option came with {version[0]}.{version[1]}")


def many(session: Session) -> object:
    client = session.base_sampler()
    params = [drawn(seed, max_tokens=6) for seed in range(60)]
    futures = [client.sample(prompt("The "), 1, given) for given in params]
    together = [tuple(wait(future).sequences[0].tokens) for future in futures]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        apart = list(
            pool.map(lambda given: tuple(sample(client, prompt("The "), given).sequences[0].tokens), params[:12])
        )
    expect_equal(apart, together[:12], "tokens drawn alone and among others")
    expect(len(set(together)) > 30, "different seeds give the same tokens")
    return digest([token for tokens in together for token in tokens])
