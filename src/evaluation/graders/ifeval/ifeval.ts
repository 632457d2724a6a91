import { DomainError } from '../../../core/errors';
import { ownValue } from '../../../core/own-value';
import { ReadingTime } from '../../../sandboxes/read-within';
import { strip } from '../python-text';
import { isRow, lacking, textListField } from '../row-fields';
import type { Row, RowGrader } from '../row-grader';
import { CHECKS } from './checks';
import { InstructionArguments } from './instruction-arguments';

/** How much of a response is repeated as its answer. */
const ANSWER_LENGTH = 200;

/**
 * IFEval as published: an instruction is followed strictly when the response as it is passes its check, loosely when one of
 * eight variants does (as it is or without stars; whole, without the first line, the last, or both). A blank text follows
 * nothing. The score is that all instructions are followed strictly.
 */
export const ifeval: RowGrader = {
  name: 'ifeval',
  version: 'ifeval@1',
  description: 'instruction_id_list, kwargs; 1 when all are followed strictly',
  async grade(completion, row) {
    const instructions = instructionsOf(row);
    const variants = variantsOf(completion);
    const time = new ReadingTime();
    const strict: boolean[] = [];
    const loose: boolean[] = [];
    for (const instruction of instructions) {
      const isStrict = await isFollowed(completion, instruction, time);
      strict.push(isStrict);
      loose.push(isStrict || (await isAnyFollowed(variants, instruction, time)));
    }
    const [strictCount, looseCount] = [countTrue(strict), countTrue(loose)];
    const isBlank = strip(completion) === '';
    return {
      value: Number(strictCount === instructions.length && !isBlank),
      answer: isBlank ? null : completion.slice(0, ANSWER_LENGTH),
      explanation: `${strictCount} of ${instructions.length} followed`,
      metrics: {
        prompt_strict: Number(strictCount === instructions.length && !isBlank),
        prompt_loose: Number(looseCount === instructions.length && !isBlank),
        followed_strict: strictCount,
        followed_loose: looseCount,
        instructions: instructions.length,
      },
      details: { strict, loose },
    };
  },
  summarize: ({
    prompt_strict = 0,
    prompt_loose = 0,
    followed_strict = 0,
    followed_loose = 0,
    instructions = 0,
  }) => ({
    prompt_strict,
    prompt_loose,
    instruction_strict: instructions === 0 ? 0 : followed_strict / instructions,
    instruction_loose: instructions === 0 ? 0 : followed_loose / instructions,
  }),
};

async function isAnyFollowed(
  variants: readonly string[],
  instruction: InstructionArguments,
  time: ReadingTime,
): Promise<boolean> {
  for (const variant of variants) if (await isFollowed(variant, instruction, time)) return true;
  return false;
}

function isFollowed(
  response: string,
  instruction: InstructionArguments,
  time: ReadingTime,
): boolean | Promise<boolean> {
  const check = ownValue(CHECKS, instruction.instruction);
  if (check === undefined) throw unknownInstruction(instruction.instruction);
  return time.read(() => strip(response) !== '' && check(response, instruction, time));
}

/** Besides the completion itself. */
function variantsOf(completion: string): readonly string[] {
  const lines = completion.split('\n');
  const cut = [lines.slice(1), lines.slice(0, -1), lines.slice(1, -1)].map((kept) => strip(kept.join('\n')));
  const bare = [completion, ...cut].map((variant) => variant.replaceAll('*', ''));
  return Array.from(new Set([...cut, ...bare])).filter((variant) => variant !== completion);
}

function instructionsOf(row: Row): readonly InstructionArguments[] {
  const ids = textListField(row, ['instruction_id_list']);
  if (ids.length === 0) {
    throw new DomainError(
      'bad-dataset',
      'example: "instruction_id_list" is empty, so that nothing could be followed. Leave the row out.',
    );
  }
  const unknown = ids.find((id) => !Object.hasOwn(CHECKS, id));
  if (unknown !== undefined) throw unknownInstruction(unknown);
  const kwargs: unknown = row['kwargs'];
  if (!Array.isArray(kwargs) || kwargs.length !== ids.length)
    throw lacking(['kwargs'], `list of ${ids.length} objects`);
  return ids.map((id, index) => {
    const values: unknown = kwargs[index];
    if (isRow(values)) return new InstructionArguments(id, values);
    throw lacking(['kwargs'], `list of ${ids.length} objects`);
  });
}

function unknownInstruction(id: string): DomainError {
  return new DomainError(
    'bad-dataset',
    `example: "${id}" is not one of IFEval's ${Object.keys(CHECKS).length} instructions. Known: ${Object.keys(CHECKS).join(', ')}.`,
  );
}

function countTrue(values: readonly boolean[]): number {
  return values.filter(Boolean).length;
}
