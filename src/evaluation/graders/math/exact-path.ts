/** What the fast path leaves open: two formulas, or two pairs of sides of a relation. */
export type ExactQuestion =
  | { readonly kind: 'value' | 'set'; readonly given: string; readonly expected: string }
  /** Whether the first of two numbers is the second, cut or rounded behind so many decimals. */
  | {
      readonly kind: 'rounding';
      readonly given: string;
      readonly expected: string;
      readonly places: number;
    }
  | {
      readonly kind: 'equation' | 'inequality';
      readonly given: readonly [string, string];
      readonly expected: readonly [string, string];
    };

/** Decides what needs algebra. Unknown counts as not equal. */
export interface ExactPath {
  areEqual(question: ExactQuestion): Promise<boolean>;
}
