/**
 * SkyRL without a GPU, from PyPI.
 *
 *     npx jiti test/interop/skyrl/command.ts serve [--folder .everstep/skyrl] [--port 8000]
 *     npx jiti test/interop/skyrl/command.ts check [--only operations,survival] [--json]
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
      json: { type: 'boolean', default: false },
    },
  });
  const [action] = positionals;
  if (action === 'serve') return serve(path.resolve(values.folder), Number(values.port));
  if (action === 'check') return check(values.only.split(','), values.json);
  throw new Error('Say serve or check.');
}

async function serve(folder: string, port: number): Promise<number> {
  const environment = await openSkyrl(progress);
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
    await stopped;
    return 0;
  } finally {
    await server.stop();
  }
}

async function check(names: readonly string[], isJson: boolean): Promise<number> {
  const parts = SKYRL_PARTS.filter((part) => names.includes(part));
  const result = await runSkyrl({
    parts,
    onProgress: progress,
    onCheck: ({ name, ok, detail }) => {
      progress(`  ${ok ? 'passed' : 'FAILED'}  ${name}: ${detail}`);
    },
  });
  const passed = result.checks.filter(({ ok }) => ok).length;
  if (isJson) console.log(JSON.stringify(result, null, 2));
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
