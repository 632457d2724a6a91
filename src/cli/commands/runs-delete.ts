import type { RunDeletion } from '../../client/delete-run';
import type { Session } from '../connect';
import { writeDeletion } from '../deletion-lines';
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
  const [heldBy, remarks] = [output.adviceOf(plan.heldBy), output.adviceOf(plan.remarks)];
  output.document({ ...plan, heldBy, remarks, deleted: isMeant });
  print(output, plan, isMeant);
  return EXIT.done;
}

function print(output: Output, plan: RunDeletion, isDone: boolean): void {
  const { run, heldBy, remarks } = plan;
  writeDeletion(output, plan, isDone);
  for (const remark of remarks)
    output.line(output.colors.yellow(`! ${escapeControls(output.advice(remark))}`));
  if (!isDone && heldBy.length === 0)
    output.line(`Nothing is deleted yet. ${output.hint(`runs delete ${run} --yes`)} does it.`);
}
