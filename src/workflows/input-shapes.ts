type Kind = 'text' | 'number' | 'object' | 'list';

/** What the input of each workflow has to have for the workflow to begin; the rest is looked at where it is used. */
const SHAPES: Readonly<Record<string, Readonly<Record<string, Kind>>>> = {
  trainSupervised: { run: 'text', config: 'object', provenance: 'object' },
  trainReinforcement: { run: 'text', config: 'object', provenance: 'object' },
  evaluateCheckpoint: { run: 'text', step: 'number', evaluators: 'list' },
  promoteCheckpoint: { run: 'text', request: 'object' },
  runBenchmark: { request: 'object' },
  runEvaluator: { request: 'object' },
  backfill: { request: 'object' },
  canary: { request: 'object' },
  askPython: { activity: 'text', taskQueue: 'text' },
};

const IS_KIND: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  list: (value) => Array.isArray(value),
};

/** What such an input lacks, in words; null where nothing is missing. */
export function missingOf(workflowType: string, input: unknown): string | null {
  const shape = Object.hasOwn(SHAPES, workflowType) ? SHAPES[workflowType] : undefined;
  if (!shape) return null;
  if (!IS_KIND.object(input)) return 'it is no object';
  const fields = new Map<string, unknown>(Object.entries(input ?? {}));
  const missing = Object.entries(shape).find(([name, kind]) => !IS_KIND[kind](fields.get(name)));
  return missing ? `"${missing[0]}" has to be ${missing[1] === 'object' ? 'an' : 'a'} ${missing[1]}` : null;
}
