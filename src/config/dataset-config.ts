import { z } from 'zod';

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
  })
  .refine((dataset) => (dataset.path === undefined) !== (dataset.hub === undefined), {
    message: 'give either "path" or "hub"',
  });
export type DatasetConfig = z.infer<typeof DatasetConfig>;
