import { listClients } from './stack-record';

const IDLE_CHECK_MS = 400;
/** Checks in a row that must find no client: a command that follows another directly finds the stack still there. */
const IDLE_CHECKS = 3;

/**
 * A client writes its file before it looks for the record, and the record is withdrawn before the last look at the
 * files: whichever comes first, the client either keeps this stack or sees that it has to start one.
 */
export async function waitUntilIdle(
  dataFolder: string,
  services: { announce(isReady: boolean): void },
): Promise<void> {
  for (let idleChecks = 0; idleChecks < IDLE_CHECKS;) {
    await new Promise((resolve) => setTimeout(resolve, IDLE_CHECK_MS));
    idleChecks = listClients(dataFolder).length === 0 ? idleChecks + 1 : 0;
    if (idleChecks < IDLE_CHECKS) continue;
    services.announce(false);
    if (listClients(dataFolder).length === 0) return;
    services.announce(true);
    idleChecks = 0;
  }
}
