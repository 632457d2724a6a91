import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A plug-in file with evaluators that a story holds up, breaks or counts, through files beside it:
 *
 *     open-<name>     `gated` waits until it is there
 *     said-<name>.json   what `said` says of each step; it waits where that is `waits`
 *     calls.log       one line for each evaluator that began
 */
export class TestPlugins {
  readonly file: string;

  constructor(private readonly folder: string) {
    this.file = join(folder, 'everstep.config.js');
    writeFileSync(this.file, SOURCE);
  }

  open(name: string): void {
    writeFileSync(join(this.folder, `open-${name}`), '');
  }

  close(name: string): void {
    rmSync(join(this.folder, `open-${name}`), { force: true });
  }

  calls(name: string): number {
    const file = join(this.folder, 'calls.log');
    if (!existsSync(file)) return 0;
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line === name).length;
  }
}

const SOURCE = `
const fs = require('node:fs');
const path = require('node:path');
const note = (name) => fs.appendFileSync(path.join(__dirname, 'calls.log'), name + '\\n');
const until = async (file, signal) => {
  while (!fs.existsSync(file)) {
    if (signal.aborted) throw new Error('aborted');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

module.exports = { evaluators: {
  gated: ({ gate }) => ({ name: 'gated', kind: 'sampling', async evaluate(client) {
    note(gate);
    await until(path.join(__dirname, 'open-' + gate), client.signal);
    const { text } = await client.complete([{ role: 'user', content: '1+1=' }], { maxTokens: 4 });
    return { characters: text.length };
  } }),
  said: ({ name }) => ({ name: 'said', kind: 'sampling', async evaluate(client) {
    const step = Number(/(\\d+)$/.exec(client.checkpoint)?.[1] ?? NaN);
    for (;;) {
      const values = JSON.parse(fs.readFileSync(path.join(__dirname, 'said-' + name + '.json'), 'utf8'));
      const value = Number.isNaN(step) ? values[Math.max(...Object.keys(values))] : values[step];
      if (value === 'fails') throw new Error('no ruler at hand');
      if (value !== 'waits') return { quality: value };
      if (client.signal.aborted) throw new Error('aborted');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  } }),
  broken: () => ({ name: 'broken', kind: 'sampling', async evaluate() { throw new Error('no ruler at hand'); } }),
  counter: ({ url }) => ({ name: 'counter', kind: 'sampling', async evaluate() {
    const steps = async () => Number(/steps_applied_total (\\d+)/.exec(await (await fetch(url + '/metrics')).text())[1]);
    const before = await steps();
    await new Promise((resolve) => setTimeout(resolve, 150));
    return { before, after: await steps() };
  } }),
} };
`;
