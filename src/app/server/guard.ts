import type { FastifyRequest } from "fastify";
import { invalid, Problem, unknown } from "./problem.js";

/** What is refused by its first lines alone, before a byte of the body is read. */
export function guard(request: FastifyRequest, hosts: readonly string[] | null): void {
  checkHost(request, hosts);
  checkOrigin(request);
  checkCharacters(request.raw.url ?? "");
  if (request.is404) throw unknown("path; GET /openapi.json lists what there is");
}

/** With two names, we might check the one and somebody in front of us the other. */
function checkHost({ raw, headers }: FastifyRequest, hosts: readonly string[] | null): void {
  const named = raw.rawHeaders.filter(
    (word, index) => index % 2 === 0 && word.toLowerCase() === "host",
  ).length;
  if (named > 1 || (named === 0 && raw.httpVersion !== "1.0"))
    throw new Problem(400, `Send one Host header; there are ${named}.`);
  const host = (headers.host ?? "").replace(/:\d+$/, "").toLowerCase();
  if (hosts && !hosts.includes(host))
    throw new Problem(403, `This server does not answer to the name "${host}".`);
}

/** A page elsewhere must not talk to us through somebody's browser, under whatever name it resolved us. */
function checkOrigin({ headers }: FastifyRequest): void {
  const { origin, host } = headers;
  if (origin === undefined || origin === "") return;
  const from = URL.canParse(origin) ? new URL(origin).host : null;
  if (from !== host) throw new Problem(403, `Requests from ${origin} are not taken.`);
}

/** A store may end a name at U+0000, and so find what was not asked for. */
function checkCharacters(url: string): void {
  const [path = "", ...query] = url.split("?");
  if (path.includes("%00")) throw unknown("path; no name here holds U+0000");
  if (query.join("?").includes("%00"))
    throw invalid([{ path: "query", reason: "holds U+0000, which nothing here does" }]);
}
