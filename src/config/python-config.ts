import { z } from 'zod';

export const taskQueueKey = z
  .string()
  .min(1)
  .max(200)
  .optional()
  .describe('Task queue that the Python worker polls; default `everstep-python`');

/** Something a Python worker registers by a name. */
export const PythonNameConfig = z.strictObject({
  python: z.string().min(1).describe('Name the Python worker registers it under'),
  taskQueue: taskQueueKey,
});
