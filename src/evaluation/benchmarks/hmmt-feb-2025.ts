import { hmmtContest } from './questions/hmmt-contest';

export const hmmtFeb2025 = hmmtContest({
  name: 'hmmt_feb_2025',
  title: 'February 2025',
  revision: '6fdc4277120810ff75aa22d2d5489b91f7a262a1',
});
