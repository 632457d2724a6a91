import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { readCodeFile } from './code-file';

/** What `import … from`, `import '…'`, `export … from`, `import('…')` and `require('…')` name. A comment may name something too. */
const SPECIFIER = /\b(?:from|import|require)\s*(?:\(\s*)?(['"])(\.{1,2}(?:\/[^'"\n]*)?)\1/g;
const EXTENSIONS = ['', '.ts', '.tsx', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json'];
/** Of a TypeScript file that is imported by the name it is compiled to. */
const COMPILED = /\.([cm]?)js$/;

/**
 * SHA-256 of a plug-in file and of all local files that it imports, whichever imports them; of the file alone where it imports
 * none. Packages, and files that its code reads by itself, are not in it. Throws where the file cannot be read.
 */
export function pluginDigest(file: string): string {
  const root = resolve(file);
  const texts = filesOf(root);
  const [own = Buffer.alloc(0), ...imported] = texts.values();
  if (imported.length === 0) return sha256(own);
  const parts = [...texts].map(([path, text]) => [relative(dirname(root), path), sha256(text)] as const);
  return sha256(JSON.stringify(parts.sort(([left], [right]) => (left < right ? -1 : 1))));
}

/** Paths of a plug-in file and of all local files that it imports. Throws where the file cannot be read. */
export function filesOfPlugin(file: string): readonly string[] {
  return [...filesOf(resolve(file)).keys()];
}

function filesOf(root: string): Map<string, Buffer> {
  const texts = new Map<string, Buffer>();
  collect(root, texts);
  return texts;
}

function collect(path: string, texts: Map<string, Buffer>): void {
  if (texts.has(path)) return;
  const text = readCodeFile(path);
  texts.set(path, text);
  for (const [, , specifier = ''] of text.toString('utf8').matchAll(SPECIFIER)) {
    const imported = fileOf(resolve(dirname(path), specifier));
    if (imported !== null) collect(imported, texts);
  }
}

/** null where there is no such file: what is missing fails when it is imported. */
function fileOf(path: string): string | null {
  const source = path.replace(COMPILED, '.$1ts');
  const candidates = [path, source, `${path}/index`].flatMap((base) =>
    EXTENSIONS.map((extension) => `${base}${extension}`),
  );
  return candidates.find((candidate) => existsSync(candidate) && statSync(candidate).isFile()) ?? null;
}

function sha256(data: Buffer | string): string {
  return createHash('sha256').update(data).digest('hex');
}
