/** Images of a transcript as data: URLs, if they are what browsers show as nothing but a picture. Pure. */
import { Html, html } from "./markup.ts"

/** By how such files begin (their "magic numbers"). Not SVG, which is a document. */
const KINDS: readonly (readonly [type: string, beginning: RegExp])[] = [
  ["image/png", /^\x89PNG\r\n\x1a\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF.{4}WEBP/s],
]
/** UTF-16 units of base64 that are enough to tell: 12 bytes. */
const BEGINNING = 16
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
/** UTF-16 units of base64: Claude Code's own limit is 5 MB for each image. */
const LARGEST = 8 << 20

/** @param base64 undefined if it is not known */
export function picture(base64: string | undefined): Html | undefined {
  if (base64 === undefined || base64.length > LARGEST || base64.length % 4 !== 0) return undefined
  if (!BASE64.test(base64)) return undefined
  const start = atob(base64.slice(0, BEGINNING))
  const type = KINDS.find(([, beginning]) => beginning.test(start))?.[0]
  if (type === undefined) return undefined
  return html`<img class="item" data-kind="image" alt="image" src="data:${type};base64,${new Html(base64)}">\n`
}
