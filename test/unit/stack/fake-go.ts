import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const CLI = '#!/bin/sh\necho "temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)"\n';
const LEAVES_PROGRAM = 'cp "$HERE/program" "$GOBIN/temporal"; chmod 755 "$GOBIN/temporal"';

/** A Go toolchain with a compiler process of its own, which works until it is let go. */
export interface FakeGo {
  /** For a PATH. */
  readonly folder: string;
  finish(): void;
  isBuilding(): boolean;
  /** What it was called with. */
  calls(): string[];
  /** Its living compilers. */
  compilers(): string[];
}

/** `finish` is what it does in the end, in the shell's words. */
export function installFakeGo(place: string, finish = LEAVES_PROGRAM): FakeGo {
  const folder = path.join(place, 'go');
  const inside = (name: string): string => path.join(folder, name);
  const lines = (name: string): string[] =>
    existsSync(inside(name)) ? readFileSync(inside(name), 'utf8').split('\n').filter(Boolean) : [];
  mkdirSync(folder);
  writeFileSync(inside('program'), CLI);
  const script = `#!/bin/sh
HERE='${folder}'
echo "$@" >> "$HERE/calls"
echo "go: downloading example.org/module v1.2.3" >&2
echo half > "$GOTMPDIR/half"
sh -c '# compiles for ${folder}
echo $$ >> "${folder}/started"
while [ -d "${folder}" ] && [ ! -e "${folder}/finish" ]; do sleep 0.05; done'
${finish}
`;
  writeFileSync(inside('go'), script);
  chmodSync(inside('go'), 0o755);
  return {
    folder,
    finish: () => {
      writeFileSync(inside('finish'), '');
    },
    isBuilding: () => lines('started').length > 0,
    calls: () => lines('calls'),
    compilers: () => {
      const shown = execFileSync('ps', ['-eo', 'stat=,args='], { encoding: 'utf8', maxBuffer: 1e7 });
      return shown
        .split('\n')
        .filter((line) => line.includes(`compiles for ${folder}`) && !line.startsWith('Z'));
    },
  };
}

/** Without the folders that have a Temporal CLI. */
export function withoutCli(searchPath: string): string {
  const has = (folder: string): boolean => existsSync(path.join(folder, 'temporal'));
  return searchPath
    .split(path.delimiter)
    .filter((folder) => !has(folder))
    .join(path.delimiter);
}
