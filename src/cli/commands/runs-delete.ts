import type { RunDeletion } from '../../client/delete-run';
import type { Session } from '../connect';
import { escapeControls } from '../escape-controls';
import { EXIT } from '../exit-codes';
import type { Output } from '../output';

export interface DeleteFlags {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** Shows what would go; deletes it with `--yes` alone. */
export async function deleteOneRun(
  run: string,
  { everstep, output }: Pick<Session, 'everstep'> & { readonly output: Output },
  { dryRun = false, yes = false }: DeleteFlags,
): Promise<number> {
  const isMeant = yes && !dryRun;
  const plan = isMeant ? await everstep.runs.delete(run) : await everstep.runs.planDeletion(run);
  output.document({ ...plan, deleted: isMeant });
  print(output, plan, isMeant);
  return EXIT.done;
}

function print(output: Output, plan: RunDeletion, isDone: boolean): void {
  const { run, folder, bytes, files, heldBy, remarks } = plan;
  const verb = isDone ? 'Deleted' : heldBy.length > 0 ? 'Would not delete' : 'Would delete';
  output.line(escapeControls(`${verb} ${run}: ${folder}, ${files} files, ${sizeText(bytes)}.`));
  for (const holder of heldBy) output.line(escapeControls(`- ${holder}`));
  for (const remark of remarks) output.line(output.colors.yellow(`! ${escapeControls(remark)}`));
  if (!isDone && heldBy.length === 0)
    output.line(`Nothing is deleted yet. ${output.hint(`runs delete ${run} --yes`)} does it.`);
}

function sizeText(bytes: number): string {
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
