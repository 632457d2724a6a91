import type { InspectTask } from '../../../core/benchmark-run';
import { DomainError } from '../../../core/errors';
import { roleModels } from '../role-models';

/** How tasks are run, by the names of the field. */
export interface InspectSettings {
  readonly temperature: number;
  readonly maxTokens: number;
  readonly topP: number;
  readonly topK?: number | undefined;
  readonly seed?: number | undefined;
  readonly limit?: number | undefined;
  readonly epochs?: number | undefined;
  readonly maxConnections: number;
  readonly retryOnError: number;
  /** Of one task. */
  readonly timeoutSeconds: number;
}

/** Inspect's name for us as a service: it takes address and key from variables that begin so. */
const SERVICE = 'everstep';
/** What the gateway cannot do now it can do in a moment; what is gone for longer ends the evaluation. */
const MAX_RETRIES = 8;

interface WordPlaces {
  /** Gets the log. */
  readonly logs: string;
  /** Holds the arguments of the task. */
  readonly config: string;
}

/** What follows `inspect` to run a task. */
export function wordsFor(
  { task, args, roles = {} }: InspectTask,
  { settings, model: name }: { readonly settings: InspectSettings; readonly model: string },
  { logs, config }: WordPlaces,
): string[] {
  const { temperature, maxTokens, topP, topK, seed, limit, epochs, maxConnections, retryOnError } = settings;
  requireOneModel(name);
  const flags = {
    model: `openai-api/${SERVICE}/${name}`,
    'log-dir': logs,
    'log-format': 'eval',
    display: 'plain',
    temperature,
    'max-tokens': maxTokens,
    'top-p': topP,
    'top-k': topK,
    seed,
    limit,
    epochs,
    'max-connections': maxConnections,
    'max-retries': MAX_RETRIES,
    'retry-on-error': retryOnError,
    'task-config': Object.keys(args).length > 0 ? config : undefined,
  };
  const words = Object.entries(flags).flatMap(([flag, value]) =>
    value === undefined ? [] : [`--${flag}=${value}`],
  );
  const roleWords = Object.entries(roleModels(roles)).map(
    ([role, model]) => `--model-role=${role}=${typeof model === 'string' ? model : JSON.stringify(model)}`,
  );
  // Nothing here holds a model to a schema, and the gateway refuses to promise it.
  const modelWords = ['-M', 'strict_tools=false'];
  // One sample that fails is told in its place and takes no other with it.
  return [
    'eval',
    ...words,
    ...modelWords,
    ...roleWords,
    '--no-fail-on-error',
    '--no-log-realtime',
    '--',
    task,
  ];
}

/** Inspect takes what stands behind a comma for a further model, of whatever provider. */
function requireOneModel(name: string): void {
  if (/^[\w./:@+-]+$/.test(name)) return;
  throw new DomainError(
    'refused',
    `inspect: a model called ${JSON.stringify(name)} cannot be given to Inspect AI. Call it by letters, digits and "./:@+_-".`,
  );
}
