/**
 * Text becomes HTML here and nowhere else: whatever is put into a template is escaped, unless it is HTML already. Pure.
 */
import { unsteered } from "../../util/unsteered.ts"

/** HTML that was made by a template, so that a string cannot pass for it. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type Content = Html | string | number | false | null | undefined | readonly Content[]

/** Most text has nothing that needs more than escaping, and takes a tenth of the time. */
const HARMLESS = /^[\t\n\x20-\x7e]*$/

/** Text from the archive as HTML: escaped, without ANSI codes and without marks that reorder a line. */
export const inHtml = (text: string): string =>
  Bun.escapeHTML(HARMLESS.test(text) ? text : unsteered(text.replace(/\r\n?/g, "\n")))

/** Escapes what is put into it. Attributes must be in double quotes. */
export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Html {
  let text = strings[0]!
  for (const [n, value] of values.entries()) text += textOf(value) + strings[n + 1]!
  return new Html(text)
}

function textOf(value: Content): string {
  if (value === undefined || value === null || value === false) return ""
  if (value instanceof Html) return value.text
  if (typeof value === "string") return inHtml(value)
  return typeof value === "number" ? String(value) : value.map(textOf).join("")
}

/** By this a page's security policy names its own style or script. */
export const policyHash = (text: string): string =>
  `'sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}'`
