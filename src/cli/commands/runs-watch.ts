import { isClosed } from '../../client/run-report';
import { START_GRACE_MS } from '../../stack/starting-stack';
import { openForFollowing } from '../connect';
import type { Session } from '../connect';
import { catchInterrupts } from '../interrupts';
import { openOutput } from '../output';
import type { Output } from '../output';
import type { PlaceFlags } from '../service-options';
import { watchOneRun } from './runs-actions';

/** Follows a run until it ends; a `dev` that is just starting is waited for. */
export async function watchWhenStarted(
  run: string,
  flags: PlaceFlags & { readonly json?: boolean },
): Promise<number> {
  const output = openOutput(flags);
  const session = await openToWatch(run, flags, output);
  try {
    return await watchOneRun(session.everstep.run(run), session, output);
  } finally {
    await session.close();
  }
}

async function openToWatch(run: string, flags: PlaceFlags, output: Output): Promise<Session> {
  const interrupts = catchInterrupts(output);
  try {
    return await openForFollowing(flags, {
      output,
      signal: interrupts.signal,
      graceMs: async ({ everstep }) => {
        const report = await everstep.run(run).find();
        // A name that the store does not know may be one only a server that is seen to start knows.
        if (report === null) return 0;
        return isClosed(report) ? null : START_GRACE_MS;
      },
    });
  } finally {
    interrupts.dispose();
  }
}
