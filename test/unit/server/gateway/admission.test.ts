import { Admission } from '../../../../src/server/gateway/admission';
import { RequestError } from '../../../../src/server/http/request-error';

const NEVER = new AbortController().signal;

function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

test('lets some in, has some wait in order, and sends the rest away with a time to come back', async () => {
  const admission = new Admission({ running: 1, waiting: 1 });
  const { opened, open } = gate();
  const order: string[] = [];
  const enter = (name: string) =>
    admission.run(NEVER, async () => {
      await opened;
      order.push(name);
    });

  const [first, second] = [enter('first'), enter('second')];
  const third = await enter('third').catch((error: unknown) => error);
  open();
  await Promise.all([first, second]);

  expect(third).toBeInstanceOf(RequestError);
  expect(third).toMatchObject({ status: 429, retryAfterSeconds: 1 });
  expect(order).toEqual(['first', 'second']);
});

test('one who leaves the queue makes room in it and is never let in', async () => {
  const admission = new Admission({ running: 1, waiting: 1 });
  const { opened, open } = gate();
  const leaving = new AbortController();
  let entered = 0;
  const work = async () => {
    entered += 1;
    await opened;
  };

  const first = admission.run(NEVER, work);
  const second = admission.run(leaving.signal, work).catch(() => 'left');
  leaving.abort();
  const third = admission.run(NEVER, work);
  open();

  expect(await second).toBe('left');
  await Promise.all([first, third]);
  expect(entered).toBe(2);
});

test('work that fails gives its place back', async () => {
  const admission = new Admission({ running: 1, waiting: 0 });

  await expect(admission.run(NEVER, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');

  await expect(admission.run(NEVER, () => Promise.resolve('next'))).resolves.toBe('next');
});
