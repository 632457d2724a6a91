/** Where in a run a completion is drawn. */
interface SeedPlace {
  readonly member: number;
  readonly turn: number;
  /** How often the rollout was begun anew because what had been drawn made its environment fail. */
  readonly redraw: number;
}

export type SampleSeeds = (place: SeedPlace) => number;

/**
 * Seeds of the completions of a group: a function of numbers alone, so that an engine whose samples depend on their seed
 * draws a lost group again bit by bit. `groupNumber` counts through the whole run.
 */
export function createSampleSeeds(runSeed: number, groupNumber: number): SampleSeeds {
  const groupSeed = [runSeed, groupNumber].reduce(mix, 0x5eed);
  return ({ member, turn, redraw }) => [member, turn, redraw].reduce(mix, groupSeed) >>> 1;
}

/** MurmurHash3's finalizer over each number in turn, so that neighbours share nothing. */
function mix(state: number, value: number): number {
  let mixed = (Math.imul(state, 0x9e3779b1) + Math.imul((value | 0) + 1, 0x85ebca77)) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
