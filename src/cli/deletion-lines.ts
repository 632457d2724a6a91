import { escapeControls } from './escape-controls';
import type { Output } from './output';

/** What is deleted, and who still needs it. */
export interface ShownDeletion {
  readonly run: string;
  readonly folder: string;
  readonly bytes: number;
  readonly files: number;
  readonly heldBy: readonly string[];
}

/** A line of what goes, would go or stays, and one for each who needs it. */
export function writeDeletion(output: Output, deletion: ShownDeletion, isDone: boolean): void {
  const { run, folder, bytes, files, heldBy } = deletion;
  const verb = isDone ? 'Deleted' : heldBy.length > 0 ? 'Would not delete' : 'Would delete';
  output.line(escapeControls(`${verb} ${run}: ${folder}, ${files} files, ${sizeText(bytes)}.`));
  for (const holder of heldBy) output.line(escapeControls(`- ${output.advice(holder)}`));
}

export function sizeText(bytes: number): string {
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}
