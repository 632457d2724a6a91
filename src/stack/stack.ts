import type { Environment } from '../config/environment';
import { withheldFrom } from '../config/environment';
import { DEFAULT_NAMESPACE } from '../config/temporal-connection';
import type { WorkerRole } from '../core/task-queues';
import { holdPort, keepOrReplacePort } from './free-port';
import type { HeldPort } from './free-port';
import { ownIdentity, sendSignal } from './process-identity';
import { removeHalfWritten } from './half-written';
import { adoptDatabase, requireOwnDatabase } from './own-database';
import { requireOwnParts } from './own-parts';
import { inPhase, orAbort } from './phase';
import { superviseService } from './processes';
import type { ServiceStart, SupervisedService } from './processes';
import type { Progress } from './progress';
import { RecordKeeper, writeRecordIfRoom } from './record-keeper';
import { waitUntilIdle } from './stack-idle';
import { takeStackLock } from './stack-lock';
import { readStackRecord, stackPlaces } from './stack-record';
import type { StackRecord } from './stack-record';
import { PREPARING } from './starting-stack';
import { endLeftovers } from './stop-stack';
import { progressInLock } from './wait-for-lock';
import { workerProcesses } from './worker-processes';
import { requireSoundDatabase } from './database-damage';
import { LastingFailure } from './lasting-failure';
import { binaryLookup, obtainTemporalBinary } from './temporal-binary';
import type { TemporalBinary } from './temporal-binary';

export interface StackOptions {
  readonly environment: Environment;
  /** Stop when no client has needed the stack for a moment. */
  readonly untilIdle: boolean;
  readonly withUi: boolean;
  readonly workerCount: number;
  readonly engineThreads: number | null;
  /** Take over a database that was not made in the data folder. */
  readonly adopt?: boolean;
  readonly launcher?: string;
  readonly progress: Progress;
  /** Ends a start that is under way, with what was begun. */
  readonly signal?: AbortSignal;
}

export interface Stack {
  readonly record: StackRecord;
  readonly binary: TemporalBinary;
  /** Resolves when the stack has stopped by itself because nobody needed it. */
  readonly idle: Promise<void>;
  /** Resolves with the reason where the stack cannot go on, as with a database found damaged; it is then to be stopped. */
  readonly failed: Promise<unknown>;
  /** Ends workers, then the engine, then the server. */
  stop(): Promise<void>;
}

const STOP_LIMITS_MS = { worker: 10_000, engine: 5000, temporal: 12_000 };
/** Where people and tools look for a Temporal server first. */
const USUAL_PORTS = { temporal: 7233, ui: 8233 };

