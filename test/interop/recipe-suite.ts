/** Recipes of tinker-cookbook from PyPI, unmodified, a few steps each against our engine. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { cleanEnvironment, runProgram } from './processes';
import { layDown, makeModel, MODEL_NAMES } from './recipe-data';
import type { Logged, Recipe } from './recipes';
import { RECIPES } from './recipes';
import type { ClientResult } from './results';
import { tryInTurn } from './results';
import type { ScriptRun } from './sdk-suite';

type Suite = Omit<ScriptRun, 'script' | 'args'>;

const TIMEOUT_MS = 10 * 60_000;

/** Makes the folder that stands for all models, and names it to the engine as `NAME=FOLDER`. */
export async function modelsOfRecipes(folder: string): Promise<string[]> {
  await makeModel(folder);
  return MODEL_NAMES.map((name) => `${name}=${folder}`);
}

/** `only`: of the recipes, those with this in their name. */
export async function runRecipes(
  suite: Suite & { readonly model: string },
  only: string | undefined,
): Promise<ClientResult> {
  await layDown(suite.folder, suite.model);
  const wanted = RECIPES.filter(({ name }) => only === undefined || name.includes(only));
  const checks = await tryInTurn(
    suite,
    wanted.map((recipe) => [recipe.name, () => run(suite, recipe)] as const),
  );
  return { client: `${suite.environment.name} recipes`, checks };
}

async function run(suite: Suite, recipe: Recipe): Promise<string> {
  const runs = path.join(suite.folder, 'runs');
  const logs = Object.entries(recipe.logs).map(([name, logged]) => ({
    folder: path.join(runs, name),
    logged,
  }));
  const log = recipe.choosesFolder === true ? [] : logs.map(({ folder }) => `log_path=${folder}`);
  const words = ['-m', `tinker_cookbook.recipes.${recipe.module}`, ...recipe.args, ...log];
  const { code, stderr } = await runProgram([suite.environment.python, ...words], {
    folder: suite.folder,
    environment: cleanEnvironment({
      HOME: suite.folder,
      HF_HUB_OFFLINE: '1',
      PYTHONDONTWRITEBYTECODE: '1',
      TINKER_API_KEY: 'tml-local',
      TINKER_BASE_URL: suite.engineUrl,
      TINKER_COOKBOOK_RUNS_DIR: runs,
      TOKENIZERS_PARALLELISM: 'false',
      WANDB_MODE: 'disabled',
    }),
    timeoutMs: TIMEOUT_MS,
  });
  if (code !== 0) throw new Error(`exit ${String(code)}: ${stderr.trim().slice(-700)}`);
  const told = await Promise.all(logs.map(({ folder, logged }) => readLog(folder, logged)));
  return told.join('; ');
}

const Row = z.record(z.string(), z.unknown());

/** A run counts when it logged each of its steps with finite numbers only and saved its last weights. */
async function readLog(folder: string, { metric, rows: expected }: Logged): Promise<string> {
  const rows = await readRows(path.join(folder, 'metrics.jsonl'));
  const values = rows.flatMap((row) => (row[metric] === undefined ? [] : [z.number().parse(row[metric])]));
  if (values.length !== expected)
    throw new Error(`${folder}: ${values.length} rows with ${metric}, expected ${expected}`);
  const saved = await readRows(path.join(folder, 'checkpoints.jsonl'));
  if (saved.at(-1)?.['name'] !== 'final') throw new Error(`${folder}: its last weights are not saved`);
  return `${metric} ${values.map((value) => value.toPrecision(4)).join(' ')}`;
}

/** Python writes what is not finite as NaN or Infinity, which is no JSON and fails here with its line. */
async function readRows(file: string): Promise<z.infer<typeof Row>[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    try {
      return Row.parse(JSON.parse(line));
    } catch (error) {
      throw new Error(`${file}: ${String(error)} in ${line.slice(0, 300)}`, { cause: error });
    }
  });
}
