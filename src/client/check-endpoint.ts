/** For commands, which reach engines through the client. */
export type { EndpointProblem } from '../training/check-endpoint';
export { checkEndpoint } from '../training/check-endpoint';
