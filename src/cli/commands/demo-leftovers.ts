import type { RunHandle } from '../../client/run-handle';
import { pause } from '../../client/pause';
import { isClosed } from '../../client/run-report';
import { listClients } from '../../stack/stack-record';
import type { Session } from '../connect';

const CANCEL_LIMIT_MS = 8000;

/** Cancels runs of demos that were killed: they would go on beside this one and slow it down. */
export async function cancelLeftovers({ everstep, environment }: Session): Promise<void> {
  if (listClients(environment.dataFolder).length > 1) return;
  for (const { run, status } of await everstep.runs.list()) {
    if (run.startsWith('demo-') && !isClosed({ status })) await cancelRun(everstep.run(run));
  }
}

/** Cancels a run and waits for it to let go of its model; a run of another server, or of none, is left as it is. */
export async function cancelRun(handle: RunHandle): Promise<void> {
  const controller = new AbortController();
  const limit = pause(CANCEL_LIMIT_MS, controller.signal).then(() => {
    controller.abort();
  });
  try {
    await handle.cancel();
    await handle.result({ signal: controller.signal });
  } catch {
    // Its workflow is gone, or the server is: there is nothing left to cancel.
  } finally {
    controller.abort();
    await limit;
  }
}
