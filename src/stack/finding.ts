/** One thing looked at. `missing` means that something needed is not there; `note` is worth knowing, no more. */
export interface Finding {
  readonly name: string;
  readonly status: 'ok' | 'note' | 'missing';
  readonly found: string;
  /** What to do about it. */
  readonly remedy?: string;
}
