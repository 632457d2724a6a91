import type { ReinforcementConfig } from '../../config/reinforcement-config';
import { DomainError } from '../../core/errors';
import { inTurns } from '../../core/tokenizer';
import type { JudgeAccess } from '../../evaluation/judges/judge-access';
import { renderWithTools } from '../../renderers/conversation-with-tools';
import type { Renderer } from '../../renderers/renderer';
import type { Tokenizer } from '../../core/tokenizer';
import type { EnvironmentBounds, EnvironmentGroup, LeftOutRow } from '../environments/environment-dataset';
import { createDatasetReader } from '../dataset-source';
import { EnvironmentCalls } from '../rollouts/environment-calls';
import { RolloutFailure } from '../rollouts/rollout-failure';
import type { DataRow, HeldOutRows, RefusedRow, ShowAccess } from '../shown-row';
import { asShown } from '../shown-row';
import { openEnvironments } from './open-environments';

interface Site {
  readonly renderer: Renderer;
  readonly tokenizer: Tokenizer;
}

const OPENING_SECONDS = 300;

const notAsked = (): never => {
  throw new DomainError('refused', 'What a run would train on is shown without asking any judge.');
};

/** Who judges changes nothing of a prompt. */
const NOT_ASKED: JudgeAccess = {
  models: { open: notAsked, promptFormat: notAsked },
  permitsOf: notAsked,
  cacheFolder: null,
  findCheckpoint: (checkpoint) =>
    Promise.resolve({ type: 'engine', model: checkpoint, path: null, label: checkpoint }),
  check: () => Promise.resolve(),
};

/** The first prompt of each problem, in the order of the environment. Nothing of them carries loss: what is sampled does. */
export async function* showPrompts(
  config: ReinforcementConfig,
  access: ShowAccess,
  site: Site,
): AsyncGenerator<DataRow | HeldOutRows> {
  const readDataset = createDatasetReader({ ...access.datasets, listsBadRows: true });
  const dataset = await openEnvironments(
    { ...access, readDataset, judges: NOT_ASKED },
    config,
    access.dataFolder,
  );
  for (const row of dataset.leftOut ?? []) yield shownLeftOut(row);
  for (let index = 0; index < dataset.length; index += 1) {
    const group = dataset.groupAt(index);
    const row = group.place?.address ?? `${dataset.name}:${index + 1}`;
    try {
      const tokens = await promptOf(group, site);
      const weights = tokens.map(() => 0);
      yield { row, ...asShown({ tokens, weights, cut: false }, site.tokenizer), fullLength: tokens.length };
    } catch (error) {
      if (!(error instanceof DomainError || error instanceof RolloutFailure)) throw error;
      yield { row, refused: error.message, isMetLater: true };
    }
  }
  if (dataset.test) yield { heldOut: dataset.test.length };
}

function shownLeftOut({ place, reason, stopsRun, others }: LeftOutRow): RefusedRow {
  const row = { row: place.address, ...(others !== undefined && { others }) };
  return stopsRun ? { ...row, refused: reason } : { ...row, refused: `left out: ${reason}`, isLeftOut: true };
}

async function promptOf(group: EnvironmentGroup, { renderer, tokenizer }: Site): Promise<readonly number[]> {
  const { signal } = new AbortController();
  const bounds: EnvironmentBounds = {
    ...{ maxToolCalls: null, toolExecution: 'parallel', signal, tokenizer },
    askJudges: (grader) => grader,
  };
  const calls = new EnvironmentCalls(group.make(0, bounds), OPENING_SECONDS);
  try {
    const { messages, tools, prompt } = await calls.observe(signal);
    if (prompt) return prompt.tokens;
    return await inTurns(tokenizer, () =>
      renderWithTools(renderer, { messages, tools }, (conversation) =>
        renderer.buildGenerationPrompt(conversation),
      ),
    );
  } finally {
    await calls.close();
  }
}
