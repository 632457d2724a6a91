/**
 * SQLite's words for work that was broken off, as by a deadline that ran out on a busy machine. The server has one connection, and where that
 * stays broken off, every question is answered so until the server is started anew.
 */
const BROKEN_OFF = 'interrupted (9)';

const LOOKS = 8;
const LOOK_EVERY_MS = 2000;

export interface StuckDatabaseOptions {
  /** Whether the server answers a question to its database. */
  readonly look: () => Promise<boolean>;
  /** Called once. */
  readonly onStuck: () => void;
}

/** Takes what the server complains of, and looks, several times, whether it is for good. */
export function watchForStuckDatabase({ look, onStuck }: StuckDatabaseOptions): (complaint: string) => void {
  let isLooking = false;
  const lookOften = async (): Promise<void> => {
    for (let count = 0; count < LOOKS; count++) {
      await new Promise<void>((resolve) => {
        setTimeout(resolve, LOOK_EVERY_MS).unref();
      });
      if (await look()) {
        isLooking = false;
        return;
      }
    }
    onStuck();
  };
  return (complaint) => {
    if (isLooking || !complaint.includes(BROKEN_OFF)) return;
    isLooking = true;
    void lookOften();
  };
}
