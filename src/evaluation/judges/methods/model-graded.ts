import type { Example } from '../../example';
import type { JudgeMethod } from '../../graders/grader';
import { conversationText } from '../conversation-text';
import { readGrade } from '../read-verdicts';
import type { JudgeTemplate } from '../template';
import { fill, loadTemplate, messagesOf, stampOf } from '../template';

export interface ModelGradedOptions {
  /** `qa`: does the answer meet a criterion; `fact`: does it state the facts of an expert's answer. */
  readonly kind: 'qa' | 'fact';
  /** Also offers P for an answer that is right in part, which counts a half. */
  readonly partialCredit?: boolean;
  /** In place of ours; may name {question}, {answer}, {criterion} and {instructions}. */
  readonly template?: string;
  /** In place of ours, at the end of the request. */
  readonly instructions?: string;
}

const VALUES: Readonly<Record<string, number>> = { C: 1, P: 0.5, I: 0 };
const MEANINGS: Readonly<Record<string, string>> = {
  C: '"C" for correct',
  P: '"P" for partially correct',
  I: '"I" for incorrect',
};
const MAX_TOKENS = 4096;

/** Grades as Inspect AI's model_graded_qa and model_graded_fact: C, I and perhaps P; the last grade in the reply counts. */
export function modelGraded(options: ModelGradedOptions): JudgeMethod {
  const { kind, partialCredit = false } = options;
  const own = loadTemplate(`model_graded_${kind}`);
  const template: JudgeTemplate =
    options.template === undefined ? own : { ...own, name: `${own.name}:own`, prompt: options.template };
  const letters = partialCredit ? ['C', 'P', 'I'] : ['C', 'I'];
  const instructions = options.instructions ?? instructionsFor(letters);
  return {
    name: own.name,
    version: [stampOf(template), stampOf({ ...template, prompt: instructions })].join(' '),
    async vote(desk, completion, example) {
      const texts = {
        question: conversationText(example),
        answer: completion,
        criterion: criterionOf(example),
      };
      const messages = messagesOf(template, texts, { instructions });
      const reply = await desk.ask({ stage: 'grade', messages, maxTokens: MAX_TOKENS });
      const grade = readGrade(reply, letters);
      return { answer: grade, value: VALUES[grade ?? ''] ?? 0, explanation: reply };
    },
  };
}

function instructionsFor(letters: readonly string[]): string {
  const template = loadTemplate('grade_instructions');
  return fill(
    template.prompt,
    new Map([
      ['letters', letters.join('/')],
      ['meanings', letters.map((letter) => MEANINGS[letter]).join(', ')],
    ]),
  );
}

function criterionOf({ target }: Example): string {
  return target ?? '';
}
