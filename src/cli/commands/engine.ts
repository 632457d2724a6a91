import { Command } from 'commander';
import { readEnvironment } from '../../config/environment';
import { runEngineService } from '../../stack/engine-service';
import { endService, waitForStop } from '../../stack/service-lifetime';
import type { ServiceFlags } from '../service-options';
import { addPlaces, addServiceOptions, parseCount, parsePort, printReady } from '../service-options';

interface EngineFlags extends ServiceFlags {
  readonly port: number;
  readonly host: string;
  readonly threads?: number;
}

export function createCommand(): Command {
  const command = new Command('engine')
    .description('Serve the local training engine (Tinker protocol, CPU) in the foreground')
    .requiredOption('--port <port>', 'where the engine listens', parsePort)
    .option('--host <address>', 'on which interface; it asks for no credentials', '127.0.0.1')
    .option('--threads <n>', 'threads (one a core); results do not depend on it', parseCount)
    .action(async (flags: EngineFlags) => {
      const exitCode = await runEngineService({
        environment: readEnvironment(flags),
        port: flags.port,
        host: flags.host,
        threads: flags.threads ?? null,
        stop: waitForStop({ exitWithParent: flags.exitWithParent === true }),
        onReady: printReady,
      });
      endService(exitCode);
    });
  return addServiceOptions(addPlaces(command, { store: false }));
}
