import type { Completer, CompletionRequest } from '../../src/core/completion';

interface CompleterUnderTest {
  readonly completer: Completer;
  /** Ends the service. */
  readonly close: () => Promise<void>;
}

/** How a service is to behave towards every conversation. */
interface CannedService {
  readonly answer: string;
  readonly delayMs?: number;
}

/** What an implementation brings to the suite. */
export interface CompleterFixture {
  readonly name: string;
  open(service: CannedService): Promise<CompleterUnderTest>;
  /** A completer whose service finds every conversation too long. */
  openTooShort(): Promise<CompleterUnderTest>;
}

const REQUEST: CompletionRequest = {
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: '2+2?' },
  ],
  params: { maxTokens: 16, temperature: 0, topP: 1 },
};

/** What every completer promises, whatever it is made of. */
export function describeCompleter(fixture: CompleterFixture): void {
  describe(`completer contract: ${fixture.name}`, () => {
    test('a completion is an assistant message with its text, reason, counts and time', async () => {
      await using(fixture.open({ answer: '4', delayMs: 30 }), async (completer) => {
        const completion = await completer.complete(REQUEST);

        expect(completion.message).toMatchObject({ role: 'assistant', content: '4' });
        expect(completion.rawText).toContain('4');
        expect(completion.stopReason).toBe('stop');
        expect(completion.isMalformed ?? false).toBe(false);
        for (const count of [completion.promptTokenCount, completion.completionTokenCount]) {
          expect(count === null || (Number.isInteger(count) && count > 0)).toBe(true);
        }
        // Timers may fire a millisecond early.
        expect(completion.seconds).toBeGreaterThanOrEqual(0.029);
      });
    });

    test('many at once are all answered', async () => {
      await using(fixture.open({ answer: 'yes' }), async (completer) => {
        const completions = await Promise.all(Array.from({ length: 50 }, () => completer.complete(REQUEST)));

        expect(completions.map(({ message }) => message.content)).toEqual(Array(50).fill('yes'));
      });
    });

    test('rejects with the reason of a signal that has fired, or that fires under way', async () => {
      await using(fixture.open({ answer: '4', delayMs: 5_000 }), async (completer) => {
        const reason = new Error('enough');
        const controller = new AbortController();
        const underWay = completer.complete(REQUEST, { signal: controller.signal });
        setTimeout(() => {
          controller.abort(reason);
        }, 50);

        await expect(underWay).rejects.toBe(reason);
        await expect(completer.complete(REQUEST, { signal: controller.signal })).rejects.toBe(reason);
      });
    });

    test('a slow answer is `timed-out`', async () => {
      await using(fixture.open({ answer: '4', delayMs: 5_000 }), async (completer) => {
        await expect(completer.complete(REQUEST, { timeoutMs: 60 })).rejects.toMatchObject({
          name: 'DomainError',
          code: 'timed-out',
        });
      });
    });

    test('a conversation that leaves no room is `context-overflow`', async () => {
      await using(fixture.openTooShort(), async (completer) => {
        await expect(completer.complete(REQUEST)).rejects.toMatchObject({
          name: 'DomainError',
          code: 'context-overflow',
        });
      });
    });

    test('close ends what is under way, and may be repeated', async () => {
      await using(fixture.open({ answer: '4', delayMs: 5_000 }), async (completer) => {
        const underWay = completer.complete(REQUEST).catch((error: unknown) => error);
        await new Promise((resolve) => setTimeout(resolve, 30));

        await completer.close();

        expect(await underWay).toMatchObject({ name: 'DomainError' });
        await completer.close();
      });
    });
  });
}

async function using(
  opening: Promise<CompleterUnderTest>,
  run: (completer: Completer) => Promise<void>,
): Promise<void> {
  const { completer, close } = await opening;
  try {
    await run(completer);
  } finally {
    await completer.close();
    await close();
  }
}
