import { Command } from 'commander';
import { stripEnd } from '../../core/strip-ends';
import { refuseKeyInAddress } from '../../config/engine-address';
import { OFFICIAL_SERVICE } from '../../core/official-service';
import { DomainError } from '../../core/errors';
import { startServing } from '../../server/serve-service';
import { endService, exitWithin, waitForStop } from '../../stack/service-lifetime';
import { resolveTemporal } from '../../stack/resolve-temporal';
import { findStack } from '../../stack/stack-record';
import { openForReading } from '../connect';
import { repeated } from '../repeated-option';
import type { ServiceFlags } from '../service-options';
import { addPlaces, addServiceOptions, parsePort, printReady } from '../service-options';

interface ServeFlags extends ServiceFlags {
  readonly port: number;
  readonly host: string;
  readonly tokenFile?: string;
  readonly allowHost?: readonly string[];
  readonly engine?: string;
  readonly json?: boolean;
}

const STOP_LIMIT_MS = 5000;

export function createCommand(): Command {
  const command = new Command('serve')
    .description('Serve runs, their live events and an OpenAI-compatible gateway to checkpoints over HTTP')
    .requiredOption('--port <port>', 'where to listen', parsePort)
    .option('--host <address>', 'on which interface; beyond this machine a token is needed', '127.0.0.1')
    .option('--token-file <file>', 'holds the token clients have to show (EVERSTEP_SERVE_TOKEN)')
    .option(
      '--allow-host <name>',
      'a name clients may call it by besides 127.0.0.1; may be repeated',
      repeated,
    )
    .option('--engine <url>', 'training service the gateway samples from, whatever runs name')
    .option('--json', 'say that it is ready as one line of JSON')
    .action(async (flags: ServeFlags) => {
      endService(await run(flags));
    });
  return addServiceOptions(addPlaces(command, { store: true }));
}

async function run(flags: ServeFlags): Promise<number> {
  const session = await openForReading(flags);
  const { environment } = session;
  await session.close();
  const stop = waitForStop({ exitWithParent: flags.exitWithParent === true });
  const serving = await startServing({
    environment,
    port: flags.port,
    host: flags.host,
    tokenFile: flags.tokenFile,
    allowedHosts: flags.allowHost ?? [],
    engineUrl: flags.engine === undefined ? null : engineAddress(flags.engine),
    findTemporal: () => {
      const choice = resolveTemporal(environment.dataFolder);
      return choice.from === 'nothing' ? null : choice.target;
    },
    findEngine: () => findStack(environment.dataFolder)?.engineUrl ?? null,
  });
  const { url, asksForToken } = serving;
  printReady(
    flags.json === true
      ? JSON.stringify({ url, gateway: `${url}/v1`, asksForToken, pid: process.pid })
      : `Serving at ${url} (gateway ${url}/v1${asksForToken ? ', with a token' : ''})`,
  );
  const end = await stop;
  serving.logger.info({ reason: end.reason }, 'stopping');
  exitWithin(STOP_LIMIT_MS, end.exitCode);
  await serving.close();
  return end.exitCode;
}

function engineAddress(text: string): string {
  if (text === 'tinker') return OFFICIAL_SERVICE;
  refuseKeyInAddress('--engine', text);
  if (/^https?:$/.test(URL.canParse(text) ? new URL(text).protocol : '')) return stripEnd(text, '/');
  throw new DomainError('bad-config', `--engine ${text}: give an address such as http://127.0.0.1:8000.`);
}
