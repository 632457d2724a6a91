import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SampleRequest, Sampler } from '../../../src/core/sampling';
import type { ConversationRow } from '../../../src/datasets/dataset';
import type { CellWork, EvaluationDependencies } from '../../../src/evaluation/evaluators/evaluation-context';
import { NO_PLUGINS } from '../../../src/evaluation/plugins';
import { findRenderer } from '../../../src/renderers/find-renderer';
import { CharacterTokenizer } from '../renderers/character-tokenizer';

export const tokenizer = new CharacterTokenizer();
const renderer = findRenderer('everstep', tokenizer);

/** The user's question as the model reads it. */
function questionOf({ prompt }: SampleRequest): string {
  const text = tokenizer.decode(prompt);
  return text.slice(text.indexOf('<|user|>') + '<|user|>'.length).split('<|')[0] ?? '';
}

/** A model that answers with a text; it counts what it is asked. */
export function modelThatSays(
  answer: (question: string, request: SampleRequest) => string | Promise<string>,
) {
  const asked: string[] = [];
  const requests: SampleRequest[] = [];
  const sampler: Sampler = {
    async sample(request) {
      const question = questionOf(request);
      asked.push(question);
      requests.push(request);
      const text = await answer(question, request);
      const whole = tokenizer.encode(`${text}<|end|>`, { allowSpecial: true });
      const tokens = whole.slice(0, request.params.maxTokens);
      const stopReason = tokens.length === whole.length ? 'stop' : 'length';
      return { sequences: [{ tokens, logprobs: null, stopReason }], promptLogprobs: null };
    },
  };
  return { sampler, asked, requests };
}

export function sumIn(question: string): string {
  const [a = 0, b = 0] = question.replace('=', '').split('+').map(Number);
  return String(a + b);
}

export function dependenciesOf(
  sampler: Sampler,
  options: Partial<EvaluationDependencies> & { readonly rows?: readonly ConversationRow[] } = {},
): EvaluationDependencies {
  const { rows = [], ...others } = options;
  return {
    sampler,
    tokenizer,
    renderer,
    contextLength: 1000,
    readBenchmarkRows: () => Promise.reject(new Error('no rows of benchmarks here')),
    loadDataset: async () => ({
      rows,
      contentHash: 'x',
      source: { description: 'rows', files: [] },
      skipped: [],
    }),
    plugins: NO_PLUGINS,
    ...others,
  };
}

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'everstep-cell-'));
  folders.push(folder);
  return folder;
}

export function workOf(changes: Partial<CellWork> = {}): CellWork {
  return {
    name: 'arithmetic',
    folder: newFolder(),
    epoch: 1,
    model: { name: 'everstep/tiny', path: 'tinker://run/sampler_weights/20' },
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...changes,
  };
}