/** Starts server, engine and workers on a data folder and keeps them running until `stop`. */
export async function runStack(options: StackOptions): Promise<Stack> {
  const { dataFolder } = options.environment;
  requireOwnParts(dataFolder);
  const lock = await takeStackLock({ ...options, dataFolder });
  try {
    removeHalfWritten(dataFolder);
    const previous = readStackRecord(dataFolder);
    await endLeftovers(previous?.children ?? []);
    await prepareDatabase(options);
    const preparing = progressInLock(lock, options.progress, PREPARING);
    const binary = await obtainTemporalBinary(binaryLookup(options.environment, preparing), options.signal);
    const progress = progressInLock(lock, options.progress);
    const services = new StackServices({ ...options, progress }, { binary, previous });
    const release = (): void => {
      // The addresses stay on record: the next stack here tries the same ports first.
      writeRecordIfRoom(dataFolder, { ...services.record(), ready: false, children: [] });
      lock.release();
    };
    try {
      await services.start();
    } catch (error) {
      await services.stop();
      throw error;
    }
    return running(services, { options, binary, release });
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function prepareDatabase({ environment, adopt }: StackOptions): Promise<void> {
  const { database } = stackPlaces(environment.dataFolder);
  await requireSoundDatabase(database);
  if (adopt === true) adoptDatabase(database);
  requireOwnDatabase(database);
}

interface RunningParts {
  readonly options: StackOptions;
  readonly binary: TemporalBinary;
  readonly release: () => void;
}

function running(services: StackServices, { options, binary, release }: RunningParts): Stack {
  let stopped: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopped ??= services.stop().finally(release);
    return stopped;
  };
  const idle = options.untilIdle
    ? waitUntilIdle(options.environment.dataFolder, services).then(stop)
    : new Promise<void>(() => undefined);
  return {
    get record() {
      return services.record();
    },
    binary,
    idle,
    failed: services.failed,
    stop,
  };
}

class StackServices {
  private readonly dataFolder: string;
  /** What `start` holds until `stop`, also while the program that listens there is being started again. */
  private readonly ports: Record<'temporal' | 'ui' | 'engine', HeldPort | null> = {
    temporal: null,
    ui: null,
    engine: null,
  };
  private temporal: SupervisedService | null = null;
  private engine: SupervisedService | null = null;
  private workers: SupervisedService[] = [];
  private isReady = false;
  private isStopping = false;
  private readonly keeper: RecordKeeper;
  private readonly failure = new LastingFailure();

  constructor(
    private readonly options: StackOptions,
    private readonly known: { readonly binary: TemporalBinary; readonly previous: StackRecord | null },
  ) {
    this.dataFolder = options.environment.dataFolder;
    this.keeper = new RecordKeeper(this.dataFolder, () => this.record());
  }

  get failed(): Promise<unknown> {
    return this.failure.told;
  }

  async start(): Promise<void> {
    await this.choosePorts();
    process.once('exit', this.kill);
    this.temporal = this.supervise('temporal', () => this.prepareTemporal());
    this.engine = this.supervise('engine', () => this.prepareEngine());
    this.workers = workerProcesses(this.options.workerCount).map(({ name, roles }) =>
      this.supervise('worker', () => this.prepareWorker(roles), name),
    );
    // Workers load while the server starts, and wait for it.
    await this.untilReady([this.temporal, this.engine, ...this.workers]);
    this.announce(true);
  }

  private async untilReady(services: readonly SupervisedService[]): Promise<void> {
    const waiting = new Set(services.map((service) => service.name));
    const { progress, signal } = this.options;
    const describe = (): string => `waiting for ${[...waiting].join(', ')}`;
    await inPhase({ name: 'Starting the services', progress, describe, signal }, (end) =>
      orAbort(
        Promise.all(services.map((service) => service.ready.then(() => waiting.delete(service.name)))),
        end,
      ),
    );
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    this.keeper.stop();
    await Promise.all(this.workers.map((worker) => worker.stop()));
    await this.engine?.stop();
    await this.temporal?.stop();
    process.removeListener('exit', this.kill);
    for (const held of Object.values(this.ports)) held?.release();
  }

  /** Whoever leaves without stopping leaves nothing behind. */
  private readonly kill = (): void => {
    for (const { pid } of this.record().children) sendSignal(-pid, 'SIGKILL');
  };

  /** Says in the record whether commands may use the stack. */
  announce(isReady: boolean): void {
    this.isReady = isReady;
    this.writeRecord();
  }

  record(): StackRecord {
    const services = [this.temporal, this.engine, ...this.workers];
    return {
      ...ownIdentity(),
      ready: this.isReady,
      kind: this.options.untilIdle ? 'until-idle' : 'dev',
      temporalAddress: `127.0.0.1:${this.ports.temporal?.port ?? 0}`,
      namespace: DEFAULT_NAMESPACE,
      uiUrl: this.ports.ui === null ? null : `http://127.0.0.1:${this.ports.ui.port}`,
      engineUrl: `http://127.0.0.1:${this.ports.engine?.port ?? 0}`,
      dataFolder: this.dataFolder,
      store: this.options.environment.store,
      children: services.flatMap((service) =>
        service?.process ? [{ name: service.name, ...service.process }] : [],
      ),
    };
  }

  private writeRecord(): void {
    if (!this.isStopping) this.keeper.write();
  }

  private supervise(
    kind: keyof typeof STOP_LIMITS_MS,
    prepare: () => Promise<ServiceStart>,
    name: string = kind,
  ): SupervisedService {
    return superviseService({
      name,
      logFolder: stackPlaces(this.dataFolder).logs,
      prepare,
      isLasting: (error) => this.failure.is(error),
      onChange: () => {
        this.writeRecord();
      },
      onProgress: this.options.progress.note,
      ...(this.options.launcher === undefined ? {} : { launcher: this.options.launcher }),
      stopLimitMs: STOP_LIMITS_MS[kind],
    });
  }

  private async choosePorts(): Promise<void> {
    const { previous } = this.known;
    const usual = this.options.untilIdle ? { temporal: null, ui: null } : USUAL_PORTS;
    this.ports.temporal = await holdPort(portOf(previous?.temporalAddress) ?? usual.temporal);
    this.ports.engine = await holdPort(portOf(previous?.engineUrl));
    if (this.options.withUi) this.ports.ui = await holdPort(portOf(previous?.uiUrl) ?? usual.ui);
  }

  private async prepareTemporal(): Promise<ServiceStart> {
    await this.failure.ofDatabase(stackPlaces(this.dataFolder).database);
    const port = await this.portToUse('temporal', 'Temporal server');
    const page = this.options.withUi ? ['--ui-port', String(await this.portToUse('ui'))] : ['--headless'];
    return {
      args: ['temporal', '--port', String(port), ...page, '--data-dir', this.dataFolder],
      variables: { ...withheldFrom('temporal'), EVERSTEP_TEMPORAL_CLI: this.known.binary.path },
    };
  }

  private async prepareEngine(): Promise<ServiceStart> {
    const port = await this.portToUse('engine', 'engine');
    const { engineThreads } = this.options;
    const threads = engineThreads === null ? [] : ['--threads', String(engineThreads)];
    return {
      args: ['engine', '--port', String(port), ...threads, '--data-dir', this.dataFolder],
      variables: withheldFrom('engine'),
    };
  }

  /** The port of before, or another where a program that holds none has taken it; workers hear of it if they use it. */
  private async portToUse(part: keyof typeof this.ports, usedByWorkersAs?: string): Promise<number> {
    const before = this.ports[part];
    const held = before === null ? await holdPort(null) : await keepOrReplacePort(before);
    this.ports[part] = held;
    if (usedByWorkersAs !== undefined && held !== before) this.addressChanged(usedByWorkersAs, held.port);
    return held.port;
  }

  private async prepareWorker(roles: readonly WorkerRole[]): Promise<ServiceStart> {
    const { temporalAddress, engineUrl } = this.record();
    return {
      args: [
        ...['worker', '--roles', roles.join(','), '--data-dir', this.dataFolder],
        ...['--store', this.options.environment.store],
        ...['--temporal-address', temporalAddress, '--local-engine', engineUrl],
        // A command brought it, wherever it was given: nobody chose that folder for code.
        ...(this.options.untilIdle ? ['--named-code-only'] : []),
      ],
      variables: withheldFrom('worker', { sendsWebhooks: roles.includes('sampling') }),
    };
  }

  private addressChanged(what: string, port: number): void {
    this.options.progress.note(`The ${what}'s port was taken; it is ${port} now.`);
    for (const worker of this.workers) worker.restart();
  }
}

function portOf(address: string | null | undefined): number | null {
  return Number(/:(\d+)$/.exec(address ?? '')?.[1] ?? 0) || null;
}
