/**
 * Sentences worth keeping, found by how they are worded. Pure.
 *
 * A constraint is what a human told the model to do or not to do for good; a decision is what the model settled
 * and why; a refuted approach is what it tried in vain. All are kept verbatim. English, German, Spanish and Chinese
 * are known; test/unit/transcript/extract-languages.test.ts says how well.
 */

const LONGEST = 300
const MOST = 8

/** Sentences of prose: code blocks, quoted lines and host tags hold none. */
function* sentences(text: string): Generator<string> {
  const prose = text.slice(0, 20_000).replace(/```[\s\S]*?(```|$)/g, "\n")
  for (const line of prose.split("\n")) {
    const clean = line.replace(/^[\s>*\-•\d.)#]+/, "").trim()
    if (clean.length < shortest(clean) || /^</.test(clean) || /^[|{}[\]]/.test(clean)) continue
    for (const sentence of clean.split(/(?<=[.!?])\s+|(?<=[。！？；])/)) {
      const trimmed = sentence.trim()
      if (trimmed.length >= shortest(trimmed) && trimmed.length <= LONGEST) yield trimmed
    }
  }
}

/** Chinese says in five characters what takes others eight. */
const shortest = (text: string): number => (/\p{Script=Han}/u.test(text) ? 5 : 8)

/** Whole words of any alphabet. */
const words = (...forms: string[]): RegExp =>
  new RegExp(String.raw`(?<!\p{L})(?:${forms.join("|")})(?!\p{L})`, "iu")

/** Where an order begins: at the start, behind a comma or dash, or behind words that lead into one. */
const ORDER = String.raw`(?:^|[,;:–—-]\s*|\b(?:please|and|but|so|then|also|you|we)\s+)`

const CONSTRAINT: readonly RegExp[] = [
  /\b(never|always)\b(?!\s+mind)/i,
  new RegExp(`${ORDER}(do not|don['’]t|avoid|stop)\\s+(?!think|worry|know|see)\\w+`, "i"),
  /\b(must|must not|mustn['’]t|should not|shouldn['’]t|may not|cannot)\s+\w+/i,
  new RegExp(`${ORDER}(only|make sure|ensure|be sure to|remember to|stick to|keep|prefer)\\s+\\w+`, "i"),
  /\buse\b.{2,80}\b(not|instead of|rather than|never|over)\b/i,
  /\b(instead of|rather than)\b/i,
  /\bfrom now on\b/i,
  /\bno (new|more|extra|other)\b/i,
  words(
    "niemals|nie wieder|immer|keinesfalls|auf keinen Fall|unbedingt|ausschließlich|ab (?:jetzt|sofort)",
    "bitte (?:nicht|nur|keine?n?)|darf(?:st)? (?:nicht|nie|keine?n?)|anstatt|anstelle|statt",
    "(?:fass|rühr|ändere|lösche|verwende|benutze|nimm) .{1,60}(?:nicht|nie|keine?n?)",
  ),
  words(
    "nunca|siempre|jamás|no (?:uses|utilices|toques|cambies|modifiques|borres|elimines|añadas|agregues|hagas|escribas)",
    "no deb(?:es|e|en)|en (?:lugar|vez) de|a partir de ahora|asegúrate|evita|usa (?:solo|sólo|siempre)",
  ),
  words("jamais|toujours|sempre"),
  /(不要|别再|必须|务必|始终|一律|永远不|绝不|请勿|禁止|不得|只能|只用|从现在起|从现在开始|而不是|務必|絶対に|しないで)/,
]

/** The same in other languages. */
const NOT_RULE =
  /[？]\s*$|^¿|吗[。！]?$|不要紧|不要担心|为什么|^(?:warum|wieso|wie|was|wann|wer|ich|es|por qué|cómo|qué|yo)(?!\p{L})|^(?:我|它)(?:总|一直|始终)/iu

/** Wordings that look like a rule and are a question or a report. */
const NOT_CONSTRAINT =
  /\?\s*$|^\s*(why|what|how|when|where|who|is|are|does|did|can|could|should|would|i (always|never|only) )\b/i

export function constraintsIn(prompt: string): string[] {
  return pick(
    prompt,
    (sentence) =>
      !NOT_CONSTRAINT.test(sentence) &&
      !NOT_RULE.test(sentence) &&
      CONSTRAINT.some((rule) => rule.test(sentence)),
  )
}

const DECISION: readonly RegExp[] = [
  /\b(decided|decision(?=:)|chose|choosing|opted|settled on|going with|we['’]ll go with|I['’]ll go with)\b/i,
  /\b(instead of|rather than)\b.*\b(because|since|so that|as it|which)\b/i,
  /\b(because|since)\b.*\b(instead of|rather than)\b/i,
  /\b(root cause|turns out|the (real|actual) (problem|issue|cause|bug) (is|was))\b/i,
  words(
    "(?:habe|haben) (?:mich|uns) (?:für|gegen|dafür|dagegen)|entschieden|entscheide mich|eigentliche Ursache",
  ),
  words(
    "he(?:mos)? (?:decidido|elegido|optado)|decidí|decidimos|opté|optamos|elegí|elegimos|causa (?:raíz|real)",
  ),
  /(决定|选择了|选用了?|采用了|改用|根本原因)/,
]

export function decisionsIn(answer: string): string[] {
  return pick(answer, (sentence) => !QUESTION.test(sentence) && DECISION.some((rule) => rule.test(sentence)))
}

/** What did not happen yet, or is asked. */
const QUESTION = /[?？]\s*$|^¿/

const REFUTED: readonly RegExp[] = [
  words(
    "(?:did|does)(?:n['’]t| not) (?:work|help)|won['’]t work|fail(?:ed|s) because|(?:had|has) no effect|dead end",
    "made it worse|ruled out|(?:tried|attempted) .{3,120} but|reverted? (?:it|that|this) because|(?:was|is) not viable",
  ),
  words(
    "(?:hat|haben) (?:\\S+ )?nicht (?:funktioniert|geholfen)|funktioniert (?:\\S+ )?nicht|(?:ist|sind) gescheitert|gescheitert",
    "Sackgasse|half nicht|brachte nichts|(?:wieder )?rückgängig gemacht, weil|ohne Erfolg",
  ),
  words(
    "no (?:funcionó|funciona|ha funcionado|sirvió|ayudó)|falló porque|sin éxito|(?:intenté|probé) .{3,120} pero",
    "callejón sin salida|(?:queda|quedó) descartad[oa]",
  ),
  /(行不通|走不通|不起作用|没有效果|没有用|没起作用|试过.{1,60}(?:但|没|不))/,
]

/** A way that was tried in vain. */
export function refutedIn(answer: string): string[] {
  return pick(answer, (sentence) => !QUESTION.test(sentence) && REFUTED.some((rule) => rule.test(sentence)))
}

function pick(text: string, wanted: (sentence: string) => boolean): string[] {
  const found = new Set<string>()
  for (const sentence of sentences(text)) {
    if (wanted(sentence)) found.add(sentence)
    if (found.size >= MOST) break
  }
  return [...found]
}
