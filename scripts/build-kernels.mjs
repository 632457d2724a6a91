// Compiles the AssemblyScript kernels to the two committed .wasm files; `--check` compares them with what is committed instead.
//
//     node scripts/build-kernels.mjs [--check]
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const kernels = fileURLToPath(new URL('../src/engines/local/kernels/', import.meta.url));
const assemblyScript = path.dirname(createRequire(import.meta.url).resolve('assemblyscript/package.json'));

// The maximum must cover what createSharedHeap asks for: 16384 pages are 1 GiB.
const memory = ['--importMemory', '--sharedMemory', '--initialMemory', '16', '--maximumMemory', '16384'];
const features = ['--enable', 'simd', '--enable', 'threads', '--enable', 'bulk-memory'];

/** The two files; the second is for processors that multiply and add in one. */
const FILES = { 'kernels.wasm': [], 'kernels-fma.wasm': ['--enable', 'relaxed-simd'] };

function compile(name, folder) {
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
      ...FILES[name],
      '-o',
      path.join(folder, name),
    ],
    { stdio: 'inherit', cwd: kernels },
  );
}

function check() {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-kernels-'));
  try {
    for (const name of Object.keys(FILES)) {
      compile(name, folder);
      if (readFileSync(path.join(folder, name)).equals(readFileSync(path.join(kernels, name)))) continue;
      process.stderr.write(`${name} is not what its source compiles to: node scripts/build-kernels.mjs\n`);
      process.exitCode = 1;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[2] === '--check') check();
else for (const name of Object.keys(FILES)) compile(name, kernels);
