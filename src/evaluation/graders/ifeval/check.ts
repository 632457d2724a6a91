import type { ReadingTime } from '../../../sandboxes/read-within';
import type { InstructionArguments } from './instruction-arguments';

/** Whether a response follows one instruction. Those that try a row's pattern may answer later. */
export type Check = (
  response: string,
  instruction: InstructionArguments,
  time: ReadingTime,
) => boolean | Promise<boolean>;
