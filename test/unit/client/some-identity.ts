/** What a plan says that its result is made of. */
export const IDENTITY = {
  ...{ benchmarkVersion: 1, dataHash: 'd', promptHash: 'p', graderVersion: 'g' },
  ...{ sampling: {}, model: 'm', checkpoint: '' },
};
