import { catchInterrupts } from '../../../src/cli/interrupts';
import { waitForStop } from '../../../src/stack/service-lifetime';
import { recordOutput } from '../cli/recording-output';

const NPX = { npm_lifecycle_event: 'npx', npm_lifecycle_script: 'everstep' };
let parent = 100;
let restore: () => void;

beforeEach(() => {
  parent = 100;
  const own = Object.getOwnPropertyDescriptor(process, 'ppid');
  const before = { ...process.env };
  Object.defineProperty(process, 'ppid', { get: () => parent, configurable: true });
  Object.assign(process.env, NPX);
  restore = () => {
    Object.defineProperty(process, 'ppid', own ?? {});
    for (const name of Object.keys(NPX)) {
      if (before[name] === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = before[name];
    }
  };
});

afterEach(() => {
  restore();
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.removeAllListeners(name);
});

const soon = () => new Promise((resolve) => setTimeout(() => resolve('still there'), 600));

test('a service ends when the shell is gone through which npx started it', async () => {
  const stop = waitForStop({ exitWithParent: false });
  parent = 1;

  expect(await stop).toEqual({ reason: 'npx gone', exitCode: 0 });
});

test('a stack that outlives its command does not', async () => {
  const stop = waitForStop({ exitWithParent: false, outlives: true });
  parent = 1;

  expect(await Promise.race([stop, soon()])).toBe('still there');
});

test('a command is interrupted by it once, and Ctrl-C that ended the shell too is not asked twice', async () => {
  const exit = jest.spyOn(process, 'exit').mockImplementation(() => undefined as never);
  const { output, stderr } = recordOutput();
  const interrupts = catchInterrupts(output);
  const interrupted = new Promise((resolve) => interrupts.signal.addEventListener('abort', resolve));
  try {
    parent = 1;
    await interrupted;

    expect(stderr()).toBe('Stopping… (Ctrl-C again leaves at once)\n');
  } finally {
    interrupts.dispose();
  }
  const other = catchInterrupts(output);
  process.emit('SIGINT');
  parent = 2;
  await soon();
  other.dispose();
  expect(exit).not.toHaveBeenCalled();
  exit.mockRestore();
});
