/**
 * Reference solutions have to score 1, and broken ones 0: all rows of code and function calls that there are.
 *
 *     npx jiti bench/gold-answers.ts FOLDER [--only humaneval,mbpp,bfcl]
 *
 * FOLDER holds `<benchmark>/*.jsonl` in the publishers' fields, as EVERSTEP_DATA_DIR does.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseJson } from '../src/core/whole-floats';
import { findRowGrader } from '../src/evaluation/graders/find-row-grader';
import { isRow, textField } from '../src/evaluation/graders/row-fields';
import type { Row } from '../src/evaluation/graders/row-grader';
import { processSandboxes } from '../src/sandboxes/process-sandboxes';
import { callText, expectedText } from './gold-calls';

interface Answers {
  readonly right: string;
  readonly broken: string;
}

const fenced = (code: string) => `\`\`\`python\n${code}\n\`\`\``;

/** null for rows of another kind. */
const ANSWERS: Readonly<Record<string, (row: Row) => Answers | null>> = {
  humaneval: (row) => ({
    right: textField(row, ['canonical_solution']),
    broken: '    raise NotImplementedError\n',
  }),
  mbpp: (row) => ({
    right: fenced(textField(row, ['code'])),
    broken: fenced(`${textField(row, ['code'])}\nraise NotImplementedError`),
  }),
  bfcl: callAnswers,
};

function callAnswers(row: Row): Answers | null {
  const id = textField(row, ['id']);
  if (/multi_turn/.test(id)) return null;
  const anyCall = callText('nothing_of_the_kind', []);
  if (id.includes('irrelevance')) return { right: 'None of the functions fits.', broken: `[${anyCall}]` };
  if (id.includes('relevance')) return { right: `[${anyCall}]`, broken: 'None of the functions fits.' };
  const right = expectedText(row);
  return { right, broken: right.replace(/^\[[^(]*/, '[nothing_of_the_kind') };
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { only: { type: 'string', default: Object.keys(ANSWERS).join(',') } },
  });
  const [folder] = positionals;
  if (folder === undefined)
    throw new Error('Name the folder of the data: npx jiti bench/gold-answers.ts FOLDER');
  let isClean = true;
  for (const name of values.only.split(',')) {
    for (const file of readdirSync(join(folder, name)).filter((each) => each.endsWith('.jsonl')))
      isClean = (await gradeFile(name, join(folder, name, file))) && isClean;
  }
  await processSandboxes.close();
  if (!isClean) process.exitCode = 1;
}

async function gradeFile(name: string, file: string): Promise<boolean> {
  const rows = readFileSync(file, 'utf8').trim().split('\n').map(parseJson).filter(isRow);
  const tasks = rows.flatMap((row) => {
    const answers = ANSWERS[name]?.(row) ?? null;
    return answers === null ? [] : [{ row, answers }];
  });
  if (tasks.length === 0) return true;
  const wrong: string[] = [];
  let right = 0;
  let broken = 0;
  const waiting = [...tasks];
  const work = async () => {
    for (let task = waiting.shift(); task; task = waiting.shift()) {
      const { row, answers } = task;
      const gold = await findRowGrader(name).grade(answers.right, row);
      const bad = await findRowGrader(name).grade(answers.broken, row);
      right += Number(gold.value === 1);
      broken += Number(bad.value === 0);
      if (gold.value !== 1) wrong.push(`${textField(row, ['id', 'task_id'])}: ${gold.explanation ?? ''}`);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() * 2 }, work));
  console.log(
    `${name} ${file.split('/').at(-1) ?? ''}: ${right}/${tasks.length} references score 1, ${broken}/${tasks.length} broken ones 0`,
  );
  for (const each of wrong) console.log(`  ${each}`);
  return right === tasks.length && broken === tasks.length;
}

void main();
