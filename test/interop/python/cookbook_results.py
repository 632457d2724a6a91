"""
The official cookbook's own loaders on what `everstep export cookbook` writes.

    python cookbook_results.py EVAL_RUN_EXPORT STORE_EXPORT
"""

import json
import sys
from pathlib import Path

from tinker_cookbook.eval.benchmarks import load_result, load_summary, load_trajectories
from tinker_cookbook.stores.eval_store import EvalStore

from reporting import Report
from session import expect, expect_equal


def read_run(folder: Path) -> object:
    result = load_result(str(folder), "arithmetic")
    expect(result is not None, "no result")
    trajectories = load_trajectories(str(folder), "arithmetic")
    expect_equal(len(trajectories), result.num_examples, "trajectories")
    rewards = [trajectory.reward for trajectory in trajectories]
    expect(abs(sum(rewards) / len(rewards) - result.score) < 1e-12, "the score is the mean of the rewards")
    expect_equal(len(load_trajectories(str(folder), "arithmetic", correct_only=True)), result.num_correct, "right")
    completed = result.num_examples - result.num_errors - result.num_truncated
    expect_equal(result.num_completed, completed, "completed")
    expect_equal(load_summary(str(folder))["arithmetic"]["score"], result.score, "score of the summary")
    expect(trajectories[0].turns[-1].role in {"assistant", "grader"}, f"turns {trajectories[0].turns}")
    return None


def read_store(folder: Path) -> object:
    store = EvalStore(folder)
    runs = store.list_runs()
    index = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    expect_equal({run.run_id for run in runs}, {row["run_id"] for row in index}, "runs")
    for run in runs:
        expect_equal(store.list_benchmarks(run.run_id), sorted(run.benchmarks), "benchmarks")
        result = store.read_result(run.run_id, "arithmetic")
        expect(result is not None, "the store refuses the result")
        expect_equal(run.scores["arithmetic"], result.score, "score")
        expect_equal(store.read_summary(run.run_id)["arithmetic"]["score"], result.score, "summary")
        trajectories = store.read_trajectories(run.run_id, "arithmetic")
        expect_equal(len(trajectories), result.num_examples, "trajectories")
        expect_equal(store.finalize_run(run.run_id).scores, run.scores, "scores after finalize_run")
    return len(runs)


def main() -> None:
    run, store = Path(sys.argv[1]), Path(sys.argv[2])
    report = Report(None)
    report.check("cookbook loads an exported eval run", lambda: read_run(run))
    report.check("cookbook's EvalStore reads exported eval runs", lambda: read_store(store))


main()
