import { whyNoCode } from '../evaluation/code-file';

/** What a person should know of a run's plug-in file before it goes on: workers elsewhere may see what is not to be seen here. */
export function missingPluginRemarks(file: string | undefined): readonly string[] {
  const reason = file === undefined ? null : whyNoCode(file);
  if (file === undefined || reason === null) return [];
  return [
    `plugins: ${file} cannot be read here: ${reason}. What of the run needs it fails until it is back.`,
  ];
}
