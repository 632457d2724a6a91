/** What stands in a text is no literal or call. */
export class LiteralError extends Error {}
