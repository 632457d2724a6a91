import { Command, InvalidArgumentError } from 'commander';
import type { GarbageReport } from '../../client/garbage';
import { durationText, secondsOf } from '../../core/duration';
import { asSentence } from '../../core/sentences';
import { openForReading } from '../connect';
import { sizeText } from '../deletion-lines';
import { escapeControls } from '../escape-controls';
import { openOutput } from '../output';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import { addPlaces } from '../service-options';
import { printTable } from '../tables';

interface CollectFlags extends PlaceFlags {
  readonly apply?: boolean;
  readonly olderThan?: number;
  readonly json?: boolean;
}

const UNITS = [86_400, 3600, 60, 1];

export function createCommand(): Command {
  const command = new Command('store').description('What is left over on disk, and removing it');
  const collect = new Command('gc')
    .description(
      'what is left of interrupted deletions and writes, of deleted runs at the local engine, and old logs; shows it unless --apply is given',
    )
    .option('--apply', 'remove it')
    .option('--older-than <age>', 'only what is older, too, e.g. 12h or 30d', parseAge)
    .option('--json', 'one JSON document on standard output')
    .exitOverride()
    .action((flags: CollectFlags) => collectGarbage(flags, openOutput(flags)));
  return command.addCommand(addPlaces(collect, { store: true }));
}

/** Shows what nothing refers to; removes it with `--apply` alone. */
export async function collectGarbage(flags: CollectFlags, output: Output): Promise<void> {
  const session = await openForReading(flags);
  try {
    const { storage } = session.everstep;
    const options = { olderThanSeconds: flags.olderThan };
    const report = flags.apply === true ? await storage.cleanUp(options) : await storage.planCleanUp(options);
    const kept = report.kept.map((each) => ({ ...each, reason: output.advice(each.reason) }));
    output.document({ ...report, kept });
    print(output, report);
  } finally {
    await session.close();
  }
}

function print(output: Output, { items, kept, bytes, applied, store }: GarbageReport): void {
  if (items.length === 0) {
    const what = kept.length > 0 ? 'Nothing can be removed from' : 'Nothing is left over in';
    output.line(escapeControls(`${what} ${store}.`));
  } else {
    const rows = items.map((item) => [
      sizeText(item.bytes),
      ageText(item.ageSeconds),
      item.reason,
      escapeControls(item.path),
    ]);
    printTable(output, ['size', 'age', 'what', 'where'], rows);
    output.line(`${applied ? 'Removed' : 'Would remove'} ${items.length}, ${sizeText(bytes)} in all.`);
  }
  for (const { path, bytes: size, reason } of kept) {
    output.line(escapeControls(`Stays: ${path}, ${sizeText(size)}: ${asSentence(output.advice(reason))}`));
  }
  if (!applied && items.length > 0)
    output.line(`Nothing is removed yet. ${output.hint('store gc --apply')} does it.`);
}

/** In its largest unit: `3d`, `5h`. */
function ageText(seconds: number): string {
  const unit = UNITS.find((size) => seconds >= size) ?? 1;
  return durationText(Math.floor(seconds / unit) * unit);
}

function parseAge(text: string): number {
  // A number alone would be seconds, and is mostly meant as days: too much would go.
  const seconds = /[smhd]$/.test(text.trim()) ? secondsOf(text) : null;
  if (seconds !== null) return seconds;
  throw new InvalidArgumentError('Give a time such as 90s, 30m, 12h or 30d.');
}
