import type { InstructionArguments } from './instruction-arguments';

/** Whether a response follows one instruction. Those that try a row's pattern may answer later. */
export type Check = (response: string, instruction: InstructionArguments) => boolean | Promise<boolean>;
