import path from 'node:path';
import type { RunHandle } from '../../client/run-handle';
import { isClosed } from '../../client/run-report';
import { loadTrainingConfig } from '../../config/load-config';
import { DomainError } from '../../core/errors';
import type { Session } from '../connect';
import type { Output } from '../output';
import { watchRun } from '../watch';
import { cancelRun } from './demo-leftovers';

const CONFIGS = path.join(__dirname, '..', '..', '..', 'configs');
const SUPERVISED = path.join(CONFIGS, 'sft-arithmetic.yaml');
const REINFORCEMENT = path.join(CONFIGS, 'rl-arithmetic.yaml');
/** Enough to add correctly about half of the time, which leaves rewards something to teach. */
const FIRST_STEPS = 118;

export interface DemoStart {
  readonly session: Session;
  readonly output: Output;
  readonly signal: AbortSignal;
  /** Steps of the run that is shown; default the recipe's. */
  readonly steps?: number;
}

interface Recipe {
  readonly file: string;
  readonly more?: readonly string[];
  readonly nameBase: string;
}

/** Starts the supervised demo. */
export function startSupervised(start: DemoStart): Promise<RunHandle> {
  return startDemo(start, { file: SUPERVISED, nameBase: 'demo' });
}

/** Trains a model to be half right, then starts the reinforcement demo from it; null when it was interrupted. */
export async function startReinforcement(start: DemoStart): Promise<RunHandle | null> {
  const { output, signal } = start;
  const overrides = [
    `steps=${FIRST_STEPS}`,
    ...['saveEvery', 'evalEvery', 'infrequentEvalEvery'].map((key) => `${key}=0`),
  ];
  const first = await startDemo(
    { session: start.session },
    { file: SUPERVISED, more: overrides, nameBase: 'demo-start' },
  );
  output.line(`Run ${first.name}: a first lesson by examples, so that there is something to reward.`);
  const report = await watchRun(first, { output, signal });
  if (!isClosed(report)) {
    await cancelRun(first);
    return null;
  }
  if (report.status !== 'completed') {
    throw new DomainError(
      'request-failed',
      `Run ${first.name} is ${report.status}. ${output.hint(`runs show ${first.name}`)} says why.`,
    );
  }
  return startDemo(start, {
    file: REINFORCEMENT,
    more: [`initialCheckpoint=${first.name}@${FIRST_STEPS}`],
    nameBase: 'demo-rl',
  });
}

async function startDemo(
  { session: { everstep, stack }, steps }: Pick<DemoStart, 'session' | 'steps'>,
  { file, more = [], nameBase }: Recipe,
): Promise<RunHandle> {
  const overrides = [
    ...more,
    ...(steps === undefined ? [] : [`steps=${steps}`]),
    ...(stack === null ? [] : [`engine.url=${stack.engineUrl}`]),
  ];
  const config = await loadTrainingConfig({ file, overrides });
  const command = ['everstep', ...process.argv.slice(2)];
  return (await everstep.start(config, { nameBase, command })).handle;
}
