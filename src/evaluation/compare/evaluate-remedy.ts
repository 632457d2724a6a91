import { join } from 'node:path';
import { z } from 'zod';
import { shellWord } from '../../core/shell-word';
import type { EvaluatedStep } from '../../stores/evaluated-step';
import { evaluatedStepOf } from '../../stores/evaluated-step';
import { nearestStep, readSampledSteps } from '../../stores/sampled-steps';
import { readJsonIfThere } from '../../stores/whole-file';
import { CATALOGUE_NAMES } from '../benchmarks/catalogue-names';
import type { Candidate } from './candidate';

const Model = z.union([
  z.object({ type: z.literal('endpoint'), url: z.string(), api: z.string(), model: z.string() }),
  z.object({
    type: z.literal('engine'),
    model: z.string(),
    url: z.string().optional(),
    path: z.string().nullable(),
    label: z.string().nullable(),
  }),
]);

const Request = z.object({
  model: Model,
  plugins: z.string().optional(),
  judges: z.array(z.object({ model: Model })).optional(),
  inspectTask: z
    .object({ task: z.string(), args: z.record(z.string(), z.unknown()), roles: z.unknown().optional() })
    .optional(),
});
type Request = z.infer<typeof Request>;

const Plan = z.object({ request: Request, identity: z.object({ judges: z.unknown().optional() }) });
type Plan = z.infer<typeof Plan>;
const Metadata = z.object({ checkpoint_name: z.string().nullable(), config: z.object({ model: Model }) });

interface Lack {
  readonly name: string;
  /** Sides without it. */
  readonly lacking: readonly Candidate[];
  /** The command's words up to whom it asks. */
  readonly words: string;
}

/** What to add so that something can be paired: commands that work as they stand, as far as the stored files say how. */
export async function remedyFor(a: Candidate, b: Candidate, missing: readonly string[]): Promise<string> {
  const lack = await firstLack(a, b, missing);
  const commands = lack ? await Promise.all(lack.lacking.map((side) => commandFor(side, lack))) : [];
  const [runA, runB] = [evaluatedStepOf(a.place.folder), evaluatedStepOf(b.place.folder)];
  const areRuns = runA !== null && runB !== null;
  const values =
    areRuns && runA.run !== runB.run
      ? [
          `What has only values, as evaluators of plug-ins, is compared with: \`everstep runs compare ${shellWord(runA.run)} ${shellWord(runB.run)}\``,
        ]
      : [];
  const same = areRuns ? 'give both runs the same evaluators' : 'evaluate the same on both';
  const evaluate =
    commands.length === 0
      ? `${same[0]?.toUpperCase() ?? ''}${same.slice(1)}.`
      : `Evaluate the same on both, e.g. ${commands.join(' and ')}${areRuns ? `, or ${same}` : ''}.`;
  return [...unfinishedIn([a, b], lack), evaluate, ...values].join(' ');
}

/** What is begun on a side needs no other evaluation, but the end of that one. */
function unfinishedIn(sides: readonly Candidate[], lack: Lack | null): string[] {
  if (lack) return [];
  return sides.flatMap(({ place, unfinished, reasons }) =>
    unfinished
      .filter((name) => !reasons.has(name))
      .map((name) => `${name} of ${place.label} ends with the command that began it, given again.`),
  );
}

/** Of what was asked for, else of what one side has, the first that can be evaluated by name on those without it. */
async function firstLack(a: Candidate, b: Candidate, missing: readonly string[]): Promise<Lack | null> {
  const names = missing.length > 0 ? missing : [...a.finished, ...b.finished];
  for (const name of names.map((text) => text.replaceAll('-', '_'))) {
    const lacking = [a, b].filter(({ finished }) => !finished.includes(name));
    if (lacking.length === 0 || lacking.some(({ unfinished }) => unfinished.includes(name))) continue;
    const holder = [a, b].find(({ finished }) => finished.includes(name));
    const words = await benchmarkWords(name, holder);
    if (words !== null) return { name, lacking, words };
  }
  return null;
}

