import { spawnSync } from 'node:child_process';
import path from 'node:path';

const ROOT = path.join(__dirname, '../../../../..');
const KERNELS = path.join(ROOT, 'src/engines/local/compute/kernels.ts');

test('kernels are loaded without a word from V8, which prints to the descriptor itself', () => {
  const program = `
    const { loadKernels } = require('jiti')(${JSON.stringify(__filename)})(${JSON.stringify(KERNELS)});
    const memory = new WebAssembly.Memory({ initial: 64, maximum: 16384, shared: true });
    console.log(typeof loadKernels('auto', memory));`;

  const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], { cwd: ROOT, encoding: 'utf8' });

  expect({ stdout, stderr }).toEqual({ stdout: 'object\n', stderr: '' });
});
