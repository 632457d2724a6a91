import { Command, InvalidArgumentError, Option } from 'commander';
import type { Environment } from '../../config/environment';
import { refuseKeyInAddress } from '../../config/engine-address';
import { readEnvironment } from '../../config/environment';
import { DEFAULT_NAMESPACE } from '../../config/temporal-connection';
import type { TemporalAddress } from '../../config/temporal-connection';
import type { WorkerVersion } from '../../config/worker-version';
import { readWorkerVersion } from '../../config/worker-version';
import { DomainError } from '../../core/errors';
import { TASK_QUEUES } from '../../core/task-queues';
import { resolveTemporal } from '../../stack/resolve-temporal';
import { endService, waitForStop } from '../../stack/service-lifetime';
import { findStack } from '../../stack/stack-record';
import { runWorkerService } from '../../stack/worker-service';
import type { ServiceFlags } from '../service-options';
import { addPlaces, addServiceOptions, parseCount, printReady } from '../service-options';

interface WorkerFlags extends ServiceFlags {
  readonly roles: readonly string[];
  readonly concurrency?: Readonly<Record<string, number>>;
  readonly engine?: string;
  readonly plugins?: string;
  readonly stuckAfter?: number;
  readonly deployment?: string;
  readonly buildId?: string;
  readonly temporalAddress?: string;
  readonly localEngine?: string;
  readonly namedCodeOnly?: boolean;
}

const ROLES = Object.keys(TASK_QUEUES);

export function createCommand(): Command {
  const command = new Command('worker')
    .description('Take work from the Temporal server in the foreground, for some or all roles')
    .addOption(
      new Option('--roles <roles>', `which work to take, of ${ROLES.join(', ')}`)
        .argParser(parseRoles)
        .default(ROLES, 'all'),
    )
    .option(
      '--concurrency <role=n>',
      'how many activities of a role at once; may be repeated',
      parseConcurrency,
    )
    .option('--engine <url>', 'training service (TINKER_BASE_URL, else the engine of the stack)')
    .option('--plugins <file>', 'plug-in file, for work that names none')
    .option(
      '--deployment <name>',
      'deployment this worker belongs to (EVERSTEP_DEPLOYMENT); with --build-id it gets work only while its version is current',
    )
    .option('--build-id <id>', 'release of the deployment (EVERSTEP_BUILD_ID)')
    .addOption(new Option('--temporal-address <address>').hideHelp())
    .addOption(new Option('--local-engine <url>').hideHelp())
    .addOption(new Option('--named-code-only').hideHelp())
    .addOption(new Option('--stuck-after <seconds>').argParser(parseCount).hideHelp())
    .action(async (flags: WorkerFlags) => {
      endService(await run(flags));
    });
  return addServiceOptions(addPlaces(command, { store: true }));
}

async function run(flags: WorkerFlags): Promise<number> {
  const stop = waitForStop({ exitWithParent: flags.exitWithParent === true });
  const environment = readEnvironment(flags);
  const version = chooseVersion(flags, environment);
  return runWorkerService({
    environment,
    connection: chooseTemporal(flags, environment),
    isOfStack: flags.temporalAddress !== undefined,
    roles: flags.roles,
    concurrency: flags.concurrency ?? {},
    engine: chooseEngine(flags, environment),
    ...(flags.namedCodeOnly === true ? {} : { startedIn: process.cwd() }),
    ...(flags.plugins === undefined ? {} : { plugins: flags.plugins }),
    ...(flags.stuckAfter === undefined ? {} : { stuckAfter: flags.stuckAfter }),
    ...(version === null ? {} : { version }),
    stop,
    onReady: printReady,
  });
}

function chooseTemporal(flags: WorkerFlags, environment: Environment): TemporalAddress {
  if (flags.temporalAddress !== undefined)
    return { address: flags.temporalAddress, namespace: DEFAULT_NAMESPACE };
  const choice = resolveTemporal(environment.dataFolder);
  if (choice.from !== 'nothing') return choice.target;
  throw new DomainError(
    'temporal-unavailable',
    `No Temporal server for the worker: TEMPORAL_ADDRESS is not set and no stack runs on ${environment.dataFolder}. ` +
      'Set it, or start `npx everstep dev`, which has workers of its own.',
  );
}

/** A stack's own workers have no version, whatever the environment says: nobody makes one current there. */
function chooseVersion(flags: WorkerFlags, environment: Environment): WorkerVersion | null {
  const isOfStack = flags.temporalAddress !== undefined;
  return readWorkerVersion({
    deployment: flags.deployment ?? (isOfStack ? null : environment.deployment),
    buildId: flags.buildId ?? (isOfStack ? null : environment.buildId),
  });
}

function chooseEngine(flags: WorkerFlags, environment: Environment): { url?: string; apiKey?: string } {
  const local = flags.localEngine ?? findStack(environment.dataFolder)?.engineUrl;
  const url = flags.engine ?? environment.engineUrl ?? local;
  if (url !== undefined) refuseKeyInAddress(flags.engine === undefined ? 'TINKER_BASE_URL' : '--engine', url);
  return {
    ...(url === undefined ? {} : { url }),
    ...(environment.engineApiKey === null ? {} : { apiKey: environment.engineApiKey }),
  };
}

function parseRoles(text: string): string[] {
  return text.split(',').map((role) => requireRole(role.trim()));
}

function parseConcurrency(
  text: string,
  previous: Readonly<Record<string, number>> = {},
): Record<string, number> {
  const result = { ...previous };
  for (const part of text.split(',')) {
    const [role = '', count = ''] = part.split('=');
    result[requireRole(role.trim())] = parseCount(count);
  }
  return result;
}

function requireRole(role: string): string {
  if (ROLES.includes(role)) return role;
  throw new InvalidArgumentError(`There is no role "${role}". Roles: ${ROLES.join(', ')}.`);
}
