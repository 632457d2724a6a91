"""Saving, loading, listing, keeping and removing."""

import datetime
import io
import json
import struct
import tarfile
import time
import urllib.request
from typing import Any

import tinker

from reporting import Report, Skip
from session import (
    BASE_MODEL,
    RANK,
    SENTENCES,
    Session,
    digest,
    expect,
    expect_close,
    expect_equal,
    expect_raises,
    expect_same_bits,
    flat,
    greedy,
    measure,
    prompt,
    question,
    step,
    training_data,
    wait,
)

GONE = (tinker.NotFoundError, tinker.RequestFailedError, ValueError)


def run(session: Session, report: Report) -> None:
    report.check("save_state and going on with the optimizer: bit-equal", lambda: resume(session))
    report.check("going on without the optimizer: same weights, other steps", lambda: weights_only(session))
    report.check("load_state into a fresh client", lambda: load_into(session))
    report.check("a name is saved once, or overwritten when asked", lambda: names(session))
    report.check("a checkpoint holds what was submitted before it", lambda: pipelined_save(session))
    report.check("named sampler weights hold the step they were made at", lambda: named_sampler(session))
    report.check("ephemeral sampler weights", lambda: ephemeral_sampler(session))
    report.check("a sampler finds its base model", lambda: sampler_introduction(session))
    report.check("checkpoints are listed", lambda: listing(session))
    report.check("training runs are listed", lambda: training_runs(session))
    report.check("weights tell what they are of", lambda: weights_info(session))
    report.check("time to live is set, changed and taken away", lambda: time_to_live(session))
    report.check("a deleted checkpoint is gone", lambda: deletion(session))
    report.check("publishing is refused with a reason", lambda: publishing(session))
    report.check("the archive holds a PEFT adapter", lambda: archive(session))


def trained(session: Session, steps: int = 3, **more: Any) -> Any:
    client = session.train(**more)
    for _ in range(steps):
        step(client)
    return client


def resume(session: Session) -> object:
    whole = trained(session)
    path = wait(whole.save_state("half-way")).path
    expect(path.startswith("tinker://") and path.endswith("/weights/half-way"), f"the path is {path}")
    restored = wait(session.service.create_training_client_from_state_with_optimizer(path))
    expect_same_bits(measure(restored), measure(whole), "models at the checkpoint")
    for _ in range(3):
        losses = [step(client)[0].metrics["loss:sum"] for client in (whole, restored)]
        expect_equal(losses[1], losses[0], "loss after the checkpoint")
    expect_same_bits(measure(restored), measure(whole), "models three steps later")
    return digest(flat(measure(restored)))


def weights_only(session: Session) -> object:
    whole = trained(session)
    path = wait(whole.save_state("weights-only")).path
    fresh = wait(session.service.create_training_client_from_state(path))
    expect_same_bits(measure(fresh), measure(whole), "models at the checkpoint")
    for client in (whole, fresh):
        step(client)
    difference = abs(flat(measure(fresh)) - flat(measure(whole))).max()
    expect(difference > 1e-6, "a step without the optimizer's state is the same as one with it")
    return digest(flat(measure(fresh)))


def load_into(session: Session) -> object:
    whole = trained(session)
    path = wait(whole.save_state("to-load")).path
    for load, is_equal in (("load_state_with_optimizer", True), ("load_state", False)):
        client = session.train(seed=99)
        loading = wait(getattr(client, load)(path))
        expect(loading.path in (None, path), f"{load} answers with the path {loading.path}")
        expect_same_bits(measure(client), measure(whole), f"models after {load}")
        copy = wait(session.service.create_training_client_from_state_with_optimizer(path))
        for other in (client, copy):
            step(other)
        same = bool((flat(measure(client)) == flat(measure(copy))).all())
        expect_equal(same, is_equal, f"a step after {load} equals one with the optimizer's state")
    return None


def names(session: Session) -> object:
    client = trained(session, 1)
    path = wait(client.save_state("same")).path
    before = measure(client)
    step(client)
    expect_raises(
        (tinker.BadRequestError, tinker.RequestFailedError),
        lambda: wait(client.save_state("same")),
        says="already exists",
    )
    kept = wait(session.service.create_training_client_from_state(path))
    expect_same_bits(measure(kept), before, "the checkpoint and what it was made of")
    if session.version >= (0, 31):
        wait(client.save_state("same", overwrite=True))
        replaced = wait(session.service.create_training_client_from_state(path))
        expect_same_bits(measure(replaced), measure(client), "the overwritten checkpoint and the model")
    step(client)
    return None


