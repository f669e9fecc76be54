/** Figures in prose: what was measured, counted or agreed on. Pure. */

const LOOKED_AT = 20_000
const MOST = 120

/** A figure that is not part of a name, path, version, date, time or address. */
const FIGURE =
  /(?<![\p{L}\d_.,:/#@+\-$\\])\d{1,12}(?:,\d{3})*(?:\.\d{1,6})?(?:\s?(?:%|ms|s|min|h|[kKMGT]?B|K|M|px|x)(?![\p{L}\d]))?(?![\p{L}\d_/\\-]|[.,:]\d)/gu

/** With a unit, a fraction, a thousands separator or three digits. Smaller bare numbers are list items and counts. */
const TELLING = /\D|\d{3}/

/** As written, with white space before a unit folded. */
export function numbersIn(text: string): string[] {
  const found = new Set<string>()
  for (const [figure] of text.slice(0, LOOKED_AT).matchAll(FIGURE)) {
    if (!TELLING.test(figure)) continue
    found.add(figure.replace(/\s+/, " "))
    if (found.size >= MOST) break
  }
  return [...found]
}
