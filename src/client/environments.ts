/** What environments of one's own are made of. */
export { EnvironmentConfig } from '../config/environment-config';
export type { Message, ToolCall } from '../core/conversation';
export type {
  EarlyEnd,
  EnvironmentBounds,
  EnvironmentDataset,
  EnvironmentGroup,
  PlayedRollout,
  RolloutGrade,
  TokenPrompt,
  TrainingEnvironment,
  TrainingObservation,
  TrainingStep,
  TurnStart,
} from '../training/environments/environment-dataset';
export type { PluginEnvironment } from '../training/environments/plugin-environments';
export type { RewardShaping } from '../training/environments/reward-shaping';
export { createProblemEnvironment } from '../training/environments/problem-environment';
export type { JudgedAnswer, Problem } from '../training/environments/problem-environment';
export { PassageIndex } from '../training/environments/search/passage-index';
export type { FoundPassage, Passage } from '../training/environments/search/passage-index';
export { searchTool } from '../training/environments/search/search-environments';
export { defineTool } from '../training/environments/tools/tool';
export type { Tool, ToolContext, ToolDefinition, ToolResult } from '../training/environments/tools/tool';
export { createToolEnvironment } from '../training/environments/tools/tool-environment';
export type { ToolGrade, ToolProblem } from '../training/environments/tools/tool-environment';
