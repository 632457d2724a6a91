import path from 'node:path';
import { DomainError } from '../core/errors';
import { isValidName } from '../core/names';
import { shellWord } from '../core/shell-word';
import { readPromotion } from '../stores/checkpoint-name';
import type { FolderSize } from '../stores/delete-folder';
import { deleteFolder, sizeOfFolder } from '../stores/delete-folder';
import { noteDeletedRun } from '../stores/deleted-runs';
import { namesIn } from '../stores/folder-names';
import { readJsonIfThere } from '../stores/whole-file';
import { forgetWorkflow } from './forget-workflow';
import { listOpenEvaluations } from './open-evaluations';
import { isPathWithin, modelsIn, placeOfReference } from './references';
import { RunHandle } from './run-handle';
import type { RunSources } from './run-handle';
import { isClosed } from './run-report';
import { workflowIdOf } from './workflow-answers';

/** What deleting a run would take, and what stands against it. */
export interface RunDeletion extends FolderSize {
  readonly run: string;
  readonly folder: string;
  /** Who still needs it, and what to do; it is deleted only where this is empty. */
  readonly heldBy: readonly string[];
  /** What a person should know before: a checkpoint somebody promoted, checkpoints that stay at the service. */
  readonly remarks: readonly string[];
}

interface DeletionSources extends RunSources {
  readonly store: string;
  /** Models that schedules ask, by the schedule's name; null where no server says. */
  readonly scheduledModels: () => Promise<
    readonly { readonly name: string; readonly model: string }[] | null
  >;
}

/** Says what `deleteRun` would do. Throws `unknown-run` where there is no such run. */
export async function planRunDeletion(sources: DeletionSources, run: string): Promise<RunDeletion> {
  const { records } = sources;
  const report = await new RunHandle(run, sources).status();
  const folder = records.runFolder(run);
  const checkpoints = await records.readCheckpoints(run);
  const own = new Set(checkpoints.flatMap((row) => [row.state_path ?? [], row.sampler_path ?? []].flat()));
  const promotion = await readPromotion(folder);
  const heldBy = [
    ...(isClosed(report)
      ? []
      : [`it has not ended (${report.status}): end it with \`everstep runs cancel ${run}\``]),
    ...(await holdingRuns(sources, run, own)),
    ...(await holdingEvals(sources, run, own)),
    ...(await holdingSchedules(sources, run, own)),
    ...(await holdingWorkflows(sources, run)),
  ];
  const remarks = [
    ...(promotion ? [`Its checkpoint of step ${promotion.step} is promoted (${run}@best).`] : []),
    ...(own.size > 0
      ? [
          `${own.size} checkpoints stay at the training service until they expire there; those of the local engine go with \`everstep store gc --apply\`.`,
        ]
      : []),
  ];
  return { run, folder, ...(await sizeOfFolder(folder)), heldBy, remarks };
}

/**
 * Deletes an ended run that nothing refers to: its folder, then its workflow's history where a server answers, so that the name is free.
 * Killed half-way, the run is gone or whole. Throws `refused` where something needs it.
 */
export async function deleteRun(sources: DeletionSources, run: string): Promise<RunDeletion> {
  const plan = await planRunDeletion(sources, run);
  if (plan.heldBy.length > 0) {
    throw new DomainError('refused', `Run "${run}" is not deleted: ${plan.heldBy.join('; ')}.`);
  }
  await noteDeletedRun(sources.store, { run, models: await modelsOf(sources, run) });
  await deleteFolder(sources.store, 'runs', run);
  const client = await sources.link.find();
  if (client) await forgetWorkflow(client, workflowIdOf(run));
  return plan;
}

/** At the training service: nobody can tell whose they are once the folder is gone. */
async function modelsOf({ records }: DeletionSources, run: string): Promise<string[]> {
  const [rows, life] = await Promise.all([records.readCheckpoints(run), records.readLife(run)]);
  return [...modelsIn(JSON.stringify([rows, life]))];
}

async function holdingRuns({ records }: DeletionSources, run: string, own: ReadonlySet<string>) {
  const isReference = referenceTo({ run, own, folder: records.runFolder(run) });
  const held: string[] = [];
  for await (const { run: other } of records.eachRun()) {
    if (other === run) continue;
    const config = await records.readConfig(other).catch(() => null);
    const key = config && placeOfReference(config, isReference);
    if (key) held.push(`run ${other} refers to it (${key}): delete that one first`);
  }
  return held;
}

/** Results say which checkpoint they are of; of a new run with the old name they would say something untrue. */
async function holdingEvals({ store, records }: DeletionSources, run: string, own: ReadonlySet<string>) {
  const isReference = referenceTo({ run, own, folder: records.runFolder(run) });
  const held: string[] = [];
  const folder = path.join(store, 'evals');
  for (const name of (await namesIn(folder)).filter(isValidName).sort()) {
    const metadata = await readJsonIfThere<object>(path.join(folder, name, 'metadata.json'));
    if (metadata && placeOfReference(metadata, isReference) !== null)
      held.push(
        `results ${name} are of it: delete them first with \`everstep results delete ${shellWord(name)}\``,
      );
  }
  return held;
}

async function holdingSchedules(
  { scheduledModels }: DeletionSources,
  run: string,
  own: ReadonlySet<string>,
): Promise<string[]> {
  const models = (await scheduledModels()) ?? [];
  return models
    .filter(({ model }) => refersTo(model, run, own))
    .map(
      ({ name }) =>
        `schedule ${name} asks it: delete that one with \`everstep schedule delete ${shellWord(name)}\``,
    );
}

/** Evaluations go on beside a run that has ended, and write to its folder. */
async function holdingWorkflows({ link }: DeletionSources, run: string): Promise<string[]> {
  const client = await link.find();
  if (!client) return [];
  const open = await listOpenEvaluations(client, run);
  return open.slice(0, 1).map((workflowId) => `${workflowId} goes on: wait for it`);
}

interface Deleted {
  readonly run: string;
  readonly folder: string;
  /** Addresses of its checkpoints. */
  readonly own: ReadonlySet<string>;
}

/** Whether a text names the run, one of its steps, one of its checkpoints, or something in its folder. */
function referenceTo({ run, folder, own }: Deleted) {
  return (text: string, key: string): boolean =>
    refersTo(text, run, own) || (/checkpoint/i.test(key) && text === run) || isPathWithin(folder, text);
}

function refersTo(text: string, run: string, own: ReadonlySet<string>): boolean {
  return (
    own.has(text) || (text.startsWith(`${run}@`) && /^(\d{1,12}|best)$/.test(text.slice(run.length + 1)))
  );
}
