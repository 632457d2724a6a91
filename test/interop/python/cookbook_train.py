"""
The official cookbook's own supervised loop, unmodified, against one server.

    python cookbook_train.py FOLDER CONVERSATIONS.jsonl

The working directory holds `everstep/tiny`, the model's folder: the cookbook loads the tokenizer by the model's name,
and a folder of that name comes before the hub.
"""

import asyncio
import json
import logging
import math
import sys
from pathlib import Path

import tinker
from tinker_cookbook import checkpoint_utils
from tinker_cookbook.supervised import train

from cookbook_config import supervised
from reporting import Report
from session import expect, expect_equal, wait

ROWS = 32


def rows(folder: Path) -> list[dict[str, float]]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [row for row in map(json.loads, lines) if "train_mean_nll" in row]


def run_loop(folder: Path, data: Path) -> object:
    """Every step reads all rows, so that order does not matter and another program's curve can be compared."""
    asyncio.run(train.main(supervised(folder, data, batch_size=ROWS)))
    seen = rows(folder)
    losses = [row["train_mean_nll"] for row in seen]
    expect_equal([row["step"] for row in seen], list(range(8)), "steps")
    expect(losses[-1] < 0.7 * losses[0], f"the loss went from {losses[0]:g} to {losses[-1]:g}")
    records = checkpoint_utils.load_checkpoints_file(str(folder))
    expect_equal([record.name for record in records], ["000003", "000006", "final"], "checkpoints")
    rest = tinker.ServiceClient().create_rest_client()
    for record in records:
        for path in (record.state_path, record.sampler_path):
            expect_equal(wait(rest.get_weights_info_by_tinker_path(path)).lora_rank, 4, f"rank of {path}")
    return None


def run_again(folder: Path, data: Path) -> object:
    """A second start in the same folder goes on from the last checkpoint."""
    asyncio.run(train.main(supervised(folder, data, batch_size=ROWS, num_epochs=8)))
    before = rows(folder)
    asyncio.run(train.main(supervised(folder, data, batch_size=ROWS, num_epochs=10)))
    seen = rows(folder)
    expect_equal([row["step"] for row in seen], list(range(10)), "steps after going on")
    expect(seen[8]["train_mean_nll"] < before[0]["train_mean_nll"], "going on began from the start")
    return None


def run_with_evaluation(folder: Path, data: Path) -> object:
    """Held-out rows become its own evaluator, which scores with the training client or the sampler."""
    config = supervised(folder, data, batch_size=8, test_size=8, num_epochs=1, eval_every=2, max_steps=3)
    asyncio.run(train.main(config))
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    scores = [row["test/nll"] for row in lines if "test/nll" in row]
    expect(len(scores) >= 2 and all(map(math.isfinite, scores)), f"scores of held-out rows: {scores}")
    expect(scores[-1] < scores[0], f"held-out loss went from {scores[0]:g} to {scores[-1]:g}")
    return None


def main() -> None:
    logging.getLogger().setLevel(logging.ERROR)
    folder, data = Path(sys.argv[1]), Path(sys.argv[2])
    report = Report(None)
    loop = folder / "loop"
    report.check("cookbook: its supervised loop trains", lambda: run_loop(loop, data))
    report.check("cookbook: its loop goes on from its checkpoint", lambda: run_again(folder / "again", data))
    report.check("cookbook: its evaluator scores held-out rows", lambda: run_with_evaluation(folder / "eval", data))


main()
