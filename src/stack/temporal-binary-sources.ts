import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { Runtime } from '@temporalio/worker';
import { childVariables } from '../config/environment';
import { checkProgram } from './temporal-binary-check';
import { takePidLock } from './pid-lock';

type Report = (line: string) => void;

const GO_PACKAGE = 'github.com/temporalio/cli/cmd/temporal@v1.5.1';
const BUILD_LIMIT_MS = 30 * 60_000;
const DOWNLOAD_TIME_TO_LIVE_MS = 1000 * 60 * 60 * 24;

/**
 * The SDK's own download of the CLI. The SDK can only download by starting a server, so one is started in memory
 * on a free port and stopped again; the program it fetched is kept.
 */
export async function downloadWithSdk(target: string, report: Report): Promise<void> {
  await withTargetLock(target, report, async (workFolder) => {
    report('Fetching the Temporal CLI (SDK download)…');
    const runtime = await quietRuntime();
    const server = await runtime.createEphemeralServer({
      type: 'dev-server',
      exe: {
        type: 'cached-download',
        downloadDir: workFolder,
        version: 'default',
        ttl: DOWNLOAD_TIME_TO_LIVE_MS,
        sdkName: 'sdk-typescript',
        sdkVersion: '1.24.0',
      },
      ip: '127.0.0.1',
      port: null,
      ui: false,
      uiPort: null,
      namespace: 'default',
      dbFilename: null,
      log: { format: 'pretty', level: 'error' },
      extraArgs: [],
    });
    await runtime.shutdownEphemeralServer(server);
    await runtime.shutdown();
    const fetched = readdirSync(workFolder).find((name) => name.startsWith('temporal'));
    if (fetched === undefined) throw new Error('the SDK left no program in the download folder');
    copyFileSync(path.join(workFolder, fetched), path.join(workFolder, 'ready'));
    return path.join(workFolder, 'ready');
  });
}

/** Loaded here because it brings in the SDK's native library, which finding a program does not need. */
async function quietRuntime(): Promise<Runtime> {
  const worker = await import('@temporalio/worker');
  const filter = worker.makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' });
  return worker.Runtime.install({
    telemetryOptions: { logging: { forward: {}, filter } },
    shutdownSignals: [],
  });
}

/** The official CLI's sources, compiled by the Go toolchain into the cache. */
export async function buildWithGo(target: string, report: Report): Promise<void> {
  await withTargetLock(target, report, async (workFolder) => {
    await run({ program: 'go', args: ['version'], failure: 'no working Go toolchain' });
    report('Building the Temporal CLI with Go (about three minutes, once)…');
    const args = ['install', '-ldflags', '-s -w', GO_PACKAGE];
    await run({ program: 'go', args, failure: 'go install failed', variables: { GOBIN: workFolder } });
    const built = readdirSync(workFolder).find((name) => name.startsWith('temporal'));
    if (built === undefined) throw new Error('go install left no program');
    return path.join(workFolder, built);
  });
}

/** One fetches at a time; whoever waited finds the program in place and does nothing. */
async function withTargetLock(
  target: string,
  report: Report,
  fetch: (workFolder: string) => Promise<string>,
): Promise<void> {
  const folder = path.dirname(target);
  mkdirSync(folder, { recursive: true });
  const lock = await waitForLock(path.join(folder, 'fetch.lock'), report);
  const workFolder = mkdtempSync(path.join(folder, 'fetch-'));
  try {
    if ('version' in (await checkProgram(target))) return;
    removeOldWork(folder, workFolder);
    const program = await fetch(workFolder);
    chmodSync(program, 0o755);
    renameSync(program, target);
  } finally {
    rmSync(workFolder, { recursive: true, force: true });
    lock.release();
  }
}

async function waitForLock(file: string, report: Report): Promise<{ release(): void }> {
  for (let announced = false; ; announced = true) {
    const attempt = await takePidLock(file);
    if ('lock' in attempt) return attempt.lock;
    if (!announced) report(`Process ${attempt.holder.pid} is fetching the Temporal CLI; waiting for it…`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

function removeOldWork(folder: string, current: string): void {
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    if (name.startsWith('fetch-') && file !== current) rmSync(file, { recursive: true, force: true });
  }
}

interface ProgramRun {
  readonly program: string;
  readonly args: readonly string[];
  /** What it means when it fails. */
  readonly failure: string;
  readonly variables?: Readonly<Record<string, string>>;
}

function run({ program, args, failure, variables = {} }: ProgramRun): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { env: childVariables(variables), timeout: BUILD_LIMIT_MS, encoding: 'utf8' } as const;
    const endWithUs = (): void => {
      child.kill();
    };
    const child = execFile(program, [...args], options, (error, _stdout, stderr) => {
      process.removeListener('exit', endWithUs);
      if (error === null) {
        resolve();
        return;
      }
      const complaint = (stderr.trim() || error.message).split('\n').at(-1) ?? '';
      reject(new Error(`${failure} (${complaint})`, { cause: error }));
    });
    process.once('exit', endWithUs);
  });
}
