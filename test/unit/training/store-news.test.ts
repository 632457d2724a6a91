import { StoreNews } from '../../../src/training/store-news';

const LONG_MS = 3_600_000;

let news: StoreNews;

beforeEach(() => {
  news = new StoreNews();
});

test('wakes everyone who waits when something is told', async () => {
  const waiting = [news.wait(news.toldCount, LONG_MS), news.wait(news.toldCount, LONG_MS)];
  news.tell();

  await expect(Promise.all(waiting)).resolves.toBeDefined();
});

test('does not let anyone wait for what was told while they looked', async () => {
  const { toldCount } = news;
  news.tell();

  await expect(news.wait(toldCount, LONG_MS)).resolves.toBeUndefined();
});

test('lets them look by themselves after a while', async () => {
  await expect(news.wait(news.toldCount, 1)).resolves.toBeUndefined();
  expect(news.toldCount).toBe(0);
});

test('stops waiting when the signal fires, before and meanwhile', async () => {
  const controller = new AbortController();
  const waiting = news.wait(0, LONG_MS, controller.signal);
  controller.abort(new Error('off'));

  await expect(waiting).rejects.toThrow('off');
  await expect(news.wait(0, LONG_MS, controller.signal)).rejects.toThrow('off');
});
