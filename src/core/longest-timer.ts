/** Not more than a timer can hold: one that is longer goes off at once. */
export const LONGEST_TIMER_MS = 2_147_483_647;
