/** The chat named in the address bar, so that a reload and a bookmark come back to it. */
export function chatInAddress(): string | null {
  return new URLSearchParams(location.hash.slice(1)).get("chat");
}

export function putChatInAddress(jid: string): void {
  if (chatInAddress() === jid) return;
  history.replaceState(null, "", `#${new URLSearchParams({ chat: jid })}`);
}
