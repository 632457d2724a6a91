import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { webhookOutcomes } from '../../../../src/core/canary';
import type { CanaryReport } from '../../../../src/core/canary';
import { tellWebhookRecorded } from '../../../../src/evaluation/canary/recorded-webhook';
import { createCanaryStore } from '../../../../src/stores/canary-store';

const AT = '2026-01-01T00:00:00Z';
const EVAL_RUN = 'nightly-20260101T000000Z';

let folder: string;
let server: Server;
let statuses: number[] = [];
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'everstep-webhook-'));
  server = createServer((request, response) => {
    request.resume();
    response.writeHead(statuses.shift() ?? 200).end();
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true });
});

function tell(attempt: number, store = folder): Promise<void> {
  const report: CanaryReport = {
    ...{ schedule: 'nightly', at: AT, evalRun: EVAL_RUN, dir: folder, alarm: true, scores: [] },
  };
  const { port } = server.address() as AddressInfo;
  const webhook = { url: { type: 'address' as const, value: `http://127.0.0.1:${port}/hook` }, headers: {} };
  return tellWebhookRecorded(
    { webhook, report, store },
    {
      attempt,
      secrets: { valueOf: () => undefined, mayHave: () => true },
      signal: new AbortController().signal,
    },
  );
}

const outcomes = async () => webhookOutcomes(await createCanaryStore(folder, 'nightly').readWebhookTries());

test('every try leaves a row: what is given up is not lost in a log', async () => {
  statuses = [500, 404];
  await expect(tell(1)).rejects.toThrow('answered 500');
  await expect(tell(2)).rejects.toThrow('answered 404');

  expect(await outcomes()).toEqual([
    {
      ...{ at: AT, evalRun: EVAL_RUN, told: false, tries: 2 },
      reason: expect.stringContaining('answered 404') as string,
    },
  ]);
});

test('where no row can be kept the receiver is still what is said to be wrong', async () => {
  const noFolder = path.join(folder, 'a file');
  await writeFile(noFolder, '');
  statuses = [500, 200];

  await expect(tell(1, noFolder)).rejects.toThrow('answered 500');
  await tell(2, noFolder);
});

test('a try whose worker was killed counts, though it left no row', async () => {
  statuses = [200];
  await tell(3);

  expect(await outcomes()).toEqual([{ at: AT, evalRun: EVAL_RUN, told: true, tries: 3, reason: null }]);
});

test('one that was told at last is told', async () => {
  statuses = [500];
  await expect(tell(1)).rejects.toThrow();
  await tell(2);

  expect(await outcomes()).toEqual([{ at: AT, evalRun: EVAL_RUN, told: true, tries: 2, reason: null }]);
});
