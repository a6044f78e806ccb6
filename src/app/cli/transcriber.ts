import { type Transcriber, transcriber } from "../../provider/transcribe.js";
import { type Env, SettingError } from "./settings.js";

const OPENAI = "https://api.openai.com/v1";
/** What servers of one's own call whatever model they have. */
const USUAL_ID = "whisper-1";

/**
 * Who writes down what is said in sounds: `LONGHAND_TRANSCRIBE_MODEL`, at an address of its own or at OpenAI's. Without
 * either nobody does: people's voices go nowhere unless the operator says so.
 */
export function transcriberFrom(env: Env): Transcriber | undefined {
  const name = env.LONGHAND_TRANSCRIBE_MODEL?.trim() || null;
  const own = env.LONGHAND_TRANSCRIBE_BASE_URL?.trim() || null;
  if (!name && !own) return undefined;
  const id = idOf(name);
  const baseUrl = own ?? (env.OPENAI_BASE_URL?.trim() || OPENAI);
  const variable = own ? "LONGHAND_TRANSCRIBE_BASE_URL" : "OPENAI_BASE_URL";
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol))
    throw new SettingError(
      `${variable} is "${baseUrl}": set it to an http(s) address such as http://127.0.0.1:8000/v1.`,
    );
  const apiKey = keyFor(env, own);
  if (apiKey === null && baseUrl === OPENAI)
    throw new SettingError(
      "LONGHAND_TRANSCRIBE_MODEL needs OPENAI_API_KEY=<your key>, or LONGHAND_TRANSCRIBE_BASE_URL for a server of your own.",
    );
  return transcriber({ baseUrl, id, apiKey });
}

function idOf(name: string | null): string {
  if (name === null) return USUAL_ID;
  const id = name.startsWith("openai/") ? name.slice("openai/".length) : name;
  if (id !== "") return id;
  throw new SettingError(
    `LONGHAND_TRANSCRIBE_MODEL is "${name}": set it to a model such as openai/gpt-4o-mini-transcribe.`,
  );
}

/** OpenAI's key is for the address it is meant for, and no other. */
function keyFor(env: Env, own: string | null): string | null {
  const given = env.LONGHAND_TRANSCRIBE_API_KEY?.trim() || null;
  return given ?? (own ? null : env.OPENAI_API_KEY?.trim() || null);
}
