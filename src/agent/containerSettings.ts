import { z } from "zod";
import { errorsOf, type FieldError } from "../message/index.js";
import type { Container } from "./container.js";
import { ISOLATIONS } from "./isolation.js";

const path = z.string().startsWith("/", "expected an absolute path");
const count = z.int().min(1);

const settings = z.strictObject({
  command: z.tuple([z.string().min(1)], z.string()),
  isolation: z.enum(ISOLATIONS).default("bubblewrap"),
  folder: path.nullable().default(null),
  writable: z.boolean().default(false),
  reads: z.array(path).default([]),
  network: z.boolean().default(false),
  /** Variables with their values. */
  env: z.record(z.string(), z.string()).default({}),
  /** Variables it gets from the server's own environment, where they are set. */
  pass_env: z.array(z.string()).default([]),
  image: z.string().optional(),
  memory_mb: count.optional(),
  model: z.string().nullable().default(null),
  idle_ms: count.optional(),
});

/** Names are part of a model's name, and of Docker's arguments. */
const file = z.strictObject({
  containers: z.record(z.string().regex(/^[a-z0-9][a-z0-9_.-]{0,63}$/i), settings),
});

export type ReadContainers = { ok: true; containers: Container[] } | { ok: false; errors: FieldError[] };

/**
 * Containers out of an operator's file: `{ "containers": { "helper": { "command": ["node", "/srv/agent.mjs"], … } } }`.
 * A sandbox is the default; doing without one has to be written down.
 */
export function readContainers(
  value: unknown,
  env: Readonly<Record<string, string | undefined>>,
): ReadContainers {
  const parsed = file.safeParse(value);
  if (!parsed.success) return { ok: false, errors: errorsOf(parsed.error, "", value) };
  const containers = Object.entries(parsed.data.containers).map(([name, given]): Container => {
    const { pass_env, memory_mb, idle_ms, image, env: own, ...rest } = given;
    const passed = pass_env.flatMap((key) => (env[key] === undefined ? [] : [[key, env[key]] as const]));
    return {
      name,
      ...rest,
      env: { ...Object.fromEntries(passed), ...own },
      ...(image === undefined ? {} : { image }),
      ...(memory_mb === undefined ? {} : { memoryMb: memory_mb }),
      ...(idle_ms === undefined ? {} : { limits: { idleMs: idle_ms } }),
    };
  });
  return { ok: true, containers };
}
