import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';

export function findOnPath(program: string, searchPath: string): string | null {
  const endings = process.platform === 'win32' ? ['.exe', '.cmd'] : [''];
  for (const folder of searchPath.split(path.delimiter).filter(Boolean)) {
    for (const ending of endings) {
      const file = path.join(folder, program + ending);
      if (isExecutable(file)) return file;
    }
  }
  return null;
}

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
