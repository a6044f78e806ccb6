/** The address of a place on a channel: `<channel>:<place>`. */
export function addressOf(channel: string, place: string): string {
  return `${channel}:${place}`;
}

/** The place an address names on this channel, or null when it is another channel's. A place may hold colons. */
export function placeOf(channel: string, address: string): string | null {
  const prefix = `${channel}:`;
  return address.startsWith(prefix) && address.length > prefix.length ? address.slice(prefix.length) : null;
}
