/** Of Node's HTTP server and sockets, what is used here. */
interface Server {
  on(event: 'connection', listener: (socket: Socket) => void): unknown;
  on(event: 'request', listener: (request: Request, response: Emitter) => void): unknown;
}

interface Emitter {
  once(event: string, listener: () => void): unknown;
}

interface Socket extends Emitter {
  readonly destroyed: boolean;
  readonly writable: boolean;
  destroy(): unknown;
  end(text: string): unknown;
}

interface Request extends Emitter {
  readonly socket: Socket;
  readonly headers: Readonly<Partial<Record<string, string | string[]>>>;
}

/** How long whoever was told why it is not served may take to hang up. */
const LEAVE_MS = 1000;

/**
 * Keeps a place for who comes next: where `most` connections are open, the one that has been still for longest is closed. Still is
 * whoever has sent no whole request since its last answer, so that those who ask, and wait for their answer, are never closed for others.
 */
export function keepRoom(server: Server, most: number): void {
  /** The longest ones first. */
  const still = new Set<Socket>();
  let open = 0;
  server.on('connection', (socket) => {
    open += 1;
    still.add(socket);
    socket.once('close', () => {
      open -= 1;
      still.delete(socket);
    });
    if (open > most) for (const longest of still) return void longest.destroy();
  });
  server.on('request', (request, response) => {
    const { socket } = request;
    let isAnswered = false;
    const isWhole = () => {
      if (!isAnswered) still.delete(socket);
    };
    if (hasBody(request)) request.once('end', isWhole);
    else isWhole();
    response.once('close', () => {
      isAnswered = true;
      if (socket.destroyed) return;
      still.delete(socket);
      still.add(socket);
    });
  });
}

function hasBody({ headers }: Request): boolean {
  const length = headers['content-length'] ?? '0';
  return headers['transfer-encoding'] !== undefined || Number(length) !== 0;
}

/** Tells why it is not served, and closes the connection whether the other side does so or not. */
export function leaveWith(socket: Socket, answer: string): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(answer);
  setTimeout(() => socket.destroy(), LEAVE_MS).unref();
}
