import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { FastifyError, FastifyReply } from "fastify";
import { StoreUnavailable } from "../../gateway/index.js";
import { invalid, Problem } from "./problem.js";

const PROBLEM_TYPE = "application/problem+json; charset=utf-8";

/** Whatever went wrong, as an answer. */
export function fail(error: unknown, reply: FastifyReply, report: (error: unknown) => void): FastifyReply {
  const problem = problemOf(error as FastifyError, reply.request.routeOptions.bodyLimit, report);
  return answerProblem(problem, reply);
}

/** A URL the router could not read: no route has it, so no hook and no error handler sees it. */
export function failUrl(error: FastifyError, reply: FastifyReply): FastifyReply {
  if (error.statusCode === 414)
    return answerProblem(new Problem(414, "A part of the path is too long."), reply);
  return answerProblem(new Problem(400, "The path is not a valid URL: check what follows each %."), reply);
}

/** What is no request at all has no reply either, only a socket to write to. */
export function failSocket(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = socketProblem(error.code);
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    `content-type: ${PROBLEM_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

function socketProblem(code: string | undefined): Problem {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new Problem(408, "The request took too long to arrive.");
  if (code === "HPE_HEADER_OVERFLOW") return new Problem(431, "The headers are larger than 16 KiB.");
  return new Problem(400, "This is not HTTP as we know it.");
}

function answerProblem(problem: Problem, reply: FastifyReply): FastifyReply {
  return reply.code(problem.status).headers(problem.headers).type(PROBLEM_TYPE).send(JSON.stringify(problem));
}

function problemOf(
  error: FastifyError | Problem | StoreUnavailable,
  bodyLimit: number | undefined,
  report: (error: unknown) => void,
): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof StoreUnavailable) return new Problem(503, error.message, [], { "retry-after": "1" });
  const status = "statusCode" in error ? error.statusCode : undefined;
  if (status === 413) return new Problem(413, `The body is larger than ${bodyLimit} bytes.`);
  if (status === 415) return new Problem(415, "Send the body as application/json.");
  if (status !== undefined && status >= 400 && status < 500)
    return invalid([{ path: "", reason: error.message }]);
  report(error);
  return new Problem(500, "It was written to the log.");
}
