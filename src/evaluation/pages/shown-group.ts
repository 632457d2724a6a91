interface ShownMessage {
  readonly role: string;
  readonly text: string;
}

export interface ShownRollout {
  readonly reward: number;
  readonly stopReason: string | null;
  readonly turns: number;
  readonly tokens: number;
  /** Of the last turn, and of the end. */
  readonly metrics: Readonly<Record<string, number>>;
  /** What the environment or the grader noted; by turn where there were several. */
  readonly logs: Readonly<Record<string, string | number>>;
  readonly messages: readonly ShownMessage[];
}

/** Answers to one problem as people read them, whether they were trained on or measured. */
export interface ShownGroup {
  readonly group: number;
  readonly id: string;
  readonly tags: readonly string[];
  /** What attempts at rollouts failed with. */
  readonly errors: readonly string[];
  /** What was said of each of them; none in files of releases before it was kept. */
  readonly errorMessages: readonly string[];
  readonly rollouts: readonly ShownRollout[];
}

/** 0 where there is no rollout. */
export function meanReward({ rollouts }: ShownGroup): number {
  return rollouts.reduce((sum, { reward }) => sum + reward, 0) / Math.max(1, rollouts.length);
}

/** `environment_error (3 times): no such file`, each failure once. */
export function failuresOf({
  errors,
  errorMessages,
}: Pick<ShownGroup, 'errors' | 'errorMessages'>): string[] {
  const counts = new Map<
    string,
    { readonly type: string; readonly message: string; readonly count: number }
  >();
  for (const [index, type] of errors.entries()) {
    const message = errorMessages[index] ?? '';
    const key = JSON.stringify([type, message]);
    counts.set(key, { type, message, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()].map(({ type, message, count }) => {
    const times = count === 1 ? type : `${type} (${count} times)`;
    return message === '' ? times : `${times}: ${message}`;
  });
}
