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

/** Formulas that agree around 0. */
export const branches: Lookalikes = [
  ['10-x', '|x-10|'],
  ['4-x', '|x-4|'],
  ['x+3', '|x+3|'],
  ['x+100', '|x+100|'],
  ['x+1000000', '|x+1000000|'],
  ['10-x', String.raw`\sqrt{(x-10)^2}`],
  ['10-x', String.raw`\sqrt{x^2-20x+100}`],
  ['50-x^2', '|x^2-50|'],
  ['1', String.raw`\frac{|x+50|}{x+50}`],
  ['20+y-x', '|x-y-20|'],
  ['y=10-x', 'y=|x-10|'],
  ['f(x)=10-x', 'f(x)=|x-10|'],
  ['|2x-2001|', '|x-1000|+|x-1001|'],
  [String.raw`\max(x,5)`, '5'],
  [String.raw`\max(5,7,x)`, '7'],
  [String.raw`\max(5,n)+5`, '10'],
  [String.raw`\max(100,x)`, '100'],
  [String.raw`\min(-100,x)`, '-100'],
  [String.raw`\max(x,y)`, 'x+y'],
  [String.raw`\arctan(\tan x)`, 'x'],
];

/** Apart only where nobody would look by chance. */
export const hiddenBranches: Lookalikes = [
  [String.raw`\ln|\cos x|+\max(0,|x|-9999)`, String.raw`\ln|\cos x|`],
  [String.raw`\ln|\cos x+\max(0,|x|-9999)|`, String.raw`\ln|\cos x|`],
  [String.raw`\sqrt{(\cos x)^2+\max(0,|x|-9999)}`, String.raw`|\cos x|`],
  [String.raw`x^2+\max(0,|x|-9999)`, 'x^2'],
  [String.raw`x+\max(0,|x|-9999)`, 'x'],
  [String.raw`x+\max(0,1-|x-50|)`, 'x'],
  [String.raw`1+\max(0,|x|-9999)`, '1'],
  [String.raw`x+\max(0,|x|-9999)\ge 0`, String.raw`x\ge 0`],
  [String.raw`x+\max(0,10^{-40}-|x-50|)`, 'x'],
  [String.raw`x+\max(0,10^{-55}-|x-\pi|)`, 'x'],
  [String.raw`x+\max(0,\sqrt{|x|}-5000)`, 'x'],
  [String.raw`\sqrt{(|x|-5000)^2}`, '5000-|x|'],
  [String.raw`x+y+\max(0,1-(x-50)^2-(y-70)^2)`, 'x+y'],
  [String.raw`x+y+\max(0,|x|+|y|-9999)`, 'x+y'],
  [String.raw`x^2+\max(0,(x-50)(51-x))`, 'x^2'],
];

export const unresolvedBranches: Lookalikes = [
  [String.raw`x+\max(0,\sin(x)-\frac{9999}{10000})`, 'x'],
  [String.raw`x+\max(0,\ln|x|-5000)`, 'x'],
  [String.raw`x+\max(0,e^x-e^{5000})`, 'x'],
  [String.raw`\lfloor\frac{1}{1+x^2}\rfloor`, '0'],
  [String.raw`x+\lfloor\frac{|x|}{10^9}\rfloor`, 'x'],
  [String.raw`x+\sum_{k=1}^{2}\max(0,|x|-9999k)`, 'x'],
  ['x+0^{x^2}', 'x'],
  [String.raw`\ln|\cos x|+\max(0,\sin(x)-\frac{9999}{10000})`, String.raw`\ln|\cos x|`],
  [String.raw`2|\sin x|`, String.raw`2\sin x+\max(0,\sin(x)-\frac{9999}{10000})`],
];

/** Alike in more digits than are compared. */
export const belowTheLastDigit: Lookalikes = [
  [String.raw`3+\cos(10^{-800})`, '4'],
  [String.raw`|\cos(10^{-900})|`, '1'],
  [String.raw`x\cos(10^{-800}x)`, 'x'],
  [String.raw`\cos(2\pi\cos(10^{-400}))`, '1'],
  [String.raw`1+\tanh(2000)`, '2'],
  ['1+10^{-1600}', '1'],
  ['x+10^{-300}', 'x'],
];

