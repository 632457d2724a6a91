import { DefaultLogger, Runtime, makeTelemetryFilterString } from '@temporalio/worker';
import type { LogEntry } from '@temporalio/worker';
import type { Logger } from 'pino';

/**
 * Makes Temporal's SDK log through `logger`. Once per process, before any connection.
 *
 * The native core is forwarded too, or it would write its own lines to stdout. The SDK reacts to no signal:
 * shutting down in order is ours.
 */
export function installTemporalRuntime(logger: Logger): Runtime {
  return Runtime.install({
    logger: new DefaultLogger(temporalLevel(logger.level), (entry) => {
      forward(logger, entry);
    }),
    telemetryOptions: {
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
    },
    shutdownSignals: [],
  });
}

type TemporalLevel = 'TRACE' | 'DEBUG' | 'INFO' | 'WARN' | 'ERROR';

function temporalLevel(level: string): TemporalLevel {
  const levels: Readonly<Record<string, TemporalLevel>> = {
    trace: 'TRACE',
    debug: 'DEBUG',
    info: 'INFO',
    warn: 'WARN',
  };
  return levels[level] ?? 'ERROR';
}

function forward(logger: Logger, entry: LogEntry): void {
  const fields = { ...entry.meta };
  switch (entry.level) {
    case 'TRACE':
      logger.trace(fields, entry.message);
      break;
    case 'DEBUG':
      logger.debug(fields, entry.message);
      break;
    case 'INFO':
      logger.info(fields, entry.message);
      break;
    case 'WARN':
      logger.warn(fields, entry.message);
      break;
    case 'ERROR':
      logger.error(fields, entry.message);
      break;
  }
}
