import { Command } from 'commander';
import { readEnvironment } from '../../config/environment';
import { DomainError } from '../../core/errors';
import { largestOf } from '../../core/extremes';
import { diagnose } from '../../stack/diagnosis';
import type { Finding } from '../../stack/finding';
import { EXIT } from '../exit-codes';
import { endForReader } from '../output';
import { asCalled } from '../../config/how-called';
import { addPlaces } from '../service-options';
import type { PlaceFlags } from '../service-options';
import { linesOf } from '../wrapped-rows';

interface DoctorFlags extends PlaceFlags {
  readonly json?: boolean;
  readonly only?: readonly string[];
}

const MARKS = { ok: 'ok     ', note: 'note   ', missing: 'MISSING' } as const;

export function createCommand(): Command {
  const command = new Command('doctor')
    .description(
      'Look at everything a run needs, without starting or changing anything (exit 1 when something is missing)',
    )
    .option('--json', 'print JSON')
    .option('--only <checks...>', 'look at these alone, e.g. temporal-server')
    .action(run);
  return addPlaces(command, { store: true });
}

async function run(flags: DoctorFlags): Promise<void> {
  const findings = chooseFindings(await diagnose(readEnvironment(flags)), flags.only);
  const isFine = findings.every((finding) => finding.status !== 'missing');
  const text =
    flags.json === true
      ? JSON.stringify({ ok: isFine, checks: findings.map(asTyped) }, null, 2)
      : formatFindings(findings, process.stdout.isTTY ? process.stdout.columns : Infinity);
  process.stdout.once('error', endForReader);
  process.stdout.write(`${text}\n`);
  process.exitCode = isFine ? EXIT.done : EXIT.failed;
}

/** Its remedy names commands as they can be typed here. */
function asTyped(finding: Finding): Finding {
  return finding.remedy === undefined ? finding : { ...finding, remedy: asCalled(finding.remedy) };
}

function chooseFindings(
  findings: readonly Finding[],
  only: readonly string[] | undefined,
): readonly Finding[] {
  if (only === undefined) return findings;
  const nameOf = (finding: Finding): string => finding.name.replaceAll(' ', '-');
  const unknown = only.find((name) => !findings.some((finding) => nameOf(finding) === name));
  if (unknown === undefined) return findings.filter((finding) => only.includes(nameOf(finding)));
  throw new DomainError(
    'bad-config',
    `--only ${unknown}: no such check. Checks: ${findings.map(nameOf).join(', ')}.`,
  );
}

/** @param columns of the terminal */
export function formatFindings(findings: readonly Finding[], columns: number): string {
  const width = largestOf(findings.map((finding) => finding.name.length));
  const lines = findings.flatMap(({ name, status, found, remedy }) => [
    ...hanging(`${MARKS[status]}  ${name.padEnd(width)}  `, found, columns),
    ...(remedy === undefined ? [] : hanging(`${' '.repeat(width + 11)}→ `, asCalled(remedy), columns)),
  ]);
  return lines.join('\n');
}

/** A text that goes on below where it began. */
function hanging(before: string, text: string, columns: number): string[] {
  const lines = linesOf(text, Math.max(LEAST_ROOM, columns - before.length));
  return lines.map((line, index) => (index === 0 ? before : ' '.repeat(before.length)) + line);
}

const LEAST_ROOM = 24;
