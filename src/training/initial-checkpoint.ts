import type { TrainingConfig } from '../config/training-config';
import { DomainError } from '../core/errors';
import { readCheckpointName } from '../stores/checkpoint-name';
import type { RunStore } from '../stores/run-store';

/**
 * The state a run starts from, as the service's own URI; null for the base model.
 *
 * `RUN@STEP` or `RUN@best` names a checkpoint of another run in the store. It is looked up once, when the run is prepared: what
 * becomes of that other run's folder later is nothing to this one.
 */
export async function resolveInitialCheckpoint(
  store: Pick<RunStore, 'readCheckpoints' | 'readConfig' | 'readState' | 'runFolder'>,
  { initialCheckpoint, loraRank }: TrainingConfig,
): Promise<string | null> {
  if (initialCheckpoint === undefined || initialCheckpoint.includes('://')) return initialCheckpoint ?? null;
  const { run, step } = await readCheckpointName(initialCheckpoint, store);
  const rows = (await store.readCheckpoints(run)).filter((row) => row.state_path !== null);
  const row = step === null ? rows.at(-1) : rows.find((candidate) => candidate.step === step);
  if (row) {
    requireRank(initialCheckpoint, { asked: loraRank, made: await rankOf(run, store) });
    return row.state_path;
  }
  const known = rows.map((candidate) => candidate.step).join(', ');
  throw new DomainError(
    'unknown-checkpoint',
    `initialCheckpoint: "${initialCheckpoint}" has no saved state. ${await whileUnderWay(run, store)}` +
      (known === ''
        ? `No run "${run}" with checkpoints is in the store. Train it first, or name another run: npx everstep runs list.`
        : `Steps of "${run}" that have: ${known}. Name one of them, as "${run}@${String(rows.at(-1)?.step)}".`),
  );
}

/** Of a run that is not over: it may have the step later. */
async function whileUnderWay(run: string, store: Pick<RunStore, 'readState'>): Promise<string> {
  const state = await store.readState(run).catch(() => null);
  if (state?.closedAt !== null) return '';
  return `"${run}" is under way, at step ${state.step} of ${state.totalSteps}: begin when it has ended. `;
}

/** Services go on with the rank that a checkpoint has, whatever is asked for: a run would be recorded with one it never had. */
function requireRank(
  checkpoint: string,
  { asked, made }: { readonly asked: number; readonly made: number | null },
): void {
  if (made === null || made === asked) return;
  throw new DomainError(
    'bad-config',
    `loraRank: it is ${asked}, and "${checkpoint}" was made with ${made}, which its weights keep. Set loraRank: ${made}.`,
  );
}

/** null where the store has no record of it. */
async function rankOf(run: string, store: Pick<RunStore, 'readConfig'>): Promise<number | null> {
  const record = await store
    .readConfig<{ readonly config?: { readonly loraRank?: unknown } }>(run)
    .catch(() => null);
  const rank = record?.config?.loraRank;
  return typeof rank === 'number' ? rank : null;
}
