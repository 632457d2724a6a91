/**
 * Runs every `check:…` script of package.json except those run by hand, two at once where there are cores for it: what one
 * printed is shown when it has ended. Fails when any fails, after all of them.
 */
const { spawn } = require('node:child_process');
const os = require('node:os');
const { scripts } = require('../package.json');

// Each loads the whole project into memory.
const AT_ONCE = Math.min(2, os.availableParallelism());

/** They install and build everything anew, which takes minutes and the network. */
const BY_HAND = ['check:cold'];

/** Builds what others would wait for. */
const FIRST = 'check:package';

async function main() {
  const waiting = Object.keys(scripts)
    .filter((name) => name.startsWith('check:') && !BY_HAND.includes(name))
    .sort((one, other) => Number(other === FIRST) - Number(one === FIRST));
  const failed = [];
  const work = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const begin = performance.now();
      const { isPassed, text } = await run(name);
      const seconds = ((performance.now() - begin) / 1000).toFixed(0);
      process.stdout.write(`${text.trimEnd()}\n${name} ${isPassed ? 'passed' : 'FAILED'} (${seconds} s)\n\n`);
      if (!isPassed) failed.push(name);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (failed.length === 0) return;
  process.stdout.write(`Failed: ${failed.join(', ')}\n`);
  process.exitCode = 1;
}

function run(name) {
  return new Promise((resolve, reject) => {
    const child = spawn('npm', ['run', '--silent', name], {
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
    });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk) => (text += chunk));
    }
    child.on('error', reject).on('close', (code) => resolve({ isPassed: code === 0, text }));
  });
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
