/** Of the workflow that trains a run: the server has one of an id at a time, and so a run has one at a time. */
export const trainingWorkflowId = (run: string): string => `train/${run}`;
