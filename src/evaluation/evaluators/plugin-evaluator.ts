import type { EvaluatorConfig } from '../../config/evaluation-config';
import { DomainError } from '../../core/errors';
import type { CellScore } from '../../core/run';
import type { SampleRequest, SampleResult } from '../../core/sampling';
import { inTurns } from '../../core/tokenizer';
import type { Journal } from '../../stores/fenced-journal';
import { digestOf } from '../digest';
import { runForeign } from '../foreign-work';
import type { PluginEvaluator, PluginRegistry, SamplingClient } from '../plugins';
import { findEvaluator } from '../plugins';
import { completionText } from './completion-text';
import type { CellWork, EvaluationDependencies } from './evaluation-context';
import { identityOf } from './evaluation-context';
import type { KeyedRow } from './journalled-work';
import { ofCell, withJournal } from './journalled-work';
import { metricScores } from './metric-scores';

type PluginConfig = Extract<EvaluatorConfig, { type: 'plugin' }>;

interface CallRow extends KeyedRow {
  readonly result: SampleResult;
}

/** The evaluator a config names, built with its options. Kinds that cannot be run are refused. */
export function buildEvaluator(config: PluginConfig, plugins: PluginRegistry): PluginEvaluator {
  const evaluator = findEvaluator(plugins, config.evaluator)(config.options);
  if (evaluator.kind === 'sampling') return evaluator;
  throw new DomainError(
    'bad-plugin',
    `evaluator: "${config.evaluator}" is of kind "${evaluator.kind}" and needs the live training client, which evaluators do not get. Make it of kind "sampling" and ask the client for what it needs.`,
  );
}

/** Runs an evaluator of the plug-in file. Its calls are journalled, so running it again repeats none. */
export async function evaluatePlugin(
  dependencies: EvaluationDependencies,
  config: PluginConfig,
  work: CellWork,
): Promise<CellScore[]> {
  const evaluator = buildEvaluator(config, dependencies.plugins);
  const metrics = await withJournal<CallRow, Record<string, number>>(ofCell(work), 'calls', (journal) =>
    runForeign({}, async () => evaluator.evaluate(createSamplingClient(dependencies, work, journal))),
  );
  return metricScores(work.name, metrics);
}

function createSamplingClient(
  { sampler, renderer, tokenizer }: EvaluationDependencies,
  work: CellWork,
  journal: Journal<CallRow>,
): SamplingClient {
  const { signal, model: measured } = work;
  const askedCounts = new Map<string, number>();
  let doneCount = 0;

  /** The same request asked twice is two calls: the first repetition finds the first answer, the second the second. */
  function keyOf(request: SampleRequest): string {
    const digest = digestOf([identityOf(measured), request]);
    const count = (askedCounts.get(digest) ?? 0) + 1;
    askedCounts.set(digest, count);
    return `${digest}#${count}`;
  }

  async function sample(request: SampleRequest): Promise<SampleResult> {
    const key = keyOf(request);
    const known = journal.get(key);
    if (known) return known.result;
    journal.verify();
    const result = await sampler.sample(request, { signal });
    await journal.appendWhenRoom({ key, result }, { signal });
    doneCount += 1;
    work.onProgress({ done: doneCount, total: doneCount });
    return result;
  }

  return {
    model: measured.name,
    checkpoint: measured.path,
    signal,
    sample,
    async complete(messages, options = {}) {
      const { maxTokens = 512, temperature = 0, topP = 1, seed } = options;
      const { sequences } = await sample({
        prompt: await inTurns(tokenizer, () => renderer.buildGenerationPrompt(messages), { signal }),
        numSamples: 1,
        params: {
          maxTokens,
          temperature,
          topP,
          topK: -1,
          stop: renderer.stopSequences(),
          ...(seed !== undefined && { seed }),
        },
      });
      const [sequence] = sequences;
      if (!sequence)
        throw new DomainError('protocol-error', 'The engine returned no completion.', { retryable: true });
      return { text: completionText(renderer, sequence.tokens), sequence };
    },
  };
}
