import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { parsePart } from './parse-part';
import { RequestError } from './request-error';

type Shape = z.ZodRawShape;
type Fields = z.ZodObject<Shape>;

/** What a route answers with a status. */
export interface Answer {
  readonly description: string;
  /** Absent where there is no body. */
  readonly schema?: z.ZodType;
  /** Default `application/json`. */
  readonly contentType?: string;
}

/**
 * A route and all that may be known of it: the schemas parse what comes in and describe it in the OpenAPI document, so that
 * the two cannot differ.
 */
export interface RouteSpec<
  Path extends Fields = Fields,
  Query extends Fields = Fields,
  Body extends z.ZodType = z.ZodType,
> {
  readonly method: 'GET' | 'POST';
  /** With `{name}` for each part that varies. */
  readonly path: string;
  /** The last part that varies takes the rest of the address, slashes and all. */
  readonly takesRest?: boolean;
  readonly id: string;
  readonly summary: string;
  readonly tag: string;
  readonly parameters?: Path;
  readonly query?: Query;
  readonly body?: Body;
  /** With what a body that does not fit is refused; default 400. */
  readonly badBodyStatus?: 422;
  readonly answers: Readonly<Record<number, Answer>>;
}

interface Asked<Path extends Fields, Query extends Fields, Body extends z.ZodType> {
  readonly parameters: z.infer<Path>;
  readonly query: z.infer<Query>;
  readonly body: z.infer<Body>;
  /** Fires when whoever asked has gone. */
  readonly signal: AbortSignal;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Streams are written to `reply`, which is then returned; everything else is the answer's body. */
export type Handler<Path extends Fields, Query extends Fields, Body extends z.ZodType> = (
  asked: Asked<Path, Query, Body>,
) => Promise<unknown>;

const NOTHING = z.object({});

/** Routes of one server, and a list of them for their description. */
export class Routes {
  readonly specs: RouteSpec[] = [];

  constructor(private readonly app: FastifyInstance) {
    // Before the body is read: what is sent to an address that takes none says nothing.
    app.addHook('onRequest', async ({ is404, method, url }, reply) => {
      if (!is404) return;
      const [path = ''] = url.split('?', 1);
      const methods = this.specs.filter((spec) => isAt(spec, path)).map((spec) => spec.method);
      if (methods.length === 0) {
        throw new RequestError(404, {
          message: 'There is nothing at this address; /openapi.json lists what there is.',
        });
      }
      const allowed = [...new Set(methods)].join(', ');
      void reply.header('allow', allowed);
      throw new RequestError(405, { message: `${method} is not taken at this address, only ${allowed}.` });
    });
  }

  add<
    Path extends Fields = z.ZodObject,
    Query extends Fields = z.ZodObject,
    Body extends z.ZodType = z.ZodUndefined,
  >(spec: RouteSpec<Path, Query, Body>, handle: Handler<Path, Query, Body>): void {
    this.specs.push(spec);
    this.app.route({
      method: spec.method,
      url: urlOf(spec),
      handler: async (request, reply) =>
        handle({ ...readAsked(spec, request), signal: goneSignal(reply), request, reply }),
    });
  }
}

function urlOf({ path, takesRest }: RouteSpec): string {
  const url = path.replace(/\{(\w+)\}/g, ':$1');
  return takesRest ? url.replace(/:\w+$/, '*') : url;
}

function isAt({ path, takesRest }: RouteSpec, asked: string): boolean {
  const whole = takesRest ? path.replace(/\{\w+\}$/, '.+') : path;
  return new RegExp(`^${whole.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(asked);
}

function readAsked<Path extends Fields, Query extends Fields, Body extends z.ZodType>(
  { parameters, query, body, takesRest, path, badBodyStatus }: RouteSpec<Path, Query, Body>,
  request: FastifyRequest,
) {
  // Absent schemas stand for types that hold nothing.
  // oxlint-disable-next-line typescript/consistent-type-assertions
  return {
    parameters: parsePart(parameters ?? NOTHING, pathParts(request, takesRest ? path : null), {
      part: 'path',
    }),
    query: parsePart(query ?? NOTHING.strict(), request.query, { part: 'query' }),
    body: parsePart(body ?? z.unknown(), request.body, { part: 'body', status: badBodyStatus ?? 400 }),
  } as Pick<Asked<Path, Query, Body>, 'parameters' | 'query' | 'body'>;
}

function pathParts({ params }: FastifyRequest, restPath: string | null): unknown {
  if (restPath === null || typeof params !== 'object' || params === null) return params;
  const rest = '*' in params ? params['*'] : undefined;
  const name = /\{(\w+)\}$/.exec(restPath)?.[1] ?? '';
  return { ...params, [name]: rest };
}

function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort(new Error('whoever asked has gone'));
  });
  return gone.signal;
}
