/** An answer other than success, as the protocol words it: a status and `{"detail": "…"}`. */
export class ProtocolError extends Error {
  constructor(
    readonly status: number,
    detail: string,
  ) {
    super(detail);
    this.name = 'ProtocolError';
  }
}
