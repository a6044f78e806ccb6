import { isMet } from "./measure.mjs";

/** @typedef {import("./measure.mjs").Line} Line */

const HEAD = ["what", "ours", "reference", "", "target", ""];

/** The lines as a table for people. @param {readonly Line[]} lines */
export function table(lines) {
  const rows = [HEAD, ...lines.map(cells)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const text = rows.map((row) =>
    row
      .map((cell, column) => aligned(cell, widths[column], column))
      .join("  ")
      .trimEnd(),
  );
  const rule = widths.map((width) => "─".repeat(width)).join("  ");
  return [text[0], rule, ...text.slice(1)].join("\n");
}

/** @param {Line} line */
function cells(line) {
  const { what, unit, ours, reference } = line;
  return [
    what,
    `${number(ours)} ${unit}`,
    reference === null ? "" : `${number(reference)} ${unit}`,
    line.compare === "figure" ? "" : scoreText(line, line.score),
    targetText(line),
    verdict(line),
  ];
}

/** @param {Line} line */
function targetText(line) {
  if (line.target === null) return "";
  return "atLeast" in line.target
    ? `≥ ${scoreText(line, line.target.atLeast)}`
    : `≤ ${scoreText(line, line.target.atMost)}`;
}

/** @param {Line} line @param {number} score */
function scoreText({ compare, unit }, score) {
  switch (compare) {
    case "ratio":
      return `${score.toFixed(2)}×`;
    case "difference":
      return `${score < 0 ? "−" : "+"}${number(Math.abs(score))} ${unit}`;
    case "figure":
      return `${number(score)} ${unit}`;
  }
}

/** @param {Line} line */
function verdict(line) {
  const met = isMet(line);
  if (met === null) return "";
  return met ? "met" : "MISSED";
}

/** Three digits that mean something. @param {number} value */
function number(value) {
  if (value >= 100) return Math.round(value).toLocaleString("en");
  return Number(value.toPrecision(3)).toString();
}

/** Words to the left, figures to the right. @param {string} cell @param {number} width @param {number} column */
function aligned(cell, width, column) {
  return column === 0 || column === 5 ? cell.padEnd(width) : cell.padStart(width);
}
