import { aimeContest } from './questions/aime-contest';

export const aime2025 = aimeContest({ year: 2025, revision: 'c94da77eb22bbd6439e62a323bec18493a421302' });
