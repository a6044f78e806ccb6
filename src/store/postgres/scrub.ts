import { patientClient, type Place, unavailability } from "./connect.js";

/** Tables that may hold dead rows with somebody's words. */
const TABLES = [
  "messages",
  "revisions",
  "attachments",
  "attachment_bytes",
  "idempotency",
  "inbound",
  "entries",
  "labels",
  "blocks",
  "calls",
  "call_parts",
  "outbox",
  "addresses",
  "people",
  "person_senders",
  "spent",
  "search",
];

/**
 * Frees what was erased and is still there as dead rows. Their places are written over in time; what the server's own
 * log, its copies and its backups hold is the operator's to see to.
 */
export async function scrub(place: Place): Promise<void> {
  const client = await patientClient(place);
  try {
    await client.connect();
    const { rows } = await client.query("SELECT id FROM erasures WHERE scrubbed = 0");
    if (rows.length === 0) return;
    await client.query(`VACUUM ${TABLES.join(", ")}`);
    await client.query("UPDATE erasures SET scrubbed = 1 WHERE id = ANY ($1)", [rows.map(({ id }) => id)]);
  } catch (error) {
    // Who starts next finds it undone.
    if (unavailability(error) === null) throw error;
  } finally {
    await client.end().catch(() => {});
  }
}
