import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Leases } from '../../../src/sandboxes/leases/leases';
import { PyodideInterpreter } from '../../../src/sandboxes/pyodide/pyodide-interpreter';
import { DEFAULT_LIMITS } from '../../../src/sandboxes/sandbox';
import { deepCases } from '../../setup/deep-cases';
import { ENDING, expectToEnd } from '../../unit/sandboxes/pyodide/interpreter-programs';

test.each(deepCases(Object.entries(ENDING)))('a process ends after a program with %s', async (_, source) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'renewal-'));
  const lease = await new Leases(folder).open();
  const interpreter = await PyodideInterpreter.start(lease, DEFAULT_LIMITS);

  await expectToEnd(interpreter, source);

  await lease.release();
  rmSync(folder, { recursive: true, force: true });
});
