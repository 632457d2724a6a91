/** How many steps the next segment may submit, so that it lasts about `seconds` whatever a step takes. */
export function segmentLength(stepsPerSecond: number | null, seconds: number): number {
  if (stepsPerSecond === null) return 20;
  // Twice what is expected: the segment ends by time, this only bounds its input.
  return Math.max(2, Math.min(5000, Math.ceil(stepsPerSecond * seconds * 2)));
}
