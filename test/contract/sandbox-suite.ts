import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Leases } from '../../src/sandboxes/leases/leases';
import { processesNaming } from '../../src/sandboxes/leases/processes-naming';
import type { ExecOptions, ExecResult, Sandbox, SandboxKind } from '../../src/sandboxes/sandbox';
import * as programs from './sandbox-programs';

/**
 * A sandbox for each test of the group that this is called in, which the tests hand on as a pool does: made as new after one, where that
 * can be had, and closed for another one where it cannot. Whatever is closed leaves nothing.
 */
export function sandboxForEach(leases: Leases, makeKind: () => SandboxKind): () => Sandbox {
  const place: { kind?: SandboxKind; now?: Sandbox | null; next?: Sandbox | null } = {};

  const close = async (sandbox: Sandbox) => {
    const open = await leases.list();
    await sandbox.close();
    expect(await leases.list()).toEqual([]);
    await until(() => open.every((lease) => processesNaming(lease).length === 0));
  };

  beforeEach(async () => {
    place.kind ??= makeKind();
    place.now = place.next ?? (await place.kind.open());
    place.next = null;
  });

  afterEach(async () => {
    if (!place.now) return;
    place.next = (await place.now.renew?.()) ?? null;
    if (!place.next) await close(place.now);
    place.now = null;
  });

  afterAll(async () => {
    if (place.next) await close(place.next);
  });

  return () => {
    if (!place.now) throw new Error('A sandbox is there only during a test.');
    return place.now;
  };
}

