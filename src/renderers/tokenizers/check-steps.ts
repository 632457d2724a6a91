import { isRecord } from '../reply-blocks';
import { STEP_KINDS } from './step-kinds';
import { wrongField } from './wrong-field';

const MOST_STEPS = 100;
const MOST_DEPTH = 10;

interface FoundStep {
  readonly field: string;
  readonly step: unknown;
}

/** The steps from text to tokens and back of a `tokenizer.json`. Throws an error that names the field. */
export function checkSteps(definition: Readonly<Record<string, unknown>>): void {
  for (const part of Object.keys(STEP_KINDS)) {
    const step = definition[part];
    if (step === null) continue;
    for (const found of allSteps({ field: part, step })) checkStep(part, found);
  }
}

/** Level by level: what calls itself for each would end with an error of JavaScript where they lie thousands deep. */
function allSteps(first: FoundStep): readonly FoundStep[] {
  const found: FoundStep[] = [];
  let level: readonly FoundStep[] = [first];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MOST_DEPTH) throw wrongField(first.field, `has steps more than ${MOST_DEPTH} deep`);
    if (found.length + level.length > MOST_STEPS)
      throw wrongField(first.field, `has more than ${MOST_STEPS} steps`);
    found.push(...level);
    level = level.flatMap((step) => innerSteps(first.field, step));
  }
  return found;
}

function innerSteps(part: string, { field, step }: FoundStep): readonly FoundStep[] {
  const name = STEP_KINDS[part]?.steps ?? '';
  if (!isRecord(step) || step['type'] !== 'Sequence') return [];
  const steps: unknown = step[name];
  if (!Array.isArray(steps)) return [];
  return steps.map((inner: unknown, index) => ({ field: `${field}.${name}.${index}`, step: inner }));
}

function checkStep(part: string, { field, step }: FoundStep): void {
  const kinds = new Map(Object.entries(STEP_KINDS[part]?.kinds ?? {}));
  if (!isRecord(step)) throw wrongField(field, 'has to be an object with a "type"');
  const kind = kinds.get(String(step['type']));
  if (!kind) {
    const type = JSON.stringify(step['type'] ?? null).slice(0, 60);
    throw wrongField(`${field}.type`, `is ${type}. Known: ${[...kinds.keys()].join(', ')}`);
  }
  const [issue] = kind.safeParse(step).error?.issues ?? [];
  if (issue) throw wrongField([field, ...issue.path].join('.'), `is wrong: ${issue.message}`);
}
