import { chooseKind } from '../../../src/sandboxes/choose-kind';
import { PluginKind } from '../../../src/sandboxes/plugin-kind';
import type { Availability, Sandbox, SandboxKind } from '../../../src/sandboxes/sandbox';

function kindOf(name: string, answer: Availability): SandboxKind {
  return {
    name,
    isSlowToOpen: false,
    availability: () => Promise.resolve(answer),
    open: () => Promise.reject(new Error('not opened here')),
  };
}

const absent = (reason: string): Availability => ({ isAvailable: false, reason });
const present = (found: string): Availability => ({ isAvailable: true, found });

test('auto takes the first kind that works and says why not one before it', async () => {
  const kinds = [
    kindOf('bubblewrap', absent('there is no bwrap')),
    kindOf('docker', absent('no Docker engine answers')),
    kindOf('pyodide', present('embedded')),
  ];

  const { kind, why } = await chooseKind('auto', kinds);

  expect(kind.name).toBe('pyodide');
  expect(why).toBe('embedded; no bubblewrap: there is no bwrap; no docker: no Docker engine answers');
});

test('a kind that is asked for is not replaced by another one', async () => {
  const kinds = [kindOf('bubblewrap', absent('there is no bwrap')), kindOf('pyodide', present('embedded'))];

  await expect(chooseKind('bubblewrap', kinds)).rejects.toThrow(
    'EVERSTEP_SANDBOX=bubblewrap: no bubblewrap: there is no bwrap. Use EVERSTEP_SANDBOX=auto.',
  );
});

test('what a plug-in makes is checked', async () => {
  const sandbox: Sandbox = {
    kind: 'mine',
    exec: () => Promise.reject(new Error('unused')),
    writeFile: () => Promise.resolve(),
    readFile: () => Promise.resolve(new Uint8Array()),
    close: () => Promise.resolve(),
  };
  const incomplete = { kind: 'mine', exec: () => Promise.resolve() };
  // A plug-in may be plain JavaScript and return anything.
  const bad = Reflect.construct(PluginKind, [() => incomplete, 'plugins.js']) as PluginKind;

  expect(await new PluginKind(() => sandbox, 'plugins.ts').open()).toBe(sandbox);
  await expect(bad.open()).rejects.toThrow('plugins: sandboxFactory of plugins.js made no sandbox.');
});
