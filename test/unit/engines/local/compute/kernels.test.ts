import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const ROOT = path.join(__dirname, '../../../../..');

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'everstep-kernels-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

test('the committed kernels are what the source compiles to', () => {
  execFileSync(process.execPath, [path.join(ROOT, 'scripts/build-kernels.mjs'), folder]);

  for (const name of ['kernels.wasm', 'kernels-fma.wasm']) {
    const rebuilt = readFileSync(path.join(folder, name));
    const committed = readFileSync(path.join(ROOT, 'src/engines/local/kernels', name));
    expect(rebuilt.equals(committed)).toBe(true);
  }
});
