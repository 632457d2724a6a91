import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readEnvironment } from '../src/config/environment';

export interface Questions {
  /** What `EVERSTEP_DATA_DIR` is to be. */
  readonly folder: string;
  readonly count: number;
  /** File of JSON lines `{"question","answer"}`. */
  readonly file: string;
}

interface Row {
  readonly question: string;
  readonly answer: string;
}

/** Examples of the test split. */
export const GSM8K_COUNT = 1319;

/** GSM8K where its data is, else questions of its length. */
export function readGsm8k(): { readonly rows: readonly Row[]; readonly isReal: boolean } {
  const { benchmarkDataFolder } = readEnvironment();
  const file = benchmarkDataFolder === null ? null : path.join(benchmarkDataFolder, 'gsm8k', 'data.jsonl');
  if (file === null || !existsSync(file)) return { rows: syntheticRows(), isReal: false };
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  // Our own file, or one that the product reads as it is.
  return { rows: lines.map((line) => JSON.parse(line) as Row), isReal: true };
}

/** So many questions, repeating the rows under numbers of their own. */
export function writeQuestions(folder: string, rows: readonly Row[], count: number): Questions {
  const place = path.join(folder, `questions-${count}`);
  const file = path.join(place, 'gsm8k', 'data.jsonl');
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(
    file,
    repeated(rows, count, (row) => row),
  );
  return { folder: place, count, file };
}

/** What the endpoint says to each of them: the right answer, as long as a model's. */
export function writeAnswers(folder: string, rows: readonly Row[], count: number): string {
  const file = path.join(folder, 'answers.jsonl');
  writeFileSync(
    file,
    repeated(rows, count, ({ question, answer }) => ({ prompt: question, answer })),
  );
  return file;
}

function repeated(rows: readonly Row[], count: number, written: (row: Row) => object): string {
  const lines = Array.from({ length: count }, (_, index) => {
    const { question, answer } = rows[index % rows.length] ?? { question: '', answer: '' };
    const round = Math.floor(index / rows.length);
    return `${JSON.stringify(written({ question: round === 0 ? question : `(${round}) ${question}`, answer }))}\n`;
  });
  return lines.join('');
}

function syntheticRows(): Row[] {
  return Array.from({ length: GSM8K_COUNT }, (_, index) => ({
    question:
      `Farm ${index} has ${index + 3} rows of trees with 12 trees each. A storm takes 7 trees, and every tree that is left ` +
      `bears 3 baskets of apples a year. How many baskets of apples does the farm bear in a year?`,
    answer: `There are ${index + 3} * 12 = ${(index + 3) * 12} trees.\nAfter the storm ${(index + 3) * 12 - 7} are left.\n#### ${((index + 3) * 12 - 7) * 3}`,
  }));
}
