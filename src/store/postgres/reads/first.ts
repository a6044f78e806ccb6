/** The first row as a value, or null when there is none. */
export async function first<R, T>(rows: Promise<R[]>, toValue: (row: R) => T): Promise<T | null> {
  const [row] = await rows;
  return row === undefined ? null : toValue(row);
}
