import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Person } from "../message/index.js";
import type { Fact, Store, Token } from "../store/store.js";
import type { Clock } from "./clock.js";
import { personById } from "./people.js";

/** What a credential may do. `operate` includes reading and speaking; `admin` includes everything. */
export type Scope = "read" | "operate" | "admin" | "ingest";
/** Whoever asks. With a `person_id`, they speak as that person and as nobody else. */
export type Identity = { name: string; scopes: readonly string[]; person_id: string | null };

/** Whose page a one-time link opens: the operator's (null), or a person's own. */
type Opener = Pick<Person, "id" | "name"> | null;

/** Read the conversations, and speak on the page as themselves. */
const PERSONAL_SCOPES = ["read", "ingest:web"];

const LOGIN_CODE_LIFE_MS = 15 * 60_000;
const REMEMBERED = 1000;

/** Who may ask for what. Only hashes are kept of tokens that were handed out. */
export class Tokens {
  private readonly owner: Buffer;
  private readonly known = new Map<string, Identity>();
  private removals = 0;

  constructor(
    private readonly store: Store,
    ownerToken: string,
    private readonly clock: Clock,
  ) {
    this.owner = digest(ownerToken);
    // Another process may take a token back, or a person's link with the person.
    store.subscribe((news) => news.settings && this.forget());
  }

  /** Who a secret belongs to; null when nobody. */
  async identify(secret: string): Promise<Identity | null> {
    const hash = digest(secret);
    if (timingSafeEqual(hash, this.owner)) return { name: "owner", scopes: ["admin"], person_id: null };
    const key = hash.toString("hex");
    const cached = this.known.get(key);
    if (cached) return cached;
    const removalsBefore = this.removals;
    const token = await this.store.read.token(key);
    if (!token) return null;
    if (this.known.size >= REMEMBERED) this.known.clear();
    const { name, scopes, person_id } = token;
    const identity = { name, scopes, person_id };
    // A token taken back while we read must not be remembered.
    if (this.removals === removalsBefore) this.known.set(key, identity);
    return identity;
  }

  /** Hand out a token. The only time its secret is told. */
  async create(
    name: string,
    scopes: string[],
    personId: string | null = null,
  ): Promise<Token & { token: string }> {
    const { token, secret } = this.made(name, scopes, personId);
    await this.store.commit({ facts: [{ type: "token", token }] });
    return { ...token, token: secret };
  }

  private made(name: string, scopes: string[], personId: string | null): { token: Token; secret: string } {
    const secret = `lh_${randomBytes(32).toString("base64url")}`;
    const token: Token = {
      id: this.clock.newId(),
      name,
      sha256: hashOf(secret),
      scopes,
      created_at: new Date(this.clock.now()).toISOString(),
      person_id: personId,
    };
    return { token, secret };
  }

  async list(): Promise<Omit<Token, "sha256">[]> {
    return (await this.store.read.tokens()).map(({ sha256: _, ...token }) => token);
  }

  async remove(id: string): Promise<boolean> {
    const token = (await this.store.read.tokens()).find((known) => known.id === id);
    if (!token) return false;
    await this.store.commit({ facts: [{ type: "token_removed", id }] });
    this.forget();
    return true;
  }

  private forget(): void {
    this.removals++;
    this.known.clear();
  }

  /**
   * A code that opens the page once, within a quarter of an hour, at any server of this store: for the operator, or for
   * a person as themselves.
   */
  async loginCode(opener: Pick<Person, "id"> | null = null): Promise<string> {
    const code = randomBytes(18).toString("base64url");
    const now = this.clock.now();
    const kept = {
      sha256: hashOf(code),
      person_id: opener?.id ?? null,
      expires_at: now + LOGIN_CODE_LIFE_MS,
    };
    await this.store.commit({ facts: [{ type: "login_code", code: kept, now }] });
    return code;
  }

  /** Change a code into a token for the page; a code works once. */
  async login(code: string): Promise<{ token: string; opener: Opener } | null> {
    const sha256 = hashOf(code);
    const used: Fact = { type: "login_code_used", sha256 };
    for (;;) {
      const issued = await this.store.read.loginCode(sha256);
      if (!issued) return null;
      if (issued.expires_at <= this.clock.now()) {
        await this.store.commit({ facts: [used] });
        return null;
      }
      const id = issued.person_id;
      const person = id === null ? null : await personById({ store: this.store }, id);
      if (id !== null && !person) return null;
      const { token, secret } = this.pageToken(person);
      const result = await this.store.commit({
        expect: person ? [{ type: "person", id: person.id, was: person }] : [],
        facts: [used, { type: "token", token }],
      });
      if (result.status === "committed") {
        return { token: secret, opener: person && { id: person.id, name: person.name } };
      }
      // Otherwise somebody else was faster with the code.
      const isPersonChanged = result.status === "conflict" && result.expectation !== null;
      if (!isPersonChanged) return null;
    }
  }

  private pageToken(person: Person | null): { token: Token; secret: string } {
    if (!person) return this.made("web page", ["admin"], null);
    return this.made(`web page of ${person.name}`, PERSONAL_SCOPES, person.id);
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

function hashOf(secret: string): string {
  return digest(secret).toString("hex");
}

function digest(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}
