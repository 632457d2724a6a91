import { Command } from 'commander';
import { readEnvironment } from '../../config/environment';
import { diagnose } from '../../stack/diagnosis';
import type { Finding } from '../../stack/finding';
import { EXIT } from '../exit-codes';
import { addPlaces } from '../service-options';
import type { PlaceFlags } from '../service-options';

interface DoctorFlags extends PlaceFlags {
  readonly json?: boolean;
}

const MARKS = { ok: 'ok     ', note: 'note   ', missing: 'MISSING' } as const;

export function createCommand(): Command {
  const command = new Command('doctor').option('--json', 'print JSON').action(async (flags: DoctorFlags) => {
    const findings = await diagnose(readEnvironment(flags));
    const isFine = findings.every((finding) => finding.status !== 'missing');
    const text = flags.json === true ? JSON.stringify({ ok: isFine, checks: findings }, null, 2) : formatFindings(findings);
    process.stdout.write(`${text}\n`);
    process.exitCode = isFine ? EXIT.done : EXIT.failed;
  });
  return addPlaces(command, { store: true });
}

export function formatFindings(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map((finding) => finding.name.length));
  const lines = findings.flatMap(({ name, status, found, remedy }) => [
    `${MARKS[status]}  ${name.padEnd(width)}  ${found}`,
    ...(remedy === undefined ? [] : [`${' '.repeat(width + 11)}→ ${remedy}`]),
  ]);
  return lines.join('\n');
}