/** The contract of every kind of sandbox: what programs can do, and what hostile ones cannot. */
export function describeSandbox(name: string, makeKind: (leases: Leases) => SandboxKind): void {
  describe(`a ${name} sandbox`, () => {
    const root = mkdtempSync(join(tmpdir(), 'sandbox-contract-'));
    const leases = new Leases(join(root, 'leases'));
    chmodSync(root, 0o711);
    const place = sandboxForEach(leases, () => makeKind(leases));
    let sandbox: Sandbox;

    const run = async (source: string, options: ExecOptions = {}): Promise<ExecResult> => {
      await sandbox.writeFile('program.py', source);
      return sandbox.exec(['python3', 'program.py'], options);
    };

    beforeEach(() => {
      sandbox = place();
    });

    afterAll(() => {
      rmSync(root, { recursive: true, force: true });
    });

    test('runs a program with its input and environment, and tells its output, errors and exit code', async () => {
      const result = await run(
        'import os, sys\nprint(sys.stdin.read().upper(), os.environ["COLOR"])\nprint("oh", file=sys.stderr)\nsys.exit(3)',
        { stdin: 'grüße', env: { COLOR: 'red' } },
      );

      expect(result).toMatchObject({
        exitCode: 3,
        stdout: 'GRÜSSE red\n',
        stderr: 'oh\n',
        isStdoutCut: false,
        isStderrCut: false,
        limit: null,
      });
      expect(result.seconds).toBeGreaterThan(0);
    });

    test('an exception is exit code 1 and its trace, and the sandbox can be used on', async () => {
      const failed = await run('raise ValueError("no")');
      const next = await sandbox.exec(['python3', '-c', 'print(6 * 7)']);

      expect(failed).toMatchObject({ exitCode: 1, limit: null });
      expect(failed.stderr).toContain('ValueError: no');
      expect(next).toMatchObject({ exitCode: 0, stdout: '42\n' });
    });

    test('a program that does not exist is an exit code, not a failure of the sandbox', async () => {
      const result = await sandbox.exec(['no-such-program']);

      expect(result.exitCode).toBe(127);
    });

    test('files go in and out, and stay between programs', async () => {
      const bytes = Buffer.from([0, 1, 254, 255]);
      await sandbox.writeFile('deep/folder/in.bin', bytes);
      const result = await run(
        'data = open("deep/folder/in.bin", "rb").read()\nopen("out.bin", "wb").write(data * 2)',
      );

      expect(result).toMatchObject({ exitCode: 0 });
      expect(Buffer.from(await sandbox.readFile('out.bin'))).toEqual(Buffer.concat([bytes, bytes]));
      expect(Buffer.from(await sandbox.readFile('deep/folder/in.bin'))).toEqual(bytes);
      await expect(sandbox.readFile('nothing')).rejects.toMatchObject({ code: 'refused' });
    });

    test.each(['../outside', '/etc/passwd', 'a/../../b', ''])('refuses the path %j', async (path) => {
      const refused = { code: 'refused' };
      await expect((async () => sandbox.writeFile(path, 'x'))()).rejects.toMatchObject(refused);
      await expect((async () => sandbox.readFile(path))()).rejects.toMatchObject(refused);
    });

    test.each([250_000, 1_000_000])('all of %d characters of output arrives', async (length) => {
      const result = await run(`print("ü" * ${length / 2}, end="")`);

      expect(result).toMatchObject({ exitCode: 0, limit: null, isStdoutCut: false });
      expect(result.stdout).toBe('ü'.repeat(length / 2));
    });

    test('output beyond what is kept is cut, marked, and never splits a character', async () => {
      const result = await run('import sys\nprint("a" + "ü" * 5000)', { limits: { outputBytes: 1000 } });

      expect(result).toMatchObject({ exitCode: 0, isStdoutCut: true, isStderrCut: false, limit: null });
      expect(result.stdout).toBe(`a${'ü'.repeat(499)}`);
    });

    test('a program that says no further line within its time is ended, however long it may take', async () => {
      const result = await run('print("one", flush=True)\nwhile True: pass', {
        silence: { limitMs: 500, lineCount: 3 },
        timeoutMs: 3_600_000,
        limits: { cpuSeconds: 3600 },
      });
      const next = await run('print("two")', { silence: { limitMs: 60_000, lineCount: 3 } });

      expect(result).toMatchObject({ exitCode: null, limit: 'time' });
      expect(next).toMatchObject({ exitCode: 0, stdout: 'two\n', limit: null });
    });

    test('a flood of output ends the program', async () => {
      const result = await run(programs.FLOOD, { limits: { outputBytes: 65_536 } });

      expect(result).toMatchObject({ exitCode: null, limit: 'output' });
      expect(result.stdout.length).toBeLessThanOrEqual(65_536);
    });

    test('a program that never ends is ended at its time, and the next one runs', async () => {
      const result = await run('import time\ntime.sleep(600)', { timeoutMs: 100 });
      const next = await sandbox.exec(['python3', '-c', 'print("well")']);

      expect(result).toMatchObject({ exitCode: null, limit: 'time' });
      expect(next.stdout).toBe('well\n');
    });

    test('a program that computes too long is ended at its processor time', async () => {
      const result = await run(programs.SPIN, { limits: { cpuSeconds: 0.2 } });

      expect(result).toMatchObject({ exitCode: null, limit: 'cpu' });
    });

    test('memory ends at the limit', async () => {
      const result = await run(programs.MEMORY);

      expect(result.limit).toBe('memory');
      expect(result.exitCode).not.toBe(0);
      expect(result.stdout).not.toContain('unstopped');
    });

    test('files end at the limit', async () => {
      const result = await run(programs.DISK);

      expect(result.limit).toBe('disk');
      expect(result.exitCode).not.toBe(0);
    });

    test('processes end at the limit, also where we are root', async () => {
      const result = await run(programs.FORKS, { limits: { processCount: 20 } });

      expect(result.stdout).toMatch(/^stopped \d+ /);
      expect(Number(/\d+/.exec(result.stdout)?.[0])).toBeLessThanOrEqual(20);
    });

    test('nothing of the machine can be read: no file, no environment', async () => {
      const secret = 'a-secret-of-the-machine';
      const file = join(root, 'secret.txt');
      writeFileSync(file, secret, { mode: 0o644 });
      process.env['EVERSTEP_TEST_SECRET'] = secret;

      const result = await run(programs.snoop(file));

      delete process.env['EVERSTEP_TEST_SECRET'];
      expect(result.exitCode).toBe(0);
      expect(result.stdout).not.toContain(secret);
      expect(result.stdout).toMatch(/secret\.txt refused/);
      expect(result.stdout).toMatch(/\/etc\/shadow refused/);
      expect(result.stdout).toMatch(/\/root refused/);
    });

    test('there is no network, not even of this machine', async () => {
      let connectionCount = 0;
      const server = createServer((socket) => {
        connectionCount += 1;
        socket.end('HTTP/1.0 200 OK\r\n\r\nhello');
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      // The address of a server that listens on a port.
      const { port } = server.address() as AddressInfo;

      const result = await run(programs.connect(port));

      await new Promise((resolve) => server.close(resolve));
      expect(result.stdout).not.toContain('reached');
      expect(connectionCount).toBe(0);
    });

    test('signals reach nobody outside', async () => {
      const bystander = spawn(process.execPath, ['-e', 'setInterval(() => 0, 1000)'], { stdio: 'ignore' });
      const ended = new Promise((resolve) => bystander.once('exit', resolve));
      let ends: object = {};

      try {
        await run(programs.signal(bystander.pid ?? 0));
        const next = await sandbox.exec(['python3', '-c', 'print("well")']);
        expect(next.stdout).toBe('well\n');
        ends = { exitCode: bystander.exitCode, signalCode: bystander.signalCode };
      } finally {
        bystander.kill('SIGKILL');
        await ended;
      }

      expect(ends).toEqual({ exitCode: null, signalCode: null });
    });

    test('a link to elsewhere is not followed, neither for reading nor for writing', async () => {
      const outside = join(root, 'outside.txt');
      writeFileSync(outside, 'outside');
      await run(`
import os
os.symlink(${JSON.stringify(outside)}, "link")
os.symlink(${JSON.stringify(root)}, "folder")
`);

      await expect(sandbox.readFile('link')).rejects.toMatchObject({ code: 'refused' });
      await expect(sandbox.readFile('folder/outside.txt')).rejects.toMatchObject({ code: 'refused' });
      await sandbox.writeFile('link', 'changed').catch(() => undefined);
      await sandbox.writeFile('folder/made.txt', 'made').catch(() => undefined);
      expect(readdirSync(root).sort()).not.toContain('made.txt');
      expect(readFileSync(outside, 'utf8')).toBe('outside');
    });

    test('children that a program leaves behind end with it', async () => {
      const [lease = 'none'] = await leases.list();
      const before = processesNaming(lease).length;

      const result = await run(programs.LINGER);

      expect(result).toMatchObject({ exitCode: 0, limit: null });
      await until(() => processesNaming(lease).length <= before);
    });

    test('an interpreter on JavaScript gives nothing of it away', async () => {
      const result = await run(programs.REACH_JAVASCRIPT);

      expect(result.exitCode).toBe(0);
      expect(result.stdout).toContain('refused');
      expect(result.stdout).not.toContain('reached');
    });

    test('an abort ends the program', async () => {
      const reason = new Error('called off');
      const running = run('import time\ntime.sleep(600)', { signal: AbortSignal.timeout(100) });
      await expect(running).rejects.toMatchObject({ name: 'TimeoutError' });

      await expect(run('print(1)', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    });
  });
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 20));
}