def named_sampler(session: Session) -> object:
    client, twin = trained(session, 2), trained(session, 2)
    path = wait(client.save_weights_for_sampler("after-two")).path
    expect(path.endswith("/sampler_weights/after-two"), f"the path is {path}")
    step(client)
    scored = wait(session.sampler(path).compute_logprobs(prompt(SENTENCES[0])))
    expect_close(scored[1:], measure(twin, training_data()[:1])[0], "the snapshot and a model of two steps")
    now = measure(client, training_data()[:1])[0]
    expect(abs(now - scored[1:]).max() > 1e-4, "the snapshot moved on with the model")
    return digest(scored[1:])


def pipelined_save(session: Session) -> object:
    """
    Of the saves only `save_state` keeps its place before what is submitted next: the clients number
    `save_weights_for_sampler` later, in their own event loop.
    """
    client, twin = trained(session, 2), trained(session, 2)
    saving = client.save_state("in-order")
    step(client)
    restored = wait(session.service.create_training_client_from_state_with_optimizer(wait(saving).path))
    expect_same_bits(measure(restored), measure(twin), "the checkpoint and a model of two steps")
    return None


def ephemeral_sampler(session: Session) -> object:
    client = trained(session, 2)
    first = wait(client.save_weights_and_get_sampling_client())
    before = wait(first.compute_logprobs(prompt(SENTENCES[0])))
    for _ in range(2):
        step(client)
    second = wait(client.save_weights_and_get_sampling_client())
    expect_equal(
        wait(first.compute_logprobs(prompt(SENTENCES[0]))), before, "scores of the first snapshot, later"
    )
    scores = wait(second.compute_logprobs(prompt(SENTENCES[0])))
    expect_close(scores[1:], measure(client, training_data()[:1])[0], "the second snapshot and the model")
    expect(abs(scores[5] - before[5]) > 0, "both snapshots score the same")
    listed = wait(session.rest.list_checkpoints(client.model_id)).checkpoints
    expect_equal(listed, [], "checkpoints of a model with ephemeral snapshots only")
    return digest(scores[1:])


def sampler_introduction(session: Session) -> object:
    client = trained(session, 1)
    path = wait(client.save_weights_for_sampler("introduced")).path
    sampler = session.sampler(path)
    expect_equal(sampler.get_base_model(), BASE_MODEL, "base model")
    sequence = wait(sampler.sample(question("What is 37 plus 58?"), 1, greedy(4))).sequences[0]
    expect(len(sequence.tokens) >= 1, "the sampler says nothing")
    return None


def listing(session: Session) -> object:
    client = trained(session, 1)
    paths = [wait(client.save_state(f"state-{index}")).path for index in range(2)]
    paths.append(wait(client.save_weights_for_sampler("sampler-0")).path)
    listed = wait(session.rest.list_checkpoints(client.model_id)).checkpoints
    expect_equal(sorted(item.tinker_path for item in listed), sorted(paths), "listed checkpoints")
    kinds = {item.checkpoint_id: item.checkpoint_type for item in listed}
    expected = {"weights/state-0": "training", "weights/state-1": "training", "sampler_weights/sampler-0": "sampler"}
    expect_equal(kinds, expected, "kinds")
    expect(all((item.size_bytes or 0) > 1000 for item in listed), "sizes are missing")
    age = datetime.datetime.now(datetime.timezone.utc) - listed[0].time
    expect(abs(age.total_seconds()) < 300, f"the checkpoint is {age} old")
    everything, offset = [], 0
    while True:
        page = wait(session.rest.list_user_checkpoints(limit=5, offset=offset))
        everything += [item.tinker_path for item in page.checkpoints]
        offset += 5
        if offset >= page.cursor.total_count:
            break
    expect(set(paths) <= set(everything), "checkpoints are missing from the list of all")
    expect_equal(len(everything), len(set(everything)), "checkpoints over all pages, each once")
    return None


def training_runs(session: Session) -> object:
    client = trained(session, 1, user_metadata={"purpose": "listing"})
    path = wait(client.save_state("of-run")).path
    one = wait(session.rest.get_training_run(client.model_id))
    expect_equal((one.base_model, one.lora_rank, one.is_lora), (BASE_MODEL, RANK, True), "the run")
    expect_equal(one.user_metadata, {"purpose": "listing"}, "metadata")
    expect_equal(one.last_checkpoint.tinker_path if one.last_checkpoint else None, path, "last checkpoint")
    same = wait(session.rest.get_training_run_by_tinker_path(path))
    expect_equal(same.training_run_id, str(client.model_id), "the run of the checkpoint")
    runs = wait(session.rest.list_training_runs(limit=3)).training_runs
    expect(str(client.model_id) in [item.training_run_id for item in runs], "the newest run is not listed first")
    expect_raises(GONE, lambda: wait(session.rest.get_training_run("nobody:train:0")), says="not found")
    return None


