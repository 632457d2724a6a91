import type { ExactNumber } from './exact-number';

/** How the parts of an answer hang together. What its parts are worth is decided elsewhere. */
export type AnswerShape =
  | NumberShape
  | TextShape
  | ExpressionShape
  | InfinityShape
  | TupleShape
  | CollectionShape
  | UnionShape
  | MatrixShape
  | RelationShape
  | RatioShape
  | BasedShape;

export interface NumberShape {
  readonly kind: 'number';
  readonly value: ExactNumber;
  /** As written, ending zeros too; null where it is written otherwise, as a fraction. */
  readonly decimals: number | null;
  readonly unit: string | null;
  readonly isPercent: boolean;
}

/** Words: equal when they are the same, letters of either case. */
interface TextShape {
  readonly kind: 'text';
  readonly text: string;
}

/** A formula to be calculated with. */
export interface ExpressionShape {
  readonly kind: 'expression';
  readonly latex: string;
  readonly unit: string | null;
  readonly isPercent: boolean;
  /** False where two readings are usual, or the parser's is not the usual one: equal only to the same text. */
  readonly isReadable: boolean;
}

interface InfinityShape {
  readonly kind: 'infinity';
  readonly isNegative: boolean;
}

/** Something in order between brackets: point, vector, interval. The brackets tell them apart as far as text can. */
export interface TupleShape {
  readonly kind: 'tuple';
  readonly open: string;
  readonly close: string;
  readonly items: readonly AnswerShape[];
}

/** Values in no order: a set in braces (repetitions do not count) or a bare list. */
export interface CollectionShape {
  readonly kind: 'set' | 'list';
  readonly items: readonly AnswerShape[];
  /** Two of them are written alike, so that they are no forms of one value. */
  readonly hasRepetitions: boolean;
}

/** Sets joined by set operations, as text for the exact path, and parts where it is a union only. */
interface UnionShape {
  readonly kind: 'union';
  readonly latex: string;
  readonly parts: readonly AnswerShape[];
}

export interface MatrixShape {
  readonly kind: 'matrix';
  readonly latex: string;
  readonly rows: readonly (readonly AnswerShape[])[];
}

export interface RelationShape {
  readonly kind: 'relation';
  readonly sides: readonly string[];
  readonly operators: readonly string[];
}

/** "3:4", also a time of day. */
interface RatioShape {
  readonly kind: 'ratio';
  readonly items: readonly AnswerShape[];
}

/** A number written in a base: 204_5. */
interface BasedShape {
  readonly kind: 'based';
  readonly digits: string;
  readonly base: string;
}
