import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { RunState } from '../../src/core/run';
import type { Builds } from './builds';
import { SmallDisk } from './disk';
import { EngineProxy } from './engine-proxy';
import { freePort } from './free-port';
import { Service } from './service';

export interface SiteOptions {
  readonly folder: string;
  readonly builds: Builds;
  /** The store gets a disk of its own that can be filled. */
  readonly hasSmallDisk: boolean;
  /** The workers' disk can be slowed down. */
  readonly hasSlowDisk: boolean;
  /** All that a run needs to which nothing happens is one. */
  readonly workerCount: 1 | 2;
}

interface Ports {
  readonly temporal: number;
  readonly engine: number;
  readonly proxy: number;
}

const COMMAND_LIMIT_MS = 60_000;
const SLOW_DISK = path.join(__dirname, 'slow-disk.cjs');
/** The run of a site. */
export const RUN = 'run';

/** Everything one run needs, as processes of its own on ports and in folders of its own. */
export class Site {
  readonly data: string;
  readonly store: string;
  readonly disk: SmallDisk | null;
  readonly proxy: EngineProxy;
  readonly server: Service;
  readonly engine: Service;
  readonly workers: readonly [Service, Service];
  /** What happened without having been planned. */
  readonly notes: string[] = [];

  private constructor(
    private readonly options: SiteOptions,
    readonly ports: Ports,
  ) {
    const { folder } = options;
    this.data = path.join(folder, 'state');
    this.store = path.join(folder, 'store');
    mkdirSync(path.join(folder, 'logs'), { recursive: true });
    this.disk = options.hasSmallDisk ? SmallDisk.mount(this.store) : null;
    this.proxy = new EngineProxy(ports.proxy, ports.engine);
    const data = ['--data-dir', this.data];
    this.server = this.service('server', [
      'temporal',
      '--port',
      String(ports.temporal),
      '--headless',
      ...data,
    ]);
    this.engine = this.service('engine', ['engine', '--port', String(ports.engine), ...data]);
    const worker = ['worker', ...data, '--store', this.store, '--engine', this.proxy.url];
    this.workers = [this.service('worker-0', worker), this.service('worker-1', worker)];
  }

  static async open(options: SiteOptions): Promise<Site> {
    const [temporal, engine, proxy] = [await freePort(), await freePort(), await freePort()];
    const site = new Site(options, { temporal, engine, proxy });
    try {
      await site.proxy.open();
      await Promise.all([site.start(site.server), site.start(site.engine)]);
      await Promise.all(site.workers.slice(0, options.workerCount).map((worker) => site.start(worker)));
      return site;
    } catch (error) {
      await site.close();
      throw error;
    }
  }

  get address(): string {
    return `127.0.0.1:${this.ports.temporal}`;
  }

  get engineUrl(): string {
    return `http://127.0.0.1:${this.ports.engine}`;
  }

  get runFolder(): string {
    return path.join(this.store, 'runs', RUN);
  }

  get services(): readonly Service[] {
    return [...this.workers, this.engine, this.server];
  }

  /** While this file is there, the workers' disk is as slow as it says. */
  get slowDiskControl(): string {
    return path.join(this.options.folder, 'slow-disk');
  }

  async start(service: Service, build: keyof Builds = 'current'): Promise<void> {
    await service.start(this.options.builds[build]);
  }

  /** A command as a person gives it. */
  async command(...args: readonly string[]): Promise<string> {
    const all = [this.options.builds.current, ...args, '--data-dir', this.data, '--store', this.store];
    const { stdout } = await promisify(execFile)(process.execPath, all, {
      cwd: this.options.folder,
      env: this.environment(),
      timeout: COMMAND_LIMIT_MS,
      maxBuffer: 1 << 26,
    });
    return stdout;
  }

  /** Text of a file of the run; empty where there is none. */
  read(name: string): string {
    const file = path.join(this.runFolder, name);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  stepsDone(): number {
    return this.read('metrics.jsonl').split('\n').length - 1;
  }

  state(): RunState | null {
    const text = this.read('state.json');
    // Written by the program under test and compared as it is.
    return text === '' ? null : (JSON.parse(text) as RunState);
  }

  /** Ends every process. Folders stay. */
  async stop(): Promise<void> {
    await Promise.all(this.services.map((service) => service.kill()));
    await this.proxy.dispose();
  }

  /** Also gives the small disk back; what is on it stays in the folder. */
  async close(): Promise<void> {
    await this.stop();
    if (!this.disk) return;
    const copy = `${this.store}-copy`;
    cpSync(this.store, copy, { recursive: true, verbatimSymlinks: true });
    this.disk.unmount();
    rmSync(this.store, { recursive: true });
    renameSync(copy, this.store);
  }

  private service(name: string, args: readonly string[]): Service {
    return new Service({
      name,
      args,
      folder: this.options.folder,
      env: this.environment(name.startsWith('worker')),
      logFile: path.join(this.options.folder, 'logs', `${name}.log`),
      onOwnEnd: (how) => this.notes.push(how),
    });
  }

  private environment(isWorker = false): NodeJS.ProcessEnv {
    const inherited = Object.entries(process.env).filter(
      ([name]) => !/^(TEMPORAL_|TINKER_|EVERSTEP_)/.test(name),
    );
    return {
      ...Object.fromEntries(inherited),
      EVERSTEP_NO_BUILD: '1',
      TEMPORAL_ADDRESS: this.address,
      ...(process.env['EVERSTEP_TEMPORAL_CLI'] && {
        EVERSTEP_TEMPORAL_CLI: process.env['EVERSTEP_TEMPORAL_CLI'],
      }),
      ...(isWorker &&
        this.options.hasSlowDisk && {
          NODE_OPTIONS: `--require "${SLOW_DISK}"`,
          EVERSTEP_CHAOS_SLOW_DISK: this.slowDiskControl,
        }),
    };
  }
}
