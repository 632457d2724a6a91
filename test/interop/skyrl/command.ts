/**
 * SkyRL without a GPU, from PyPI.
 *
 *     npx jiti test/interop/skyrl/command.ts serve [--folder .everstep/skyrl] [--port 8000]
 *     npx jiti test/interop/skyrl/command.ts check [--only operations,survival] [--json]
 *
 * Both take `--checkout FOLDER`: a checkout of SkyRL's repository, served instead of the release.
 *
 * `serve` makes the environment and a tiny model on first use and serves it until it is interrupted. `check` prints what
 * works; exit 1 when a check fails, 0 where there is no Python to run it with, which is said.
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { makeModel, openSkyrl } from './environment';
import { runSkyrl, SKYRL_PARTS } from './main';
import { SkyrlServer } from './server';

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      folder: { type: 'string', default: '.everstep/skyrl' },
      port: { type: 'string', default: '8000' },
      only: { type: 'string', default: SKYRL_PARTS.join(',') },
      checkout: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const [action] = positionals;
  if (action === 'serve')
    return serve({ ...values, folder: path.resolve(values.folder), port: Number(values.port) });
  if (action === 'check') return check({ ...values, names: values.only.split(',') });
  throw new Error('Say serve or check.');
}

interface ServeOptions {
  readonly folder: string;
  readonly port: number;
  readonly checkout?: string;
}

async function serve({ folder, port, checkout }: ServeOptions): Promise<number> {
  const environment = await openSkyrl({ checkout, onInstall: progress });
  if ('missing' in environment) throw new Error(`${environment.missing}.`);
  const model = path.join(folder, 'tiny-qwen3');
  await makeModel(environment, model);
  const server = new SkyrlServer({ environment, folder, port, model });
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        resolve();
      });
    }
  });
  try {
    await server.start();
    console.log(`${environment.name} ready at ${server.url} with ${model}`);
    const isStopped = await Promise.race([stopped.then(() => true), server.ended().then(() => false)]);
    if (!isStopped) progress(`SkyRL ended by itself; its words are in ${folder}/server.log`);
    return isStopped ? 0 : 1;
  } finally {
    await server.stop();
  }
}

interface CheckOptions {
  readonly names: readonly string[];
  readonly checkout?: string;
  readonly json: boolean;
}

async function check({ names, checkout, json }: CheckOptions): Promise<number> {
  const parts = SKYRL_PARTS.filter((part) => names.includes(part));
  const result = await runSkyrl({
    parts,
    checkout,
    onProgress: progress,
    onCheck: ({ name, ok, detail }) => {
      progress(`  ${ok ? 'passed' : 'FAILED'}  ${name}: ${detail}`);
    },
  });
  const passed = result.checks.filter(({ ok }) => ok).length;
  if (json) console.log(JSON.stringify(result, null, 2));
  else if (result.skipped === undefined) console.log(`${result.name}: ${passed}/${result.checks.length}`);
  else console.log(`Skipped: ${result.skipped}.`);
  return passed === result.checks.length ? 0 : 1;
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

main()
  .then((code) => {
    process.exitCode = code;
  })
  .catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
