/** What is no HTTP, or half of it, has no request that could be answered: there is only a connection. */

const STATUS: Readonly<Partial<Record<string, string>>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

export interface UnreadableRequest {
  readonly status: number;
  readonly message: string;
}

/** Why it cannot be read, by the code of the HTTP parser's error. */
export function unreadableRequest(code: string): UnreadableRequest {
  const status = STATUS[code] ?? '400 Bad Request';
  return {
    status: Number.parseInt(status, 10),
    message: `The request could not be read (${code}): ${status.slice(4)}.`,
  };
}

/** A whole answer as it goes over the wire, after which nothing more comes. */
export function lastAnswer(code: string, body: object): string {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${STATUS[code] ?? '400 Bad Request'}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`;
}
