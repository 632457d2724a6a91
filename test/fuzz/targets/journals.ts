import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pageOfRuns } from '../../../src/client/list-runs';
import { RunHandle } from '../../../src/client/run-handle';
import { ServerLink } from '../../../src/client/server-link';
import { JournalMirror } from '../../../src/server/feed/journal-mirror';
import { createRunStore } from '../../../src/stores/run-store';
import { stateOf } from '../../unit/server/serving';
import type { FuzzTarget } from '../target';
import { passAll, scratchFolder } from '../target';

const records = createRunStore(scratchFolder('journals'));
const sources = { link: new ServerLink(null), records };
const JOURNALS = ['metrics', 'timing', 'scores', 'checkpoints', 'controls', 'events', 'sent'];
const WHOLE = ['state', 'best', 'config', 'life', 'owner'];
const at = '2026-01-01T00:00:00.000Z';

/** Files of a run: the input lies in the place of each of its journals and documents. Lists and pages stay, whatever they hold. */
export const target: FuzzTarget = {
  name: 'journals',
  seeds: () => [
    JSON.stringify(stateOf('one', { status: 'completed', closedAt: at })),
    JSON.stringify(stateOf('one')),
    [
      { step: 1, loss: 2 },
      { step: 2, at, seconds: 1 },
      {
        ...{ step: 2, schedule: 's', evaluator: 'e', metric: 'nll', key: 'k', value: 1, stderr: 0, n: 2 },
        ...{ higherIsBetter: false, at, ci: [0, 1], remark: 'r' },
      },
      {
        name: '000002',
        step: 2,
        batch: 2,
        epoch: 0,
        final: true,
        state_path: 'a',
        sampler_path: 'b',
        lineage: 0,
      },
      { at, by: 'me', reason: 'r', step: 2, control: 'stop', from: null, to: { a: 1 } },
      { at, kind: 'opened', step: 0, text: 't' },
      { step: 2, incarnation: 0, tokens: 9, schedules: ['s'] },
    ]
      .map((row) => `${JSON.stringify(row)}\n`)
      .join(''),
  ],
  words: ['step', 'status', 'running', '\n', 'run', 'remarks', 'ci', 'metric', 'error', 'skipped'],
  async run(bytes) {
    const folder = records.runFolder('one');
    mkdirSync(folder, { recursive: true });
    for (const name of JOURNALS) writeFileSync(path.join(folder, `${name}.jsonl`), bytes);
    for (const name of WHOLE) writeFileSync(path.join(folder, `${name}.json`), bytes);
    const handle = new RunHandle('one', sources);
    const page = await pageOfRuns(sources, { sort: 'score' });
    if (page.runs.length + page.unreadable.length !== 1) throw new Error('the run is not in the list');
    await pageOfRuns(sources, { where: 'EverstepScore > 0 OR EverstepStep < 5' });
    await passAll([
      () => handle.status(),
      () => handle.scores(),
      () => handle.evaluations(),
      () => handle.checkpoints(),
      () => handle.controls(),
      () => handle.timeline(),
      () => handle.metrics({ every: 2 }),
      () => handle.metrics({ points: 3 }),
      () => handle.timing({ last: 2 }),
      () => handle.best(),
      () => handle.preparedData(),
      () => records.latestEpoch('one'),
      () => new JournalMirror(folder, 'metrics.jsonl').refresh([]),
    ]);
  },
};
