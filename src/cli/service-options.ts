import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';

export const ADOPT =
  'take over a database that was copied here or sent, once: its runs and schedules go on, with the data and services that they name';

export interface PlaceFlags {
  readonly dataDir?: string;
  readonly store?: string;
}

export interface ServiceFlags extends PlaceFlags {
  readonly exitWithParent?: boolean;
}

export function addPlaces(command: Command, options: { readonly store: boolean }): Command {
  command.option('--data-dir <folder>', 'state of the stack (EVERSTEP_HOME, else .everstep here)');
  if (options.store) command.option('--store <place>', 'runs and scores (EVERSTEP_STORE, else <data>/store)');
  return command;
}

/** How a service that everstep started knows that its parent has gone; not for people. */
export function addServiceOptions(command: Command): Command {
  return command.addOption(new Option('--exit-with-parent').hideHelp());
}

export function parsePort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError('A port is a number from 1 to 65535.');
}

export function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1) return count;
  throw new InvalidArgumentError('Give a whole number, 1 or more.');
}

/** The one line on stdout that says a service is ready. */
export function printReady(line: string): void {
  process.stdout.write(`${line}\n`);
}
