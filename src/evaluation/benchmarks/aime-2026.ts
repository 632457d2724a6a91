import { aimeContest } from './questions/aime-contest';

export const aime2026 = aimeContest({ year: 2026, revision: 'd2de22f3c656b4f56cf8981212186377d1e23bc3' });
