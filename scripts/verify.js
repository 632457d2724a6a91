/**
 * Everything that proves the project, one part after another; says how long each took, and fails after all of them when any failed.
 *
 *     npm run verify
 */
const { spawn } = require('node:child_process');

const PARTS = [
  ['check'],
  ['test'],
  ['test:stack'],
  // Of the long matrices another tenth each time; the command that draws it again is printed.
  ['test:deep', '--', '--share', '0.1'],
  // What somebody gets who installs the package in an empty folder; and the newest Node that is supported.
  ['try:package'],
  ['try:node', '--', '24', '--quick'],
  // Kills, outages, lost answers and full disks in seeded runs, compared with an undisturbed run.
  ['chaos', '--', '--runs', '20', '--minutes', '3', '--seed', '1000'],
  // The programs of others, from PyPI; says so where there is no Python or no PyPI.
  ['interop', '--', '--skyrl', 'operations', '--allow-skip'],
];

async function main() {
  const results = [];
  for (const part of PARTS) {
    const begin = performance.now();
    const isPassed = await run(part);
    results.push({ name: part[0], isPassed, seconds: ((performance.now() - begin) / 1000).toFixed(0) });
  }
  for (const { name, isPassed, seconds } of results) {
    process.stdout.write(`${name} ${isPassed ? 'passed' : 'FAILED'} (${seconds} s)\n`);
  }
  if (results.some(({ isPassed }) => !isPassed)) process.exitCode = 1;
}

function run(part) {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', ['run', ...part], { stdio: 'inherit', shell: process.platform === 'win32' });
    child.on('error', reject).on('close', (code) => resolve(code === 0));
  });
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
