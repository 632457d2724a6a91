/** How far before an announcement is looked for what makes none of it. */
const BEFORE_LENGTH = 100;

/** Between what is said of an announcement and the announcement: "that the correct", "at first that the most likely". */
const LEAD = String.raw`(?:,?\s(?:at\sfirst|initially))?,?(?:\s{1,3}(?:that|like|as\sif|as\sthough))?(?:\s{1,3}(?:the|my|our|your))?(?:\s{1,3}(?:correct|right|best|final|obvious|most\s\w{4,12}))?\s{0,3}$`;
const THINK = String.raw`(?:think|believe|say|claim|guess|assume|argue|suppose|suspect|insist|imagine)`;
const THOUGHT = String.raw`(?:thought|believed|said|claimed|guessed|assumed|argued|supposed|suspected)`;
const ADVERB = String.raw`(?:\s(?:often|usually|sometimes|commonly|frequently|at\sfirst|initially|first|also|easily|well|mistakenly|wrongly|incorrectly|naively|be\stempted\sto|be\sinclined\sto|have)){0,2}`;
const OTHERS = String.raw`\b(?:some|many|most|several|few|others?|people|students?|one|they|he|she|you|someone|somebody|anyone|readers?)(?:\s(?:people|students|might|may|would|could|of\s\w{2,10}|have)){0,3}`;

/** Before an answer that is somebody's. */
const OWN = String.raw`(?:\s(?:own|first|initial|given|original|final))?\s{0,3}$`;

/** "I don't think that the answer is A" */
const UNMEANT = [
  String.raw`\b(?:(?:do|does|did|would|could|can)(?:n['’]?t|\snot)|cannot|can['’]t|not|never)\s{1,3}(?:think|believe|say|claim|conclude|guess|assume|mean)${LEAD}`,
  String.raw`\b(?:doubt|unlikely|not\strue|not\sthe\scase|if|whether|suppose|assuming)${LEAD}`,
];
/** What somebody else says, or might think before looking closer. What is said in the first person is meant: "I would say that the answer is C". */
const FRAMED = [
  String.raw`\b(?:might|may)${ADVERB}\s(?:${THINK}|conclude|infer|expect|answer)${LEAD}`,
  String.raw`(?<!\b(?:I|we)\s)\b(?:would|could|can)${ADVERB}\s${THINK}${LEAD}`,
  String.raw`${OTHERS}${ADVERB}\s(?:${THINK}s?|${THOUGHT})${LEAD}`,
  String.raw`\b(?:I|we)(?:\shad)?\s(?:at\sfirst|initially|first|originally|mistakenly|wrongly)\s${THOUGHT}${LEAD}`,
  String.raw`\b(?:may|might|would|could|can)${ADVERB}\s(?:seem|appear|look)${LEAD}`,
  String.raw`\bat\sfirst\s(?:glance|sight|look|blush|thought)(?:,?\sit\s(?:seems|appears|looks))?${LEAD}`,
  String.raw`\b(?:misconceptions?|mistakes?|errors?|myths?|fallac(?:y|ies)|traps?|pitfalls?)(?:(?:\s(?:here|is|was|would\sbe|to\s${THINK}|of\s\w{4,10}ing)){1,3}|(?=\sthat\s))${LEAD}`,
  String.raw`\btempt(?:ing|ed)\sto\s${THINK}${LEAD}`,
  String.raw`\bif\s(?:I|you|we|one|they)${ADVERB}\s${THOUGHT}${LEAD}`,
  String.raw`\b(?:least\s(?:likely|probable|plausible|suitable|appropriate|accurate|reasonable|correct)|(?:his|her|their))${OWN}`,
  String.raw`\b(?:student|friend|classmate|colleague|peer|user|author|person|someone|somebody|teacher|child|boy|girl|man|woman|one)['’]s${OWN}`,
  String.raw`\bstudents['’]${OWN}`,
  '(?:有人|有些人|一些人|很多人|不少人|学生|同学|他|她|他们|你|误|容易)(?:可能|也许|会|常|往往){0,2}(?:误?认为|以为|觉得|会说)(?:正确的?)?$',
  '(?:乍一?看|看似|表面上看?)[，,]?(?:正确的?)?$',
];

const IS_UNMEANT = patternOf(UNMEANT);
const IS_FRAMED = patternOf(FRAMED);

/** "Maria's answer is C" */
const IS_OF_NAME = new RegExp(
  String.raw`(?<![\w])(?!(?:Let|It|That|What|Here|There|Today|Question|Problem|Exercise|Task)['’])[A-Z][a-z]{1,15}['’]s${OWN}`,
);

function patternOf(sources: readonly string[]): RegExp {
  return new RegExp(sources.join('|'), 'i');
}

/** Why the announcement at a place is none: it is denied or supposed, or it is what others might say; null where it is one. */
export function framingOf(text: string, index: number): 'unmeant' | 'framed' | null {
  const before = text.slice(Math.max(0, index - BEFORE_LENGTH), index);
  if (IS_FRAMED.test(before) || IS_OF_NAME.test(before)) return 'framed';
  return IS_UNMEANT.test(before) ? 'unmeant' : null;
}

/** Behind a letter: it is not it after all. */
const TAKEN_BACK =
  /^[)\]}*_$"'”’]{0,6}(?:,?\s(?:which|but\s(?:that|this|it)|and\s(?:that|this|it))|[.!;,]?\s{1,3}(?:but\s|however,?\s)?(?:that|this|it)(?:\sanswer)?)\s?(?:is|was|would\sbe|['’]s)(?:n['’]t\s(?:right|correct|true)|\s(?:clearly\s|actually\s|simply\s)?(?:wrong|incorrect|false|mistaken|a\smistake|not\s(?:right|correct|true|the\scase)))\b(?!\s(?:to|that|in|of|for)\b)/i;

/** Between a letter and the next announcement, which then goes before it. */
const CONTRAST =
  /^[^.!?\n]{0,80}[.!?]?[^.!?\n]{0,20}\b(?:but|however|yet|actually|in\s(?:fact|reality|truth)|instead|wait)\b,?(?:\s(?:actually|in\sfact|in\sreality|really|wait|no|then|now|so)\b,?){0,2}(?:\s(?:the|my))?(?:\s(?:correct|right|best|final|actual|real|true))?\s{0,3}$/i;

/** Whether the words behind an announced letter, up to the next announcement where there is one, set it aside. */
export function isSetAside(behind: string, untilNext: string | null): boolean {
  return TAKEN_BACK.test(behind.slice(0, 100)) || (untilNext !== null && CONTRAST.test(untilNext));
}

/** "The answer is C, but it is actually D" */
const CORRECTED =
  /^[)\]}*_$"'”’]{0,6}[.,;]?\s{1,3}(?:(?:[Bb]ut|[Hh]owever|[Yy]et|[Nn]o|[Ww]ait|or),?\s)?(?:(?:[Ii]t|[Tt]his|[Tt]hat)\s?(?:is|['’]s|should\sbe)\s)?(?:[Aa]ctually|[Ii]n\sfact|[Ii]n\sreality|[Rr]eally|[Rr]ather),?\s(?:(?:it|this)\s?(?:is|['’]s|should\sbe)\s)?[*_("']{0,4}([A-Z])[)*_"']{0,4}(?=\s{0,2}$|[.,;!\n]|\sis\s(?:the\s)?(?:correct|right))/;

/** The letter that a sentence puts in the place of the one it has announced. */
export function correctionIn(behind: string): string | null {
  return CORRECTED.exec(behind.slice(0, 100))?.[1] ?? null;
}
