import { z } from 'zod';
import { taskQueueKey } from './python-config';

const called = z.string().min(1).optional();

/** What fields of rows are read as; `src/datasets/rows.ts` knows in which shapes. */
const fieldNames = z
  .strictObject({
    ...{ messages: called, conversations: called },
    ...{ prompt: called, completion: called },
    ...{ instruction: called, input: called, output: called },
    ...{ system: called, history: called, tools: called, rubric: called },
  })
  .refine((names) => new Set(Object.values(names)).size === Object.values(names).length, {
    message: 'two of them name the same field of a row. Give each its own',
  });

const paths = z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]);

/** Where examples come from: a local file (JSONL, JSON, Parquet) or the Hugging Face hub. */
export const DatasetConfig = z
  .strictObject({
    path: paths.optional().describe('File or files, relative to the config file'),
    hub: z
      .string()
      .regex(/^[\w.-]+\/[\w.-]+$/, 'must be owner/name')
      .optional()
      .describe('Hugging Face dataset'),
    python: z.string().min(1).optional().describe('Name a Python worker registers the dataset under'),
    taskQueue: taskQueueKey,
    options: z.record(z.string(), z.json()).optional().describe('Python: what its reader is called with'),
    subset: z.string().optional().describe('Hub: configuration name'),
    revision: z.string().optional().describe('Hub: commit or tag; resolved to a commit and recorded'),
    split: z.string().default('train').describe('Hub: split'),
    testPath: paths.optional().describe('Held-out file; becomes the `nll` evaluator "test" unasked'),
    testSize: z.int().min(0).default(0).describe('Rows split off as the test set, by seed'),
    limit: z.int().min(1).optional().describe('Use only the first rows'),
    onBadRow: z
      .enum(['error', 'skip'])
      .default('error')
      .describe('skip: leave bad rows out, count and report them'),
    fields: fieldNames
      .optional()
      .describe(
        'What fields of rows are called, where they have other names: `{prompt: question, completion: answer}`',
      ),
    ignoreKeys: z
      .array(z.string().min(1))
      .optional()
      .describe(
        'Keys of rows and messages that say nothing to the model, besides ids, sources, scores and the like',
      ),
  })
  .refine(({ path, hub, python }) => [path, hub, python].filter((key) => key !== undefined).length === 1, {
    message: 'give "path" or "hub" or "python"',
  })
  .refine(({ testPath, testSize }) => testPath === undefined || testSize === 0, {
    path: ['testSize'],
    message: 'held-out rows come from "testPath", so none would be split off. Leave one of the two out',
  })
  .refine(
    ({ python, taskQueue, options }) =>
      python !== undefined || (taskQueue === undefined && options === undefined),
    { message: '"taskQueue" and "options" go with "python"' },
  );
export type DatasetConfig = z.infer<typeof DatasetConfig>;
