import { LineProcess } from './line-process';
import type { LineCommand } from './line-process';
import type { PythonProgram } from './python-program';
import { endsItselfAfterMs } from './python-program';

/** Where a system has its interpreter. The environment of this process is nobody's business but the configuration's. */
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C.UTF-8' };
const PROBE_LIMIT_MS = 10_000;

const PROBE = `
import json, sys
from importlib.metadata import version
print(json.dumps([version(name) for name in sys.argv[1:]]))
`;

/**
 * How to start a program in the system's `python3`, with its environment ignored; null unless exactly the pinned versions of all its packages
 * are installed there.
 */
export async function python3Command(program: PythonProgram): Promise<LineCommand | null> {
  const names = program.wheels.map((wheel) => wheel.name);
  const probe = new LineProcess({
    program: 'python3',
    args: ['-I', '-c', PROBE, ...names],
    environment: ENVIRONMENT,
  });
  const timer = setTimeout(() => {
    probe.kill();
  }, PROBE_LIMIT_MS);
  const line = await probe.ready;
  clearTimeout(timer);
  probe.kill();
  if (line !== JSON.stringify(program.wheels.map((wheel) => wheel.version)).replaceAll(',', ', '))
    return null;
  const limitSeconds = endsItselfAfterMs(program) / 1000;
  return {
    program: 'python3',
    args: ['-I', program.path, String(limitSeconds), String(program.memoryLimitBytes), ...program.warmUp],
    environment: ENVIRONMENT,
  };
}
