import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFinishedEval } from '../../../src/client/eval-handle';
import { ServerLink } from '../../../src/client/server-link';
import type { BenchmarkRequest } from '../../../src/core/benchmark-run';
import { answerTo, Sums } from '../evaluation/regrade/sums';
import { dataFolder, evaluate, numberIn, requestOf } from '../evaluation/runner/evaluate-here';
import { modelThatSays } from '../evaluation/runner/fake-model';

/** No server: what is stored answers, or nobody does. */
const find = (request: BenchmarkRequest) => findFinishedEval(new ServerLink(null), [request]);

describe('a result of a plug-in', () => {
  let sums: Sums;

  beforeEach(async () => {
    sums = new Sums();
    await evaluate(modelThatSays(answerTo).completer, sums.request());
  });

  test('is told as stored while it is made of what is there', async () => {
    const found = await find(sums.request());

    expect(found?.storedNames).toEqual(['sums']);
    expect((await found?.result())?.benchmarks[0]).toMatchObject({ score: 0.75 });
  });

  test.each([
    [
      'its grader, in a file that it imports',
      () => {
        sums.write({ grader: '() => 0' });
      },
    ],
    [
      'its prompt',
      () => {
        sums.write({ prompt: '`What is ${a}+1?`' });
      },
    ],
    [
      'its version',
      () => {
        sums.write({ version: 2 });
      },
    ],
    [
      'its sampling parameters',
      () => {
        sums.write({ generation: '{ maxTokens: 9, temperature: 0 }' });
      },
    ],
    [
      'its file',
      () => {
        sums.write({ head: '// changed' });
      },
    ],
    [
      'a reference of its data',
      () => {
        sums.writeRows({ 1: '7' });
      },
    ],
    [
      'that its file is gone',
      () => {
        rmSync(sums.file);
      },
    ],
  ])('is not after a change of %s: a worker has to say what it is', async (_, change) => {
    change();

    expect(await find(sums.request())).toBeNull();
  });
});

describe('a result of the catalogue', () => {
  const evaluated = async () => {
    const request = requestOf({ dataFolder: dataFolder(3) });
    await evaluate(modelThatSays(numberIn).completer, request);
    return request;
  };

  test('is told as stored while its data is what it was', async () => {
    expect((await find(await evaluated()))?.storedNames).toEqual(['gsm8k']);
  });

  test('is not after a change of its data', async () => {
    const request = await evaluated();
    const row = JSON.stringify({ question: 'Number 0?', answer: '#### 8' });

    writeFileSync(join(request.dataFolder ?? '', 'gsm8k', 'data.jsonl'), `${row}\n`);

    expect(await find(request)).toBeNull();
  });
});
