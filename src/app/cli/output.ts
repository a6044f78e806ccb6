/** Where a command's words go: for people, or as JSON lines for programs. */
export type Output = {
  json: boolean;
  colour: boolean;
  line(text: string): void;
  /** A value: its text for people, itself with `--json`. */
  result(value: unknown, text: string): void;
};

/** A command that could not do what it was asked. 2: asked wrongly, 3: no server, 4: it said no. */
export class CommandFailed extends Error {
  override name = "CommandFailed";
  constructor(
    readonly exitCode: 2 | 3 | 4,
    message: string,
  ) {
    super(message);
  }
}

export function output(json: boolean): Output {
  const line = (text: string) => void process.stdout.write(`${text}\n`);
  return {
    json,
    colour: process.stdout.isTTY === true && !process.env.NO_COLOR,
    line,
    result: (value, text) => line(json ? JSON.stringify(value) : text),
  };
}

/** Rows of words in columns that line up. */
export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
