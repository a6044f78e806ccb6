import { covers, type Identity, type Scope, type Tokens } from "../../gateway/index.js";
import { Problem } from "./problem.js";

/** The identity behind an `Authorization` header, or a 401. */
export async function identify(tokens: Tokens, header: string | undefined): Promise<Identity> {
  const secret = /^Bearer +([!-~]+) *$/i.exec(header ?? "")?.[1];
  if (!secret) {
    throw unauthorised(
      "Send the token as `Authorization: Bearer …`; it is in the file `token` of the data folder.",
    );
  }
  const identity = await tokens.identify(secret);
  if (!identity) throw unauthorised("This token is not known here; it may have been removed.");
  return identity;
}

/** A 403 unless the identity's scopes cover what is asked. */
export function requireScope(identity: Identity, scope: Scope, source: string | null = null): void {
  if (covers(identity.scopes, scope, source)) return;
  const needed = scope === "ingest" ? `ingest:${source ?? "<source>"}` : scope;
  throw new Problem(
    403,
    `This needs the scope "${needed}"; the token has: ${identity.scopes.join(", ") || "none"}.`,
  );
}

export function unauthorised(detail: string): Problem {
  return new Problem(401, detail, [], { "www-authenticate": "Bearer" });
}
