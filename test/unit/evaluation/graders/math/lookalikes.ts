/** Pairs that look alike and are not equal, in neither direction. */
export type Lookalikes = readonly (readonly [string, string])[];

export const spaces: Lookalikes = [
  [String.raw`\boxed{3 1/2}`, '31/2'],
  [String.raw`\boxed{3\ 1/2}`, '31/2'],
  [String.raw`1\ 2`, '12'],
  [String.raw`1\,2`, '12'],
  [String.raw`1\quad 2`, '12'],
  ['1~2', '12'],
  ['1\n2', '12'],
  ['(1 2)', '(12)'],
  ['(1, 2 3)', '(1,23)'],
  [String.raw`\begin{pmatrix}1 2\end{pmatrix}`, String.raw`\begin{pmatrix}12\end{pmatrix}`],
  [String.raw`\sqrt{1 2}`, String.raw`\sqrt{12}`],
  ['2 3 x', '23x'],
  ['1 + 2 3', '1+23'],
  ['1 2_5', '12_5'],
  [String.raw`1 2\cdot10^3`, '12000'],
];

export const commas: Lookalikes = [
  ['(1,234)', '1234'],
  ['(1,234)', '(1234)'],
  ['(100,200)', '(100200)'],
  ['[100,200]', '[100200]'],
  ['[100,200]', '100200'],
  [String.raw`\{100,200\}`, String.raw`\{100200\}`],
  [String.raw`\{1,234\}`, String.raw`\{1234\}`],
  [String.raw`\{1,234\}`, '1234'],
  [String.raw`\gcd(100,200)`, '100200'],
];

export const comparatives: Lookalikes = [
  ...['at least 5', 'less than 5', 'more than 5', 'at most 5', 'between 3 and 5', 'no more than 5'].flatMap(
    (text): Lookalikes => [
      [text, '5'],
      [`The answer is ${text}.`, '5'],
    ],
  ),
  ['The answer is at least $5$.', '5'],
  ['at least 5', 'at most 5'],
  ['less than 5', 'more than 5'],
  ['more than 5', 'no more than 5'],
  ['between 3 and 5', 'at least 5'],
  ['between 3 and 5', 'between 4 and 5'],
];

export const roundings: Lookalikes = [
  ['0.833332', '5/6'],
  ['0.000001', '1/3000000'],
  ['0.000001', '1/1500000'],
  ['0.000001', String.raw`\frac{\sqrt{2}}{2000000}`],
  [String.raw`\lfloor x\rfloor+\lfloor -x\rfloor`, '-1'],
  [String.raw`\lceil x\rceil`, String.raw`\lfloor x\rfloor+1`],
  [String.raw`\lfloor x+1\rfloor`, String.raw`\lfloor x\rfloor`],
];

export const notations: Lookalikes = [
  ['<1,2>', '<2,1>'],
  ['a=5=b', 'a=b'],
  ['2020-01-02', '2017'],
  ['5 x 10^3', '5000x'],
  [String.raw`x \approx 5`, 'x=5'],
  ['5...', '5'],
  ['1,2,3,...', '1,2,3'],
];

export const quantities: Lookalikes = [
  ['5 cm', '$5'],
  ['5 cm', String.raw`\$5`],
  ['5 kg', '5%'],
  [String.raw`5^\circ`, String.raw`5\%`],
  ['500 cm', '500%'],
];
