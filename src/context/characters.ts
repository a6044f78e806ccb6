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
  "\\[\\u02F9\\u02FB\\u231C\\u231E\\u2045\\u2308\\u230A\\u23A1-\\u23A3\\u2772\\u27E6\\u27EC\\u298B\\u298D\\u298F\\u2997\\u2E22\\u2E24\\u2E55\\u2E57" +
  "\\u300C\\u300E\\u3010\\u3014\\u3016\\u3018\\u301A\\uFE17\\uFE39\\uFE3B\\uFE41\\uFE43\\uFE47\\uFE5D\\uFF3B\\uFF62\\u{E005B}";
export const CLOSING =
  "\\]\\u02FA\\u02FC\\u231D\\u231F\\u2046\\u2309\\u230B\\u23A4-\\u23A6\\u2773\\u27E7\\u27ED\\u298C\\u298E\\u2990\\u2998\\u2E23\\u2E25\\u2E56\\u2E58" +
  "\\u300D\\u300F\\u3011\\u3015\\u3017\\u3019\\u301B\\uFE18\\uFE3A\\uFE3C\\uFE42\\uFE44\\uFE48\\uFE5E\\uFF3D\\uFF63\\u{E005D}";

/** Colons, and what passes for one. */
export const COLONS =
  ":\\u02D0\\u02D1\\u02F8\\u0589\\u05C3\\u0703\\u0704\\u0903\\u0A83\\u1361\\u1365\\u1366\\u16EC\\u1803\\u1804\\u1809\\u205A" +
  "\\u205D\\u205E\\u2236\\u2237\\u223A\\u22EE\\u2806\\u2830\\u2982\\u2AF6\\u2E2C\\uA4FD\\uA6F4\\uA789\\uA9C7\\uFE19" +
  "\\uFE13\\uFE30\\uFE55\\uFF1A\\u{E003A}";

/** Vowel signs that look like a colon behind a bracket. Names are spelled with them, so there they stay. */
export const COLON_SIGNS = "\\u0983\\u0C03\\u0C83\\u0D03\\u0D83\\u1038\\u17C7\\u17C8";

/** Letters that are drawn as nothing, or as a dot, a dash, a bar or a quote: to the eye, no word begins with them. */
export const LETTERS_LIKE_MARKS =
  "\\u115F\\u1160\\u3164\\uFFA0\\u{13441}\\u{13442}\\p{Lm}\\u01C0-\\u01C3\\u1173\\u1175\\u119E\\u1427-\\u1429\\u144A\\u2D4F" +
  "\\u3161\\u3163\\u318D\\u4E00\\uA78F\\uFC5E-\\uFC63\\uFE70\\uFE72\\uFE74\\uFE76\\uFE78\\uFE7A\\uFE7C\\uFE7E\\uFFDA\\uFFDC";
