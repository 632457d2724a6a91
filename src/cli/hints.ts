import { asCalled, howCalled } from '../config/how-called';
import { shellWord } from '../core/shell-word';
import type { PlaceFlags } from './service-options';

/** Commands that look at the data folder or the store, where a text suggests one in backticks and names no other place. */
const SUGGESTED =
  /`((?:npx )?everstep (?:backfill|demo|dev|eval|runs|train|worker)\b(?![^`]*--data-dir)[^`]*)`/g;

/** A command to copy: it looks where the command that suggests it looked. */
export function commandHint(words: string, flags: PlaceFlags): string {
  return `${howCalled()} ${words}${placeWords(flags)}`;
}

/** Completes the commands that a text suggests: with how this one was called, and the places it was given. */
export function withPlaces(text: string, flags: PlaceFlags): string {
  const places = placeWords(flags);
  return asCalled(text.replaceAll(SUGGESTED, (_, command: string) => `\`${command}${places}\``));
}

function placeWords({ dataDir, store }: PlaceFlags): string {
  const words = [
    ...(dataDir === undefined ? [] : ['--data-dir', shellWord(dataDir)]),
    ...(store === undefined ? [] : ['--store', shellWord(store)]),
  ];
  return words.map((word) => ` ${word}`).join('');
}
