/** Images and sounds of a transcript as data: URLs, if they are what browsers show or play, and nothing else. Pure. */
import type { Part } from "../../transcript/types.ts"
import { bytes } from "../../util/text.ts"
import { Html, html } from "./markup.ts"

/** By how such files begin (their "magic numbers"). Not SVG, which is a document. */
const KINDS: readonly (readonly [type: string, beginning: RegExp])[] = [
  ["image/png", /^\x89PNG\r\n\x1a\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF.{4}WEBP/s],
  ["audio/wav", /^RIFF.{4}WAVE/s],
  ["audio/mpeg", /^(?:ID3|\xff[\xe2\xe3\xf2\xf3\xfa\xfb])/],
  ["audio/ogg", /^OggS/],
  ["audio/flac", /^fLaC/],
]
/** UTF-16 units of base64 that are enough to tell: 12 bytes. */
const BEGINNING = 16
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
/** UTF-16 units of base64: Claude Code's own limit is 5 MB for each image. */
const LARGEST = 8 << 20

type Media = Extract<Part, { readonly kind: "media" }>

/** An image or a sound, or else what it is. */
export function mediaHtml({ mediaType, base64Length }: Media, base64: string | undefined): Html {
  const size = base64Length === 0 ? "" : `, ${bytes(Math.floor((base64Length * 3) / 4))}`
  return (
    picture(base64) ??
    sound(base64) ??
    html`<p class="item mark" data-kind="mark">${mediaType || "an attachment"}${size}, not shown</p>\n`
  )
}

/** @param base64 undefined if it is not known */
export function picture(base64: string | undefined): Html | undefined {
  const type = typeOf(base64, "image/")
  if (type === undefined) return undefined
  return html`<img class="item" data-kind="image" alt="image" src="data:${type};base64,${new Html(base64!)}">\n`
}

function sound(base64: string | undefined): Html | undefined {
  const type = typeOf(base64, "audio/")
  if (type === undefined) return undefined
  return html`<audio class="item" data-kind="sound" controls src="data:${type};base64,${new Html(base64!)}"></audio>\n`
}

/** By the bytes, whatever the transcript says of them. */
function typeOf(base64: string | undefined, kind: string): string | undefined {
  if (base64 === undefined || base64.length > LARGEST || base64.length % 4 !== 0) return undefined
  if (!BASE64.test(base64)) return undefined
  const start = atob(base64.slice(0, BEGINNING))
  return KINDS.find(([type, beginning]) => type.startsWith(kind) && beginning.test(start))?.[0]
}
