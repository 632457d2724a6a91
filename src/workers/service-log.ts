import pino from 'pino';
import type { Logger } from 'pino';
import type { LogLevel } from '../config/environment';

export interface ServiceLogOptions {
  /** Which service writes, in every line as `service`. */
  readonly service: string;
  readonly level: LogLevel;
}

/** Structured JSON on stderr: stdout is kept for the one line that says a service is ready. */
export function createServiceLogger({ service, level }: ServiceLogOptions): Logger {
  const destination = pino.destination({ dest: 2, sync: true });
  // Where the disk is full a line is lost, and the service goes on.
  destination.on('error', () => undefined);
  return pino(
    { level, base: { service, pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
    destination,
  );
}
