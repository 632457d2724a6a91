import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseDocument } from 'yaml';
import { REFERENCE_FILE, withReference } from '../../../scripts/write-config-reference';
import { loadTrainingConfig } from '../../../src/config/load-config';
import type { TrainingConfig } from '../../../src/config/training-config';
import { resolveEvaluations } from '../../../src/training/resolve-evaluations';

const ROOT = path.resolve(__dirname, '../../..');
const reference = readFileSync(REFERENCE_FILE, 'utf8');
const readme = readFileSync(path.join(ROOT, 'README.md'), 'utf8');

/** What an example that shows only a part of a config leaves out. */
const LEAST = {
  kind: 'kind: sft',
  model: 'model: everstep/tiny',
  dataset: 'dataset: { path: train.jsonl }',
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'everstep-docs-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

test('the reference is what the schema says', () => {
  // After a change: npx jiti scripts/write-config-reference.ts
  expect(reference).toBe(withReference(reference));
});

test('the reference has every key of a run, each described', () => {
  for (const key of [
    'initialCheckpoint',
    'rollingTtlSeconds',
    'gradClipNorm',
    'testSize',
    'grader',
    'mode',
  ]) {
    expect(reference).toMatch(new RegExp(`^\\| \`${key}\` +\\|.*\\| +[^ |].* \\|$`, 'm'));
  }
  expect(reference).toMatch(/^\| `batchSize` +\| whole number ≥ 1, ≤ 65536 +\| `128` +\| Examples a step/m);
});

test('a document without markers is refused', () => {
  expect(() => withReference('# Configuration\n')).toThrow('lacks the markers');
});

const examples = [
  ...yamlBlocks(reference).map((text) => ['docs/configuration.md', text] as const),
  ...yamlBlocks(readme).map((text) => ['README.md', text] as const),
];

test('there are examples to check', () => {
  expect(examples.length).toBeGreaterThan(10);
});

test.each(examples)('an example of %s is a valid config:\n%s', async (_, text) => {
  const config = await load(text);

  expect(config).toMatchObject({ kind: 'sft' });
  expect(() => resolveEvaluations(config, null)).not.toThrow();
});

test('one of the examples blocks training', async () => {
  const configs = await Promise.all(examples.map(([, text]) => load(text)));

  expect(configs.flatMap(({ schedules = [] }) => schedules.map(({ mode }) => mode))).toContain('blocking');
});

const spellings = reference
  .slice(reference.indexOf('## Spellings'), reference.indexOf('## Reference'))
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .flatMap((line) => {
    const [theirs = '', ours = ''] = line
      .split('|')
      .slice(1)
      .map((cell) => cell.trim());
    const answers = [...ours.matchAll(/`([^`]+)`/g)].map(([, key = '']) => key);
    return [...theirs.matchAll(/`([^`]+)`/g)].map(([, key = ''], index) => [key, answers, index] as const);
  });

test('there are spellings to check', () => {
  expect(spellings.length).toBeGreaterThan(20);
});

test.each(spellings)('%s is refused with one of %j', async (theirs, ours, index) => {
  const refusal = load(`${theirs}: 1\n`);
  // One answer for all names of a line, or an answer for each.
  const answer = ours.length === 1 ? ours[0] : ours[index];

  await expect(refusal).rejects.toThrow(`Unknown key "${theirs}"`);
  await expect(refusal).rejects.toThrow(answer);
});

test('links lead to files that are there', () => {
  const links = [
    ...linksOf(readme).map((link) => path.join(ROOT, link)),
    ...linksOf(reference).map((link) => path.join(ROOT, 'docs', link)),
  ];

  expect(links.length).toBeGreaterThan(4);
  expect(links.filter((link) => !existsSync(link))).toEqual([]);
});

function yamlBlocks(document: string): string[] {
  return [...document.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) => text);
}

function linksOf(document: string): string[] {
  return [...document.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link = '']) => link);
}

async function load(text: string): Promise<TrainingConfig> {
  const given = parseDocument(text);
  const missing = Object.entries(LEAST).flatMap(([key, line]) => (given.has(key) ? [] : [line]));
  const file = path.join(folder, `${Math.random().toString(36).slice(2)}.yaml`);
  writeFileSync(file, `${missing.join('\n')}\n${text}`);
  return loadTrainingConfig({ file });
}
