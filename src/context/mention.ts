type Metadata = Readonly<Record<string, unknown>>;

/** A token inside our marker must not be able to end it, nor to look like anything but an id. */
const PLAIN_ID = /^[A-Za-z0-9_.+@-]{1,128}$/;

/**
 * The token with which the assistant can notify this sender, if it is one plain token of their platform for them;
 * otherwise null. Anything else inside our brackets could be somebody else's.
 */
export function mentionToken(metadata: Metadata): string | null {
  const { mention_token: token, sender_id: senderId } = metadata;
  if (typeof token !== "string" || typeof senderId !== "string") return null;
  const colon = senderId.indexOf(":");
  const namespace = senderId.slice(0, Math.max(colon, 0));
  const id = senderId.slice(colon + 1);
  return isTokenOf(token, namespace, id) ? token : null;
}

function isTokenOf(token: string, namespace: string, id: string): boolean {
  switch (namespace) {
    case "slack":
      return /^[A-Z0-9]+$/.test(id) && token === `<@${id}>`;
    case "discord":
      return /^[0-9]+$/.test(id) && (token === `<@${id}>` || token === `<@!${id}>`);
    case "telegram":
      // A user name is not derived from the id; the platform vouches for it, we for its shape.
      return /^@[A-Za-z][A-Za-z0-9_]{3,31}$/.test(token);
    case "whatsapp":
      return /^@[0-9]{5,20}$/.test(token) && token.slice(1) === whatsappNumber(id);
    default:
      // `<@…>` is Slack's and Discord's: with it, the same id in another namespace would name somebody there.
      return PLAIN_ID.test(id) && token === `@${id}`;
  }
}

/** `4512345678:3@s.whatsapp.net` and `+4512345678` are the number 4512345678. */
function whatsappNumber(id: string): string | null {
  return /^\+?([0-9]+)(?::[0-9]+)?(?:@[a-z.]+)?$/.exec(id)?.[1] ?? null;
}
