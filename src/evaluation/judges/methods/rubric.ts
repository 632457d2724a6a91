import { DomainError } from '../../../core/errors';
import { meanOf } from '../../../core/statistics/mean';
import type { Example } from '../../example';
import type { JudgeDesk, JudgeMethod } from '../../graders/grader';
import { conversationText } from '../conversation-text';
import { medianOf } from '../panel';
import { readTaggedScore } from '../read-verdicts';
import type { JudgeTemplate } from '../template';
import { loadTemplate, messagesOf, stampOf } from '../template';

export interface RubricOptions {
  /** For every example; default the list in the field `rubric` of each. */
  readonly items?: readonly string[];
}

interface Scored {
  readonly reply: string;
  readonly score: number | null;
}

const MAX_TOKENS = 4096;

/** Each item of a rubric scored by itself, 0…1; the completion's score is their mean. One that cannot be read leaves none. */
export function rubric({ items }: RubricOptions = {}): JudgeMethod {
  const template = loadTemplate('rubric');
  return {
    name: 'rubric',
    version: [stampOf(template), ...(items ? [stampOf({ ...template, delimiters: items })] : [])].join(' '),
    async vote(desk, completion, example) {
      const scored: Scored[] = [];
      for (const [index, item] of (items ?? itemsOf(example)).entries()) {
        scored.push(await askItem(desk, { template, item, index, completion, example }));
      }
      const scores = scored.flatMap(({ score }) => score ?? []);
      const mean = scores.length === scored.length ? meanOf(scores)?.mean : undefined;
      return {
        answer: mean === undefined ? null : String(Number(mean.toFixed(3))),
        value: mean ?? 0,
        metrics: Object.fromEntries(
          scored.flatMap(({ score }, index) => (score === null ? [] : [[`rubric/${index + 1}`, score]])),
        ),
        explanation: scored.map(({ reply }) => reply).join('\n\n'),
      };
    },
    combine: medianOf,
  };
}

interface ItemQuestion {
  readonly template: JudgeTemplate;
  readonly item: string;
  readonly index: number;
  readonly completion: string;
  readonly example: Example;
}

async function askItem(
  desk: JudgeDesk,
  { template, item, index, completion, example }: ItemQuestion,
): Promise<Scored> {
  const texts = { question: conversationText(example), answer: completion, rubric: item };
  const messages = messagesOf(template, texts);
  const reply = await desk.ask({ stage: `rubric-${index + 1}`, messages, maxTokens: MAX_TOKENS });
  return { reply, score: readTaggedScore(reply) };
}

function itemsOf({ id, row }: Example): readonly string[] {
  const given = row?.['rubric'];
  const items = typeof given === 'string' ? [given] : given;
  if (Array.isArray(items) && items.length > 0 && items.every((item) => typeof item === 'string'))
    return items;
  throw new DomainError(
    'bad-dataset',
    `Example "${id}" has no "rubric". Give each row a list of texts, or the evaluator "rubric" for all.`,
    { category: 'user' },
  );
}
