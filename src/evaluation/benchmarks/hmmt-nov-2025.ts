import { hmmtContest } from './questions/hmmt-contest';

export const hmmtNov2025 = hmmtContest({
  name: 'hmmt_nov_2025',
  title: 'November 2025',
  revision: '118dbfb45c4c9467c672268ed55166642897aa46',
});
