/** What the heartbeats of a cell say besides how far it is. The server shows nothing else of a cell that is under way. */
export interface CellNews {
  readonly evaluator: string;
  readonly step: number;
  /** When it said something new last, or this attempt began. */
  readonly newsAt: string;
}

/** Sends with all that a cell says when it was said first; a heartbeat repeats what was said last. */
export function withNews(
  { evaluator, step }: Pick<CellNews, 'evaluator' | 'step'>,
  send: (detail: object) => void,
  now: () => Date,
): (detail: unknown) => void {
  let said = JSON.stringify({});
  const say = (detail: object) => {
    const cell: CellNews = { evaluator, step, newsAt: now().toISOString() };
    send({ ...detail, cell });
  };
  say({});
  return (detail) => {
    const text = JSON.stringify(detail);
    if (text === said || typeof detail !== 'object' || detail === null) return;
    said = text;
    say(detail);
  };
}
