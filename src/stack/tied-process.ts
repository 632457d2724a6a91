import { findOnPath } from './find-on-path';

/**
 * A command line whose program the kernel ends when this process dies, however it dies: where util-linux is there.
 * Elsewhere whoever comes next has to look after what was left.
 */
export function tiedToUs(
  program: string,
  args: readonly string[],
  how: { readonly signal: 'TERM' | 'KILL'; readonly searchPath: string },
): { readonly program: string; readonly args: string[] } {
  const setpriv = process.platform === 'linux' ? findOnPath('setpriv', how.searchPath) : null;
  if (setpriv === null) return { program, args: [...args] };
  return { program: setpriv, args: ['--pdeathsig', how.signal, '--', program, ...args] };
}
