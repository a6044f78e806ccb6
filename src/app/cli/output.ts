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

const LINE_BREAKS = /[\n\v\f\r\u0085\u2028\u2029]+/g;

/** Rows of words in columns that line up. What a stranger is called, or a server calls its models, forges no row. */
export function columns(given: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map((cell) => cell.replace(LINE_BREAKS, " ")));
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
