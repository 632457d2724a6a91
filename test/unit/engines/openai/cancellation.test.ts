import { getEventListeners } from 'node:events';
import { Cancellation, Followers } from '../../../../src/engines/openai/cancellation';

test('all requests that hang on a signal end when it fires, and those that are over do not', () => {
  const [caller, followers] = [new AbortController(), new Followers()];
  const requests = Array.from({ length: 3 }, () => new Cancellation());
  const heard: number[] = [];
  for (const [index, request] of requests.entries()) {
    followers.add(caller.signal, request);
    request.listen(() => heard.push(index));
  }

  const [first] = requests;
  if (first) followers.remove(caller.signal, first);
  caller.abort(new Error('called off'));

  expect(heard).toEqual([1, 2]);
  expect(() => {
    requests[1]?.throwIfCancelled();
  }).toThrow('called off');
});

test('however many requests there are, a signal has one listener, and none when they are over', () => {
  const [caller, followers] = [new AbortController(), new Followers()];
  const requests = Array.from({ length: 500 }, () => new Cancellation());

  for (const request of requests) followers.add(caller.signal, request);
  expect(getEventListeners(caller.signal, 'abort')).toHaveLength(1);

  for (const request of requests) followers.remove(caller.signal, request);
  expect(getEventListeners(caller.signal, 'abort')).toHaveLength(0);
});

test('a request of a signal that has fired is cancelled at once', () => {
  const request = new Cancellation();

  new Followers().add(AbortSignal.abort(new Error('too late')), request);

  expect(() => {
    request.throwIfCancelled();
  }).toThrow('too late');
});
