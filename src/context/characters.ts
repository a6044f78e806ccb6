/**
 * Which characters play which part when text is read line by line. Written as the inside of a character class, for
 * patterns with the `u` flag. Wider than what any one reader does: a line that only some readers break still counts.
 */

/** Everything some reader takes for the end of a line, the separators U+001C to U+001E among them. */
export const LINE_BREAKS = "\\n\\r\\v\\f\\x1C-\\x1E\\x85\\u2028\\u2029";

/** Letters, marks and symbols that fonts draw as nothing: braille, musical, hieroglyphic and Khitan blanks among them. */
export const BLANKS = "\\p{DI}\\u2800\\u{1D159}\\u{13441}\\u{13442}\\u{16FE4}";

/** Characters that leave no ink, apart from line breaks and spaces. */
export const INVISIBLE = `\\x00-\\x08\\x0E-\\x1B\\x1F\\x7F-\\x84\\x86-\\x9F\\p{Cf}\\p{Co}\\p{Cs}\\p{NChar}${BLANKS}\\uFFFC`;

/** Spaces within a line. */
export const SPACES = "\\t\\p{Zs}";

/** Square brackets, and what passes for one: full-width, tortoise shell, lenticular, corner, ceiling, tag. */
export const OPENING =
  "\\[\\u2045\\u2308\\u230A\\u23A1-\\u23A3\\u2772\\u27E6\\u27EC\\u298B\\u298D\\u298F\\u2997\\u2E22\\u2E24\\u2E55\\u2E57" +
  "\\u300C\\u300E\\u3010\\u3014\\u3016\\u3018\\u301A\\uFE17\\uFE39\\uFE3B\\uFE41\\uFE43\\uFE47\\uFE5D\\uFF3B\\uFF62\\u{E005B}";
export const CLOSING =
  "\\]\\u2046\\u2309\\u230B\\u23A4-\\u23A6\\u2773\\u27E7\\u27ED\\u298C\\u298E\\u2990\\u2998\\u2E23\\u2E25\\u2E56\\u2E58" +
  "\\u300D\\u300F\\u3011\\u3015\\u3017\\u3019\\u301B\\uFE18\\uFE3A\\uFE3C\\uFE42\\uFE44\\uFE48\\uFE5E\\uFF3D\\uFF63\\u{E005D}";

/** Colons, and what passes for one. */
export const COLONS =
  ":\\u02D0\\u02F8\\u0589\\u05C3\\u0703\\u0704\\u0903\\u0A83\\u1361\\u16EC\\u1803\\u1809\\u205A\\u2236\\uA4FD\\uA789" +
  "\\uFE13\\uFE30\\uFE55\\uFF1A\\u{E003A}";

/** What people put around a name without changing whose it seems to be: quotes, dashes, emphasis. */
export const DECORATION =
  ">\\*_~`\"'#|+\\-\\u2010-\\u2015\\u2022\\u2023\\u2043\\u2212\\u00B7\\u25AA\\u25CF\\u25E6\\u203A\\u00BB\\u2026\\u2502\\u258C\\uFF0D\\uFF1E";
