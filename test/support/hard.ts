/** Texts that, repeated, have once made the filter for secrets slow, or look as if they could. */

const mark = (which: string): string => `-----${which} RSA PRIVATE ${"KEY"}-----`

/** A manifest with lines of what may stand before a field, within a value or behind it. */
const manifest = (of: string): string => {
  const much = of.repeat(Math.floor(15_900 / of.length))
  return `kind: Secret\ndata:\n${much}\n${much}\n  a: b${much}c\n`
}

export const HARD: readonly (readonly [name: string, piece: string])[] = [
  ["an introduction", "sig="],
  ["another introduction", "_auth="],
  ["a web hook's host", "://x.logic.azure.com"],
  ["another web hook's host", "://a.webhook.office.com/webhookb2/"],
  ["beginnings of tokens", "eyJ"],
  ["beginnings of tokens with full stops", "eyJaaaaaaaa."],
  ["separators of tokens", "sk-"],
  ["beginnings of URLs", "://"],
  ["URLs with a user", "://a:"],
  ["quotes", '"'],
  ["apostrophes behind a word", "key='"],
  ["base64", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo"],
  ["base64 of a text", "cGFzc3dvcmQ9aHVudGVyMjI "],
  ["a percent sign, encoded", "%25"],
  ["encoded words", "%41key:"],
  ["encoded letters", "%41 "],
  ["tags", "<private>"],
  ["mentioned tags", "`<private>` "],
  ["backslashes", "\\"],
  ["backslashes before the end of a key", `${mark("END")}${"\\".repeat(16_000)}`],
  ["digits before the end of a key", `${"1".repeat(32_000)}!\n${mark("END")}`],
  ["beginnings of keys", mark("BEGIN")],
  ["words for secrets", "key:"],
  ["bytes that continue nothing", "\u0080"],
  ["lines", "\n"],
  ["separators", "_"],
  ["blanks in a manifest", manifest(" ")],
  ["tabs in a manifest", manifest("\t")],
  ["apostrophes in a manifest", manifest("'")],
  ["dashes in a manifest", manifest("- ")],
  ["backslashes in a manifest", manifest("\\")],
  ["comments in a manifest", manifest(" #\r")],
  ["words in a manifest", manifest("a")],
  ["manifests", "kind: Secret\n"],
  ["manifests with data", "kind: Secret\ndata:\n"],
  ["data of one manifest", `kind: Secret\n${"data:\n".repeat(8000)}`],
]
