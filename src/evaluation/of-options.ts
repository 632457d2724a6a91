/** Makes something from the `options` of the config, which it may declare as it expects them. */
export type OfOptions<Made> = {
  // A method: its parameter may be narrower than what a config may hold.
  make(options: Readonly<Record<string, unknown>>): Made;
}['make'];
