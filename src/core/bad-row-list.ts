/** So many bad rows are listed, and of a file that is refused for them no more are looked for. */
export const MOST_BAD_ROWS = 1000;

interface Listed {
  /** Bad rows behind it that are not listed. Only the last of a list has some. */
  readonly others?: number;
}

/** Lists a row; once there are as many as are listed, the last says how many there are behind it. */
export function listBadRow<Row extends Listed>(list: Row[], row: Row): void {
  const last = list.at(-1);
  if (last === undefined || list.length < MOST_BAD_ROWS) list.push(row);
  else list[list.length - 1] = { ...last, others: (last.others ?? 0) + 1 };
}

/** How many rows a list stands for. */
export function countListed(list: readonly Listed[]): number {
  return list.reduce((count, { others = 0 }) => count + 1 + others, 0);
}

/** Behind the reason of a row that stands for others, too. */
export function othersText({ others = 0 }: Listed): string {
  return others === 0 ? '' : ` (and ${others} more bad ${others === 1 ? 'row' : 'rows'} behind it)`;
}
