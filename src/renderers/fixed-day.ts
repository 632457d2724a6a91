/**
 * What prompts that name the date are told. Today's date would give another prompt each day, and with it other scores;
 * this is the day Llama's own templates fall back to.
 */
export const FIXED_DAY = '2024-07-26';
