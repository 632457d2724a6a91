import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Everstep } from '../../src/client/everstep';
import { loadResult, loadTrajectories } from '../../src/stores/eval-store';
import { DyingStack } from './harness/dying-stack';
import { JudgeEndpoint } from './harness/judge-endpoint';
import { reportOf, TestRuns } from './harness/runs';
import type { TestStack } from './harness/stack';

/** A plug-in file whose evaluator takes its first worker's process down with it. */
const SOURCE = `
const fs = require('node:fs');
const path = require('node:path');
module.exports = { evaluators: {
  deadly: () => ({ name: 'deadly', kind: 'sampling', async evaluate() {
    const died = path.join(__dirname, 'died');
    if (!fs.existsSync(died)) {
      fs.writeFileSync(died, '');
      process.kill(process.pid, 'SIGKILL');
    }
    return { quality: 1 };
  } }),
} };
`;

let dying: DyingStack;
let stack: TestStack;

beforeAll(async () => {
  dying = await DyingStack.start();
  ({ stack } = dying);
});

afterAll(() => dying.stop());

test('the timeline of a run tells once that a worker was lost with an evaluation in hand', async () => {
  const runs = new TestRuns(stack);
  const plugins = join(stack.folder, 'everstep.config.js');
  writeFileSync(plugins, SOURCE);
  const evaluators = [{ type: 'plugin', name: 'deadly', evaluator: 'deadly', options: {} }];
  const { dataset } = runs.config();
  const config = runs.config({
    dataset,
    plugins,
    steps: 2,
    batchSize: 4,
    saveEvery: 0,
    evalEvery: 2,
    evaluators,
  });

  const report = await reportOf(await runs.start('bereaved', config));

  const events = await stack.store.readEvents('bereaved');
  expect(report).toMatchObject({ status: 'completed', step: 2 });
  expect(events.filter(({ kind }) => kind === 'worker lost').map(({ text }) => text)).toEqual([
    expect.stringMatching(
      /^a worker was gone or failed: evaluator deadly goes on with step \d on another worker, or on the same one begun again \(attempt 2\)$/,
    ),
  ]);
});

/**
 * An evaluator that always ends its worker's process, and an honest one that is at work in that process each time, as
 * long as it can be: it ends where the other one has come for the third time, and is not there.
 */
const NEIGHBOURS = `
const fs = require('node:fs');
const path = require('node:path');
const at = (name) => path.join(__dirname, name + '-' + process.pid);
const isAtWork = (name) => fs.existsSync(at(name));
const until = async (isSo) => { while (!isSo()) await new Promise((resolve) => setImmediate(resolve)); };
const come = (name) => fs.writeFileSync(at(name), '');
const triesOf = (name) => {
  const file = path.join(__dirname, name + '.tries');
  return fs.existsSync(file) ? fs.statSync(file).size : 0;
};
const count = (name) => {
  fs.appendFileSync(path.join(__dirname, name + '.tries'), '.');
  return triesOf(name);
};
const mark = path.join(__dirname, 'store', 'runs', 'neighbours', 'evals', '2', 'deadly', 'attempt.json');
const deathsOf = () => {
  try { return JSON.parse(fs.readFileSync(mark, 'utf8')).deaths; } catch { return 0; }
};
module.exports = { evaluators: {
  deadly: () => ({ name: 'deadly', kind: 'sampling', async evaluate() {
    // From the third time on they have turns, and no neighbour comes.
    if (count('deadly') <= 2) await until(() => isAtWork('honest'));
    come('deadly');
    process.kill(process.pid, 'SIGKILL');
  } }),
  honest: () => ({ name: 'honest', kind: 'sampling', async evaluate() {
    come('honest');
    if (count('honest') <= 2) await until(() => false);
    await until(() => triesOf('deadly') >= 3 || deathsOf() >= 2);
    await until(() => !isAtWork('deadly'));
    return { quality: 1 };
  } }),
} };
`;

test('an evaluator that ends its process again and again is given up, and no other that was there with it', async () => {
  const runs = new TestRuns(stack);
  const plugins = join(stack.folder, 'neighbours.config.js');
  writeFileSync(plugins, NEIGHBOURS);
  const evaluators = ['deadly', 'honest'].map((name) => ({
    type: 'plugin',
    name,
    evaluator: name,
    options: {},
  }));
  const config = runs.config({
    ...{ plugins, steps: 2, batchSize: 4, saveEvery: 0 },
    schedules: [{ name: 'once', every: { steps: 2 }, atStart: false, evaluators }],
  });

  const report = await reportOf(await runs.start('neighbours', config));

  expect(report).toMatchObject({ status: 'completed', step: 2 });
  const scores = await stack.store.readScores('neighbours');
  const told = scores.map(({ key, value, error }) => [key, value, error?.slice(0, 26)]);
  expect(told).toHaveLength(2);
  expect(told).toContainEqual(['test/honest/quality', 1, undefined]);
  expect(told).toContainEqual(['deadly/error', null, "The worker's process died "]);
});

/** A grader that takes its worker's process down with one answer, each time, and one that does not. */
const GRADERS = `
const benchmark = (grader) => ({
  data: { rows: () => ['a', 'b', 'c', 'd', 'e', 'f'].map((word) => ({ word })) },
  toExample: ({ word }) => ({ prompt: word, target: word }),
  grader,
  generation: { maxTokens: 8 },
});
module.exports = { benchmarks: {
  killing: benchmark((reply, { target }) => {
    if (target === 'c') process.kill(process.pid, 'SIGKILL');
    return reply === target;
  }),
  harmless: benchmark((reply, { target }) => reply === target),
} };
`;

