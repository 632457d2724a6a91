"""A task of Inspect AI that the small model can learn: sums of two numbers.

npx everstep eval 'inspect:examples/inspect/sums.py@sums?count=50' --checkpoint RUN@STEP
"""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import match
from inspect_ai.solver import generate


@task
def sums(count: int = 20):
    pairs = [(left, (7 * left) % 50) for left in range(count)]
    samples = [
        Sample(id=f"{left}+{right}", input=f"{left}+{right}=", target=str(left + right))
        for left, right in pairs
    ]
    return Task(
        dataset=MemoryDataset(samples, name="sums"), solver=generate(), scorer=match()
    )
