/** Wordings of approaches that were tried in vain. What might fail, or no longer fails, uses the same words. Pure. */
import { once } from "../base/once.ts"
import { plainWords, SMALL_WORDS, type Wording, type Wordings, wholeWords } from "./wording.ts"

/** A way to go; what else does not work is a fault or a limit of it. */
const WAY =
  "approach|idea|workaround|attempt|try|trick|patch|fix|change|option|plan|solution|strategy|variant|hack|version"
/** Whatever is done begins so: "Clearing the cache". */
const DOING = String.raw`^(?:(?:so|and|but|also|even|just|simply|then|merely)\b,? )*(?!(?:nothing|anything|something|everything|string|thing|during|according)\b)\p{L}+ing\b`
const FAILS = String.raw`(?:(?:did|does|do)(?:n['’]t| not)|cannot|can['’]t) (?:\p{L}+ )?work\b`

const english = (): Wording => ({
  smallWords: SMALL_WORDS.english,
  yes: [
    new RegExp(`${DOING}.*\\b(?:${FAILS}|(?:failed|breaks?|broke) (?:because|since|as)\\b)`, "iu"),
    new RegExp(
      String.raw`\b(?:${WAY})s?\b(?: (?!(?:is|was|and|but|so|no|not)\b|[-–—*])[^\s,.;:]+){0,5} (?:${FAILS}|fail(?:ed|s)(?=\s*(?:[.,;:—–]|because\b|since\b|as\b|for\b|on\b|$)))`,
      "iu",
    ),
    plainWords(
      "(?:did|does)(?:n['’]t| not) (?:\\w+ )?(?:help|solve|fix (?:it|this|that|the))|won['’]t work(?! (?:on|with|under|for|unless|until|without|if|when|in)\\b)",
      "(?:had|has) no effect|made no difference|dead end|made (?:it|things|that|matters) (?:even |only )?worse|to no avail|in vain|without success",
      "ruled out|broke .{2,80}(?:so|and) (?:I|we) (?:reverted|undid|rolled)|(?:tried|attempted) .{3,120} but|(?<!\\b(?:than|of|be|never|not) )reverted [^.,;:]{2,60}? (?:because|since|as)|(?:is|was)(?: not|n['’]t) viable",
    ),
  ],
  no: [
    /\?\s*$|^(?:if|when|whether|unless|once|should|in case)\b|\b(?:if|whether) (?:it|this|that|they) (?:do|did|does)\b/i,
    /\b(?:may|might|could|would|no longer|not sure|let me see)\b/i,
    /\b(?:checks?|test(?:s|ed)?|verif(?:y|ies)|asserts?|expects?|ensures?|make sure) that\b/i,
    /\b(?:did|has|have) not fail|\b(?:did|has|have)n['’]t fail|\bnot ruled out\b/i,
    // Nobody knows what.
    /^(?:(?:wait|hm+|no|but|so|and|ok|okay|well|actually|unfortunately),? )*(?:that|this|it) (?:won|did|does|is|was|has|had|made|cannot|can)(?![\p{L}])/iu,
    // Diagnoses, slips and limits: what is the matter, not what was tried.
    /\bruled out\b.*\b(?:as (?:the|a) (?:cause|culprit|reason|source)|whether)\b|\b(?:causes?|culprits?|suspects?)\b.*\bruled out\b/i,
    /\b(?:root cause|(?:bug|issue|problem|error|failure|cause|reason|culprit) (?:is|was)\b)/i,
    /\bmy (?:own |earlier |first |last |previous )?(?:command|call|query|grep|regex|script|typo|mistake|run|check)\b/i,
    /\btried to (?:open|read|run|find|fetch|reproduce|access|check|look|see|view|load|connect|reach|get)\b/i,
    /\b(?:by default|out of the box|currently|not yet|is (?:not|un)supported|limitations?)\b/i,
    // Of tests and programs that fail, the failure is told.
    /^(?:the |this |that |my |your |our |both |all |some |one )?(?:[\w./`-]+ )?(?:tests?|build|CI|job|pipeline|run|command|request|call|query|script|deploy(?:ment)?|checks?|install(?:ation)?|upload|download|button|page|link|endpoint|server|service|API|workflow|hook)\b(?: [^\s,.;:]+){0,4} (?:fail(?:ed|s)|(?:did|does)(?:n['’]t| not) work)\b/i,
  ],
})

const german = (): Wording => ({
  smallWords: SMALL_WORDS.german,
  yes: [
    wholeWords(
      "(?:hat|haben) .{0,40}nicht (?:funktioniert|geholfen|gereicht|gewirkt)|funktioniert .{0,30}nicht, (?:weil|da)|funktionierte .{0,20}nicht",
      "(?:ist|sind|war|waren) .{0,30}gescheitert|gescheitert|scheiterte|fehlgeschlagen|schlug(?:en)? fehl",
      "Sackgasse|hatten? (?:keine Wirkung|keinen Effekt)|half (?:auch )?nicht|halfen nicht|brachte(?:n)? (?:auch )?nichts|ohne Erfolg|erfolglos|vergeblich|umsonst",
      "(?:rückgängig gemacht|zurückgenommen|zurückgerollt|verworfen),? (?:weil|da)|aber der Fehler (?:blieb|bleibt|besteht)",
      "(?:wurde|wird|machte|ist) .{0,30}(?:schlimmer|schlechter)|führt(?:e|en)? nicht (?:zum Ziel|weiter)",
      "(?:versucht|probiert),? aber",
    ),
    /nicht, weil niemand|funktioniert es nicht, weil/i,
  ],
  no: [
    /\?\s*$|^(?:wenn|falls|ob|sobald|sollte)(?!\p{L})/iu,
    /(?<!\p{L})(?:könnte|würde|dürfte|nicht mehr|nicht (?:gescheitert|fehlgeschlagen))(?!\p{L})/iu,
  ],
})

const spanish = (): Wording => ({
  smallWords: SMALL_WORDS.spanish,
  yes: [
    wholeWords(
      "(?:no|tampoco) (?:funcionó|ha funcionado|sirvió|ayudó|bastó|resultó)|no (?:funciona|sirve)(?: porque|:|,)|falló porque|fracasó",
      "(?:no tuvo|sin ningún) efecto|sin éxito|en vano|callejón sin salida|(?:queda|quedó) descartad[oa]|fue peor|empeoró",
      "(?:intenté|probé|fijé|cambié|puse) .{3,120} pero|pero (?:el|la|los|las) .{2,40} (?:siguió|sigue|persiste|persistió|continuó|quedó)",
      "revertí|(?:lo|la|los|las) (?:revertí|deshice|descarté)",
    ),
    /\bno (?:sirve|funciona):/i,
  ],
  no: [
    /\?\s*$|^¿|^(?:si|cuando|veamos)(?!\p{L})/iu,
    /(?<!\p{L})(?:puede que|quizás?|tal vez|ya no fall\p{L}+|esta vez no|podría)(?!\p{L})/iu,
  ],
})

const chinese = (): Wording => ({
  smallWords: SMALL_WORDS.any,
  yes: [
    /行不通|走不通|不起作用|没起作用|没有?效果|没有用|也没用|都没用|不管用|没用[。！]?$|无济于事/,
    /(?:但|可是|不过|然而).{0,12}(?:还在|依旧|仍|没有解决|没解决|依然|还是)/,
    /撤销了|回滚了|还原了|撤回了|反而.{0,8}(?:更糟|更慢|更差|变慢|变差|坏)/,
    /(?:办法|方法|方案|思路|做法|途径|路).{0,8}(?:不行|行不通|走不通|无效|失败)/,
    /(?:尝试|试了|试过).{0,30}(?:失败|没用|不行|无效)|失败了，因为|试过.{1,60}(?:但|没用|不行)/,
  ],
  no: [/[？?]\s*$|吗[。！]?$|如果|要是|假如|可能|也许|不再|看看|是不是|没有失败|还没有?试|没有试|是否/],
})

export const refuted = once((): Wordings => ({ chinese: chinese(), latin: [english(), german(), spanish()] }))
