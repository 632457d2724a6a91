// Compiles the AssemblyScript kernels to the two committed .wasm files: `node scripts/build-kernels.mjs [output folder]`.
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const kernels = fileURLToPath(new URL('../src/engines/local/kernels/', import.meta.url));
const output = path.resolve(process.argv[2] ?? kernels);
const assemblyScript = path.dirname(createRequire(import.meta.url).resolve('assemblyscript/package.json'));

// The maximum must cover what createSharedHeap asks for: 16384 pages are 1 GiB.
const memory = ['--importMemory', '--sharedMemory', '--initialMemory', '16', '--maximumMemory', '16384'];
const features = ['--enable', 'simd', '--enable', 'threads', '--enable', 'bulk-memory'];

function compile(name, more) {
  const file = path.join(output, name);
  execFileSync(
    process.execPath,
    [
      path.join(assemblyScript, 'bin/asc.js'),
      'kernels.ts',
      '-O3',
      '--noAssert',
      '--runtime',
      'stub',
      '--use',
      'abort=',
      '--disableWarning',
      '112',
      ...features,
      ...memory,
      ...more,
      '-o',
      file,
    ],
    { stdio: 'inherit', cwd: kernels },
  );
}

compile('kernels.wasm', []);
compile('kernels-fma.wasm', ['--enable', 'relaxed-simd']);
