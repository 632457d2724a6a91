import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DockerKind } from '../../../../src/sandboxes/docker/docker-kind';
import { Leases } from '../../../../src/sandboxes/leases/leases';
import { DEFAULT_LIMITS } from '../../../../src/sandboxes/sandbox';
import { SandboxPool } from '../../../../src/sandboxes/sandbox-pool';
import { engineAt, StandInClient } from './stand-in-client';
import type { AskedProgram, ToldProgram } from './stand-in-engine';
import { frame, StandInEngine } from './stand-in-engine';

// The package is not installed here; what stands in for it speaks the same HTTP.
jest.mock('dockerode', () => StandInClient, { virtual: true });

let engine: StandInEngine;
let leases: Leases;
let folder: string;

beforeEach(async () => {
  engine = await StandInEngine.start();
  engineAt.socketPath = engine.socketPath;
  folder = mkdtempSync(join(tmpdir(), 'sandbox-docker-'));
  leases = new Leases(join(folder, 'leases'));
});

afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

const kind = (answerLimitMs = 5000) => new DockerKind(leases, answerLimitMs);
const isEnding = ({ argv }: AskedProgram) => argv.at(-1) === 'kill -9 -1';

/** What every program does but the one that ends the others. */
function says(told: ToldProgram | null | ((asked: AskedProgram) => ToldProgram | null)): void {
  engine.program = (asked) => {
    if (isEnding(asked)) return { exitCode: 0 };
    return typeof told === 'function' ? told(asked) : told;
  };
}

describe('a container', () => {
  test('is made with every limit, without network, rights or a writable system', async () => {
    const sandbox = await kind().open();

    const [container] = engine.containers.values();
    const { memoryBytes, diskBytes, processCount } = DEFAULT_LIMITS;
    expect(container?.state.Running).toBe(true);
    expect(container?.options).toMatchObject({
      Image: 'python:3.12-slim',
      User: '65534:65534',
      NetworkDisabled: true,
      HostConfig: {
        NetworkMode: 'none',
        ReadonlyRootfs: true,
        Memory: memoryBytes + 2 * diskBytes,
        MemorySwap: memoryBytes + 2 * diskBytes,
        PidsLimit: processCount + 2,
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges'],
      },
    });
    expect(container?.options['HostConfig']).not.toHaveProperty('Binds');
    expect(container?.options['HostConfig']).not.toHaveProperty('Privileged');
    await sandbox.close();
    expect(engine.removed).toEqual([container?.id]);
    expect(await leases.list()).toEqual([]);
  });

  test('is held to the limits of each program, and told only where they change', async () => {
    says({ exitCode: 0 });
    const sandbox = await kind().open();

    await sandbox.exec(['program']);
    await sandbox.exec(['program'], { limits: { processCount: 20 } });
    await sandbox.exec(['program'], { limits: { processCount: 20 } });
    await sandbox.exec(['program']);

    const [container] = engine.containers.values();
    expect(container?.updates).toMatchObject([
      { PidsLimit: 22 },
      { PidsLimit: DEFAULT_LIMITS.processCount + 2 },
    ]);
    await sandbox.close();
  });

  test('that cannot be held to the limits of a program is lost, and runs nothing', async () => {
    const sandbox = await kind().open();
    engine.refusal = { path: /update/, status: 500, message: 'cannot update' };

    const running = sandbox.exec(['program'], { limits: { processCount: 20 } });

    await expect(running).rejects.toMatchObject({ code: 'sandbox-lost' });
    expect(engine.started).toEqual([]);
    await sandbox.close();
  });

  test('of a lease that is gone is removed by the next one', async () => {
    const left = await kind().open();
    const [lease = ''] = await leases.list();
    rmSync(join(leases.root, lease), { recursive: true });

    const next = await kind().open();

    expect(engine.removed).toHaveLength(1);
    expect(engine.containers.size).toBe(1);
    await Promise.all([left.close(), next.close()]);
  });

  test.each([
    ['is refused for its name', /create/, 409, 'Conflict. The container name is already in use'],
    ['cannot start', /start/, 500, 'OCI runtime create failed'],
  ])('that %s is lost, and leaves nothing', async (_, path, status, message) => {
    engine.refusal = { path, status, message };

    await expect(kind().open()).rejects.toMatchObject({ code: 'sandbox-lost', retryable: true });

    expect(engine.containers.size).toBe(0);
    expect(await leases.list()).toEqual([]);
  });

  test('without an image is refused with the remedy, and not tried again', async () => {
    engine.hasImage = false;

    await expect(kind().open()).rejects.toMatchObject({
      code: 'bad-config',
      message: expect.stringContaining('docker pull python:3.12-slim') as string,
    });
    expect(await kind().availability()).toMatchObject({
      reason: expect.stringContaining('docker pull') as string,
    });
  });
});

