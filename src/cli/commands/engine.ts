import { Command } from 'commander';
import { readEnvironment } from '../../config/environment';
import { DomainError } from '../../core/errors';
import type { StrictFlags } from '../../stack/engine-service';
import { runEngineService } from '../../stack/engine-service';
import { endService, waitForStop } from '../../stack/service-lifetime';
import { repeated } from '../repeated-option';
import type { ServiceFlags } from '../service-options';
import { addPlaces, addServiceOptions, parseCount, parsePort, printReady } from '../service-options';

interface EngineFlags extends ServiceFlags {
  readonly port: number;
  readonly host: string;
  readonly allowHost?: readonly string[];
  readonly tokenFile?: string;
  readonly threads?: number;
  readonly model?: readonly string[];
  readonly strict?: boolean;
  readonly strike?: readonly string[];
  readonly strikeSeed?: string;
}

export function createCommand(): Command {
  const command = new Command('engine')
    .description('Serve the local training engine (Tinker protocol, CPU) in the foreground')
    .requiredOption('--port <port>', 'where the engine listens', parsePort)
    .option('--host <address>', 'on which interface; with another one give --token-file', '127.0.0.1')
    .option('--token-file <file>', 'file with the key that clients have to show; without it any key passes')
    .option(
      '--allow-host <name>',
      'a name with a dot that clients call it by, besides its address; may be repeated',
      repeated,
    )
    .option('--threads <n>', 'threads (one a core); results do not depend on it', parseCount)
    .option(
      '--model <name=folder>',
      'a further base model (Llama architecture) under a name of your choice; may be repeated',
      repeated,
    )
    .option('--strict', 'behave like the official service as far as known; for testing clients')
    .option(
      '--strike <what>',
      'with --strict, a trouble clients meet: TROUBLE:ROUTE@N, e.g. payment:forward_backward@3; may be repeated',
      repeated,
    )
    .option(
      '--strike-seed <seed/rate>',
      'with --strict, troubles by seed at this share of requests, e.g. 7/0.02',
    )
    .action(async (flags: EngineFlags) => {
      const exitCode = await runEngineService({
        environment: readEnvironment(flags),
        port: flags.port,
        host: flags.host,
        allowedHosts: flags.allowHost ?? [],
        tokenFile: flags.tokenFile ?? null,
        threads: flags.threads ?? null,
        models: flags.model ?? [],
        strict: strictFlags(flags),
        stop: waitForStop({ exitWithParent: flags.exitWithParent === true }),
        onReady: printReady,
      });
      endService(exitCode);
    });
  return addServiceOptions(addPlaces(command, { store: false }));
}

function strictFlags({ strict, strike = [], strikeSeed }: EngineFlags): StrictFlags | null {
  if (strict === true) return { strikes: strike, seeded: strikeSeed ?? null };
  if (strike.length === 0 && strikeSeed === undefined) return null;
  throw new DomainError('bad-config', '--strike and --strike-seed need --strict. Add it.');
}
