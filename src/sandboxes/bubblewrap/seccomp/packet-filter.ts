/**
 * Programs of the Berkeley packet filter, as seccomp runs them on each system call: `struct sock_filter` of `linux/filter.h`
 * over `struct seccomp_data` of `linux/seccomp.h`. Both architectures that we know keep the lower half of a word first.
 */
export interface Instruction {
  readonly code: number;
  /** How many instructions are left out next: where a comparison holds, and where not. */
  readonly ifTrue: number;
  readonly ifFalse: number;
  readonly value: number;
}

/** What must hold of an argument (0 to 5) of a call. Of all but `above`, the lower 32 bits are looked at. */
export type Condition =
  | { readonly argument: number; readonly is: 'oneOf' | 'noneOf'; readonly values: readonly number[] }
  | { readonly argument: number; readonly is: 'anyBit' | 'noBit'; readonly mask: number }
  | { readonly argument: number; readonly is: 'above'; readonly limit: number };

export const NUMBER_OFFSET = 0;
export const ARCHITECTURE_OFFSET = 4;
const ARGUMENTS_OFFSET = 16;
const ARGUMENT_BYTES = 8;
const HALF_BYTES = 4;
const INSTRUCTION_BYTES = 8;

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_GREATER = 0x25;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const RETURN = 0x06;

/** Reads the 32 bits at a place of what is known of the call. */
export function load(offset: number): Instruction {
  return { code: LOAD, ifTrue: 0, ifFalse: 0, value: offset };
}

export function giveBack(action: number): Instruction {
  return { code: RETURN, ifTrue: 0, ifFalse: 0, value: action };
}

/** `body` where what was read is the value; else what comes after it. */
export function ifEqual(value: number, body: readonly Instruction[]): Instruction[] {
  return [{ code: JUMP_EQUAL, ifTrue: 0, ifFalse: body.length, value }, ...body];
}

/** `body` where what was read is another value; else what comes after it. */
export function ifOther(value: number, body: readonly Instruction[]): Instruction[] {
  return [{ code: JUMP_EQUAL, ifTrue: body.length, ifFalse: 0, value }, ...body];
}

/** `body` where what was read is the value or more; else what comes after it. */
export function ifAtLeast(value: number, body: readonly Instruction[]): Instruction[] {
  return [{ code: JUMP_AT_LEAST, ifTrue: 0, ifFalse: body.length, value }, ...body];
}

/** `body` where all conditions hold; else what comes after it. */
export function when(conditions: readonly Condition[], body: readonly Instruction[]): Instruction[] {
  return conditions.reduceRight<Instruction[]>(
    (inner, condition) => [...test(condition, inner.length), ...inner],
    [...body],
  );
}

/** Goes on with the next `length` instructions where the condition holds, and leaves them out where not. */
function test(condition: Condition, length: number): Instruction[] {
  const lower = ARGUMENTS_OFFSET + condition.argument * ARGUMENT_BYTES;
  switch (condition.is) {
    case 'oneOf':
      return [
        load(lower),
        ...condition.values.map((value, index) => oneOf(value, condition.values.length - index - 1, length)),
      ];
    case 'noneOf':
      return [
        load(lower),
        ...condition.values.map((value, index) => ({
          ...{ code: JUMP_EQUAL, value, ifFalse: 0 },
          ifTrue: condition.values.length - index - 1 + length,
        })),
      ];
    case 'anyBit':
      return [load(lower), { code: JUMP_ANY_BIT, value: condition.mask, ifTrue: 0, ifFalse: length }];
    case 'noBit':
      return [load(lower), { code: JUMP_ANY_BIT, value: condition.mask, ifTrue: length, ifFalse: 0 }];
    case 'above':
      return [
        load(lower + HALF_BYTES),
        { code: JUMP_GREATER, value: 0, ifTrue: 2, ifFalse: 0 },
        load(lower),
        { code: JUMP_GREATER, value: condition.limit, ifTrue: 0, ifFalse: length },
      ];
  }
}

function oneOf(value: number, othersLeft: number, length: number): Instruction {
  return { code: JUMP_EQUAL, value, ifTrue: othersLeft, ifFalse: othersLeft === 0 ? length : 0 };
}

/** As the kernel, and `bwrap --seccomp`, takes it. */
export function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * INSTRUCTION_BYTES);
  for (const [index, { code, ifTrue, ifFalse, value }] of program.entries()) {
    const at = index * INSTRUCTION_BYTES;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(ifTrue, at + 2);
    bytes.writeUInt8(ifFalse, at + 3);
    bytes.writeUInt32LE(value, at + 4);
  }
  return bytes;
}
