type Given<Fields> = { [Name in keyof Fields]: Exclude<Fields[Name], undefined> };

/** Schemas let `undefined` stand for what was left out; options that may be left out do not. */
export function withoutUndefined<Fields extends object>(fields: Fields): Given<Fields> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  // Only what the type takes away was left out.
  // oxlint-disable-next-line typescript/consistent-type-assertions
  return Object.fromEntries(given) as Given<Fields>;
}
