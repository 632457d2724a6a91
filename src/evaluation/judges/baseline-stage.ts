/** Stage of a judgement that is no judgement: what a sampled baseline answered. */
export const BASELINE_STAGE = 'baseline';
