import type { InstructionArguments } from './instruction-arguments';

/** Whether a response follows one instruction. */
export type Check = (response: string, instruction: InstructionArguments) => boolean;