test('a grader that ends its process costs the example that it does so with, and no answer is asked for again and again', async () => {
  const plugins = join(stack.folder, 'graders.config.js');
  writeFileSync(plugins, GRADERS);
  const endpoint = await JudgeEndpoint.start((_model, prompt) => prompt);
  const everstep = await Everstep.connect({
    ...{ address: stack.address, namespace: stack.namespace, dataFolder: stack.folder },
    store: join(stack.folder, 'store'),
  });
  try {
    const evaluation = await everstep.evaluate(['killing', 'harmless'], {
      ...{ run: 'graded', model: 'echo', endpoint: endpoint.url, plugins },
    });
    const report = await evaluation.result();

    expect(report?.failures).toEqual([]);
    expect(await loadResult(evaluation.folder, 'harmless')).toMatchObject({ score: 1, num_errors: 0 });
    expect(await loadResult(evaluation.folder, 'killing')).toMatchObject({ num_correct: 5, num_errors: 1 });
    const [failed] = await loadTrajectories(evaluation.folder, 'killing', { errorsOnly: true });
    expect(failed?.error).toMatch(
      /^grader: the worker's process died 3 times while this alone was judged or played\. Look for too much memory/,
    );
    // Twice before care is taken: then every answer is kept before it is judged.
    expect(endpoint.countOf('echo')).toBeLessThanOrEqual(3 * 12);
  } finally {
    await everstep.close();
    await endpoint.close();
  }
});

/** Graders that replace what their worker and everybody else on it works with. */
const REPLACING = `
'use strict';
const benchmark = (grader) => ({
  data: { rows: () => ['a', 'b'].map((word) => ({ word })) },
  toExample: ({ word }) => ({ prompt: word, target: word }),
  grader: (reply, { target }) => { grader(); return reply === target; },
  generation: { maxTokens: 8 },
});
module.exports = { benchmarks: {
  inherited: benchmark(() => { Object.prototype.format = 'json'; }),
  written: benchmark(() => { JSON.stringify = () => '1.5'; }),
  timed: benchmark(() => { globalThis.setTimeout = () => 7; }),
  dated: benchmark(() => { Date.now = () => NaN; }),
  honest: benchmark(() => { JSON.extra = () => 1; Promise.withMore = () => 2; }),
} };
`;

test('what all code of a worker shares cannot be replaced: who tries is told, and nobody else notices', async () => {
  const plugins = join(stack.folder, 'replacing.config.js');
  writeFileSync(plugins, REPLACING);
  const endpoint = await JudgeEndpoint.start((_model, prompt) => prompt);
  const everstep = await Everstep.connect({
    ...{ address: stack.address, namespace: stack.namespace, dataFolder: stack.folder },
    store: join(stack.folder, 'store'),
  });
  const benchmarks = ['inherited', 'written', 'timed', 'dated', 'honest'];
  try {
    const evaluation = await everstep.evaluate(benchmarks, {
      ...{ run: 'replaced', model: 'echo', endpoint: endpoint.url, plugins },
    });
    const report = await evaluation.result();

    const told = report?.failures.map(({ name, message }) => [
      name,
      message.replace(/\(thrown at \S+:(\d+):\d+\)$/, '(line $1)'),
    ]);
    const refused = (code: string, line: number) =>
      `All 2 examples failed, the first with: grader: Cannot ${code} (line ${line})`;
    expect(told).toEqual([
      ['inherited', refused('add property format, object is not extensible', 10)],
      ['written', refused("assign to read only property 'stringify' of object '#<Object>'", 11)],
      ['timed', refused("assign to read only property 'setTimeout' of object '#<Object>'", 12)],
      [
        'dated',
        refused("assign to read only property 'now' of function 'function Date() { [native code] }'", 13),
      ],
    ]);
    expect(await loadResult(evaluation.folder, 'honest')).toMatchObject({ score: 1, num_errors: 0 });
  } finally {
    await everstep.close();
    await endpoint.close();
  }
});

/** An environment that takes its worker's process down before a word is said. */
const ENVIRONMENT = `
module.exports = { benchmarks: { beginning: {
  data: { rows: () => ['a', 'b', 'c', 'd'].map((word) => ({ word })) },
  toExample: ({ word }) => ({ prompt: word, target: word }),
  environment: ({ target }) => ({
    async initialObservation() {
      if (target === 'c') process.kill(process.pid, 'SIGKILL');
      return { messages: [{ role: 'user', content: target }] };
    },
    async step() { return { reward: 1, isDone: true, nextMessages: [] }; },
  }),
  generation: { maxTokens: 8 },
} } };
`;

test('an environment that ends its process where it begins costs its example', async () => {
  const plugins = join(stack.folder, 'environment.config.js');
  writeFileSync(plugins, ENVIRONMENT);
  const endpoint = await JudgeEndpoint.start((_model, prompt) => prompt);
  const everstep = await Everstep.connect({
    ...{ address: stack.address, namespace: stack.namespace, dataFolder: stack.folder },
    store: join(stack.folder, 'store'),
  });
  try {
    const evaluation = await everstep.evaluate(['beginning'], {
      ...{ run: 'played', model: 'echo', endpoint: endpoint.url, plugins },
    });
    const report = await evaluation.result();

    expect(report?.failures).toEqual([]);
    expect(await loadResult(evaluation.folder, 'beginning')).toMatchObject({ num_correct: 3, num_errors: 1 });
    const [failed] = await loadTrajectories(evaluation.folder, 'beginning', { errorsOnly: true });
    expect(failed?.error).toMatch(/^environment: the worker's process died 3 times while this alone was/);
  } finally {
    await everstep.close();
    await endpoint.close();
  }
});
