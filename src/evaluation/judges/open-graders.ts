import type { Grader } from '../graders/grader';
import type { GradingSite } from '../python/python-grader';
import { openGrader } from '../python/python-grader';
import type { JudgingSite, OpenedGrader } from './open-judging';
import { openJudging } from './open-judging';

export interface GraderSites {
  readonly python: GradingSite;
  readonly judging: JudgingSite;
}

/** A grader ready to judge, wherever its judging is done: here, by Python workers or by models. */
export async function openGraders(grader: Grader, { python, judging }: GraderSites): Promise<OpenedGrader> {
  const inPython = openGrader(grader, python);
  const judged = await openJudging(inPython.grader, judging);
  return {
    grader: judged.grader,
    async close() {
      inPython.close();
      await judged.close();
    },
  };
}
