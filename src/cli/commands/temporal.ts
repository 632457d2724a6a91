import { Command, Option } from 'commander';
import { readEnvironment } from '../../config/environment';
import { endService, waitForStop } from '../../stack/service-lifetime';
import { runTemporalService } from '../../stack/temporal-service';
import type { ServiceFlags } from '../service-options';
import { ADOPT, addPlaces, addServiceOptions, parsePort, printReady } from '../service-options';
import { DomainError } from '../../core/errors';

interface TemporalFlags extends ServiceFlags {
  readonly port: number;
  readonly uiPort?: number;
  readonly durability: string;
  readonly adopt?: boolean;
}

export function createCommand(): Command {
  const command = new Command('temporal')
    .description('Run the embedded Temporal server in the foreground, its database in the data folder')
    .requiredOption('--port <port>', 'where the server listens, on 127.0.0.1', parsePort)
    .option('--ui-port <port>', 'with the web page, there (none)', parsePort)
    // As it is without a port for the page.
    .addOption(new Option('--headless').hideHelp())
    .option('--durability <mode>', 'normal, or full to survive power cuts', 'normal')
    .option('--adopt', ADOPT)
    .action(async (flags: TemporalFlags) => {
      endService(await run(flags));
    });
  return addServiceOptions(addPlaces(command, { store: false }));
}

async function run(flags: TemporalFlags): Promise<number> {
  const { durability } = flags;
  if (durability !== 'normal' && durability !== 'full') {
    throw new DomainError('bad-config', `--durability is "${durability}". Use normal or full.`);
  }
  const environment = readEnvironment(flags);
  return runTemporalService({
    environment,
    port: flags.port,
    uiPort: flags.uiPort ?? null,
    durability,
    adopt: flags.adopt === true,
    stop: waitForStop({ exitWithParent: flags.exitWithParent === true }),
    onReady: printReady,
  });
}
