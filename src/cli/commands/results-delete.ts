import type { ResultsDeletion } from '../../client/delete-results';
import { shellWord } from '../../core/shell-word';
import { openForReading } from '../connect';
import { sizeText, writeDeletion } from '../deletion-lines';
import { EXIT } from '../exit-codes';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import type { DeleteFlags } from './runs-delete';

/** Shows what of eval runs would go; deletes it with `--yes` alone. */
export async function deleteResults(
  runs: readonly string[],
  flags: PlaceFlags & DeleteFlags,
  output: Output,
): Promise<number> {
  const session = await openForReading(flags);
  try {
    const { evaluations } = session.everstep;
    const isMeant = flags.yes === true && flags.dryRun !== true;
    const results = isMeant ? await evaluations.delete(runs) : await evaluations.planDeletion(runs);
    const bytes = results.reduce((sum, each) => sum + each.bytes, 0);
    const told = results.map((each) => ({ ...each, heldBy: output.adviceOf(each.heldBy) }));
    output.document({ results: told, bytes, deleted: isMeant });
    print(output, results, isMeant);
    return EXIT.done;
  } finally {
    await session.close();
  }
}

function print(output: Output, results: readonly ResultsDeletion[], isDone: boolean): void {
  for (const each of results) writeDeletion(output, each, isDone);
  const bytes = results.reduce((sum, each) => sum + each.bytes, 0);
  if (results.length > 1) output.line(`${isDone ? 'Freed' : 'Together'} ${sizeText(bytes)}.`);
  if (isDone || results.some(({ heldBy }) => heldBy.length > 0)) return;
  const names = results.map(({ run }) => shellWord(run)).join(' ');
  output.line(`Nothing is deleted yet. ${output.hint(`results delete ${names} --yes`)} does it.`);
}
