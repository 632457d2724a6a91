/** Long enough to cost no history, short enough that what the workflow knows of a run is fresh. */
const SEGMENT_SECONDS = 4;
const MOST_SECONDS = 12;
/** Of slow steps, which each would be a segment otherwise. */
const LEAST_STEPS = 3;

/** How long a segment takes steps; whoever wants something of the run meanwhile interrupts it. */
export function segmentSeconds(stepsPerSecond: number | null): number {
  if (stepsPerSecond === null || stepsPerSecond <= 0) return SEGMENT_SECONDS;
  return Math.max(SEGMENT_SECONDS, Math.min(MOST_SECONDS, LEAST_STEPS / stepsPerSecond));
}

/** How many steps the next segment may submit, so that it lasts about `seconds` whatever a step takes. */
export function segmentLength(stepsPerSecond: number | null, seconds: number): number {
  if (stepsPerSecond === null) return 20;
  // Twice what is expected: the segment ends by time, this only bounds its input.
  return Math.max(2, Math.min(5000, Math.ceil(stepsPerSecond * seconds * 2)));
}
