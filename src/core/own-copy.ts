/** What whoever gets it, or gave it, may change without changing ours. What cannot be copied is taken as it is. */
export function ownCopy<Given>(given: Given): Given {
  try {
    return structuredClone(given);
  } catch {
    return given;
  }
}
