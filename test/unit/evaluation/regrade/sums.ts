import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchmarkRequest } from '../../../../src/core/benchmark-run';
import { requestOf } from '../runner/evaluate-here';
import { newFolder } from '../runner/fake-model';

/** A plug-in file as somebody writes it, piece by piece. */
export interface SumsPlugin {
  readonly grader?: string;
  readonly prompt?: string;
  readonly environment?: string;
  readonly generation?: string;
  readonly head?: string;
  readonly version?: number;
}

/** Right where the answer is the target. */
export const EXACT = '(reply, { target }) => reply === target';

/** A benchmark of four sums in a plug-in file: its rows and its grader lie beside it. */
export class Sums {
  readonly folder = newFolder();
  readonly file = join(this.folder, 'everstep.config.ts');

  constructor() {
    this.writeRows();
    this.write();
  }

  write(changes: SumsPlugin = {}): void {
    const { grader = EXACT, prompt = '`${a}+1=`', head = '', version = 1 } = changes;
    const { generation = '{ maxTokens: 8, temperature: 0 }', environment } = changes;
    mkdirSync(join(this.folder, 'judging'), { recursive: true });
    writeFileSync(join(this.folder, 'judging', 'grader.ts'), `export const grader = ${grader};\n`);
    const turns = environment === undefined ? '' : `environment: ${environment},`;
    const text = `${head}
      import { grader } from './judging/grader';
      export const benchmarks = { sums: {
        version: ${version},
        data: { path: 'rows.jsonl' },
        toExample: ({ a, target }) => ({ id: 'sum_' + a, prompt: ${prompt}, target }),
        generation: ${generation},
        grader, ${turns}
      } };`;
    writeFileSync(this.file, text);
  }

  /** `targets` by their number, where they are not the sum. */
  writeRows(targets: Readonly<Record<number, string>> = {}): void {
    const rows = [1, 2, 3, 4].map((a) => ({ a, target: targets[a] ?? String(a + 1) }));
    const lines = rows.map((row) => `${JSON.stringify(row)}\n`);
    writeFileSync(join(this.folder, 'rows.jsonl'), lines.join(''));
  }

  get planFile(): string {
    return join(this.request().folder, 'sums', 'journal', 'plan.json');
  }

  /** As somebody else may have left it. */
  changePlan(changes: object): void {
    const plan: unknown = JSON.parse(readFileSync(this.planFile, 'utf8'));
    writeFileSync(this.planFile, JSON.stringify(Object.assign({}, plan, changes)));
  }

  request(changes: Partial<BenchmarkRequest> = {}): BenchmarkRequest {
    const run = changes.run ?? 'eval-one';
    return requestOf({
      ...{ benchmark: 'sums', plugins: this.file, run },
      folder: join(this.folder, 'evals', run),
      ...changes,
    });
  }
}

/** The right sum, but for 4+1. */
export function answerTo(question: string): string {
  const a = Number(/(\d)\+1/.exec(question)?.[1]);
  return a === 4 ? 'no idea' : String(a + 1);
}
