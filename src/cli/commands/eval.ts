import { Command } from 'commander';
import type { EvaluateOptions } from '../../client/evaluate-options';
import type { Everstep } from '../../client/everstep';
import { DomainError } from '../../core/errors';
import { openForReading, openForWork } from '../connect';
import { EXIT } from '../exit-codes';
import { catchInterrupts } from '../interrupts';
import type { Output } from '../output';
import { openOutput } from '../output';
import { addPlaces } from '../service-options';
import { refuseUselessEndpoint } from './eval-endpoint';
import { runEvaluatorAlone } from './eval-evaluator';
import { refuseUselessFiles } from './eval-files';
import { followEval } from './eval-follow';
import { findHome } from './eval-home';
import type { EvalFlags } from './eval-options';
import { refuseUnjudged } from './judge-options';
import { addAskingOptions, addModelOptions, canonicalNames, optionsFrom } from './eval-options';

export function createCommand(): Command {
  const command = new Command('eval')
    .description('Score a model on benchmarks, or go on with an evaluation that was interrupted')
    .argument('[benchmarks...]', 'names, e.g. gsm8k (`everstep benchmarks list` shows them)');
  addModelOptions(command);
  addAskingOptions(command);
  command
    .option('--run <name>', 'name of the eval run (the model, and a digest of what is asked)')
    .option('--output <folder>', 'folder of the results (<store>/evals/<run>)')
    .option(
      '--answers-from <run>',
      'take the answers that this eval run has to the same prompts, and ask for the rest',
    )
    .option('--json', 'one JSON document on standard output')
    .action(async (benchmarks: string[], flags: EvalFlags) => {
      process.exitCode = await run(benchmarks, flags);
    });
  return addPlaces(command, { store: true });
}

async function run(names: readonly string[], flags: EvalFlags): Promise<number> {
  const output = openOutput(flags);
  const request = checkRequest(names, flags);
  const interrupts = catchInterrupts(output);
  const { signal } = interrupts;
  try {
    if (request.evaluator === null && (await printStored(request, flags, output))) return EXIT.done;
    await refuseUselessFiles(request.options, flags);
    await refuseUselessEndpoint({ ...request, flags }, output);
    const places = (everstep: Everstep) => everstep.findWeights(request.options);
    const home = await findHome(places, flags, output);
    const purpose = `eval ${names.join(' ')}`.trim();
    const session = await openForWork({ flags, output, signal, detach: false, purpose, ...home });
    try {
      if (signal.aborted) return EXIT.interrupted;
      if (request.evaluator !== null) {
        return await runEvaluatorAlone(request.evaluator.name, {
          session,
          printer: output,
          signal,
          ...request.evaluator,
        });
      }
      if (request.options.budget && request.options.judge)
        output.note('The budget is for asking the model: what judges use is not in it.');
      const handle = await session.everstep.evaluate(request.benchmarks, request.options);
      return await followEval(handle, { session, output, signal });
    } finally {
      await session.close();
    }
  } finally {
    interrupts.dispose();
  }
}

interface EvalRequest {
  readonly benchmarks: readonly string[];
  readonly options: EvaluateOptions;
  readonly evaluator: {
    readonly name: string;
    readonly checkpoint: string;
    readonly run?: string;
    readonly output?: string;
  } | null;
}

/** Refuses what can be seen to be wrong before anything is started. */
function checkRequest(names: readonly string[], flags: EvalFlags): EvalRequest {
  const { evaluator, checkpoint, run, output, answersFrom } = flags;
  const options = optionsFrom(flags);
  refuseUnjudged(names, options);
  if (evaluator === undefined) {
    if (names.length > 0) return { benchmarks: canonicalNames(names, flags), options, evaluator: null };
    throw new DomainError('bad-config', 'Name a benchmark. `npx everstep benchmarks list` shows them.');
  }
  const isBeside = names.length > 0 || answersFrom !== undefined || flags.budget !== undefined;
  if (isBeside || checkpoint === undefined || checkpoint.includes('://')) {
    throw new DomainError(
      'bad-config',
      '--evaluator runs alone, on a checkpoint of the run it belongs to: everstep eval --evaluator NAME --checkpoint RUN[@STEP].',
    );
  }
  const places = { ...(run !== undefined && { run }), ...(output !== undefined && { output }) };
  return { benchmarks: [], options, evaluator: { name: evaluator, checkpoint, ...places } };
}

/** A stack would be started only to find that there is nothing to do. */
async function printStored(
  { benchmarks, options }: EvalRequest,
  flags: EvalFlags,
  output: Output,
): Promise<boolean> {
  const session = await openForReading(flags);
  try {
    const handle = await session.everstep.findEvaluation(benchmarks, options);
    if (!handle) return false;
    await followEval(handle, { session, output, signal: new AbortController().signal });
    return true;
  } finally {
    await session.close();
  }
}
