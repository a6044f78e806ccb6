/** A mention token of one platform, and what stands for that person where the text goes. */
export type Mention = {
  /** As it stands in the text: `<@U06STGBF4Q0>`. */
  token: string;
  name: string;
  /** What notifies the same person over there; null drops the mention to a plain name. */
  there: string | null;
};

/** Every token replaced by the one of the other platform, or by the person's name. */
export function translateMentions(text: string, mentions: readonly Mention[]): string {
  if (mentions.length === 0) return text;
  const byToken = new Map(mentions.map((mention) => [mention.token, mention]));
  // One pass, longest first: a replacement is never read again, and no token is taken for the beginning of another.
  const tokens = [...byToken.keys()].filter((token) => token !== "").sort((a, b) => b.length - a.length);
  if (tokens.length === 0) return text;
  const pattern = new RegExp(
    tokens.map((token) => token.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|"),
    "g",
  );
  return text.replace(pattern, (token) => {
    const mention = byToken.get(token);
    return mention ? (mention.there ?? `@${mention.name.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")}`) : token;
  });
}

/** `@everyone` and `@here` notify wherever they stand, also inside a longer word; the others only as a word. */
const AT_ALL = /@(?=everyone|here|(?:channel|all)(?![\p{L}\p{N}_]))/giu;
const TAGGED = /<(?=!(?:channel|here|everyone|subteam\^)|users\/all>)/gi;
const ZERO_WIDTH_SPACE = "\u200b";

/** The same words, unable to notify everybody at once: an invisible space breaks the token. */
export function calmMassMentions(text: string): string {
  if (!text.includes("@") && !text.includes("<")) return text;
  return text.replace(AT_ALL, `@${ZERO_WIDTH_SPACE}`).replace(TAGGED, `<${ZERO_WIDTH_SPACE}`);
}
