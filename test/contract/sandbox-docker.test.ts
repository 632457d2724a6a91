import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { DockerKind } from '../../src/sandboxes/docker/docker-kind';
import { Leases } from '../../src/sandboxes/leases/leases';
import { describeSandbox } from './sandbox-suite';

jest.setTimeout(180_000);

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
if (reason === null) describeSandbox('docker', (leases) => new DockerKind(leases));
else {
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
