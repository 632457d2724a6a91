import { stripStart } from '../python-text';
import { chineseWords, englishWords, segmentChinese } from './normalize-text';
import { rougeL } from './rouge-l';
import { fuzzyRatio } from './sequence-ratio';

/** Score of a prediction against one reference, 0…1. `classes` are the answers a classification may give. */
export type LongBenchMetric = (prediction: string, reference: string, classes: readonly string[]) => number;

const answerOverlap: LongBenchMetric = (prediction, reference) =>
  wordOverlap(englishWords(prediction), englishWords(reference));

const chineseOverlap: LongBenchMetric = (prediction, reference) =>
  wordOverlap(chineseWords(prediction), chineseWords(reference));

const chineseRouge: LongBenchMetric = (prediction, reference) =>
  rougeL(segmentChinese(prediction).join(' '), segmentChinese(reference).join(' '));

const retrieval: LongBenchMetric = (prediction, reference) =>
  shareOfNumbers(prediction, /Paragraph (\d+)/.exec(reference)?.[1] ?? '');

const chineseRetrieval: LongBenchMetric = (prediction, reference) =>
  shareOfNumbers(prediction, /段落(\d+)/.exec(reference)?.[1] ?? '');

/** The metric of each dataset of LongBench v1, as its `eval.py` pairs them. */
export const LONGBENCH_METRICS: ReadonlyMap<string, LongBenchMetric> = new Map([
  ['narrativeqa', answerOverlap],
  ['qasper', answerOverlap],
  ['multifieldqa_en', answerOverlap],
  ['multifieldqa_zh', chineseOverlap],
  ['hotpotqa', answerOverlap],
  ['2wikimqa', answerOverlap],
  ['musique', answerOverlap],
  ['dureader', chineseRouge],
  ['gov_report', rougeL],
  ['qmsum', rougeL],
  ['multi_news', rougeL],
  ['vcsum', chineseRouge],
  ['trec', classification],
  ['triviaqa', answerOverlap],
  ['samsum', rougeL],
  ['lsht', classification],
  ['passage_retrieval_en', retrieval],
  ['passage_count', shareOfNumbers],
  ['passage_retrieval_zh', chineseRetrieval],
  ['lcc', codeSimilarity],
  ['repobench-p', codeSimilarity],
]);

const FIRST_LINE_ONLY: ReadonlySet<string> = new Set(['trec', 'triviaqa', 'samsum', 'lsht']);

/** What of the completion is scored: of some datasets the first line only, where the model goes on with more examples. */
export function scoredPart(dataset: string, completion: string): string {
  if (!FIRST_LINE_ONLY.has(dataset)) return completion;
  return stripStart(completion, '\n').split('\n', 1)[0] ?? '';
}

/** F1 of the words in common, each as often as both have it. */
function wordOverlap(prediction: readonly string[], reference: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const word of reference) counts.set(word, (counts.get(word) ?? 0) + 1);
  let common = 0;
  for (const word of prediction) {
    const left = counts.get(word) ?? 0;
    if (left > 0) common++;
    counts.set(word, left - 1);
  }
  if (common === 0) return 0;
  const [precision, recall] = [common / prediction.length, common / reference.length];
  return (2 * precision * recall) / (precision + recall);
}

/** How many of the numbers named are the right one. */
function shareOfNumbers(prediction: string, reference: string): number {
  const numbers = prediction.match(/\p{Nd}+/gu) ?? [];
  if (numbers.length === 0) return 0;
  return numbers.filter((number) => number === reference).length / numbers.length;
}

/**
 * One over the number of classes named, if the right one is among them. A class whose name is part of the right one's does
 * not count; the official loop skips the class behind each one it takes out, and so does this.
 */
function classification(prediction: string, reference: string, classes: readonly string[]): number {
  const named = classes.filter((name) => prediction.includes(name));
  if (!named.includes(reference)) return 0;
  let count = named.length;
  for (let index = 0; index < named.length; index++) {
    const name = named[index] ?? '';
    if (name === reference || !reference.includes(name)) continue;
    count--;
    index++;
  }
  return 1 / count;
}

/** Similarity of the first line that is neither a comment nor a code fence. */
function codeSimilarity(prediction: string, reference: string): number {
  const lines = stripStart(prediction, '\n').split('\n');
  const line = lines.find((text) => !/[`#]|\/\//.test(text)) ?? '';
  return fuzzyRatio(line, reference);
}
