"""Tasks of Inspect: sums as the small model knows them, in every way that a task can ask and score, and one that cannot be made."""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import Score, includes, match, mean, scorer, stderr
from inspect_ai.solver import generate


def additions(count: int):
    samples = [Sample(id=f"sum/{left}", input=f"{left}+5=", target=str(left + 5)) for left in range(count)]
    return MemoryDataset(samples, name="additions")


@task
def sums(count: int = 4):
    return Task(dataset=additions(count), solver=generate(), scorer=[match(), includes()])


@scorer(metrics={"form": [mean(), stderr()], "content": [mean()]})
def form_and_content():
    async def score(state, target):
        return Score(value={"form": 0.75, "content": 0.25}, answer=state.output.completion)

    return score


@task
def parts():
    return Task(dataset=additions(2), solver=generate(), scorer=form_and_content())


@scorer(metrics=[mean()])
def judge_is_brief():
    async def score(state, target):
        judge = get_model(role="grader")
        verdict = await judge.generate("is it right?")
        return Score(value=float(judge.config.max_tokens == 3), explanation=verdict.completion)

    return score


@task
def judged():
    return Task(dataset=additions(2), solver=generate(), scorer=judge_is_brief())


@task
def broken():
    raise ValueError("this task cannot be made")
