import { catchInterrupts } from '../../../src/cli/interrupts';
import { waitForStop } from '../../../src/stack/service-lifetime';
import { recordOutput } from '../cli/recording-output';

const NPX = { npm_lifecycle_event: 'npx', npm_lifecycle_script: 'everstep' };
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
let parent = 100;
let restore: () => void;

beforeEach(() => {
  jest.useFakeTimers();
  parent = 100;
  const own = Object.getOwnPropertyDescriptor(process, 'ppid');
  const before = { ...process.env };
  Object.defineProperty(process, 'ppid', { get: () => parent, configurable: true });
  Object.assign(process.env, NPX);
  const listeners = SIGNALS.map((name) => [name, process.listeners(name)] as const);
  restore = () => {
    for (const [name, others] of listeners)
      for (const listener of process.listeners(name))
        if (!others.includes(listener)) process.off(name, listener);
    Object.defineProperty(process, 'ppid', own ?? {});
    for (const name of Object.keys(NPX)) {
      if (before[name] === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = before[name];
    }
  };
});

afterEach(() => {
  jest.useRealTimers();
  restore();
});

test('a service ends when the shell is gone through which npx started it', async () => {
  const stop = waitForStop({ exitWithParent: false });
  parent = 1;
  jest.advanceTimersByTime(1000);

  expect(await stop).toEqual({ reason: 'npx gone', exitCode: 0 });
});

test('a stack that outlives its command does not', () => {
  void waitForStop({ exitWithParent: false, outlives: true });

  expect(jest.getTimerCount()).toBe(0);
});

test('a command is interrupted by it', () => {
  const { output, stderr } = recordOutput();
  const interrupts = catchInterrupts(output);
  parent = 1;
  jest.advanceTimersByTime(1000);

  expect(interrupts.signal.aborted).toBe(true);
  expect(stderr()).toBe('Stopping… (Ctrl-C again leaves at once)\n');
  interrupts.dispose();
  expect(jest.getTimerCount()).toBe(0);
});

test('Ctrl-C that has ended the shell too is no second one', () => {
  const exit = jest.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  const { output } = recordOutput();
  const interrupts = catchInterrupts(output);

  process.emit('SIGINT');
  parent = 1;
  jest.advanceTimersByTime(60_000);

  expect(exit).not.toHaveBeenCalled();
  interrupts.dispose();
  exit.mockRestore();
});
