/**
 * Removes from text what would make it more than text: invisible characters, terminal escapes, tags by which Claude
 * Code or we mark words of our own, handles that we did not give. Pure; applying it twice changes nothing more.
 */

/** Sequences that a terminal interprets: CSI, OSC and other strings, two-character escapes; with ESC or in C1 form. */
const ESCAPES =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]/g

const LINE_ENDS = /\r\n?|[\v\f\u0085\u2028\u2029]/g

/**
 * Control characters and everything that Unicode lets a reader ignore: zero-width spaces, bidirectional controls,
 * fillers, invisible tag characters. Joiners and variation selectors have their own rule.
 */
const UNSEEN = /(?![\t\n\p{VS}\p{Join_C}])[\p{Cc}\p{DI}\p{Bidi_C}\u{fff9}-\u{fffb}]/gu

/** Emoji and some scripts need one of these after a letter of theirs; anywhere else it only hides something. */
const JOINERS = /(?<![^\p{ASCII}\p{Join_C}])\p{Join_C}+|\p{Join_C}+(?![^\p{ASCII}\p{Join_C}])/gu
const SELECTORS = /(?<![^\p{ASCII}\p{VS}])\p{VS}+/gu

/** What shows nothing and reorders nothing: zero-width spaces, fillers, invisible tag characters. */
const IGNORED = /(?![\p{VS}\p{Join_C}\p{Bidi_C}])\p{DI}|[\u{fff9}-\u{fffb}]/gu

/** Removes it, and joiners and selectors that have no letter to change. */
export function withoutIgnored(text: string): string {
  return text.replace(IGNORED, "").replace(JOINERS, "").replace(SELECTORS, "")
}

/** Only visible ASCII, as in most names, paths and commands. */
const PLAIN = /^[\n\x20-\x7e]*$/

/** Turns line ends into newlines and removes what cannot be seen. */
export function visible(text: string): string {
  if (PLAIN.test(text)) return text
  let shown = text.toWellFormed()
  // A removal may bring together what it separated.
  for (let before = ""; before !== shown; ) {
    before = shown
    shown = shown
      .replace(LINE_ENDS, "\n")
      .replace(ESCAPES, "")
      .replace(UNSEEN, "")
      .replace(JOINERS, "")
      .replace(SELECTORS, "")
  }
  return shown
}

/** A bracket that opens a tag, or looks like one, including entities and escapes. */
const OPENING =
  /[<＜﹤〈〈⟨⟪《˂ᐸ❮❬❰⦑⧼≺≪]|&(?:amp;)*(?:lt|#0*60|#x0*3c);?|\\(?:u003c|u\{0*3c\}|x3c|074)|%(?:25)*3c/gi

/** Names by which Claude Code, the model's API or we mark what is more than data; `_` is read as `-`. */
const NAMES = new RegExp(
  String.raw`^[\s/!?\\]*(?:` +
    [
      "system(?:-[a-z-]*)?|[a-z-]*-(?:hook|reminder|message|notification|caveat)",
      "(?:command|local|bash|task|session|mcp|ide|slack|remote|artifact|skill|fork)-[a-z-]+|user(?:-[a-z-]+)?",
      "ctxbridge(?:-[a-z-]*)?|persisted-output|new-diagnostics|function(?:-[a-z-]+|s)?|invoke|parameters?",
      "antml(?::[a-z-]*)?|tool(?:-[a-z-]+)?|claude[a-z-]*|instructions?|important|env(?:ironment)?|thinking",
      "policy|budget:[a-z-]+|total-tokens|human|assistant|developer|cc-?memory|channel|terminal|browser(?:-[a-z-]+)?",
      "tick|coordinator-relay|untrusted-widget-state|cowritten-[a-z-]+|forked-[a-z-]+|sandbox-violations|webhook-payload|pasted-content",
      "ci-monitor-event|fetched-web-content|github-webhook-activity|autonomous-loop(?:-[a-z-]+)?",
    ].join("|") +
    ")(?![a-z0-9])",
)
/** A first word of ASCII letters and of others that look like none of them: no honest tag mixes scripts. */
const MIXED = /^[\s/!?\\]*(?=[^\s>]*[a-z])[\p{L}-]*[^\P{L}a-z]/u
/** How far after a bracket a name is looked for, in UTF-16 units. */
const NAME_REACH = 160

/** Letters of other scripts, dashes and slashes that look like ours. */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  ...{ а: "a", с: "c", ԁ: "d", е: "e", һ: "h", і: "i", ј: "j", ӏ: "l", о: "o", р: "p", ԛ: "q", ѕ: "s" },
  ...{ т: "t", м: "m", н: "h", к: "k", в: "b", у: "y", х: "x", ѵ: "v", ԝ: "w", г: "r", п: "n", ԍ: "g" },
  ...{ α: "a", ε: "e", ι: "i", κ: "k", μ: "m", ν: "v", ο: "o", ρ: "p", τ: "t", υ: "u", χ: "x", ս: "u" },
  ...{ ı: "i", ɡ: "g", ɑ: "a", ʏ: "y", ꜱ: "s", ᴛ: "t", ᴇ: "e", ᴍ: "m", ʀ: "r", ɪ: "i", ɴ: "n", ᴅ: "d" },
  ...{ ᴀ: "a", ʙ: "b", ᴄ: "c", ꜰ: "f", ɢ: "g", ʜ: "h", ᴋ: "k", ʟ: "l", ᴏ: "o", ᴘ: "p", ᴜ: "u", ᴡ: "w" },
  ...{ _: "-", "‐": "-", "‒": "-", "–": "-", "—": "-", "−": "-", "∕": "/", "⁄": "/" },
}

