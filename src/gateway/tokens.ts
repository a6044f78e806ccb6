import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Store, Token } from "../store/store.js";
import type { Clock } from "./clock.js";

/** What a credential may do. `operate` includes reading and speaking; `admin` includes everything. */
export type Scope = "read" | "operate" | "admin" | "ingest";
export type Identity = { name: string; scopes: readonly string[] };

const LOGIN_CODE_LIFE_MS = 15 * 60_000;
const REMEMBERED = 1000;

/** Who may ask for what. Only hashes are kept of tokens that were handed out. */
export class Tokens {
  private readonly owner: Buffer;
  private readonly known = new Map<string, Identity>();
  private removals = 0;
  private readonly codes = new Map<string, number>();

  constructor(
    private readonly store: Store,
    ownerToken: string,
    private readonly clock: Clock,
  ) {
    this.owner = digest(ownerToken);
  }

  /** Who a secret belongs to; null when nobody. */
  async identify(secret: string): Promise<Identity | null> {
    const hash = digest(secret);
    if (timingSafeEqual(hash, this.owner)) return { name: "owner", scopes: ["admin"] };
    const key = hash.toString("hex");
    const cached = this.known.get(key);
    if (cached) return cached;
    const removalsBefore = this.removals;
    const token = await this.store.read.token(key);
    if (!token) return null;
    if (this.known.size >= REMEMBERED) this.known.clear();
    // A token taken back while we read must not be remembered.
    if (this.removals === removalsBefore) this.known.set(key, { name: token.name, scopes: token.scopes });
    return token;
  }

  /** Hand out a token. The only time its secret is told. */
  async create(name: string, scopes: string[]): Promise<Token & { token: string }> {
    const secret = `lh_${randomBytes(32).toString("base64url")}`;
    const token: Token = {
      id: this.clock.newId(),
      name,
      sha256: digest(secret).toString("hex"),
      scopes,
      created_at: new Date(this.clock.now()).toISOString(),
      person_id: null,
    };
    await this.store.commit({ facts: [{ type: "token", token }] });
    return { ...token, token: secret };
  }

  async list(): Promise<Omit<Token, "sha256">[]> {
    return (await this.store.read.tokens()).map(({ sha256: _, ...token }) => token);
  }

  async remove(id: string): Promise<boolean> {
    const token = (await this.store.read.tokens()).find((known) => known.id === id);
    if (!token) return false;
    await this.store.commit({ facts: [{ type: "token_removed", id }] });
    this.removals++;
    this.known.clear();
    return true;
  }

  /** A code that opens the page once, within a quarter of an hour. */
  loginCode(): string {
    const code = randomBytes(18).toString("base64url");
    this.codes.set(digest(code).toString("hex"), this.clock.now() + LOGIN_CODE_LIFE_MS);
    return code;
  }

  /** Change a code into a token for the page; a code works once. */
  async login(code: string): Promise<string | null> {
    const key = digest(code).toString("hex");
    const until = this.codes.get(key);
    this.codes.delete(key);
    if (until === undefined || until < this.clock.now()) return null;
    return (await this.create("web page", ["admin"])).token;
  }
}

/** Do these scopes allow what is asked? `source` names whose words an `ingest` token may bring. */
export function covers(scopes: readonly string[], scope: Scope, source: string | null = null): boolean {
  if (scopes.includes("admin")) return true;
  if (scope === "admin") return false;
  if (scopes.includes("operate")) return true;
  if (scope === "ingest") return source !== null && scopes.includes(`ingest:${source}`);
  return scopes.includes(scope);
}

function digest(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}
