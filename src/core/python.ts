/** Work for a person's own Python: it is done by a Temporal worker written in Python, on a task queue of its own. */

export const PYTHON_TASK_QUEUE = 'everstep-python';

/** Something that a Python worker registers by a name. */
export interface PythonName {
  readonly python: string;
  /** Default `everstep-python`. */
  readonly taskQueue?: string | undefined;
}

/** Activities that a Python worker has. */
export type PythonActivity =
  'gradeCompletions' | 'runEvaluator' | 'readDataset' | 'readProblems' | 'playEnvironments' | 'listNames';

/** One piece of work. Plain JSON: it travels through workflow history. */
export interface PythonAsk {
  readonly activity: PythonActivity;
  readonly taskQueue: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Type of the failure with which a Python worker says that nothing is registered under a name. */
export const UNKNOWN_PYTHON_NAME = 'unknown-python-name';

/** The grader of a benchmark that a Python worker judges. */
export function pythonGrader(name: string, taskQueue?: string): PythonName {
  return { python: name, ...(taskQueue !== undefined && { taskQueue }) };
}

export function pythonQueue({ taskQueue = PYTHON_TASK_QUEUE }: PythonName): string {
  return taskQueue;
}