/** Letters written as entities, percent-encoded or escaped. */
const WRITTEN =
  /&#(\d{1,7});?|&#x([\da-f]{1,6});?|%(?:25)*([\da-f]{2})|\\u\{?([\da-f]{2,6})\}?|\\x([\da-f]{2})/gi

/** The text as a hurried reader sees it, ignoring width, look-alikes, case, accents, joiners and encodings. */
function skeleton(text: string): string {
  const read = /[%&\\]/.test(text) ? text.replace(WRITTEN, letterOf) : text
  if (PLAIN.test(read)) return read.toLowerCase().replaceAll("_", "-")
  const plain = read
    .normalize("NFKD")
    .replace(/[\p{M}\p{Cf}]/gu, "")
    .toLowerCase()
  return plain.replace(/[^a-z0-9\s/<>:.-]/gu, (letter) => LOOK_ALIKES[letter] ?? letter)
}

function letterOf(written: string, decimal?: string, ...hex: (string | undefined)[]): string {
  const code = decimal === undefined ? Number.parseInt(hex.find(Boolean)!, 16) : Number(decimal)
  return code <= 0x10ffff ? String.fromCodePoint(code) : written
}

/** Whether what follows a bracket makes it a tag of Claude Code's or ours: as it is, or without the blanks in it. */
function isTag(behind: string): boolean {
  const name = skeleton(behind)
  return NAMES.test(name) || MIXED.test(name) || (/^\s*[\p{L}-]+\s/u.test(name) && NAMES.test(closedUp(name)))
}

/** A tag without blanks; empty if it has no end. */
const closedUp = (name: string): string => name.slice(0, name.indexOf(">") + 1).replace(/\s+/g, "")

/** Only we give handles: one inside a text is split, so that it names nothing. */
const HANDLE = /(ctx|far)[:：﹕∶](?=[0-9a-z]{4})/gi

/** Tags of Claude Code lose their bracket; everything else that is visible stays. */
export const neutral = (text: string): string => untagged(text).replace(HANDLE, "$1: ")

/** The same for our own text with words from the archive in it, whose handles are ours. */
export function untagged(text: string): string {
  const shown = visible(text)
  return shown.replace(OPENING, (bracket, at: number) => {
    const behind = shown.slice(at + bracket.length, at + bracket.length + NAME_REACH)
    return isTag(behind) ? "‹" : bracket
  })
}

/** For words that anyone may have written: no tags at all, and no links, images or code fences. */
export const inert = (text: string): string =>
  neutral(text)
    .replace(OPENING, "‹")
    .replace(/`+|~{2,}/g, "'")
    .replace(/!(?=\[)/g, "! ")
    .replace(/\](?=[([:])/g, "] ")
    .replace(/:(?=\/\/)/g, ": ")