/** As it was asked for where it is there; null for evaluators of a run, which have no meaning elsewhere. */
async function benchmarkWords(name: string, holder: Candidate | undefined): Promise<string | null> {
  const plan = holder ? await readPlan(holder.place.folder, name) : undefined;
  const task = plan?.request.inspectTask;
  if (task) return hasPlainArguments(task) ? shellWord(task.task) : null;
  const asked = plan ? requestWords(plan) : [];
  if (!CATALOGUE_NAMES.has(name) && !asked.includes('--plugins')) return null;
  return [shellWord(name), ...asked].join(' ');
}

/** Undefined where the run that evaluated it has no plan of it, or an earlier version wrote it. */
async function readPlan(folder: string, name: string): Promise<Plan | undefined> {
  return Plan.safeParse(await readJsonIfThere(join(folder, name, 'journal', 'plan.json'))).data;
}

function requestWords({ request: { plugins, judges = [] }, identity }: Plan): string[] {
  return [
    ...(plugins === undefined ? [] : ['--plugins', shellWord(plugins)]),
    ...(identity.judges === undefined ? [] : judgeWords(judges)),
  ];
}

function hasPlainArguments({ args, roles }: NonNullable<Request['inspectTask']>): boolean {
  return Object.keys(args).length === 0 && roles === undefined;
}

/** Several votes of a judge are one judge. */
function judgeWords(judges: NonNullable<Request['judges']>): string[] {
  const names = judges.flatMap(({ model }) =>
    model.type === 'endpoint' ? [shellWord(`${model.model}@${model.url}`)] : [],
  );
  return [...new Set(names)].flatMap((name) => ['--judge', name]);
}

async function commandFor(side: Candidate, { words }: Lack): Promise<string> {
  const place = evaluatedStepOf(side.place.folder);
  const sampled = place && (await readSampledSteps(place.runFolder));
  if (place && sampled && !sampled.includes(place.step)) return commandForOther(place, sampled, words);
  const model = await modelWords(side);
  const command = `\`everstep eval ${words} ${model ?? '--checkpoint RUN@STEP'}\``;
  return model === null ? `${command} for the RUN@STEP of ${side.place.label}` : command;
}

/** The weights of a step may not be kept. */
function commandForOther({ run, step }: EvaluatedStep, sampled: readonly number[], words: string): string {
  const nearest = nearestStep(sampled, step);
  if (nearest === undefined) return `nothing of ${run}, of which no weights are kept`;
  return `\`everstep eval ${words} --checkpoint ${shellWord(`${run}@${nearest}`)}\` (the weights of step ${step} are not kept; of run ${JSON.stringify(run)} those of steps ${sampled.join(', ')} are)`;
}

/** How `eval` is told what a side's results are of; null where nothing says it. */
async function modelWords(side: Candidate): Promise<string | null> {
  const step = evaluatedStepOf(side.place.folder);
  if (step) return `--checkpoint ${shellWord(`${step.run}@${step.step}`)}`;
  const metadata = Metadata.safeParse(await readJsonIfThere(join(side.place.folder, 'metadata.json'))).data;
  if (!metadata) return null;
  const { checkpoint_name: name, config } = metadata;
  return name === null ? sourceWords(config.model) : `--checkpoint ${shellWord(name)}`;
}

function sourceWords(model: z.infer<typeof Model>): string {
  const words = ['--model', model.model];
  if (model.type === 'endpoint') {
    words.push('--endpoint', model.url, ...(model.api === 'chat' ? [] : ['--api', model.api]));
  } else {
    words.push(...(model.url === undefined ? [] : ['--engine', model.url]));
    words.push(...(model.path === null ? [] : ['--checkpoint', model.path]));
  }
  return words.map(shellWord).join(' ');
}
