"""Opens logs with Inspect's own reader and prints what is in them, one JSON line a log."""

import json
import sys

from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample_summaries

for info in list_eval_logs(sys.argv[1]):
    log = read_eval_log(info.name)
    score = log.results.scores[0]
    print(
        json.dumps(
            {
                "status": log.status,
                "task": log.eval.task,
                "metrics": {name: metric.value for name, metric in score.metrics.items()},
                "values": [
                    next(iter(sample.scores.values())).value if sample.scores else None
                    for sample in log.samples
                ],
                "complete": all(
                    isinstance(sample.input, str) and sample.input != "" and sample.target != "" and sample.messages
                    for sample in log.samples
                ),
                "told": all(
                    [event.event for event in sample.events] == ["sample_init", "model", "score"]
                    and len(sample.events[1].input) == len(sample.messages) - 1
                    for sample in log.samples
                ),
                "summaries": len(read_eval_log_sample_summaries(info.name)),
            }
        )
    )