def weights_info(session: Session) -> object:
    client = session.train(train_unembed=False)
    path = wait(client.save_state("described")).path
    info = wait(session.rest.get_weights_info_by_tinker_path(path))
    expect_equal((info.base_model, info.is_lora, info.lora_rank), (BASE_MODEL, True, RANK), "weights")
    expect_equal(info.train_unembed, False, "training of the unembedding")
    return None


def time_to_live(session: Session) -> object:
    client = trained(session, 1)
    path = wait(client.save_state("short", ttl_seconds=7200)).path
    remaining = seconds_left(session, client, path)
    expect(remaining is not None and 7000 < remaining <= 7200, f"{remaining} seconds left of 7200")
    wait(session.rest.set_checkpoint_ttl_from_tinker_path(path, 600))
    remaining = seconds_left(session, client, path)
    expect(remaining is not None and 500 < remaining <= 600, f"{remaining} seconds left of 600")
    wait(session.rest.set_checkpoint_ttl_from_tinker_path(path, None))
    expect_equal(seconds_left(session, client, path), None, "expiry after it was taken away")
    # The newest state of a model that may still train stays, whatever its time to live.
    step(client)
    wait(client.save_state("after-short"))
    wait(session.rest.set_checkpoint_ttl_from_tinker_path(path, 1))
    expect_raises(GONE, lambda: load_until_gone(session, path), says="not found")
    return None


def seconds_left(session: Session, client: Any, path: str) -> float | None:
    listed = wait(session.rest.list_checkpoints(client.model_id)).checkpoints
    expires = next(item.expires_at for item in listed if item.tinker_path == path)
    if expires is None:
        return None
    return (expires - datetime.datetime.now(datetime.timezone.utc)).total_seconds()


def load_until_gone(session: Session, path: str) -> None:
    for _ in range(40):
        wait(session.rest.get_weights_info_by_tinker_path(path))
        time.sleep(0.5)


def deletion(session: Session) -> object:
    client = trained(session, 1)
    kept = wait(client.save_state("kept")).path
    gone = [wait(client.save_state("gone")).path, wait(client.save_weights_for_sampler("gone")).path]
    for path in gone:
        wait(session.rest.delete_checkpoint_from_tinker_path(path))
    listed = [item.tinker_path for item in wait(session.rest.list_checkpoints(client.model_id)).checkpoints]
    expect_equal(listed, [kept], "checkpoints left")
    expect_raises(
        GONE, lambda: wait(session.service.create_training_client_from_state(gone[0])), says="not found"
    )
    expect_raises(
        GONE,
        lambda: wait(session.sampler(gone[1]).sample(prompt("The "), 1, greedy(1))),
        says="not found",
    )
    expect_raises(
        GONE, lambda: wait(session.rest.delete_checkpoint_from_tinker_path(gone[0])), says="not found"
    )
    return None


def publishing(session: Session) -> object:
    client = trained(session, 1)
    path = wait(client.save_state("private")).path
    expect_raises(
        (tinker.BadRequestError,),
        lambda: wait(session.rest.publish_checkpoint_from_tinker_path(path)),
        says="publishes nothing",
    )
    return None


def archive(session: Session) -> object:
    client = trained(session, 2)
    path = wait(client.save_weights_for_sampler("to-download")).path
    if not hasattr(session.rest, "get_checkpoint_archive_url_from_tinker_path"):
        raise Skip("this client has no archives any more, only external weights")
    link = wait(session.rest.get_checkpoint_archive_url_from_tinker_path(path))
    left = (link.expires - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
    expect(60 < left <= 3600, f"the link lives {left:g} s")
    with urllib.request.urlopen(link.url) as answer:
        packed = tarfile.open(fileobj=io.BytesIO(answer.read()), mode="r:gz")
    files = {entry.name.removeprefix("./"): entry for entry in packed.getmembers()}
    expect({"adapter_config.json", "adapter_model.safetensors"} <= set(files), f"the archive has {sorted(files)}")
    config = json.load(packed.extractfile(files["adapter_config.json"]))
    expect_equal((config["peft_type"], config["r"]), ("LORA", RANK), "adapter_config.json")
    weights = packed.extractfile(files["adapter_model.safetensors"]).read()
    (size,) = struct.unpack("<Q", weights[:8])
    tensors = json.loads(weights[8 : 8 + size])
    shapes = [entry["shape"] for name, entry in tensors.items() if "lora_A" in name]
    expect(len(shapes) > 0 and all(RANK in shape for shape in shapes), f"shapes of lora_A: {shapes[:3]}")
    return None