/** Alike at all numbers of few digits. */
export const sinesOfLargeFactors: Lookalikes = [
  [String.raw`x+\sin(2^{60}\pi x)`, 'x'],
  [String.raw`x+\max(0,x-5000)\sin(10^9\pi x)`, 'x'],
];

export const divisors: Lookalikes = [
  [String.raw`\gcd(5,x)`, '1'],
  [String.raw`\gcd(12,n)`, '1'],
  [String.raw`\gcd(n,n+2)`, '1'],
  [String.raw`\gcd(a,b)`, '1'],
  [String.raw`\operatorname{lcm}(a,b)`, 'ab'],
  [String.raw`\gcd(12,n)`, String.raw`\gcd(18,n)`],
];

export const noLabels: Lookalikes = [
  'Not:',
  'Not the answer:',
  'Wrong:',
  'False:',
  'Incorrect answer:',
  'The answer is not:',
  'Anything except:',
  'Less than:',
  'At least:',
  'Square root of:',
  'Square root:',
  'Multiple of:',
  'Half of the answer:',
  'Twice the answer:',
  'Twice the answer is',
].map((words) => [String.raw`\text{${words} }5`, '5'] as const);

export const noNames: Lookalikes = [
  [String.raw`\text{not }=5`, '5'],
  [String.raw`\text{twice the answer}=5`, '5'],
  [String.raw`\text{Wrong: 5}`, '5'],
  ['Wrong: 5', '5'],
  ['It can be shown that the answer is surely not 5', '5'],
];

export const noUnits: Lookalikes = [
  ...['x', 'n', 'k', 'M', 'i'].flatMap((letter): Lookalikes => [
    [String.raw`5\text{${letter}}`, '5'],
    [String.raw`5\mathrm{${letter}}`, '5'],
  ]),
  ...[
    'root',
    'doubled',
    'tens',
    'wrong',
    'incorrect',
    'Just kidding',
    'etc',
    'square',
    'not',
    'or so approximately',
  ].map((words) => [String.raw`5\text{ ${words}}`, '5'] as const),
];

export const contradictions: Lookalikes = [
  ['x=6=5', '5'],
  ['x=1=2', '2'],
  ['f(1)=2=3', '3'],
  ['x=1=2=1', '1'],
  ['2,x=1=2', '2'],
  ['x=4=5,y=6', 'x=5,y=6'],
];

export const conditions: Lookalikes = [
  [String.raw`2n\text{ for }n=1`, '2n'],
  [String.raw`2n\text{ for n = 1}`, '2n'],
  [String.raw`2n\text{ when n is 1}`, '2n'],
  [String.raw`\cos\theta\text{ where }\theta=\pi`, String.raw`\cos\theta`],
  [String.raw`5, \text{ where } 5 = 6`, '5'],
  [String.raw`5 \text{ where } 5 > 6`, '5'],
  [String.raw`\boxed{5\text{ (the answer in thousands)}}`, '5'],
  [String.raw`\boxed{5\text{ (the wrong answer)}}`, '5'],
  [String.raw`5\text{ (base 8)}`, '5'],
];

/** Neither cut nor rounded, or of numbers that have an end. */
export const noRoundings: Lookalikes = [
  ['1.41421357', String.raw`\sqrt{2}`],
  ['0.333334', String.raw`\frac13`],
  ['0.142858', String.raw`\frac17`],
  ['3.14159300', String.raw`\pi`],
  ['0.33333300', String.raw`\frac13`],
  ['1000.000001', String.raw`\sqrt{1000000}`],
  ['1000.0000000000001', String.raw`\sqrt{1000000}`],
  [String.raw`\frac{333333}{1000000}`, String.raw`\frac13`],
];

export const repetitions: Lookalikes = [
  ['2', '2,2'],
  ['2', 'x=2,x=2'],
  ['2', 'x=2,y=2'],
];
