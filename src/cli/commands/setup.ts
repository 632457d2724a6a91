import { Command } from 'commander';
import type { SetupReport } from '../../client/setup-server';
import { setUpServer } from '../../client/setup-server';
import { readEnvironment } from '../../config/environment';
import { secondsOf } from '../../core/duration';
import { DomainError } from '../../core/errors';
import { resolveTemporal } from '../../stack/resolve-temporal';
import type { Output } from '../output';
import { openOutput } from '../output';
import type { PlaceFlags } from '../service-options';
import { addPlaces } from '../service-options';

interface SetupFlags extends PlaceFlags {
  readonly retention?: string;
  readonly json?: boolean;
}

export function createCommand(): Command {
  const command = new Command('setup')
    .description(
      'Prepare the configured Temporal server: the namespace, and the attributes that runs are searched by. What is there stays',
    )
    .option('--retention <time>', 'how long a new namespace keeps what has ended, at least 1d (30d)')
    .option('--json', 'one JSON document on standard output')
    .action(async (flags: SetupFlags) => {
      await setUp(flags);
    });
  return addPlaces(command, { store: false });
}

async function setUp(flags: SetupFlags): Promise<void> {
  const output = openOutput(flags);
  const retentionSeconds = retentionOf(flags.retention);
  const choice = resolveTemporal(readEnvironment(flags).dataFolder);
  if (choice.from === 'nothing') {
    throw new DomainError(
      'temporal-unavailable',
      'No Temporal server is configured. Set TEMPORAL_ADDRESS (and TEMPORAL_NAMESPACE) or a profile of temporal.toml; ' +
        'the server that `npx everstep dev` starts needs no setup.',
    );
  }
  const report = await setUpServer(choice.target, { ...(retentionSeconds !== null && { retentionSeconds }) });
  output.document(report);
  printReport(report, output);
}

function retentionOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const seconds = secondsOf(text);
  if (seconds !== null && seconds >= 86_400) return seconds;
  throw new DomainError('bad-config', `--retention ${text}: give a day or more, e.g. 30d.`);
}

function printReport({ address, namespace, searchAttributes }: SetupReport, output: Output): void {
  const rows = [
    { name: `namespace ${namespace.name}`, state: namespace.state },
    ...searchAttributes.map(({ name, type, state }) => ({ name: `${name} (${type})`, state })),
  ];
  output.line(`Temporal server ${address}`);
  for (const { name, state } of rows)
    output.line(`  ${name.padEnd(32)} ${state === 'added' ? 'added' : 'there'}`);
  const isNew = rows.some(({ state }) => state === 'added');
  output.line(isNew ? 'Ready.' : 'Ready: nothing had to be added.');
}
