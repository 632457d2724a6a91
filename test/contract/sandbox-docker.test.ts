import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { DockerKind } from '../../src/sandboxes/docker/docker-kind';
import { Leases } from '../../src/sandboxes/leases/leases';
import { MEMORY_FILES } from './sandbox-programs';
import { describeSandbox } from './sandbox-suite';

/** Known before tests are declared: the package that speaks with Docker is there, and an engine answers. */
function reasonWithout(): string | null {
  try {
    require.resolve('dockerode');
  } catch {
    return 'the package dockerode is not installed';
  }
  try {
    execFileSync('docker', ['info'], { stdio: 'ignore', timeout: 5000 });
    return null;
  } catch {
    return 'no Docker engine answers';
  }
}

const reason = reasonWithout();

// The contract is for an engine; without one, what is told a person instead is tested.
if (reason === null) {
  describeSandbox('docker', (leases) => new DockerKind(leases));

  test('a program that the kernel ends for memory has exceeded its limit, and the sandbox can be used on', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sandbox-docker-'));
    const sandbox = await new DockerKind(new Leases(folder)).open();
    await sandbox.writeFile('program.py', MEMORY_FILES);

    const limits = { memoryBytes: 128 * 1024 * 1024 };
    const result = await sandbox.exec(['python3', 'program.py'], { limits, timeoutMs: 30_000 });
    const next = await sandbox.exec(['python3', '-c', 'print("well")']);

    await sandbox.close();
    rmSync(folder, { recursive: true, force: true });
    expect(result).toMatchObject({ exitCode: null, limit: 'memory' });
    expect(next.stdout).toBe('well\n');
  });
} else {
  test(`the contract is not tried on docker here: ${reason}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sandbox-docker-'));

    expect(await new DockerKind(new Leases(folder)).availability()).toMatchObject({ isAvailable: false });
    rmSync(folder, { recursive: true, force: true });
  });
}

test('says what is missing, with the remedy', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-docker-'));
  const answer = await new DockerKind(new Leases(folder)).availability();

  if (answer.isAvailable) expect(answer.found).toContain('Docker');
  else expect(answer.reason).toMatch(/npm install dockerode|start one|docker pull/);
  rmSync(folder, { recursive: true, force: true });
});
