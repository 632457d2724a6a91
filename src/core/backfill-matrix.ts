import type { BackfillCell, BackfillRequest, BackfillState, CellFinding } from './backfill';
import { applyFinding, describeCells, newCells } from './backfill';

/** Cells of one benchmark that are looked up together. */
export interface ColumnPart {
  readonly column: number;
  readonly rows: readonly number[];
}

/** Where every cell of a backfill stands. */
export class BackfillMatrix {
  private readonly cells: Map<string, BackfillCell>;
  private hasNews = false;

  /** `carried` is what an earlier execution knew. */
  constructor(
    readonly request: BackfillRequest,
    carried: readonly BackfillCell[] = newCells(request),
  ) {
    this.cells = new Map(carried.map((cell) => [keyOf(cell), cell]));
  }

  state(): BackfillState {
    return { name: this.request.name, cells: describeCells(this.request, this.carried()) };
  }

  /** For the execution that goes on from here. */
  carried(): BackfillCell[] {
    return [...this.cells.values()];
  }

  /** Whether more is known than was carried here: cells that were found, or came to an end. */
  get hasComeOn(): boolean {
    return this.hasNews;
  }

  update(cell: BackfillCell): void {
    if (cell.status !== 'running') this.hasNews = true;
    this.cells.set(keyOf(cell), cell);
  }

  /** What nobody has looked up yet, in parts of at most `size` cells. */
  unknownParts(size: number): ColumnPart[] {
    return this.request.benchmarks.flatMap((_, column) => {
      const rows = this.with('unknown')
        .filter((cell) => cell.column === column)
        .map(({ row }) => row);
      const partCount = Math.ceil(rows.length / size);
      return Array.from({ length: partCount }, (_part, index) => ({
        column,
        rows: rows.slice(index * size, (index + 1) * size),
      }));
    });
  }

  /** Known to be missing, or left under way by an earlier execution. */
  unfinished(): BackfillCell[] {
    return [...this.with('running'), ...this.with('missing')];
  }

  /** Keeps what was found for a part, and returns its cells that have to be run. */
  applyFindings({ column, rows }: ColumnPart, findings: readonly CellFinding[]): BackfillCell[] {
    const found = rows.flatMap((row, index) => {
      const finding = findings[index];
      return finding ? [applyFinding({ row, column, status: 'unknown' }, finding)] : [];
    });
    for (const cell of found) this.update(cell);
    return found.filter(({ status }) => status === 'missing');
  }

  private with(status: BackfillCell['status']): BackfillCell[] {
    return this.carried().filter((cell) => cell.status === status);
  }
}

function keyOf({ row, column }: Pick<BackfillCell, 'row' | 'column'>): string {
  return `${row}/${column}`;
}
