"""
The official cookbook's own readers on the folder of one of our runs.

    python cookbook_read.py RUN_FOLDER
"""

import math
import sys
from pathlib import Path

import tinker
from tinker_cookbook import checkpoint_utils
from tinker_cookbook.stores.registry import RunRegistry
from tinker_cookbook.stores.storage import storage_from_uri
from tinker_cookbook.stores.training_store import TrainingRunStore

from reporting import Report
from session import expect, expect_equal, wait


def read_checkpoints(folder: Path) -> object:
    records = checkpoint_utils.load_checkpoints_file(str(folder))
    steps = [record.get("step") for record in records]
    expect_equal(steps, sorted(steps), "order of checkpoints")
    expect({3, 6, 8} <= set(steps), f"checkpoints of steps {steps}")
    last = checkpoint_utils.get_last_checkpoint(str(folder))
    expect(last is not None and last.get("final") is True, f"the last checkpoint is {last}")
    expect_equal(last.get("step"), 8, "step of the last checkpoint")
    sampler = checkpoint_utils.get_last_checkpoint(str(folder), required_key="sampler_path")
    expect(sampler is not None and "/sampler_weights/" in sampler.sampler_path, f"sampler weights: {sampler}")
    return None


def resume(folder: Path) -> object:
    """The cookbook resumes from the row's state_path; our state has to be one it can load."""
    last = checkpoint_utils.get_last_checkpoint(str(folder))
    service = tinker.ServiceClient()
    client = wait(service.create_training_client_from_state_with_optimizer(last.state_path))
    expect_equal(wait(client.get_info()).lora_rank, 4, "rank of the restored model")
    sampler = wait(service.create_sampling_client(model_path=last.sampler_path))
    scores = wait(sampler.compute_logprobs(tinker.types.ModelInput.from_ints([9, 10, 11])))
    expect(all(map(math.isfinite, scores[1:])), f"scores of the sampler: {scores}")
    return None


def read_metrics(folder: Path) -> object:
    store = TrainingRunStore(storage_from_uri(str(folder)))
    rows = store.read_metrics()
    expect_equal([row["step"] for row in rows], list(range(1, 9)), "steps")
    expect("train/nll" in store.metric_keys(), f"keys {sorted(store.metric_keys())}")
    expect(rows[-1]["train/nll"] < rows[0]["train/nll"], "the loss went up")
    config = store.read_config()
    expect(config is not None, "config.json is not read")
    return None


def discover(folder: Path) -> object:
    registry = RunRegistry([storage_from_uri(str(folder.parent))])
    found = {run.run_id: run for run in registry.refresh()}
    expect(folder.name in found, f"runs found: {sorted(found)}")
    run = found[folder.name]
    expect_equal((run.has_config, run.has_metrics, run.has_checkpoints), (True, True, True), "files found")
    return None


def main() -> None:
    folder = Path(sys.argv[1])
    report = Report(None)
    report.check("cookbook reads our checkpoints.jsonl", lambda: read_checkpoints(folder))
    report.check("cookbook resumes from our last checkpoint", lambda: resume(folder))
    report.check("cookbook reads our metrics.jsonl and config.json", lambda: read_metrics(folder))
    report.check("cookbook finds our run", lambda: discover(folder))


main()
