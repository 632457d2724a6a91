export * from './contracts';
export { evaluateCheckpoint } from './evaluate-checkpoint';
export { trainSupervised } from './train-supervised';
