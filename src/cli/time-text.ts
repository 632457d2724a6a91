/** A time of a record (ISO 8601, UTC) as tables show it, to the second; the heading says that it is UTC. `--json` has all of it. */
export function timeText(at: string): string {
  return at.slice(0, 19).replace('T', ' ');
}
