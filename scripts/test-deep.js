/**
 * Runs the long matrices below test/deep, which plain `npm test` leaves out: all their cases, or a share drawn from a seed.
 *
 *     npm run test:deep -- [--share 0.1] [--seed N] [PATTERN…]
 *
 * Prints the command that draws the same cases again. The tests take share and seed from test/setup/deep-cases.ts.
 */
const { randomInt } = require('node:crypto');
const { parseArgs } = require('node:util');

const USAGE = 'npm run test:deep -- [--share 0.1] [--seed N] [PATTERN…]';
const OPTIONS = { share: { type: 'string' }, seed: { type: 'string' } };

async function main(args) {
  const { share, seed, patterns } = readDeepOptions(args);
  process.env.EVERSTEP_DEEP_SHARE = String(share);
  process.env.EVERSTEP_DEEP_SEED = String(seed);
  const again = `npm run test:deep -- ${['--share', share, '--seed', seed, ...patterns].join(' ')}`;
  process.stderr.write(`The same cases again: ${again}\n`);
  await require('jest').run([...patterns, '--selectProjects=deep']);
}

/** @returns {{ share: number, seed: number, patterns: string[] }} all cases and a new seed where nothing is said */
function readDeepOptions(args) {
  const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
  const share = Number(values.share ?? 1);
  if (!(share > 0 && share <= 1))
    throw new Error(`--share is "${values.share}"; it is above 0 and at most 1.`);
  const seed = Number(values.seed ?? randomInt(1_000_000));
  if (!Number.isSafeInteger(seed)) throw new Error(`--seed is "${values.seed}"; it is a whole number.`);
  return { share, seed, patterns: positionals };
}

module.exports = { readDeepOptions };

if (require.main === module) {
  main(process.argv.slice(2)).catch((error) => {
    process.stderr.write(`${error.message}\nUsage: ${USAGE}\n`);
    process.exitCode = 2;
  });
}