describe('a program', () => {
  test('gets its input and environment, and its two outputs are told apart', async () => {
    const seen: AskedProgram[] = [];
    says((asked) => {
      seen.push(asked);
      return { stdout: 'out ü\n'.repeat(3), stderr: 'err\n', exitCode: 3 };
    });
    const sandbox = await kind().open();

    const result = await sandbox.exec(['python3', '-c', 'x'], { stdin: 'in ü', env: { NAME: 'value' } });

    expect(result).toMatchObject({ exitCode: 3, stdout: 'out ü\n'.repeat(3), stderr: 'err\n', limit: null });
    expect(seen[0]).toMatchObject({ stdin: 'in ü', env: ['NAME=value'] });
    expect(seen[0]?.argv.slice(-3)).toEqual(['python3', '-c', 'x']);
    expect(seen[0]?.argv[2]).toContain(`ulimit -S -t ${DEFAULT_LIMITS.cpuSeconds} &&`);
    expect(engine.started.at(-1)).toEqual(['sh', '-c', 'kill -9 -1']);
    await sandbox.close();
  });

  test('that does not end is ended at its time', async () => {
    says(null);
    const sandbox = await kind().open();

    const result = await sandbox.exec(['sleep', '600'], { timeoutMs: 100 });

    expect(result).toMatchObject({ exitCode: null, limit: 'time' });
    expect(engine.started).toHaveLength(2);
    await sandbox.close();
  });

  test('that says too much is ended', async () => {
    says({ stdout: 'y'.repeat(200_000) });
    const sandbox = await kind().open();

    const result = await sandbox.exec(['yes'], { limits: { outputBytes: 1000 } });

    expect(result).toMatchObject({ exitCode: null, limit: 'output', isStdoutCut: true });
    expect(result.stdout).toHaveLength(1000);
    await sandbox.close();
  });

  test.each([
    [137, true, 'memory'],
    [137, false, null],
    [152, false, 'cpu'],
  ])('that ended with %i, out of memory %s, exceeded %s', async (exitCode, isOutOfMemory, limit) => {
    says(() => {
      for (const { state } of engine.containers.values()) state.OOMKilled = isOutOfMemory;
      return { exitCode };
    });
    const sandbox = await kind().open();

    expect((await sandbox.exec(['program'])).limit).toBe(limit);
    await sandbox.close();
  });

  test('that the kernel ended for memory exceeded it, although the engine does not say so, and the one after did not', async () => {
    says(({ argv }) =>
      argv.some((word) => word.includes('memory.events'))
        ? { stdout: 'low 0\noom_kill 1\n' }
        : { exitCode: 137 },
    );
    const sandbox = await kind().open();

    const first = await sandbox.exec(['program']);
    const second = await sandbox.exec(['program']);

    expect(first).toMatchObject({ exitCode: null, limit: 'memory' });
    expect(second).toMatchObject({ exitCode: 137, limit: null });
    await sandbox.close();
  });

  test('that left no room to end it keeps its verdict, and its container goes', async () => {
    const sandbox = await kind().open();
    engine.program = (asked) => (isEnding(asked) ? { exitCode: 126 } : { exitCode: 1, stderr: 'no' });

    const result = await sandbox.exec(['bomb']);

    expect(result).toMatchObject({ exitCode: 1, limit: null });
    expect(engine.removed).toHaveLength(1);
    await expect(sandbox.exec(['next'])).rejects.toMatchObject({ code: 'sandbox-lost' });
    await sandbox.close();
  });

  test('names of files that look like options are names', async () => {
    says({ exitCode: 0 });
    const sandbox = await kind().open();

    await sandbox.writeFile('-rf', 'x');
    await expect(sandbox.writeFile('../out', 'x')).rejects.toMatchObject({ code: 'refused' });

    expect(engine.started.at(-1)?.[2]).toContain('rm -f "./$1"');
    await sandbox.close();
  });
});

describe('an engine', () => {
  test('that goes in the middle of an output takes no verdict with it', async () => {
    says(({ socket }) => {
      socket.write(frame(1, 'half of what it says').subarray(0, 15));
      setTimeout(() => void engine.die(), 20);
      return null;
    });
    const sandbox = await kind().open();

    await expect(sandbox.exec(['program'])).rejects.toMatchObject({ code: 'sandbox-lost', retryable: true });
    await sandbox.close();
  });

  test('that never answers is one that is gone', async () => {
    const sandbox = await kind(100).open();
    engine.silence = /exec/;

    await expect(sandbox.exec(['program'])).rejects.toMatchObject({ code: 'sandbox-lost' });
    await sandbox.close();
  });

  test('that is away at the time limit says nothing of the program', async () => {
    says(null);
    const sandbox = await kind(100).open();
    const running = sandbox.exec(['program'], { timeoutMs: 200 });
    engine.silence = /json/;

    await expect(running).rejects.toMatchObject({ code: 'sandbox-lost' });
    await sandbox.close();
  });

  test('whose container ended says nothing of the program, which runs again in another one', async () => {
    let count = 0;
    says(() => {
      count += 1;
      if (count === 1) for (const { state } of engine.containers.values()) state.Running = false;
      return { exitCode: 0, stdout: 'done' };
    });
    const pool = new SandboxPool({ kind: kind(), size: 1, leases });

    const result = await pool.use((sandbox) => sandbox.exec(['program']));

    expect(result.stdout).toBe('done');
    expect(count).toBe(2);
    await pool.close();
  });
});
