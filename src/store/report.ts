/** Word of a bug in something that runs beside the work, on standard error: it must not end the process. */
export function report(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : new Error(String(error)));
}
