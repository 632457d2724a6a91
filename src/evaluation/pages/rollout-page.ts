import { escapeControls } from '../../core/escape-controls';
import type { ShownGroup, ShownRollout } from './shown-group';
import { failuresOf, meanReward } from './shown-group';

export interface RolloutPage {
  readonly title: string;
  readonly groups: readonly ShownGroup[];
  /** Groups that are not shown. */
  readonly hiddenCount: number;
  /** Shows all; it takes `--html FILE`. */
  readonly command: string;
}

const STYLE =
  'body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}' +
  'table{border-collapse:collapse}td,th{padding:.2rem .8rem .2rem 0;text-align:left;vertical-align:top}' +
  'pre{white-space:pre-wrap;background:#f4f4f2;padding:.6rem;margin:.3rem 0}summary{cursor:pointer}' +
  '.role{color:#666;font-size:.85em}@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}pre{background:#222}}';

/** Of one message or log; a browser that is given megabytes of one shows nothing for long. */
const MOST_CHARACTERS = 50_000;

/** Rollouts to look at in a browser. Whatever a model wrote is text there and nothing else. Of long texts it has the beginning. */
export function rolloutPage({ title, groups, hiddenCount, command }: RolloutPage): string {
  const more =
    hiddenCount > 0 ? `<p>${hiddenCount} more groups: <code>${escaped(command)} --html FILE</code></p>` : '';
  return (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">' +
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'">' +
    `<title>${escaped(title)}</title><style>${STYLE}</style></head><body><h1>${escaped(title)}</h1>` +
    `${groups.map(groupSection).join('\n')}${more}</body></html>\n`
  );
}

function groupSection(group: ShownGroup): string {
  const { id, tags, rollouts } = group;
  const rows = rollouts.map(
    ({ reward, stopReason, turns, tokens }, member) =>
      `<tr>${[member, number(reward), stopReason ?? '', turns, tokens].map((cell) => `<td>${escaped(cell)}</td>`).join('')}</tr>`,
  );
  const failed = failuresOf(group)
    .map((failure) => `<p>Failed: ${escaped(failure)}</p>`)
    .join('');
  return (
    `<h2>Group ${escaped(group.group)}: ${escaped(id)}</h2><p>${escaped(tags.join(', '))} · mean reward ${number(meanReward(group))}</p>${failed}` +
    `<table><tr><th>rollout</th><th>reward</th><th>end</th><th>turns</th><th>tokens</th></tr>${rows.join('')}</table>` +
    rollouts.map(conversation).join('')
  );
}

function conversation({ reward, messages, metrics, logs }: ShownRollout, member: number): string {
  const notes = [
    ...Object.entries(metrics).map(([name, value]) => `${name}: ${number(value)}`),
    ...Object.entries(logs).map(([name, value]) => `${name}: ${shown(String(value))}`),
  ];
  return (
    `<details><summary>Rollout ${member}: reward ${number(reward)}</summary>` +
    messages.map(({ role, text }) => block(role, shown(text))).join('') +
    `${notes.length > 0 ? block('judged', notes.join('\n')) : ''}</details>`
  );
}

function shown(text: string): string {
  const leftOut = text.length - MOST_CHARACTERS;
  if (leftOut <= 0) return text;
  return `${text.slice(0, MOST_CHARACTERS)}\n… ${leftOut} more characters, which stand in the journal`;
}

function block(heading: string, text: string): string {
  return `<div class="role">${escaped(heading)}</div><pre>${escaped(text)}</pre>`;
}

function number(value: number): string {
  return String(Math.round(value * 1e4) / 1e4);
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Line breaks and tabs stay, and what joins the parts of a sign or keeps letters apart. */
const ESCAPED = /[^\t\n\u200c\u200d]+/g;

function escaped(value: string | number): string {
  return String(value)
    .replaceAll(ESCAPED, escapeControls)
    .replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
