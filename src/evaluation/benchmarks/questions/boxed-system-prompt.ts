/** What the field tells a model before mathematics; the graders look for the box first. */
export const BOXED_SYSTEM_PROMPT = 'Put your final answer in \\boxed{}.';
