/**
 * Scripts that complete commands and options. They hold the whole tree, so that a shell starts nothing at a tab.
 *
 * Words before the cursor lead from place to place in the tree; others (names, options and their values) change nothing.
 */
import type { CompletionPlace, CompletionWord } from './completion-places';

/** The program, and its file in a checkout, which an alias stands for. */
const PROGRAMS = ['everstep', 'everstep.js'];

export function bashScript(places: readonly CompletionPlace[]): string {
  const cases = places.map(
    ({ path, commands, options }) =>
      `    ${quoted(path)}) commands=${quoted(namesOf(commands))} options=${quoted(namesOf(options))} ;;`,
  );
  return `# Completes commands of everstep, in bash.
_everstep() {
  local current="\${COMP_WORDS[COMP_CWORD]}" place='' word commands='' options=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${followPlaces(places)}
  done
  case "$place" in
${cases.join('\n')}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$options" -- "$current")) ;;
    *) COMPREPLY=($(compgen -W "$commands" -- "$current")) ;;
  esac
}
complete -o bashdefault -o default -F _everstep ${PROGRAMS.join(' ')}
`;
}

export function zshScript(places: readonly CompletionPlace[]): string {
  const cases = places.map(
    ({ path, commands, options }) =>
      `    ${quoted(path)}) commands=(${described(commands)}); options=(${described(options)}) ;;`,
  );
  return `#compdef ${PROGRAMS.join(' ')}
# Completes commands of everstep, in zsh.
_everstep() {
  local place='' word
  local -a commands options
  for word in "\${(@)words[2,CURRENT-1]}"; do
${followPlaces(places)}
  done
  case "$place" in
${cases.join('\n')}
  esac
  if [[ "$PREFIX" == -* ]]; then
    _describe -o option options
  elif (( \${#commands} )); then
    _describe command commands
  else
    _files
  fi
}
if [[ "\${funcstack[1]}" == _everstep ]]; then
  _everstep "$@"
else
  compdef _everstep ${PROGRAMS.join(' ')}
fi
`;
}

export function fishScript(places: readonly CompletionPlace[]): string {
  const steps = innerPaths(places).map(fishQuoted).join(' ');
  const lines = PROGRAMS.flatMap((program) => places.flatMap((place) => fishLines(program, place)));
  return `# Completes commands of everstep, in fish.
function __everstep_at
  set -l place ''
  for word in (commandline -opc)[2..-1]
    if contains -- "$place/$word" ${steps}
      set place "$place/$word"
    end
  end
  test "$place" = "$argv[1]"
end
${lines.join('\n')}
`;
}

function fishLines(program: string, { path, commands, options }: CompletionPlace): string[] {
  const start = `complete -c ${program} -n ${fishQuoted(`__everstep_at "${path}"`)}`;
  return [
    ...commands.map(({ name, summary }) => `${start} -f -a ${name} -d ${fishQuoted(summary)}`),
    ...options.map(({ name, summary, takesValue }) => {
      const flag = name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`;
      return `${start} ${flag}${takesValue ? ' -r' : ''} -d ${fishQuoted(summary)}`;
    }),
  ];
}

/** Of bash and zsh alike. */
function followPlaces(places: readonly CompletionPlace[]): string {
  return `    case "$place/$word" in
      ${innerPaths(places).join('|')}) place="$place/$word" ;;
    esac`;
}

function innerPaths(places: readonly CompletionPlace[]): string[] {
  return places.map(({ path }) => path).filter((path) => path !== '');
}

function namesOf(words: readonly CompletionWord[]): string {
  return words.map(({ name }) => name).join(' ');
}

function described(words: readonly CompletionWord[]): string {
  return words.map(({ name, summary }) => quoted(`${name}:${summary}`)).join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
}
