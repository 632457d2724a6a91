import { copyFileSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Runtime } from '@temporalio/worker';
import { childVariables } from '../config/environment';
import { inPhase, orAbort } from './phase';
import type { Progress } from './progress';
import { describeFailure, runProgram } from './run-program';
import { findOnPath } from './find-on-path';

interface FetchOptions {
  readonly progress: Progress;
  readonly signal?: AbortSignal | undefined;
  readonly limitMs?: number;
}

/** A way to get the program: leaves it in a folder that is removed afterwards, and says where. */
export interface BinarySource {
  readonly name: 'SDK download' | 'go install';
  fetch(workFolder: string, options: FetchOptions): Promise<string>;
}

const GO_PACKAGE = 'github.com/temporalio/cli/cmd/temporal@v1.5.1';
const DOWNLOAD_LIMIT_MS = 10 * 60_000;
/** Twenty times what it takes: a machine may be slow and busy, and the person sees that it goes on. */
const BUILD_LIMIT_MS = 60 * 60_000;
const DOWNLOAD_TIME_TO_LIVE_MS = 1000 * 60 * 60 * 24;

/**
 * The SDK's own download of the CLI. The SDK can only download by starting a server, so one is started in memory
 * on a free port and stopped again; the program it fetched is kept.
 */
export const sdkDownload: BinarySource = {
  name: 'SDK download',
  fetch: (workFolder, { limitMs = DOWNLOAD_LIMIT_MS, ...options }) => {
    const describe = (): string => `${(folderBytes(workFolder) / 1e6).toFixed(1)} MB`;
    const phase = { ...options, limitMs, describe, name: 'Downloading the Temporal CLI (SDK download)' };
    return inPhase(phase, async (signal) => {
      await orAbort(downloadInto(workFolder), signal);
      const fetched = path.join(workFolder, onlyProgram(workFolder, 'the SDK'));
      const ready = path.join(workFolder, 'ready');
      copyFileSync(fetched, ready);
      return ready;
    });
  },
};

async function downloadInto(workFolder: string): Promise<void> {
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

function folderBytes(folder: string): number {
  const sizes = readdirSync(folder).map(
    (name) => statSync(path.join(folder, name), { throwIfNoEntry: false })?.size ?? 0,
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The official CLI's sources, compiled by the Go toolchain. */
export const goInstall: BinarySource = {
  name: 'go install',
  fetch: async (workFolder, { limitMs = BUILD_LIMIT_MS, ...options }) => {
    const program = findOnPath('go', childVariables({})['PATH'] ?? '');
    if (program === null) throw new Error('no Go toolchain on PATH');
    let packageCount = 0;
    let current = '';
    const onLine = (line: string): void => {
      const module = /^go: downloading (.*)$/.exec(line)?.[1];
      if (module === undefined) packageCount += 1;
      current =
        module === undefined ? `compiling ${line} (package ${packageCount})` : `downloading ${module}`;
    };
    const name = 'Building the Temporal CLI with Go';
    options.progress.note(`${name}: about three minutes, once.`);
    return inPhase({ ...options, limitMs, name, describe: () => current }, async (signal) => {
      // What Go leaves when it is killed goes with our folder.
      const temporary = path.join(workFolder, 'tmp');
      mkdirSync(temporary);
      const end = await runProgram({
        program,
        args: ['install', '-v', '-ldflags', '-s -w', GO_PACKAGE],
        variables: { GOBIN: workFolder, GOTMPDIR: temporary },
        signal,
        onLine,
      });
      if (end.exitCode !== 0) throw new Error(describeFailure('go install', end));
      return path.join(workFolder, onlyProgram(workFolder, 'go install'));
    });
  },
};

function onlyProgram(folder: string, who: string): string {
  const name = readdirSync(folder).find((entry) => entry.startsWith('temporal'));
  if (name === undefined) throw new Error(`${who} left no program`);
  return name;
}
