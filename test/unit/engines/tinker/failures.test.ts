import { failureOf, requestFailed } from '../../../../src/engines/tinker/failures';

const subject = { what: 'forward_backward 3 of model m', missing: 'session-lost' } as const;
const reply = (status: number, detail: unknown) => ({
  status,
  contentType: 'application/json',
  headers: {},
  body: Buffer.from(JSON.stringify({ detail })),
});

test.each([
  ['loss_fn_inputs: weights are missing', 'request-failed'],
  ['path is missing', 'request-failed'],
  ['Checkpoint not found: tinker://m/weights/a', 'checkpoint-missing'],
  ['tinker://m/weights/a does not exist', 'checkpoint-missing'],
])('a request at fault for "%s" is %s', (detail, code) => {
  expect(requestFailed(subject, detail, 'user')).toMatchObject({ code });
});

test('a field that a request lacks is no missing checkpoint', () => {
  const detail = [{ loc: ['body', 'loss_fn_inputs', 'weights'], msg: 'Field missing' }];

  expect(failureOf(reply(422, detail), subject)).toMatchObject({ code: 'request-failed' });
});

test('weights that a server itself misses are a missing checkpoint', () => {
  expect(requestFailed(subject, 'weights missing on this node', 'server')).toMatchObject({
    code: 'checkpoint-missing',
  });
});
